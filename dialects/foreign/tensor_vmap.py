"""Vectorization of `tensor` ops: numbers into tensors and back, slices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation

from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.op_rules import register_vmap
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.dialects.base.value import Value


def _number(op: Operation, batch: Batch) -> Sequence[Value] | None:
    """A tensor of rank 0 and its number have the same rows."""
    is_one = not any(shape_of(v.type) for v in (*op.operands, *op.results) if is_tensor(v.type))
    return [batch.operands[0]] if is_one and len(batch.operands) == 1 else None


def _splat(op: tensor.SplatOp, batch: Batch) -> Sequence[Value]:
    [x], [type_] = batch.operands, batch.result_types()
    column = reshaped(x, [batch.size, *[1] * (len(shape_of(type_)) - 1)])
    return [BroadcastToOp.on(column, type=type_)]


Slice = tensor.ExtractSliceOp | tensor.InsertSliceOp


def _slice(op: Slice, batch: Batch) -> Sequence[Value] | None:
    """The slice of all rows, where its places are the same in each."""
    tensors = 2 if isinstance(op, tensor.InsertSliceOp) else 1
    if any(batch.has_rows[tensors:]):
        return None
    [type_] = batch.result_types()
    changed = {
        f"static_{name}": DenseArrayBase.from_list(i64, [first, *integers_of(given)])
        for name, first, given in (
            ("offsets", 0, op.static_offsets),
            ("sizes", batch.size, op.static_sizes),
            ("strides", 1, op.static_strides),
        )
    }
    operands = [batch.with_rows(k) for k in range(tensors)] + [*batch.operands[tensors:]]
    made = type(op).create(
        operands=[o.ssa for o in operands],
        result_types=[type_],
        attributes=op.attributes,
        properties=op.properties | changed,
    )
    emitter = batch.operands[0].emitter
    return [emitter.value(emitter.insert(made).results[0])]


register_vmap(tensor.ExtractOp, _number)
register_vmap(tensor.ExtractSliceOp, _slice)
register_vmap(tensor.InsertSliceOp, _slice)
register_vmap(tensor.FromElementsOp, _number)
register_vmap(tensor.SplatOp, _splat)
