"""Convolutions and their transposes in the weight as loop nests, with the padding in the accesses.

y[n, o, p] = sum over i, k of x[n, i, s * p + d * k - low] * w[o, i, k]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.ir import Attribute, SSAValue

from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output
from gradir.dialects.spatial.geometry import Window
from gradir.dialects.spatial.space import (
    Channels,
    Space,
    chained_products,
    has_single_channels,
    image_rows,
    ordered,
    ordered_sums,
    sum_of_products,
    weight_rows,
)


def convolve(
    emitter: Emitter,
    window: Window,
    operands: Sequence[SSAValue],
    type_: Attribute,
    precision: str | None = None,
) -> Sequence[SSAValue]:
    """x, weight and perhaps bias to y."""
    x, weight, *bias = operands
    o, i, *kernel = window.weight(shape_of(weight.type))
    if precision is None and has_single_channels(window, i, kernel):
        return _convolve_single_channels(emitter, window, operands, type_)
    n, _, *places = window.image(shape_of(type_))
    space = Space()
    batch = space.add(n, "m")
    channels, outs = _result_dims(space, window, o, places)
    inner, taps = ordered_sums(
        window, precision, lambda: space.add(i, "k"), lambda: space.add_all(kernel, "k")
    )
    n_row, o_row = space.row([(batch, 1)]), space.row(channels.terms)
    c_row, i_row = space.row([*channels.of_group(i), (inner, 1)]), space.row([(inner, 1)])
    x_rows = image_rows(window, n_row, c_row, _under_kernel(space, window, outs, taps))
    w_rows = weight_rows(window, o_row, i_row, space.rows(taps))
    y_rows = image_rows(window, n_row, o_row, space.rows(outs))
    reads = [space.read(x, x_rows), space.read(weight, w_rows)]
    reads += [space.read(one, [o_row]) for one in bias]
    return sum_of_products(emitter, space, reads, space.output(type_, y_rows), precision)


def _result_dims(
    space: Space, window: Window, channels: int, places: Sequence[int]
) -> tuple[Channels, list[int]]:
    """The dimensions of a result's channels and places, in the order of the layout."""
    return ordered(
        window,
        lambda: Channels(space, window.groups).add(channels // window.groups, "n"),
        lambda: space.add_all(places, "m"),
    )


def _under_kernel(
    space: Space, window: Window, outs: Sequence[int], taps: Sequence[int]
) -> list[Row]:
    """The places of x for dimensions of the result and of the kernel."""
    rows = zip(outs, window.stride, taps, window.dilation, window.low, strict=True)
    return [space.row([(p, s), (k, d)], -low) for p, s, k, d, low in rows]


def _at_tap(space: Space, window: Window, outs: Sequence[int], tap: Sequence[int]) -> list[Row]:
    """The places of x for one element of the kernel."""
    rows = zip(outs, window.stride, tap, window.dilation, window.low, strict=True)
    return [space.row([(p, s)], k * d - low) for p, s, k, d, low in rows]


def _convolve_single_channels(
    emitter: Emitter, window: Window, operands: Sequence[SSAValue], type_: Attribute
) -> Sequence[SSAValue]:
    """Groups of one input channel: a nest whose body holds the few products of an element."""
    x, weight, *bias = operands
    o, _, *kernel = window.weight(shape_of(weight.type))
    n, _, *places = window.image(shape_of(type_))
    space = Space()
    batch = space.add(n, "m")
    channels, outs = _result_dims(space, window, o, places)
    n_row, g_row = space.row([(batch, 1)]), space.row(channels.of_group(1))
    o_row, zero = space.row(channels.terms), space.row([])
    x_reads: list[Read] = []
    w_reads: list[Read] = []
    for tap in product(*map(range, kernel)):
        spatial = _at_tap(space, window, outs, tap)
        x_reads.append(space.read(x, image_rows(window, n_row, g_row, spatial)))
        place = [space.row([], k) for k in tap]
        w_reads.append(space.read(weight, weight_rows(window, o_row, zero, place)))
    y_rows = image_rows(window, n_row, o_row, space.rows(outs))
    reads = [*x_reads, *w_reads, *(space.read(one, [o_row]) for one in bias)]
    body = chained_products(len(x_reads), element_of(type_))
    return nest(emitter, space.extents, reads, [space.output(type_, y_rows)], body)


def _single_weight_backward(
    emitter: Emitter, window: Window, ct: SSAValue, x: SSAValue, type_: Attribute
) -> Sequence[SSAValue]:
    """Groups of one input channel: one nest sums for all elements of the kernel."""
    o, _, *kernel = window.weight(shape_of(type_))
    n, _, *places = window.image(shape_of(ct.type))
    space = Space()
    # vectors run along the last dimension
    channels, (batch, *outs) = ordered(
        window,
        lambda: Channels(space, window.groups).add(o // window.groups, "m"),
        lambda: space.add_all([n, *places], "k"),
    )
    n_row, o_row = space.row([(batch, 1)]), space.row(channels.terms)
    g_row, element = space.row(channels.of_group(1)), element_of(type_)
    reads = [space.read(ct, image_rows(window, n_row, o_row, space.rows(outs)))]
    taps = list(product(*map(range, kernel)))
    for tap in taps:
        places_of_x = _at_tap(space, window, outs, tap)
        reads.append(space.read(x, image_rows(window, n_row, g_row, places_of_x)))

    def products(*given: Scalar) -> list[Scalar]:
        left, *right = (b.to_compute(value, element) for value in given)
        return [left * one for one in right]

    line = tensor([o], element)
    outputs = [Output(line, Access(len(space.extents), (o_row,)), "add") for _ in taps]
    sums = nest(emitter, space.extents, reads, outputs, products)
    return [_by_taps(emitter, window, sums, taps, type_)]


def _by_taps(
    emitter: Emitter,
    window: Window,
    values: Sequence[SSAValue],
    taps: Sequence[tuple[int, ...]],
    type_: Attribute,
) -> SSAValue:
    """The weight whose elements for each tap are a value over the output channels."""
    shape = shape_of(type_)
    o_axis, _, *kernel_axes = window.weight_axes
    access = Access(len(shape), (dim_row(len(shape), o_axis),))

    def pick(*given: Scalar) -> Scalar:
        places = [b.index(given[0], axis) for axis in kernel_axes]
        result = given[0]
        for tap, value in list(zip(taps, given, strict=True))[1:]:
            for place, k in zip(places, tap, strict=True):
                value = b.select(place.equal(k), value, result)
            result = value
        return result

    reads = [Read(value, access) for value in values]
    output = Output(type_, Access.identity(len(shape)))
    return nest(emitter, shape, reads, [output], pick)[0]


def convolve_weight_backward(
    emitter: Emitter,
    window: Window,
    factors: tuple[SSAValue, SSAValue],
    type_: Attribute,
    precision: str | None = None,
) -> Sequence[SSAValue]:
    """The transpose of a convolution in its weight, of a cotangent and the image."""
    ct, x = factors
    o, i, *kernel = window.weight(shape_of(type_))
    if precision is None and has_single_channels(window, i, kernel):
        return _single_weight_backward(emitter, window, ct, x, type_)
    n, _, *places = window.image(shape_of(ct.type))
    space = Space()

    def result_channels() -> Channels:
        return Channels(space, window.groups).add(o // window.groups, "m")

    def input_dims() -> tuple[int, list[int]]:
        return ordered(window, lambda: space.add(i, "n"), lambda: space.add_all(kernel, "n"))

    channels, (inner, taps) = ordered(window, result_channels, input_dims)
    if precision is None:
        batch, *outs = space.add_all([n, *places], "k")
    else:
        *outs, batch = space.add_all([*places, n], "k")
    n_row, o_row = space.row([(batch, 1)]), space.row(channels.terms)
    c_row, i_row = space.row([*channels.of_group(i), (inner, 1)]), space.row([(inner, 1)])
    x_rows = image_rows(window, n_row, c_row, _under_kernel(space, window, outs, taps))
    reads = [
        space.read(ct, image_rows(window, n_row, o_row, space.rows(outs))),
        space.read(x, x_rows),
    ]
    w_rows = weight_rows(window, o_row, i_row, space.rows(taps))
    return sum_of_products(emitter, space, reads, space.output(type_, w_rows), precision)
