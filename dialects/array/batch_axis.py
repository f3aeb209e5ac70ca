"""Vectorization of ops whose first axis is a batch's: rows join it, as more of its entries."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.base.attributes import text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Value


def vmap_of_batch(batch: Batch) -> Sequence[Value] | None:
    """Rows of operand 0, the batch; the others are weights, which all rows must share."""
    if not batch.has_rows[0] or any(batch.has_rows[1:]) or not _has_batch_axis(batch):
        return None
    return join_rows(batch, {0})


def vmap_of_batches(batch: Batch) -> Sequence[Value] | None:
    """Rows of all operands, each a batch."""
    return join_rows(batch, range(len(batch.operands))) if _has_batch_axis(batch) else None


def _has_batch_axis(batch: Batch) -> bool:
    """Whether the first of several axes is a batch's."""
    has_it = text(batch.op.attributes, "layout", "N").startswith("N")
    return has_it and batch.operand_rank(0) > 1


def join_rows(batch: Batch, batches: Collection[int]) -> Sequence[Value]:
    """The op on some operands whose rows are entries of their first axis, and all results too."""
    operands = [
        _join_axes(batch.with_rows(k)) if k in batches else x for k, x in enumerate(batch.operands)
    ]
    wanted = batch.result_types()
    types = [
        tensor_type([rows * count, *rest], element_of(x.type))
        for x, (rows, count, *rest) in zip(batch.op.results, map(shape_of, wanted), strict=True)
    ]
    joined = batch.same_op(operands, types)
    return [ReshapeOp.on(y, type=t) for y, t in zip(joined, wanted, strict=True)]


def _join_axes(value: Value) -> Value:
    """A value whose first two axes are one."""
    rows, count, *rest = value.shape
    return ReshapeOp.on(value, type=tensor_type([rows * count, *rest], value.element))
