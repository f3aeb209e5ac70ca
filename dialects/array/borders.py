"""The borders of array.pad that repeat elements: `edge` and `reflect`.

edge     a a | a b c d | d d
reflect  c b | a b c d | c b
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.joining import pad_value
from gradir.dialects.array.movement import FlipOp
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.array.slicing import ConcatOp, padded_back, part
from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.shapes import DYNAMIC, element_of, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output

MODES = ("constant", "edge", "reflect")


def require_border(mode: str, type_: Attribute, axis: int, width: int) -> None:
    """VerifyException where an axis has too few elements for a border of `width`."""
    extent = shape_of(type_)[axis]
    if not width or extent == DYNAMIC or mode == "constant":
        return
    if mode == "edge" and extent == 0:
        raise VerifyException(f"axis {axis} must not be empty in mode edge, got {type_}")
    if mode == "reflect" and width >= extent:
        raise VerifyException(
            f"low and high of axis {axis} must be below its extent {extent} in mode reflect, "
            f"got {width}"
        )


def border_source(at: Scalar, mode: str, low: int, extent: int) -> Scalar:
    """The source, along an axis, of the element at place `at` of the padded axis."""
    zero, last = b.constant(at, 0), b.constant(at, extent - 1)
    place = at - low
    if mode == "edge":
        return b.minimum(b.maximum(place, zero), last)
    # folded at the first element, then at the last one
    from_first = b.maximum(place, zero - place)
    beyond = last - from_first
    return last - b.maximum(beyond, zero - beyond)


def border_nests(
    emitter: Emitter, x: SSAValue, type_: Attribute, mode: str, low: Sequence[int]
) -> list[SSAValue]:
    """A nest for the last axis and one for all others: elements are read in runs, not gathered."""
    *outer, last = shape_of(type_)
    source = shape_of(x.type)
    if tuple(outer) != source[:-1]:
        between = tensor([*outer, source[-1]], element_of(type_))
        [x] = _outer_axes_nest(emitter, x, between, mode, low)
    return [x] if last == source[-1] else _last_axis_nest(emitter, x, type_, mode, low[-1])


def _outer_axes_nest(
    emitter: Emitter, x: SSAValue, type_: Attribute, mode: str, low: Sequence[int]
) -> list[SSAValue]:
    """A nest that reads each element from its source."""
    source, shape = shape_of(x.type), shape_of(type_)

    def fetch(table: Scalar) -> Scalar:
        places: list[Scalar] = []
        for d, (lo, n, m) in enumerate(zip(low, source, shape, strict=True)):
            at = b.index(table, d)
            places.append(at if n == m else border_source(at, mode, lo, n))
        return b.load(table, places)

    output = Output(type_, Access.identity(len(shape)))
    return nest(emitter, shape, [Read(x, None)], [output], fetch)


def _last_axis_nest(
    emitter: Emitter, x: SSAValue, type_: Attribute, mode: str, low: int
) -> list[SSAValue]:
    """A nest that reads x and its borders, each in runs."""
    shape, extent = shape_of(type_), shape_of(x.type)[-1]
    rank, axis, last = len(shape), len(shape) - 1, extent - 1
    before, after = constant_row(rank, 0), constant_row(rank, last)
    if mode == "reflect":
        before, after = (dim_row(rank, axis, -1, at) for at in (low, low + 2 * last))
    zero = pad_value(0, element_of(type_))
    reads: list[Read] = []
    for row in (before, dim_row(rank, axis, 1, -low), after):
        rows = [row if d == axis else dim_row(rank, d) for d in range(rank)]
        reads.append(Read(x, Access(rank, tuple(rows)), zero))

    def pick(first: Scalar, inside: Scalar, end: Scalar) -> Scalar:
        at = b.index(first, axis)
        rest = b.select(at < low + extent, inside, end)
        return b.select(at < low, first, rest)

    return nest(emitter, shape, reads, [Output(type_, Access.identity(rank))], pick)


def border_folded(ct: Value, mode: str, axis: int, low: int, extent: int) -> Value:
    """The transpose of padding one axis: each element gets the cotangents of its copies."""
    fold = _edge_folded if mode == "edge" else _reflect_folded
    return fold(ct, axis, low, extent)


def _edge_folded(ct: Value, axis: int, low: int, extent: int) -> Value:
    end = ct.shape[axis]
    if extent == 1:
        return SumOp.on(ct, axis=axis, keepdims=True)
    ends = [(0, low + 1), (low + extent - 1, end)]
    first, last = (SumOp.on(part(ct, axis, *at), axis=axis, keepdims=True) for at in ends)
    return ConcatOp.on(first, part(ct, axis, low + 1, low + extent - 1), last, axis=axis)


def _reflect_folded(ct: Value, axis: int, low: int, extent: int) -> Value:
    end = ct.shape[axis]
    high = end - low - extent
    result = part(ct, axis, low, low + extent)
    borders = [(0, low, 1), (low + extent, end, extent - 1 - high)]
    for start, stop, place in borders:
        if start < stop:
            border = FlipOp.on(part(ct, axis, start, stop), axis=axis)
            result += padded_back(border, axis, place, extent)
    return result
