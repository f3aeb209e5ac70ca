"""nn: losses that are zero beyond a margin, as PyTorch has them. Slopes at the margin are 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.distances import pairwise_distance
from gradir.frontends.functions.losses import reduced, relu_of
from gradir.frontends.functions.promotion import converted, result_element
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

# Below this, squared norms in cosine_embedding_loss are larger by it.
_LEAST_SQUARE = 1e-12


def hinge_embedding_loss(
    x: Any, target: Any, margin: float = 1.0, reduction: str = "mean"
) -> Tracer:
    """x where the target is 1, max(0, margin - x) where it is -1; both of other targets."""
    x, target = floating(x), lifted(target)
    far = gnp.where(target != 1, relu_of(margin - x), 0)
    near = gnp.where(target != -1, x, 0)
    return reduced("hinge_embedding_loss", far + near, reduction)


def cosine_embedding_loss(
    x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tracer:
    """1 - c where the target is 1, max(0, c - margin) where it is -1; 0 of other targets.

    c is the cosine of x1 and x2 along the last axis: [N, D] with targets [N], or [D] and [].
    """
    x1, x2, target = floating(x1), floating(x2), lifted(target)
    if x1.ndim != target.ndim + 1:
        raise refusal(f"nn.cosine_embedding_loss: a target for each row expected, got {target!r}")
    kind = result_element([x1, x2])[0]
    x1, x2 = wide(x1), wide(x2)
    squares = [gnp.sum(gnp.square(x), axis=-1) + _LEAST_SQUARE for x in (x1, x2)]
    cosine = gnp.sum(x1 * x2, axis=-1) / gnp.sqrt(squares[0] * squares[1])
    each = gnp.where(target == -1, relu_of(cosine - margin), 0)
    each = gnp.where(target == 1, 1 - cosine, each)
    return converted(reduced("cosine_embedding_loss", each, reduction), kind)


def margin_ranking_loss(
    x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tracer:
    """max(0, margin - target * (x1 - x2))."""
    each = relu_of(margin - lifted(target) * (floating(x1) - floating(x2)))
    return reduced("margin_ranking_loss", each, reduction)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: str = "mean",
) -> Tracer:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d = pairwise_distance.

    swap: in place of d(anchor, negative), the smaller of it and d(positive, negative).
    """

    def distance(x1: Any, x2: Any) -> Tracer:
        return pairwise_distance(x1, x2, p, eps)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance, margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any,
    distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Tracer:  # fmt: skip
    """triplet_margin_loss with a distance of one's own; pairwise_distance where None."""
    distance = distance_function or pairwise_distance
    anchor, positive, negative = (lifted(x) for x in (anchor, positive, negative))
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = gnp.minimum(far, distance(positive, negative))
    each = relu_of(near - far + margin)
    return reduced("triplet_margin_with_distance_loss", each, reduction)


def _rows(name: str, x: Any, target: Any) -> tuple[Any, Any, bool]:
    """x [N, C] and its targets with a first axis, and whether both had none."""
    x, target = floating(x), lifted(target)
    if not x.ndim and target.ndim < 2:
        x, target = x[None], gnp.reshape(target, () if name == "multi_margin_loss" else (1,))
    if x.ndim not in (1, 2):
        raise refusal(f"nn.{name}: x must be [N, C] or [C], got {x!r}")
    single = x.ndim == 1
    if single and target.shape == (1,) and name == "multi_margin_loss":
        target = target[0]
    return (x[None], target[None], True) if single else (x, target, False)


def multi_margin_loss(
    x: Any, target: Any, p: int = 1, margin: float = 1.0, weights: Any = None,
    reduction: str = "mean",
) -> Tracer:  # fmt: skip
    """The mean over the classes i of max(0, margin - x[t] + x[i]) ** p, the target t left out.

    x [N, C] or [C], integers [N] or []; weights [C] are factors w[t] of the targets' terms.
    """
    if p not in (1, 2):
        raise refusal(f"nn.multi_margin_loss: p must be 1 or 2, got {p!r}")
    x, target, single = _rows("multi_margin_loss", x, target)
    if target.shape != x.shape[:1]:
        raise refusal(f"nn.multi_margin_loss: a target for each row expected, got {target!r}")
    places = gnp.expand_dims(target, 1)
    each = relu_of(margin - gnp.take_along_axis(x, places, 1) + x)
    each = each if p == 1 else gnp.square(each)
    each = gnp.where(gnp.arange(x.shape[1]) == places, 0, each)
    if weights is not None:
        each = each * gnp.expand_dims(gnp.take(weights, target, 0), 1)
    each = gnp.mean(each, axis=1)
    return reduced("multi_margin_loss", each[0] if single else each, reduction)


def multilabel_margin_loss(x: Any, target: Any, reduction: str = "mean") -> Tracer:
    """The sum over the targets t and the other classes i of max(0, 1 - x[t] + x[i]), / classes.

    x and the integers [N, C] or [C]: the targets of a row are those before its first -1.
    """
    x, target, single = _rows("multilabel_margin_loss", x, target)
    if target.shape != x.shape:
        raise refusal(f"nn.multilabel_margin_loss: targets must be shaped as x, got {target!r}")
    ended = gnp.cumulative_sum(gnp.astype(target < 0, "int64"), axis=1) > 0
    safe = gnp.where(ended, 0, target)
    classes = gnp.arange(x.shape[1])
    hits = (gnp.expand_dims(safe, 2) == classes) & ~gnp.expand_dims(ended, 2)
    is_target = gnp.any(hits, axis=1)
    picked = gnp.expand_dims(gnp.take_along_axis(x, safe, 1), 2)
    counts = ~gnp.expand_dims(ended, 2) & ~gnp.expand_dims(is_target, 1)
    each = gnp.where(counts, relu_of(1 - picked + gnp.expand_dims(x, 1)), 0)
    each = converted(gnp.sum(wide(each), axis=(1, 2)) / x.shape[1], element(x))
    return reduced("multilabel_margin_loss", each[0] if single else each, reduction)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    hinge_embedding_loss, cosine_embedding_loss, margin_ranking_loss, triplet_margin_loss,
    triplet_margin_with_distance_loss, multi_margin_loss, multilabel_margin_loss,
)  # fmt: skip
