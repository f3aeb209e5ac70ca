"""Derivatives of the `tensor` ops that read and write elements and slices.

extract and insert, extract_slice and insert_slice, from_elements and splat are linear, and each
is the transpose of another of them; cast is its own. empty and dim are inactive. An active value
has a static shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.array.reductions import SumOp
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import (
    register_addition,
    register_inactive,
    register_simplification,
    register_vjp,
)
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.grad.grad import accumulated, zero


def _emitted(emitter: Emitter, op: Operation) -> Value:
    return emitter.value(emitter.insert(op).results[0])


def _extract(
    op: tensor.ExtractOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """ct in a tensor of zeros."""
    ct, (source, *indices) = _only(cts), operands
    zeros = zero(source.type, ct.emitter)
    placed = tensor.InsertOp(ct.ssa, zeros.ssa, [i.ssa for i in indices])
    return [_emitted(ct.emitter, placed), *(None for _ in indices)]


def _insert(
    op: tensor.InsertOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """The element of ct for the scalar, ct without it for the tensor."""
    ct, (scalar, _, *indices) = _only(cts), operands
    places = [i.ssa for i in indices]
    picked = tensor.ExtractOp(ct.ssa, places, scalar.ssa.type)
    rest = tensor.InsertOp(zero(scalar.ssa.type, ct.emitter).ssa, ct.ssa, places)
    made = [_emitted(ct.emitter, each) for each in (picked, rest)]
    return [*made, *(None for _ in indices)]


def _extract_slice(
    op: tensor.ExtractSliceOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """ct in a tensor of zeros."""
    ct, (source, *places) = _only(cts), operands
    zeros = zero(source.type, ct.emitter)
    return [_inserted(op, ct, zeros, places), *(None for _ in places)]


def _insert_slice(
    op: tensor.InsertSliceOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """The slice of ct for the source, ct with zeros there for the destination."""
    ct, (source, _, *places) = _only(cts), operands
    picked = _extracted(op, ct, source.type, places)
    rest = _inserted(op, zero(source.type, ct.emitter), ct, places)
    return [picked, rest, *(None for _ in places)]


def _extracted(
    op: tensor.InsertSliceOp, source: Value, type_: Attribute, places: Sequence[Value]
) -> Value:
    """The slice of `op` out of `source`."""
    made = tensor.ExtractSliceOp.create(
        operands=[source.ssa, *(p.ssa for p in places)],
        result_types=[type_],
        properties=_slice_properties(op, tensors=1),
    )
    return _emitted(source.emitter, made)


def _inserted(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp,
    source: Value,
    destination: Value,
    places: Sequence[Value],
) -> Value:
    """`source` in `destination` where the slice of `op` is."""
    made = tensor.InsertSliceOp.create(
        operands=[source.ssa, destination.ssa, *(p.ssa for p in places)],
        result_types=[destination.type],
        properties=_slice_properties(op, tensors=2),
    )
    return _emitted(source.emitter, made)


def _slice_properties(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, tensors: int
) -> dict[str, Attribute]:
    """The slice of `op` as properties of an op with `tensors` operands before its offsets."""
    counts = [len(op.offsets), len(op.sizes), len(op.strides)]
    segments = DenseArrayBase.from_list(i32, [*[1] * tensors, *counts])
    return {**op.properties, "operandSegmentSizes": segments}


def _from_elements(
    op: tensor.FromElementsOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """The elements of ct."""
    ct = _only(cts)
    shape = shape_of(op.result.type)
    constants: dict[int, SSAValue] = {}

    def index(number: int) -> SSAValue:
        if number not in constants:
            made = arith.ConstantOp(IntegerAttr(number, IndexType()))
            constants[number] = ct.emitter.insert(made).result
        return constants[number]

    def element(count: int) -> Value:
        places: list[SSAValue] = []
        for d, extent in enumerate(shape):
            places.append(index(count // prod(shape[d + 1 :]) % extent))
        return _emitted(ct.emitter, tensor.ExtractOp(ct.ssa, places, ct.element))

    return [element(k) for k in range(len(operands))]


def _splat(
    op: tensor.SplatOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """The sum of ct."""
    ct = _only(cts)
    total = SumOp.on(ct)
    rest = operands[1:]
    return [
        _emitted(ct.emitter, tensor.ExtractOp(total.ssa, [], ct.element)),
        *(None for _ in rest),
    ]


def _cast(
    op: tensor.CastOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
) -> Cotangents:
    """ct, of the type of the operand."""
    ct, (source,) = _only(cts), operands
    return [_emitted(ct.emitter, tensor.CastOp(ct.ssa, source.type))]


def _simplify_cast(op: tensor.CastOp, source: Value) -> Value | None:
    return source if source.type == op.dest.type else None


# Sums with a tensor written into zeros.


def _insert_added(op: tensor.InsertOp, base: Value, scalar: Scalar, _: Value, *at: Value) -> Value:
    places = [i.ssa for i in at]
    old = _emitted(base.emitter, tensor.ExtractOp(base.ssa, places, scalar.ssa.type))
    return _emitted(base.emitter, tensor.InsertOp((old + scalar).ssa, base.ssa, places))


def _insert_slice_added(
    op: tensor.InsertSliceOp, base: Value, source: Value, _: Value, *places: Value
) -> Value:
    old = _extracted(op, base, source.type, places)
    return _inserted(op, accumulated([old, source]), base, places)


def _only(cts: Cotangents) -> Value:
    (ct,) = cts
    assert ct is not None
    return ct


register_vjp(tensor.ExtractOp, _extract)
register_vjp(tensor.InsertOp, _insert)
register_vjp(tensor.ExtractSliceOp, _extract_slice)
register_vjp(tensor.InsertSliceOp, _insert_slice)
register_vjp(tensor.FromElementsOp, _from_elements)
register_vjp(tensor.SplatOp, _splat)
register_vjp(tensor.CastOp, _cast)
register_simplification(tensor.CastOp, _simplify_cast)
register_addition(tensor.InsertOp, 1, _insert_added)
register_addition(tensor.InsertSliceOp, 1, _insert_slice_added)
register_inactive(tensor.EmptyOp)
register_inactive(tensor.DimOp)
