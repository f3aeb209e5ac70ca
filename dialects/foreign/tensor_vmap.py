"""Vectorization of the `tensor` ops that change numbers into tensors and back."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.ir import Operation

from gradir.dialects.array.movement import BroadcastToOp, reshaped
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


register_vmap(tensor.ExtractOp, _number)
register_vmap(tensor.FromElementsOp, _number)
register_vmap(tensor.SplatOp, _splat)
