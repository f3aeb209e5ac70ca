"""Convolutions and their transposes as contractions, with the padding in the accesses.

    y[n, o, p] = sum over i, k of x[n, i, s * p + d * k - low] * w[o, i, k]

The transpose in x for a stride s > 1 splits each place of x, counted from the padding's beginning,
into s * q + r: only the elements k = s * t + r of the kernel get there, from the place q - t of the
result. What is computed over (q, r) is the image in order; elements past the kernel are zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeVar

from xdsl.ir import Attribute, SSAValue

from gradir.dialects import body as b
from gradir.dialects.access import Access, Row, dim_row
from gradir.dialects.array.slicing import pad_value
from gradir.dialects.convolution_geometry import Window
from gradir.dialects.loopnest import Output, ReshapeOp
from gradir.dialects.nest_builder import Read, contract, nest, view
from gradir.dialects.shapes import element_of, shape_of, tensor
from gradir.dialects.value import Emitter, Scalar

# A kernel of at most so many elements on single channels is written out in the body of a nest.
MOST_DIRECT_TAPS = 32

# The summands `coefficient * dimension` of a subscript, and its constant.
Terms = list[tuple[int, int]]

A = TypeVar("A")
B = TypeVar("B")


@dataclass
class _Space:
    """The iteration space of a contraction, as it grows."""

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
        """The subscripts that are these dimensions."""
        return [self.row([(dim, 1)]) for dim in dims]

    def read(self, value: SSAValue, rows: Sequence[Row]) -> Read:
        """A factor, with zeros around it where the subscripts leave it."""
        access = Access(len(self.extents), tuple(rows))
        if access.is_in_bounds(self.extents, shape_of(value.type)):
            return Read(value, access)
        return Read(value, access, pad_value(0, element_of(value.type)))

    def output(self, type_: Attribute, rows: Sequence[Row]) -> Output:
        return Output(type_, Access(len(self.extents), tuple(rows)))


class _Channels:
    """Dimensions for the groups, where there are several, and for the channels of one group."""

    def __init__(self, space: _Space, groups: int):
        self.space = space
        self.group = space.add(groups, "b") if groups > 1 else None
        self.inner: list[tuple[int, int]] = []
        self.terms: list[tuple[int, int]] = []

    def add(self, count: int, role: str) -> _Channels:
        """With `count` channels in each group, which `terms` number over all groups."""
        # a group of one channel needs no dimension
        if self.group is None or count != 1:
            self.inner = [(self.space.add(count, role), 1)]
        self.terms = [*self.of_group(count), *self.inner]
        return self

    def of_group(self, count: int) -> Terms:
        """The first channel of the group, if groups have `count`."""
        return [] if self.group is None else [(self.group, count)]


def _ordered(window: Window, channels: Callable[[], A], spatial: Callable[[], B]) -> tuple[A, B]:
    """What adds dimensions for channels, and for places, called in the order of the layout."""
    if window.channels_last:
        last = spatial()
        return channels(), last
    return channels(), spatial()


def convolve(
    emitter: Emitter, window: Window, operands: Sequence[SSAValue], type_: Attribute
) -> Sequence[SSAValue]:
    """x, weight and perhaps bias to y."""
    x, weight, *bias = operands
    o, i, *kernel = window.weight(shape_of(weight.type))
    if window.groups > 1 and i == 1 and prod(kernel) <= MOST_DIRECT_TAPS:
        return _convolve_single_channels(emitter, window, operands, type_)
    n, _, *places = window.image(shape_of(type_))
    space = _Space()
    batch = space.add(n, "m")
    channels, outs = _ordered(
        window,
        lambda: _Channels(space, window.groups).add(o // window.groups, "n"),
        lambda: space.add_all(places, "m"),
    )
    inner, taps = _ordered(window, lambda: space.add(i, "k"), lambda: space.add_all(kernel, "k"))
    n_row, o_row = space.row([(batch, 1)]), space.row(channels.terms)
    c_row, i_row = space.row([*channels.of_group(i), (inner, 1)]), space.row([(inner, 1)])
    x_rows = _image(window, n_row, c_row, _under_kernel(space, window, outs, taps))
    w_rows = _weight(window, o_row, i_row, space.rows(taps))
    y_rows = _image(window, n_row, o_row, space.rows(outs))
    reads = [space.read(x, x_rows), space.read(weight, w_rows)]
    reads += [space.read(one, [o_row]) for one in bias]
    return _contract(emitter, space, reads, space.output(type_, y_rows))


def _under_kernel(
    space: _Space, window: Window, outs: Sequence[int], taps: Sequence[int]
) -> list[Row]:
    """The places of x that dimensions of results and of the kernel meet at."""
    rows = zip(outs, window.stride, taps, window.dilation, window.low, strict=True)
    return [space.row([(p, s), (k, d)], -low) for p, s, k, d, low in rows]


def _contract(
    emitter: Emitter, space: _Space, reads: Sequence[Read], output: Output
) -> list[SSAValue]:
    """The sum of products, with the bias added if there is a third read, rounded once."""
    element = element_of(output.type)

    def store(total: Scalar, *bias: Scalar) -> Scalar:
        for one in bias:
            total = b.add(total, b.to_compute(one, element))
        return b.from_compute(total, element)

    return contract(
        emitter, space.extents, reads, [output], b.compute_type(element), store, space.roles
    )


def _image(window: Window, n: Row, c: Row, spatial: Sequence[Row]) -> list[Row]:
    return [n, *spatial, c] if window.channels_last else [n, c, *spatial]


def _weight(window: Window, o: Row, i: Row, kernel: Sequence[Row]) -> list[Row]:
    return [*kernel, i, o] if window.channels_last else [o, i, *kernel]


def _convolve_single_channels(
    emitter: Emitter, window: Window, operands: Sequence[SSAValue], type_: Attribute
) -> Sequence[SSAValue]:
    """Groups of one input channel: a nest whose body holds the few products of an element."""
    x, weight, *bias = operands
    o, _, *kernel = window.weight(shape_of(weight.type))
    n, _, *places = window.image(shape_of(type_))
    space = _Space()
    batch = space.add(n, "m")
    channels, outs = _ordered(
        window,
        lambda: _Channels(space, window.groups).add(o // window.groups, "n"),
        lambda: space.add_all(places, "m"),
    )
    n_row, g_row = space.row([(batch, 1)]), space.row(channels.of_group(1))
    o_row, zero = space.row(channels.terms), space.row([])
    x_reads: list[Read] = []
    w_reads: list[Read] = []
    for tap in product(*map(range, kernel)):
        rows = zip(outs, window.stride, tap, window.dilation, window.low, strict=True)
        spatial = [space.row([(p, s)], k * d - low) for p, s, k, d, low in rows]
        x_reads.append(space.read(x, _image(window, n_row, g_row, spatial)))
        place = [space.row([], k) for k in tap]
        w_reads.append(space.read(weight, _weight(window, o_row, zero, place)))
    y_rows = _image(window, n_row, o_row, space.rows(outs))
    reads = [*x_reads, *w_reads, *(space.read(one, [o_row]) for one in bias)]
    body = _products(len(x_reads), element_of(type_))
    return nest(emitter, space.extents, reads, [space.output(type_, y_rows)], body)


def _products(count: int, element: Attribute) -> Callable[..., Scalar]:
    """The sum of so many products, left factors first, in one chain, and the bias."""

    def body(*given: Scalar) -> Scalar:
        values = [b.to_compute(value, element) for value in given]
        total = b.constant(values[0], 0)
        for left, right in zip(values[:count], values[count : 2 * count], strict=True):
            total = b.fma(left, right, total)
        for one in values[2 * count :]:
            total = b.add(total, one)
        return b.from_compute(total, element)

    return body


def convolve_weight_backward(
    emitter: Emitter, window: Window, ct: SSAValue, x: SSAValue, type_: Attribute
) -> Sequence[SSAValue]:
    """The transpose of a convolution in its weight."""
    o, i, *kernel = window.weight(shape_of(type_))
    n, _, *places = window.image(shape_of(ct.type))
    space = _Space()

    def result_channels() -> _Channels:
        return _Channels(space, window.groups).add(o // window.groups, "m")

    def input_dims() -> tuple[int, list[int]]:
        return _ordered(window, lambda: space.add(i, "n"), lambda: space.add_all(kernel, "n"))

    channels, (inner, taps) = _ordered(window, result_channels, input_dims)
    batch, *outs = space.add_all([n, *places], "k")
    n_row, o_row = space.row([(batch, 1)]), space.row(channels.terms)
    c_row, i_row = space.row([*channels.of_group(i), (inner, 1)]), space.row([(inner, 1)])
    x_rows = _image(window, n_row, c_row, _under_kernel(space, window, outs, taps))
    reads = [
        space.read(ct, _image(window, n_row, o_row, space.rows(outs))),
        space.read(x, x_rows),
    ]
    w_rows = _weight(window, o_row, i_row, space.rows(taps))
    return _contract(emitter, space, reads, space.output(type_, w_rows))


@dataclass(frozen=True)
class _Axis:
    """One spatial dimension of the transpose in x.

    Its places are computed as `quotients` times `remainders`, from `first` on; with one remainder
    per place (`step` 1) they are what they are.
    """

    size: int
    kernel: int
    step: int
    low: int
    dilation: int

    @property
    def first(self) -> int:
        return self.low // self.step if self.step > 1 else 0

    @property
    def quotients(self) -> int:
        if self.step == 1:
            return self.size
        return (self.low + self.size - 1) // self.step - self.first + 1

    @property
    def remainders(self) -> int:
        """Those that an element of the kernel reaches."""
        return min(self.step, self.kernel)

    @property
    def taps(self) -> int:
        return -(-self.kernel // self.step)


@dataclass(frozen=True)
class _Split:
    """The dimensions of an axis: of its quotients and, where there are several, remainders."""

    axis: _Axis
    quotient: int
    remainder: int | None

    @property
    def dims(self) -> list[int]:
        return [self.quotient] if self.remainder is None else [self.quotient, self.remainder]

    def place_and_tap(self, space: _Space, tap: int) -> tuple[Row, Row]:
        """Where the cotangent and the kernel are read."""
        axis = self.axis
        if self.remainder is None:
            place = space.row([(self.quotient, 1), (tap, -axis.dilation)], axis.low)
            return place, space.row([(tap, 1)])
        place = space.row([(self.quotient, 1), (tap, -1)], axis.first)
        return place, space.row([(tap, axis.step), (self.remainder, 1)])


def convolve_input_backward(
    emitter: Emitter, window: Window, ct: SSAValue, weight: SSAValue, type_: Attribute
) -> Sequence[SSAValue]:
    """The transpose of a convolution in its image."""
    n, _, *sizes = window.image(shape_of(type_))
    o, i, *kernel = window.weight(shape_of(weight.type))
    ct, window = _spaced(emitter, window, ct)
    given = zip(sizes, kernel, window.stride, window.low, window.dilation, strict=True)
    axes = [_Axis(*row) for row in given]
    space = _Space()

    def split(axis: _Axis) -> _Split:
        quotient = space.add(axis.quotients, "m")
        remainder = space.add(axis.remainders, "n") if axis.step > 1 else None
        return _Split(axis, quotient, remainder)

    batch = space.add(n, "m")
    channels, splits = _ordered(
        window,
        lambda: _Channels(space, window.groups).add(i, "n"),
        lambda: [split(axis) for axis in axes],
    )
    outer, taps = _ordered(
        window,
        lambda: space.add(o // window.groups, "k"),
        lambda: space.add_all([axis.taps for axis in axes], "k"),
    )
    n_row, c_row = space.row([(batch, 1)]), space.row(channels.terms)
    o_row = space.row([*channels.of_group(o // window.groups), (outer, 1)])
    pairs = [one.place_and_tap(space, tap) for one, tap in zip(splits, taps, strict=True)]
    reads = [
        space.read(ct, _image(window, n_row, o_row, [place for place, _ in pairs])),
        space.read(
            weight, _weight(window, o_row, space.row(channels.inner), [tap for _, tap in pairs])
        ),
    ]
    places = [dim for one in splits for dim in one.dims]
    shape = window.as_image(n, i * window.groups, [space.extents[dim] for dim in places])
    rows = _image(window, n_row, c_row, space.rows(places))
    output = space.output(tensor(shape, element_of(type_)), rows)
    [image] = _contract(emitter, space, reads, output)
    return [_joined(emitter, window, image, axes, type_)]


def _spaced(emitter: Emitter, window: Window, ct: SSAValue) -> tuple[SSAValue, Window]:
    """A cotangent with zeros for the places between strides, where the kernel is dilated too."""
    steps = [s if d > 1 else 1 for s, d in zip(window.stride, window.dilation, strict=True)]
    if all(s == 1 for s in steps):
        return ct, window
    n, c, *places = window.image(shape_of(ct.type))
    split = [m for pair in zip(places, steps, strict=True) for m in pair]
    wide = window.as_image(n, c, split)
    unit = window.as_image(n, c, [m for place in places for m in (place, 1)])
    element = element_of(ct.type)
    apart = emitter.insert(ReshapeOp(ct, tensor(unit, element))).result
    [filled] = view(
        emitter, tensor(wide, element), apart, Access.identity(len(wide)), pad_value(0, element)
    )
    spatial = [p * s for p, s in zip(places, steps, strict=True)]
    type_ = tensor(window.as_image(n, c, spatial), element)
    result = emitter.insert(ReshapeOp(filled, type_)).result
    left = [s // step for s, step in zip(window.stride, steps, strict=True)]
    return result, replace(window, stride=tuple(left))


def _joined(
    emitter: Emitter, window: Window, image: SSAValue, axes: Sequence[_Axis], type_: Attribute
) -> SSAValue:
    """An image whose places are split into quotients and remainders, whole again."""
    if all(axis.step == 1 for axis in axes):
        return image
    element = element_of(type_)
    n, c, *_ = window.image(shape_of(type_))
    split = [m for a in axes for m in ((a.quotients, a.step) if a.step > 1 else (a.quotients,))]
    wide = tensor(window.as_image(n, c, split), element)
    if wide != image.type:
        identity = Access.identity(len(shape_of(wide)))
        [image] = view(emitter, wide, image, identity, pad_value(0, element))
    places = tensor(window.as_image(n, c, [a.quotients * a.step for a in axes]), element)
    whole = emitter.insert(ReshapeOp(image, places)).result
    if places == type_:
        return whole
    rank = len(shape_of(type_))
    starts = [a.low - a.first * a.step if a.step > 1 else 0 for a in axes]
    offsets = window.as_image(0, 0, starts)
    access = Access(rank, tuple(dim_row(rank, d, 1, start) for d, start in enumerate(offsets)))
    return view(emitter, type_, whole, access)[0]
