"""torch.nn.functional's losses, as functions of gradir.nn."""

from __future__ import annotations

from typing import Any

import numpy as np
from opinfo_bind import Function, bound, torch

import gradir.numpy as gnp
from gradir import nn


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    return nn.cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing or None)


def linear_cross_entropy(
    x: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    reduction: str = "mean",
    options: Any = None,
    **k: Any,
) -> Any:
    y = gnp.tensordot(x, linear_weight, ([-1], [-1]))
    return cross_entropy(
        y if linear_bias is None else y + linear_bias, target, reduction=reduction, **k
    )


def nll_loss(
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    return nn.nll_loss(x, target, weight, reduction=reduction, ignore_index=ignore_index)


def poisson(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    return nn.poisson_nll_loss(x, target, log_input, full, eps, reduction)


def ctc(
    x: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    lengths = [np.asarray(n) for n in (input_lengths, target_lengths)]
    # torch's derivative holds only of normalized probabilities
    return nn.ctc_loss(
        nn.log_softmax(x, axis=-1),
        targets,
        *lengths,
        blank=blank,
        reduction=reduction,
        zero_infinity=zero_infinity,
    )


def triplet(function: Function) -> Function:
    def wrapper(
        a: Any,
        p: Any,
        n: Any,
        *,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
        **more: Any,
    ) -> Any:
        if "distance_function" in more and more.pop("distance_function") is not None:
            # torch's own function; the samples have the default and this one
            more["distance_function"] = nn.pairwise_distance
        return function(a, p, n, margin=margin, swap=swap, reduction=reduction, **more)

    return wrapper


def loss(name: str, torch_extra: str = "", **renamed: str) -> Function:
    """A loss with its options by name."""
    return bound(getattr(nn, name), f"x target | {torch_extra} reduction", **renamed)


LOSSES: dict[str, Function | tuple[Function, Function]] = {
    "nn.functional.cross_entropy": cross_entropy,
    "nn.functional.nll_loss": nll_loss,
    "nn.functional.binary_cross_entropy": bound(nn.bce_loss, "x target | weight reduction"),
    "nn.functional.binary_cross_entropy_with_logits": bound(
        nn.bce_with_logits, "x target | weight reduction pos_weight"
    ),
    "nn.functional.linear_cross_entropy": linear_cross_entropy,
    "nn.functional.mse_loss": loss("mse_loss"),
    "nn.functional.l1_loss": loss("l1_loss"),
    "nn.functional.smooth_l1_loss": loss("smooth_l1_loss", "beta"),
    "nn.functional.huber_loss": loss("huber_loss", "delta"),
    "nn.functional.kl_div": loss("kl_div", "log_target"),
    "nn.functional.poisson_nll_loss": poisson,
    "nn.functional.gaussian_nll_loss": bound(
        nn.gaussian_nll_loss, "x target var | full eps reduction"
    ),
    "nn.functional.soft_margin_loss": loss("soft_margin_loss"),
    "nn.functional.multilabel_soft_margin_loss": loss(
        "multilabel_soft_margin_loss", "weight", weight="weights"
    ),
    "nn.functional.hinge_embedding_loss": loss("hinge_embedding_loss", "margin"),
    "nn.functional.multi_margin_loss": loss(
        "multi_margin_loss", "p margin weight", weight="weights"
    ),
    "nn.functional.multilabel_margin_loss": loss("multilabel_margin_loss"),
    "nn.functional.margin_ranking_loss": bound(
        nn.margin_ranking_loss, "x1 x2 target | margin reduction"
    ),
    "nn.functional.cosine_embedding_loss": bound(
        nn.cosine_embedding_loss, "x1 x2 target | margin reduction"
    ),
    "nn.functional.triplet_margin_loss": triplet(nn.triplet_margin_loss),
    "nn.functional.triplet_margin_with_distance_loss": triplet(
        nn.triplet_margin_with_distance_loss
    ),
    "nn.functional.ctc_loss": (
        ctc,
        lambda x, *a, **k: torch.nn.functional.ctc_loss(x.log_softmax(-1), *a, **k),
    ),
}
