"""Rules of vectorization of nn and grad ops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gradir.dialects.array.contraction import MatmulOp
from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp, transposed
from gradir.dialects.array.reductions import MeanOp, SumOp
from gradir.dialects.base.attributes import integers, text
from gradir.dialects.base.shapes import element_of, is_bool, shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Value
from gradir.dialects.batching.arrays import along_axis, in_front
from gradir.dialects.batching.rows import Batched, joined_axes, register
from gradir.dialects.building.kinds import SameValueOp
from gradir.dialects.grad import accumulation, attention, centering, dropout, saturation
from gradir.dialects.grad.grad import TakeAlongAxisBackwardOp
from gradir.dialects.nn import (
    activations,
    embedding,
    gated,
    layers,
    losses,
    norms,
    recurrent,
    resize,
)
from gradir.dialects.nn import attention as nn_attention
from gradir.dialects.nn import regression_losses as regression
from gradir.dialects.spatial import convolution, pooling, resampling, transposed_convolution


def linear(one: Batched) -> Sequence[Value] | None:
    """Rows of x are more of its leading axes; layers with rows are products of matrices."""
    if not any(one.rows[1:]):
        return one.same(one.operands)
    x, weight = one.lifted(0), one.lifted(1)
    [wanted] = one.types()
    lines = tensor_type([one.size, prod(x.shape[1:-1]), x.shape[-1]], x.element)
    y = MatmulOp.on(ReshapeOp.on(x, type=lines), transposed(weight))
    if len(one.operands) > 2:
        line = tensor_type([one.size, 1, y.shape[-1]], y.element)
        y = y + BroadcastToOp.on(ReshapeOp.on(one.lifted(2), type=line), type=y.type)
    return [ReshapeOp.on(y, type=wanted)]


def over_last_axes(one: Batched) -> Sequence[Value] | None:
    """A norm of x with rows, with weights that all rows share."""
    if any(one.rows[1:]):
        return None
    axes = integers(one.op.attributes, "axes", [-1]) or []
    return one.same(one.operands, {"axes": [a if a < 0 else a - one.rank(0) for a in axes]})


def rows_of_batch(one: Batched) -> Sequence[Value] | None:
    """Rows join the first axis, that of a batch; weights must be shared by all rows."""
    weights = one.rows[1:]
    if not one.rows[0] or any(weights) or not _has_batch(one):
        return None
    return _joined(one, {0})


def rows_of_batches(one: Batched) -> Sequence[Value] | None:
    """The same, where all operands have an axis of the batch."""
    return _joined(one, set(range(len(one.operands)))) if _has_batch(one) else None


def resampled(one: Batched) -> Sequence[Value] | None:
    """An image without a batch is one of a batch of rows."""
    if one.rank(0) == 4:
        return rows_of_batches(one)
    return in_front(one) if one.attribute("layout") is None else None


def _has_batch(one: Batched) -> bool:
    """Whether the first of several axes is that of a batch."""
    return one.rank(0) > 1 and text(one.op.attributes, "layout", "N").startswith("N")


def _joined(one: Batched, batched: set[int]) -> Sequence[Value]:
    operands = [
        joined_axes(one.lifted(k)) if k in batched else x for k, x in enumerate(one.operands)
    ]
    wanted = one.types()
    types = [
        tensor_type([rows * count, *rest], element_of(x.type))
        for x, (rows, count, *rest) in zip(one.op.results, map(shape_of, wanted), strict=True)
    ]
    found = one.same(operands, types=types)
    return [ReshapeOp.on(y, type=t) for y, t in zip(found, wanted, strict=True)]


def cell(one: Batched) -> Sequence[Value] | None:
    """Inputs and states have an axis of the batch; weights must be shared by all rows."""
    states = len(one.op.results) + 1
    shared = not any(one.rows[states:]) and one.rank(0) == 2
    return _joined(one, set(range(states))) if shared else None


def looked_up(one: Batched) -> Sequence[Value] | None:
    return None if one.rows[0] else one.same(one.operands)


def regression_loss(one: Batched) -> Sequence[Value]:
    """The losses of all elements, reduced in each row."""
    how = text(one.op.attributes, "reduction", "mean")
    x, target = one.all_lifted()
    [each] = one.same([x, target], {"reduction": "none"}, [x.type])
    axes = list(range(1, len(x.shape)))
    if how == "none":
        return [each]
    return [(SumOp if how == "sum" else MeanOp).on(each, axis=axes)]


def class_loss(one: Batched) -> Sequence[Value] | None:
    """One target per row, none of which is left out: rows are a batch."""
    plain = {"ignore_index", "label_smoothing"}.isdisjoint(one.op.attributes)
    if one.rank(0) != 1 or not plain or len(one.operands) > 2:
        return None
    return one.same(one.all_lifted(), {"reduction": "none"})


def added_slice(one: Batched) -> Sequence[Value]:
    op = one.op
    assert isinstance(op, accumulation.AccumulateSliceOp)
    return one.same(one.all_lifted(), {"start": [0, *op.start]})


def attended(one: Batched) -> Sequence[Value]:
    """Rows are one more leading axis; a mask gets axes of extent 1 between its rows and its own."""
    wanted, rank = one.types(), max(one.rank(k) for k in range(len(one.operands)))
    operands = [_with_axes(x, rank) for x in one.all_lifted()]
    kinds = [x.type for x in operands if not is_bool(x.element)][2:]
    types = kinds if isinstance(one.op, attention.AttentionBackwardOp) else wanted
    found = one.same(operands, types=types)
    return [ReshapeOp.on(y, type=t) for y, t in zip(found, wanted, strict=True)]


def _with_axes(x: Value, rank: int) -> Value:
    """x with rows, and axes of extent 1 behind these so that `rank` axes follow."""
    size, *rest = x.shape
    shape = [size, *[1] * (rank - len(rest)), *rest]
    return x if shape == [*x.shape] else ReshapeOp.on(x, type=tensor_type(shape, x.element))


register(linear, layers.LinearOp)
register(along_axis, gated.GluOp, TakeAlongAxisBackwardOp)
register(in_front, SameValueOp, dropout.DropOp)
register(over_last_axes, norms.LayerNormOp, norms.RmsNormOp)
register(looked_up, embedding.EmbeddingOp)
register(regression_loss, regression.RegressionLossOp)
register(class_loss, losses.CrossEntropyOp, losses.NllLossOp)
register(added_slice, accumulation.AccumulateSliceOp)
register(cell, recurrent.CellOp)
register(attended, nn_attention.AttentionOp, attention.AttentionBackwardOp)
register(
    rows_of_batch,
    *(convolution.ConvOp, convolution.InputBackwardOp, transposed_convolution.ConvTransposeOp),
    *(norms.GroupNormOp, norms.InstanceNormOp, gated.PreluOp, resize.PixelShuffleOp),
)
register(rows_of_batches, pooling.SlidingWindowOp)
register(resampled, resampling.ResampleOp)
register(along_axis, activations.SoftmaxOp, activations.LogSoftmaxOp)
register(along_axis, saturation.SoftmaxComplementOp, centering.LineOp)
