"""Parts of the loop nests of convolutions: dimensions, subscripts and sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.slicing import pad_value
from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.contractions import contract
from gradir.dialects.building.nests import Read
from gradir.dialects.loopnest.loopnest import Output
from gradir.dialects.spatial.geometry import Window

# The most elements of a kernel on single channels that the body of a nest unrolls.
MOST_DIRECT_TAPS = 32

# The summands `coefficient * dimension` of a subscript, and its constant.
Terms = list[tuple[int, int]]

A = TypeVar("A")
B = TypeVar("B")


@dataclass
class Space:
    """The iteration space of a contraction, dimension by dimension."""

    extents: list[int] = field(default_factory=list[int])
    roles: str = ""

    def add(self, extent: int, role: str) -> int:
        """A new dimension."""
        self.extents.append(extent)
        self.roles += role
        return len(self.extents) - 1

    def add_all(self, extents: Sequence[int], role: str) -> list[int]:
        return [self.add(n, role) for n in extents]

    def row(self, terms: Terms, constant: int = 0) -> Row:
        coefficients = [0] * len(self.extents)
        for dim, factor in terms:
            coefficients[dim] += factor
        return Row(tuple(coefficients), constant)

    def rows(self, dims: Sequence[int]) -> list[Row]:
        """The subscripts `d` for these dimensions."""
        return [self.row([(dim, 1)]) for dim in dims]

    def read(self, value: SSAValue, rows: Sequence[Row]) -> Read:
        """A read of a factor; zeros outside of its bounds."""
        access = Access(len(self.extents), tuple(rows))
        if access.is_in_bounds(self.extents, shape_of(value.type)):
            return Read(value, access)
        return Read(value, access, pad_value(0, element_of(value.type)))

    def output(self, type_: Attribute, rows: Sequence[Row]) -> Output:
        return Output(type_, Access(len(self.extents), tuple(rows)))


class Channels:
    """Dimensions for the groups, if there are several, and for the channels of one group."""

    def __init__(self, space: Space, groups: int):
        self.space = space
        self.group = space.add(groups, "b") if groups > 1 else None
        self.inner: list[tuple[int, int]] = []
        self.terms: list[tuple[int, int]] = []

    def add(self, count: int, role: str) -> Channels:
        """Add a dimension of `count` channels per group; `terms` number them over all groups."""
        # a group of one channel needs no dimension
        if self.group is None or count != 1:
            self.inner = [(self.space.add(count, role), 1)]
        self.terms = [*self.of_group(count), *self.inner]
        return self

    def of_group(self, count: int) -> Terms:
        """The first channel of the group, for groups of `count` channels."""
        return [] if self.group is None else [(self.group, count)]


def ordered(window: Window, channels: Callable[[], A], spatial: Callable[[], B]) -> tuple[A, B]:
    """Calls `channels` and `spatial`, which add dimensions, in the order of the layout."""
    if window.channels_last:
        last = spatial()
        return channels(), last
    return channels(), spatial()


def ordered_sums(
    window: Window,
    precision: str | None,
    channels: Callable[[], A],
    spatial: Callable[[], B],
) -> tuple[A, B]:
    """As `ordered`, for summed dimensions; with a precision channels come last in both layouts."""
    if precision is None:
        return ordered(window, channels, spatial)
    last = spatial()
    return channels(), last


def sum_of_products(
    emitter: Emitter,
    space: Space,
    reads: Sequence[Read],
    output: Output,
    precision: str | None = None,
) -> list[SSAValue]:
    """The sum of products plus the bias (a third read), rounded once."""
    element = element_of(output.type)

    def store(total: Scalar, *bias: Scalar) -> Scalar:
        for one in bias:
            total = total + b.to_compute(one, element)
        return b.from_compute(total, element)

    accumulator = b.compute_type(element)
    return contract(
        emitter, space.extents, reads, [output], accumulator, store, space.roles, precision
    )


def image_rows(window: Window, n: Row, c: Row, spatial: Sequence[Row]) -> list[Row]:
    return [n, *spatial, c] if window.channels_last else [n, c, *spatial]


def weight_rows(window: Window, o: Row, i: Row, kernel: Sequence[Row]) -> list[Row]:
    return [*kernel, i, o] if window.channels_last else [o, i, *kernel]


def has_single_channels(window: Window, channels: int, kernel: Sequence[int]) -> bool:
    """Whether groups have one channel and a kernel small enough to unroll."""
    return window.groups > 1 and channels == 1 and prod(kernel) <= MOST_DIRECT_TAPS


def chained_products(count: int, element: Attribute) -> Callable[..., Scalar]:
    """A body: the sum of `count` products in one chain, left factors first, plus the bias."""

    def body(*given: Scalar) -> Scalar:
        values = [b.to_compute(value, element) for value in given]
        total = b.constant(values[0], 0)
        for left, right in zip(values[:count], values[count : 2 * count], strict=True):
            total = b.fma(left, right, total)
        for one in values[2 * count :]:
            total = total + one
        return b.from_compute(total, element)

    return body
