"""The supports of `tensor` ops that read and write elements and slices: the same ops on bools.

Zeros beside values without a support, as a write leaves them in its destination's cotangent, have
none: loops over numbers in tables carry no table of bools for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import tensor
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.array.supports import bools_of
from gradir.dialects.base.op_rules import register_support
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.support import NOWHERE, Mask, Supports, made_of
from gradir.dialects.base.value import Emitter, Value

# The operands with the elements of the result, by their number; of from_elements it is all.
_PARTS: dict[type[Operation], int] = {
    tensor.ExtractOp: 1,
    tensor.InsertOp: 2,
    tensor.ExtractSliceOp: 1,
    tensor.InsertSliceOp: 2,
    tensor.SplatOp: 1,
    tensor.CastOp: 1,
}


def _support(op: Operation, number: int, of: Supports) -> Mask | None:
    parts = op.operands[: _PARTS.get(type(op))]
    if any(is_tensor(value.type) and not is_static(value.type) for value in (*parts, *op.results)):
        return None
    masks = {part: of.of(part) for part in parts}
    known = [mask for mask in masks.values() if mask is not None and mask is not NOWHERE]
    if not known:
        return None if None in masks.values() else NOWHERE
    return made_of(known, lambda emitter: _on_bools(op, masks, emitter))


def _on_bools(op: Operation, masks: Mapping[SSAValue, Mask | None], emitter: Emitter) -> Value:
    """The op on the bools of its operands."""
    bools = {part: bools_of(mask, part.type, emitter).ssa for part, mask in masks.items()}
    made = type(op).create(
        operands=[bools.get(operand, operand) for operand in op.operands],
        result_types=[_of_bools(op.results[0].type)],
        properties=op.properties,
    )
    return emitter.value(emitter.insert(made).results[0])


def _of_bools(type_: Attribute) -> Attribute:
    return tensor_type(shape_of(type_), i1) if is_tensor(type_) else i1


for _op in (*_PARTS, tensor.FromElementsOp):
    register_support(_op, _support)
