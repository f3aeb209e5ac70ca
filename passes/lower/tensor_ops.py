"""gradir-lower: `tensor` ops that move several elements, and `arith` and `math` ops on tensors, as
loop nests.

A contiguous slice at a run-time place stays: gradir-bufferize makes it a window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from gradir.dialects.base.access import Access, Row, constant_row, dim_row
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.diagnostics import PassError, location_text
from gradir.dialects.base.interfaces import has_trait
from gradir.dialects.base.shapes import is_static, shape_of
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.foreign.elements import (
    as_tensor,
    is_on_tensors,
    lower_constant,
    lower_elements,
)
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp
from gradir.dialects.loopnest.loopnest import LoadOp, Output
from gradir.passes.analysis.edits import replace_results
from gradir.passes.analysis.tensor_slices import Slice, is_contiguous, kept_dims, whole_and_part
from gradir.passes.cleanup.dead_code import require_static_shapes


def lower_tensor_op(block: Block, op: Operation) -> None:
    """Replace an op of `tensor` or `arith` by loop nests, unless it stays for bufferization."""
    made = _lowered(Emitter(block, op.location, before=op), op)
    if made is not None:
        replace_results(op, [made])


def _lowered(e: Emitter, op: Operation) -> SSAValue | None:
    if is_on_tensors(op):
        require_static_shapes(op)
        return lower_elements(e, op)
    if has_trait(op, ConstantLike):
        return lower_constant(e, op)
    rule = _RULES.get(type(op))
    return None if rule is None else rule(e, op)


def _splat(e: Emitter, op: tensor.SplatOp) -> SSAValue:
    shape = shape_of(op.result.type)
    one = as_tensor(e, op.input)
    output = Output(op.result.type, Access.identity(len(shape)))
    return nest(e, shape, [Read(one, Access(len(shape), ()))], [output], _same)[0]


def _extract_slice(e: Emitter, op: tensor.ExtractSliceOp) -> SSAValue | None:
    _check_static(op)
    shape = shape_of(op.result.type)
    output = Output(op.result.type, Access.identity(len(shape)))
    if not op.offsets:
        rows = _rows(op, integers_of(op.static_offsets))
        read = Read(op.source, Access(len(shape), tuple(rows)))
        return nest(e, shape, [read], [output], _same)[0]
    if is_contiguous(op):
        return None
    rows = _rows(op, [0 if n == DYNAMIC_INDEX else n for n in integers_of(op.static_offsets)])
    offsets = _offsets(e, op)
    reads = [Read(op.source, None), *(Read(o, Access(len(shape), ())) for o in offsets.values())]

    def body(source: Scalar, *starts: Scalar) -> Scalar:
        at = dict(zip(offsets, starts, strict=True))
        indices = [_index(source, row, at.get(axis)) for axis, row in enumerate(rows)]
        load = LoadOp(source.ssa, [i.ssa for i in indices])
        return Scalar(source.emitter.insert(load).results[0], source.emitter)

    return nest(e, shape, reads, [output], body)[0]


def _insert_slice(e: Emitter, op: tensor.InsertSliceOp) -> SSAValue | None:
    _check_static(op)
    if is_contiguous(op):
        return None
    shape = shape_of(op.source.type)
    static = integers_of(op.static_offsets)
    offsets = _offsets(e, op)
    rows = _rows(op, [0 if n == DYNAMIC_INDEX else n for n in static])
    symbols = {axis: k for k, axis in enumerate(offsets)}
    access = Access(
        len(shape),
        tuple(
            Row((0,) * len(shape), 0, symbols[axis]) if axis in symbols else row
            for axis, row in enumerate(rows)
        ),
    )
    reads = [Read(op.source, Access.identity(len(shape)))]
    reads += [Read(o, Access(len(shape), ())) for o in offsets.values()]

    def body(value: Scalar, *starts: Scalar) -> Sequence[Scalar]:
        pairs = zip(offsets, starts, strict=True)
        return [value, *(_index(value, rows[axis], start) for axis, start in pairs)]

    output = Output(op.result.type, access, "none", op.dest)
    return nest(e, shape, reads, [output], body)[0]


def _rows(op: Slice, offsets: Sequence[int]) -> list[Row]:
    """The subscript of each dimension of the whole, over the dimensions of the part."""
    _, part = whole_and_part(op)
    rank, kept = len(shape_of(part)), kept_dims(op)
    strides = integers_of(op.static_strides)
    return [
        constant_row(rank, offset)
        if axis not in kept
        else dim_row(rank, kept[axis], stride, offset)
        for axis, (offset, stride) in enumerate(zip(offsets, strides, strict=True))
    ]


def _offsets(e: Emitter, op: Slice) -> dict[int, SSAValue]:
    """The checked run-time offsets by dimension, tensors of rank 0."""
    whole, _ = whole_and_part(op)
    dynamic = iter(op.offsets)
    result: dict[int, SSAValue] = {}
    rows = zip(
        shape_of(whole),
        integers_of(op.static_offsets),
        integers_of(op.static_sizes),
        integers_of(op.static_strides),
        strict=True,
    )
    for axis, (extent, offset, size, stride) in enumerate(rows):
        if offset != DYNAMIC_INDEX:
            continue
        message = f"{location_text(op)}{op.name}"
        bound = extent - (size - 1) * stride
        checked = e.insert(CheckOffsetOp(next(dynamic), bound, message)).results[0]
        number = e.insert(arith.IndexCastOp(checked, i64)).results[0]
        result[axis] = as_tensor(e, number)
    return result


def _index(place: Scalar, row: Row, start: Scalar | None) -> Scalar:
    """The value of a row, from `start` on."""
    total = _number(place, row.constant)
    for d in row.used:
        factor = _number(place, row.coefficients[d])
        total = _binary(arith.AddiOp, total, _binary(arith.MuliOp, b.index(place, d), factor))
    return total if start is None else _binary(arith.AddiOp, total, start)


def _number(place: Scalar, number: int) -> Scalar:
    op = arith.ConstantOp(IntegerAttr(number, i64))
    return Scalar(place.emitter.insert(op).results[0], place.emitter)


def _binary(op_class: Callable[[SSAValue, SSAValue], Operation], x: Scalar, y: Scalar) -> Scalar:
    return Scalar(x.emitter.insert(op_class(x.ssa, y.ssa)).results[0], x.emitter)


def _check_static(op: Slice) -> None:
    """PassError for run-time sizes or strides."""
    whole, part = whole_and_part(op)
    if op.sizes or op.strides or not (is_static(whole) and is_static(part)):
        raise PassError(f"{op.name}: native code needs sizes and strides as numbers", op)


def _same(x: Scalar) -> Scalar:
    return x


def _cast(e: Emitter, op: tensor.CastOp) -> SSAValue | None:
    """The source, if its type is the result's; PassError for a dynamic extent."""
    require_static_shapes(op)
    return op.source if op.source.type == op.dest.type else None


_RULES: dict[type[Operation], Callable[[Emitter, Any], SSAValue | None]] = {
    tensor.CastOp: _cast,
    tensor.SplatOp: _splat,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.InsertSliceOp: _insert_slice,
}
