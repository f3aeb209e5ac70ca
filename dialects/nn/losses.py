"""nn: losses, with PyTorch's semantics and `reduction = "mean" | "sum" | "none"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.indexing import TakeAlongAxisOp
from gradir.dialects.array.movement import reshaped
from gradir.dialects.array.reductions import SumOp, narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.value import Value
from gradir.dialects.grad.nll import (
    REDUCTIONS,
    NllForm,
    NllLossBackwardOp,
    TargetRows,
    along_classes,
    checked_targets,
    class_axis,
    class_weights,
    loss_type,
    verify_nll,
    verify_settings,
    wide_element,
)
from gradir.dialects.grad.saturation import SoftmaxComplementOp, numpy_log_softmax
from gradir.dialects.nn.activations import (
    LogSoftmaxOp,
    SoftmaxOp,
)


def _infer(operands: Sequence[Attribute], attributes: Attributes, what: str) -> list[Attribute]:
    verify_nll(operands[0], operands[1], operands[2] if len(operands) > 2 else None, what)
    verify_settings(attributes)
    reduction = text(attributes, "reduction", "mean", REDUCTIONS)
    return [loss_type(operands[0], reduction)]


def _vmap_one_target(batch: Batch) -> Sequence[Value] | None:
    """One target per row, and none left out: rows are a batch."""
    plain = {"ignore_index", "label_smoothing"}.isdisjoint(batch.op.attributes)
    if batch.operand_rank(0) != 1 or not plain or len(batch.operands) > 2:
        return None
    return batch.in_front(reduction="none")


@irdl_op_definition
class NllLossOp(NllForm):
    """Negative log likelihood: -weights[t] * log_probs[n, t] for each target t.

    log_probs [C], [N, C] or [N, C, d...], targets the same without C, weights [C] or absent.
    Targets equal to `ignore_index` (any integer) count nothing; others outside of [0, C) are an
    error at run time. "mean" divides by the sum of the weights of the counted targets: nan of
    none, with gradient 0. vjp: grad.nll_loss_backward(ct, targets, weights)
    """

    name = "nn.nll_loss"

    log_probs = operand_def()
    targets = operand_def()
    weights = opt_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return _infer(operands, attributes, "log_probs")

    def vjp(self, ct: Value, y: Value, log_probs: Value, *others: Value) -> Cotangents:
        back = NllLossBackwardOp.on(ct, *others, type=log_probs.type, **self.settings)
        return [back, None, None][: 1 + len(others)]

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return _vmap_one_target(batch)

    def decompose(self, log_probs: Value, targets: Value, weights: Value | None = None) -> Value:
        shape, wide = log_probs.shape, wide_element(log_probs.element)
        axis = class_axis(shape)
        rows = TargetRows(self, targets, weights, wide, shape[axis])
        lp = widened(log_probs)
        column = [1 if d == axis else n for d, n in enumerate(shape)]
        picked = TakeAlongAxisOp.on(lp, reshaped(rows.targets, column), axis=axis)
        each = reshaped(picked, targets.shape) * rows.weights * (self.smoothing - 1)
        if self.smoothing:
            smooth = lp if weights is None else lp * class_weights(weights, shape, wide)
            each -= SumOp.on(smooth, axis=axis) * (self.smoothing / shape[axis])
        each = WhereOp.on(rows.valid, each, each.full(0))
        if self.reduction == "none":
            return narrowed(each, self.y.type)
        total = SumOp.on(each)
        mean = total / rows.total_weight() if self.reduction == "mean" else total
        return narrowed(mean, self.y.type)

    def numpy(self, log_probs: Any, targets: Any, weights: Any = None) -> Any:
        axis = class_axis(log_probs.shape)
        classes, valid = log_probs.shape[axis], targets != self.ignore_index
        safe, picked = checked_targets(targets, valid, weights, classes, log_probs.dtype)
        taken = np.take_along_axis(log_probs, np.expand_dims(safe, axis), axis)
        each = -(1 - self.smoothing) * np.squeeze(taken, axis) * picked
        if self.smoothing:
            line = [-1 if d == axis else 1 for d in range(log_probs.ndim)]
            scaled = log_probs if weights is None else log_probs * weights.reshape(line)
            each = each - self.smoothing / classes * np.sum(scaled, axis)
        each = np.where(valid, each, 0)
        if self.reduction == "none":
            return each
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sum(each) / (np.sum(picked) if self.reduction == "mean" else 1)


@irdl_op_definition
class CrossEntropyOp(NllForm):
    """nll_loss(log_softmax(logits), targets, weights), with `label_smoothing` s in [0, 1].

    Shapes as in nn.nll_loss. With smoothing, a share s of each target is spread over all classes.
    vjp: g - p * sum(g) along the classes as g * (1 - p) - p * (sum(g) - g), p = softmax(logits),
    1 - p by grad.softmax_complement, g = nll_loss_backward(ct, ...)
    """

    name = "nn.cross_entropy"

    logits = operand_def()
    targets = operand_def()
    weights = opt_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return _infer(operands, attributes, "logits")

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        if place or masks[0] is None or self.reduction != "none":
            return None
        return along_classes(masks[0], shape_of(self.logits.type))

    def vjp(self, ct: Value, y: Value, logits: Value, *others: Value) -> Cotangents:
        axis = class_axis(logits.shape)
        g = NllLossBackwardOp.on(ct, *others, type=logits.type, **self.settings)
        total = along_classes(self.class_sums(ct, logits.shape, *others), logits.shape)
        # g - p * total, where p may be nearly 1 and g nearly total
        p, rest = (kind.on(logits, axis=axis) for kind in (SoftmaxOp, SoftmaxComplementOp))
        to_logits = g * rest - p * (total - g)
        return [to_logits, None, None][: 1 + len(others)]

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return _vmap_one_target(batch)

    def decompose(self, logits: Value, *others: Value) -> Value:
        wide = widened(logits)
        log_probs = LogSoftmaxOp.on(wide, axis=class_axis(logits.shape))
        rest = [narrowed(o, o.type) for o in others]
        if len(rest) > 1:
            rest[1] = widened(rest[1])
        loss = NllLossOp.on(log_probs, *rest, **self.settings)
        return narrowed(loss, self.y.type)

    def numpy(self, logits: Any, *others: Any) -> Any:
        axis = class_axis(logits.shape)
        with np.errstate(invalid="ignore"):
            log_probs = numpy_log_softmax(logits, axis)
        return NllLossOp.numpy(cast(Any, self), log_probs, *others)


OPS: tuple[type[TensorOp], ...] = (NllLossOp, CrossEntropyOp)
