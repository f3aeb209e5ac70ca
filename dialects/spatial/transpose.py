"""The transpose of a convolution in its image, as contractions.

For a stride s > 1 each place of x, counted from the padding's beginning, is s * q + r: only the
elements k = s * t + r of the kernel reach it, from the place q - t of the result. Each remainder r
is a contraction of its own that writes its places of the image; where all remainders have equally
many elements of the kernel, one contraction is over (q, r), which is the image in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from xdsl.ir import Attribute, SSAValue

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.slicing import pad_value
from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.nests import Read, nest, view
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp
from gradir.dialects.spatial.geometry import Window
from gradir.dialects.spatial.space import (
    Channels,
    Space,
    Terms,
    chained_products,
    has_single_channels,
    image_rows,
    ordered,
    ordered_sums,
    sum_of_products,
    weight_rows,
)

# The largest stride with one contraction per remainder.
MOST_PARTS = 3


@dataclass(frozen=True)
class _Part:
    """Places of one spatial dimension of the transpose in x with the same kernel elements.

    They are `step` * q + `place`, or with `remainders` all of q and r; they read the cotangent at
    q - `spread` * t + `start`, and the kernel at `step` * t + `tap` + r, for t below `taps`.
    """

    quotients: int
    taps: int
    start: int
    spread: int = 1
    step: int = 1
    place: int = 0
    tap: int = 0
    remainders: int | None = None


@dataclass(frozen=True)
class _Axis:
    """One spatial dimension of the transpose in x, with a stride or a dilation."""

    size: int
    kernel: int
    step: int
    low: int
    dilation: int

    @property
    def is_split(self) -> bool:
        """Whether its places are computed as quotients times remainders, from `first` on.

        That is one contraction for all remainders. Remainders with different numbers of kernel
        elements are computed one by one, unless there are many of them.
        """
        return self.step > 1 and (self.kernel % self.step == 0 or self.step > MOST_PARTS)

    @property
    def first(self) -> int:
        return self.low // self.step

    @property
    def quotients(self) -> int:
        return (self.low + self.size - 1) // self.step - self.first + 1

    def parts(self) -> list[_Part]:
        if self.step == 1:
            return [_Part(self.size, self.kernel, self.low, self.dilation)]
        if self.is_split:
            taps, remainders = -(-self.kernel // self.step), min(self.step, self.kernel)
            return [_Part(self.quotients, taps, self.first, step=self.step, remainders=remainders)]
        return [self._part(place) for place in range(min(self.step, self.size))]

    def _part(self, place: int) -> _Part:
        """The places `step` * q + `place`."""
        tap = (place + self.low) % self.step
        count = max(0, -(-(self.kernel - tap) // self.step))
        quotients = -(-(self.size - place) // self.step)
        start = (place + self.low - tap) // self.step
        return _Part(quotients, count, start, 1, self.step, place, tap)


@dataclass(frozen=True)
class _PartDims:
    """The dimensions of a part: its quotients and, in a part of all remainders, these."""

    part: _Part
    quotient: int
    remainder: int | None

    def places(self, space: Space) -> list[Row]:
        """The written places of the result."""
        if self.remainder is not None:
            return space.rows([self.quotient, self.remainder])
        return [space.row([(self.quotient, self.part.step)], self.part.place)]

    def reads(self, space: Space, tap: int) -> tuple[Row, Row]:
        """The subscripts of the cotangent and of the kernel, over the dimension `tap`."""
        part = self.part
        place = space.row([(self.quotient, 1), (tap, -part.spread)], part.start)
        return place, space.row([(tap, part.step), *self._inner], part.tap)

    def reads_at(self, space: Space, t: int) -> tuple[Row, Row]:
        """The subscripts of the cotangent and of the kernel for one t."""
        part = self.part
        place = space.row([(self.quotient, 1)], part.start - part.spread * t)
        return place, space.row(self._inner, part.step * t + part.tap)

    @property
    def _inner(self) -> Terms:
        return [] if self.remainder is None else [(self.remainder, 1)]


def convolve_input_backward(
    emitter: Emitter,
    window: Window,
    factors: tuple[SSAValue, SSAValue],
    type_: Attribute,
    precision: str | None = None,
) -> Sequence[SSAValue]:
    """The transpose of a convolution in its image, of a cotangent and the weight."""
    ct, weight = factors
    n, c, *sizes = window.image(shape_of(type_))
    _, _, *kernel = window.weight(shape_of(weight.type))
    ct, window = _spaced(emitter, window, ct)
    given = zip(sizes, kernel, window.stride, window.low, window.dilation, strict=True)
    axes = [_Axis(*row) for row in given]
    extents: list[int] = []
    for axis in axes:
        split = axis.parts()[0].remainders if axis.is_split else None
        extents += [axis.size] if split is None else [axis.quotients, split]
    split_type = tensor(window.as_image(n, c, extents), element_of(type_))
    combined = list(product(*(axis.parts() for axis in axes)))
    reached = [parts for parts in combined if all(part.taps for part in parts)]
    image: SSAValue | None = None
    if len(reached) < len(combined) or not reached:
        # no product reaches the places of some part
        [image] = FullOp.fill(0, split_type).lower(emitter, [])
    for parts in reached:
        factors = ct, weight
        image = _part_of_image(emitter, window, parts, factors, split_type, image, precision)
    assert image is not None
    return [_joined(emitter, window, image, axes, type_)]


def _part_of_image(
    emitter: Emitter,
    window: Window,
    parts: Sequence[_Part],
    factors: tuple[SSAValue, SSAValue],
    type_: Attribute,
    others: SSAValue | None,
    precision: str | None,
) -> SSAValue:
    """The image with the places of one part per dimension written; others stay."""
    ct, weight = factors
    o, i, *_ = window.weight(shape_of(weight.type))
    n, *_ = shape_of(type_)
    taps_of_parts = [part.taps for part in parts]
    is_direct = o == window.groups and has_single_channels(window, i, taps_of_parts)
    if is_direct and precision is None:
        return _part_of_single_channels(emitter, window, parts, factors, type_, others)
    space = Space()
    batch = space.add(n, "m")
    channels, places = ordered(
        window,
        lambda: Channels(space, window.groups).add(i, "n"),
        lambda: [_part_dims(space, part) for part in parts],
    )
    outer, taps = ordered_sums(
        window,
        precision,
        lambda: space.add(o // window.groups, "k"),
        lambda: space.add_all(taps_of_parts, "k"),
    )
    n_row, c_row, i_row = (
        space.row(terms) for terms in ([(batch, 1)], channels.terms, channels.inner)
    )
    o_row = space.row([*channels.of_group(o // window.groups), (outer, 1)])
    pairs = [one.reads(space, tap) for one, tap in zip(places, taps, strict=True)]
    reads = [
        space.read(ct, image_rows(window, n_row, o_row, [place for place, _ in pairs])),
        space.read(weight, weight_rows(window, o_row, i_row, [tap for _, tap in pairs])),
    ]
    written = [row for one in places for row in one.places(space)]
    output = space.output(type_, image_rows(window, n_row, c_row, written))
    return sum_of_products(emitter, space, reads, output._replace(init=others), precision)[0]


def _part_dims(space: Space, part: _Part) -> _PartDims:
    quotient = space.add(part.quotients, "m")
    remainder = None if part.remainders is None else space.add(part.remainders, "n")
    return _PartDims(part, quotient, remainder)


def _part_of_single_channels(
    emitter: Emitter,
    window: Window,
    parts: Sequence[_Part],
    factors: tuple[SSAValue, SSAValue],
    type_: Attribute,
    others: SSAValue | None,
) -> SSAValue:
    """The same for groups of one channel: a nest whose body unrolls an element's products."""
    ct, weight = factors
    n, *_ = shape_of(type_)
    space = Space()
    batch = space.add(n, "m")
    channels, places = ordered(
        window,
        lambda: Channels(space, window.groups),
        lambda: [_part_dims(space, part) for part in parts],
    )
    n_row, g_row, zero = space.row([(batch, 1)]), space.row(channels.of_group(1)), space.row([])
    from_ct: list[Read] = []
    from_kernel: list[Read] = []
    for tap in product(*(range(part.taps) for part in parts)):
        pairs = [one.reads_at(space, t) for one, t in zip(places, tap, strict=True)]
        image = image_rows(window, n_row, g_row, [place for place, _ in pairs])
        from_ct.append(space.read(ct, image))
        kernel = weight_rows(window, g_row, zero, [place for _, place in pairs])
        from_kernel.append(space.read(weight, kernel))
    written = [row for one in places for row in one.places(space)]
    output = space.output(type_, image_rows(window, n_row, g_row, written))
    body = chained_products(len(from_ct), element_of(type_))
    reads = [*from_ct, *from_kernel]
    return nest(emitter, space.extents, reads, [output._replace(init=others)], body)[0]


def _spaced(emitter: Emitter, window: Window, ct: SSAValue) -> tuple[SSAValue, Window]:
    """A cotangent with zeros between strides, for a kernel with dilation too."""
    steps = [s if d > 1 else 1 for s, d in zip(window.stride, window.dilation, strict=True)]
    if all(s == 1 for s in steps):
        return ct, window
    n, c, *places = window.image(shape_of(ct.type))
    split = [m for pair in zip(places, steps, strict=True) for m in pair]
    wide = window.as_image(n, c, split)
    unit = window.as_image(n, c, [m for place in places for m in (place, 1)])
    element = element_of(ct.type)
    apart = emitter.insert(LoopnestReshapeOp(ct, tensor(unit, element))).result
    [filled] = view(
        emitter, tensor(wide, element), apart, Access.identity(len(wide)), pad_value(0, element)
    )
    spatial = [p * s for p, s in zip(places, steps, strict=True)]
    type_ = tensor(window.as_image(n, c, spatial), element)
    result = emitter.insert(LoopnestReshapeOp(filled, type_)).result
    left = [s // step for s, step in zip(window.stride, steps, strict=True)]
    return result, replace(window, stride=tuple(left))


def _joined(
    emitter: Emitter, window: Window, image: SSAValue, axes: Sequence[_Axis], type_: Attribute
) -> SSAValue:
    """An image with places split into quotients and remainders, as one image."""
    if not any(axis.is_split for axis in axes):
        return image
    element = element_of(type_)
    n, c, *_ = window.image(shape_of(type_))
    split = [m for a in axes for m in ((a.quotients, a.step) if a.is_split else (a.size,))]
    wide = tensor(window.as_image(n, c, split), element)
    if wide != image.type:
        identity = Access.identity(len(shape_of(wide)))
        [image] = view(emitter, wide, image, identity, pad_value(0, element))
    sizes = [a.quotients * a.step if a.is_split else a.size for a in axes]
    places = tensor(window.as_image(n, c, sizes), element)
    whole = emitter.insert(LoopnestReshapeOp(image, places)).result
    if places == type_:
        return whole
    rank = len(shape_of(type_))
    starts = [a.low - a.first * a.step if a.is_split else 0 for a in axes]
    offsets = window.as_image(0, 0, starts)
    access = Access(rank, tuple(dim_row(rank, d, 1, start) for d, start in enumerate(offsets)))
    return view(emitter, type_, whole, access)[0]
