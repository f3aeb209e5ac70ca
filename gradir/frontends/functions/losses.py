"""nn: losses with PyTorch's options that are compositions of ops.

The loss of each element is reduced to its "mean", its "sum", or not ("none"). The losses of ops
with all of PyTorch's options, such as nll_loss, are functions of these ops.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.grad.grad import NoGradOp
from gradir.dialects.nn.activations import LogSoftmaxOp, SoftplusOp
from gradir.dialects.nn.losses import CrossEntropyOp
from gradir.dialects.nn.regression_losses import BceLossOp, BceWithLogitsOp, KlDivOp, L1LossOp
from gradir.frontends.functions.arguments import floating, one_of
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import is_complex_array
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted

REDUCTIONS = ("mean", "sum", "none")


def reduced(name: str, each: Any, reduction: str) -> Tracer:
    """The mean or the sum of losses, or these themselves."""
    one_of(reduction, f"nn.{name}: reduction", REDUCTIONS)
    if reduction == "none":
        return each
    return gnp.mean(each) if reduction == "mean" else gnp.sum(each)


def _unless_mean(reduction: str) -> str | None:
    """A reduction as an attribute, absent where it is the default."""
    return None if reduction == "mean" else reduction


def relu_of(x: Any) -> Any:
    """maximum(x, 0) with derivative 0 at 0."""
    return gnp.where(x <= 0, 0, x)


def cross_entropy(
    logits: Any, targets: Any, weights: Any = None, reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float | None = None,
) -> Tracer:  # fmt: skip
    """-weights[t] * log_softmax(logits)[t] for each target t, the classes along axis 1 of logits
    [C], [N, C] or [N, C, d...].

    targets: integers without the axis of classes, where `ignore_index` (-100) counts nothing
    (the op is nn.cross_entropy), or floats shaped as logits, shares of the classes: then the mean
    is over the examples. label_smoothing: the share of a target that is spread over all classes.
    """
    shares = lifted(targets)
    if not is_float(element(shares)):
        return apply(CrossEntropyOp, {
            "logits": logits, "targets": targets, "weights": weights,
            "reduction": _unless_mean(reduction),
            "ignore_index": ignore_index, "label_smoothing": label_smoothing,
        })  # fmt: skip
    x = floating(logits)
    if x.ndim and shares.shape == (*x.shape[:1], *x.shape[2:])[x.ndim == 1 :]:
        raise refusal(
            f"nn.cross_entropy: targets that are class numbers must be integers, got "
            f"{type_text(shares.type)}; convert them by targets.astype(int)"
        )
    if shares.shape != x.shape or not x.ndim:
        raise refusal(f"nn.cross_entropy: shares must have the shape of {x!r}, got {shares!r}")
    if label_smoothing is not None and not 0 <= label_smoothing <= 1:
        raise refusal(f"nn.cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing}")
    axis = min(x.ndim - 1, 1)
    classes = x.shape[axis]
    if label_smoothing:
        shares = shares * (1 - label_smoothing) + label_smoothing / classes
    if weights is not None:
        line = [classes if d == axis else 1 for d in range(x.ndim)]
        shares = shares * gnp.reshape(weights, line)
    each = -gnp.sum(apply(LogSoftmaxOp, {"x": x, "axis": axis}) * shares, axis=axis)
    return reduced("cross_entropy", each, reduction)


def l1_loss(x: Any, target: Any, reduction: str = "mean") -> Tracer:
    """|x - target|; of complex numbers, of both or one, too.   vjp: that of abs

    The op, of real numbers, is nn.l1_loss.
    """
    if not any(is_complex_array(lifted(each)) for each in (x, target)):
        return apply(L1LossOp, {"x": x, "target": target, "reduction": _unless_mean(reduction)})
    x, target = floating(x), floating(target)
    if x.shape != target.shape:
        raise refusal(f"nn.l1_loss: target must have the shape of {x!r}, got {target!r}")
    return reduced("l1_loss", gnp.abs(x - target), reduction)


def bce_loss(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tracer:
    """-target * log(x) - (1 - target) * log(1 - x), logarithms at least -100; x in [0, 1].

    weight: a factor of each element, which broadcasts. The op is nn.bce_loss.
    """
    return _weighted("bce_loss", BceLossOp, x, target, weight, reduction)


def _weighted(name: str, op: Any, x: Any, target: Any, weight: Any, reduction: str) -> Tracer:
    inner = reduction if weight is None else "none"
    each: Any = apply(op, {"x": x, "target": target, "reduction": _unless_mean(inner)})
    return each if weight is None else reduced(name, each * weight, reduction)


def bce_with_logits(
    x: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Tracer:
    """bce_loss(sigmoid(x), target) without overflow; `pos_weight` is a factor of the target's term.

    weight: a factor of each element. Both broadcast. The op, without pos_weight, is
    nn.bce_with_logits.
    """
    if pos_weight is None:
        return _weighted("bce_with_logits", BceWithLogitsOp, x, target, weight, reduction)
    x, target = floating(x), floating(target)
    if x.shape != target.shape:
        raise refusal(f"nn.bce_with_logits: target must have the shape of {x!r}, got {target!r}")
    factor = 1 + (lifted(pos_weight) - 1) * target
    each = (1 - target) * x + factor * apply(SoftplusOp, {"x": -x})
    return reduced("bce_with_logits", each if weight is None else each * weight, reduction)


def kl_div(x: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Tracer:
    """target * (log(target) - x): x log probabilities, target probabilities, 0 where it is 0.

    log_target: the target is logarithms too. reduction: "batchmean" divides the sum by the first
    extent. The op, of probabilities, is nn.kl_div.
    """
    one_of(reduction, "nn.kl_div: reduction", (*REDUCTIONS, "batchmean"))
    x = floating(x)
    if reduction != "batchmean":
        return _kl_div(x, target, reduction, log_target)
    other = lifted(target)
    # arrays of two types are left as they are, and refused so
    pair = (wide(x), wide(other)) if element(other) == element(x) else (x, other)
    total = _kl_div(*pair, "sum", log_target)
    return converted(total / x.shape[0] if x.ndim else total, element(x))


def _kl_div(x: Any, target: Any, reduction: str, log_target: bool) -> Any:
    if log_target:
        target = floating(target)
        return reduced("kl_div", gnp.exp(target) * (target - x), reduction)
    return apply(KlDivOp, {"x": x, "target": target, "reduction": _unless_mean(reduction)})


def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tracer:
    """(log(v) + (x - target) ** 2 / v) / 2, v = max(var, eps); no derivative through the max.

    var: shaped as x, or 1 in its last axis, or without it, or a number. full: + log(2 * pi) / 2.
    """
    x, v = floating(x), floating(var)
    if v.ndim and v.ndim == x.ndim - 1 and v.shape == x.shape[:-1]:
        v = gnp.expand_dims(v, -1)
    # v + (eps - v), the latter a constant: var has v's derivative
    v = v + emit_one(NoGradOp, gnp.where(v < eps, eps - v, 0))
    each = (gnp.log(v) + gnp.square(x - target) / v) / 2
    return reduced("gaussian_nll_loss", each + log(2 * pi) / 2 if full else each, reduction)


def poisson_nll_loss(
    x: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
    reduction: str = "mean",
) -> Tracer:  # fmt: skip
    """exp(x) - target * x, or x - target * log(x + eps) without `log_input`.

    full: + Stirling's approximation of log(target!) where target > 1.
    """
    x, target = floating(x), floating(target)
    each = gnp.exp(x) - target * x if log_input else x - target * gnp.log(x + eps)
    if full:
        large = gnp.where(target > 1, target, 1)
        stirling = large * gnp.log(large) - large + gnp.log(2 * pi * large) / 2
        each = each + gnp.where(target > 1, stirling, 0)
    return reduced("poisson_nll_loss", each, reduction)


def soft_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Tracer:
    """log(1 + exp(-target * x)), targets 1 and -1."""
    each = apply(SoftplusOp, {"x": -(floating(target) * floating(x))})
    return reduced("soft_margin_loss", each, reduction)


def multilabel_soft_margin_loss(
    x: Any, target: Any, weights: Any = None, reduction: str = "mean"
) -> Tracer:
    """The mean of bce_with_logits over the classes, the last axis; `weights` are their factors."""
    each: Any = apply(BceWithLogitsOp, {"x": x, "target": target, "reduction": "none"})
    each = each if weights is None else each * weights
    return reduced("multilabel_soft_margin_loss", gnp.mean(each, axis=-1), reduction)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    cross_entropy, l1_loss, bce_loss, bce_with_logits, kl_div, gaussian_nll_loss, poisson_nll_loss,
    soft_margin_loss, multilabel_soft_margin_loss,
)  # fmt: skip
