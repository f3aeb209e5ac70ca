"""PyTorch's losses and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.torch_rules.arguments import AtenRules, Function, typed
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.values import value_of
from gradir.frontends.transforms import ctc

RULES = AtenRules()

REDUCTIONS = ("none", "mean", "sum")
"""PyTorch's numbers of reductions."""


@RULES.aten("cross_entropy_loss")
def _cross_entropy(
    call: Any, x: Any, target: Any, weight: Any = None, reduction: int = 1,
    ignore_index: int = -100, label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    return nn.cross_entropy(
        x, target, weight, REDUCTIONS[reduction], ignore_index, label_smoothing or None
    )


@RULES.aten("nll_loss", "nll_loss2d", "nll_loss_nd")
def _nll(
    call: Any, x: Any, target: Any, weight: Any = None, reduction: int = 1,
    ignore_index: int = -100,
) -> Any:  # fmt: skip
    return nn.nll_loss(
        x, target, weight, reduction=REDUCTIONS[reduction], ignore_index=ignore_index
    )


@RULES.aten("nll_loss_forward", "nll_loss2d_forward", note="its first result")
def _nll_forward(
    call: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> Any:
    return _nll(call, x, target, weight, reduction, ignore_index), None


def _loss(name: str, **renamed: str) -> Function:
    function: Any = getattr(nn, name)

    def rule(call: Any, x: Any, target: Any, reduction: int = 1, **options: Any) -> Any:
        x, target = typed(call, x, target)
        options = {renamed.get(key, key): value for key, value in options.items()}
        return function(x, target, reduction=REDUCTIONS[reduction], **options)

    return rule


for _theirs, _ours in {
    "mse_loss": "mse_loss", "l1_loss": "l1_loss", "smooth_l1_loss": "smooth_l1_loss",
    "huber_loss": "huber_loss", "kl_div": "kl_div", "soft_margin_loss": "soft_margin_loss",
    "hinge_embedding_loss": "hinge_embedding_loss",
}.items():  # fmt: skip
    RULES.aten(_theirs)(_loss(_ours))


@RULES.aten("binary_cross_entropy")
def _bce(call: Any, x: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    return nn.bce_loss(x, target, weight, REDUCTIONS[reduction])


@RULES.aten("binary_cross_entropy_with_logits")
def _bce_logits(
    call: Any, x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    return nn.bce_with_logits(
        x, target, weight=weight, reduction=REDUCTIONS[reduction], pos_weight=pos_weight
    )


@RULES.aten("poisson_nll_loss")
def _poisson(
    call: Any, input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    return nn.poisson_nll_loss(input, target, log_input, full, eps, REDUCTIONS[reduction])


@RULES.aten("multi_margin_loss")
def _multi_margin(
    call: Any, x: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None,
    reduction: int = 1,
) -> Any:  # fmt: skip
    return nn.multi_margin_loss(
        x, target, p=p, margin=margin, weights=weight, reduction=REDUCTIONS[reduction]
    )


@RULES.aten("multilabel_margin_loss")
def _multilabel_margin(call: Any, x: Any, target: Any, reduction: int = 1) -> Any:
    return nn.multilabel_margin_loss(x, target, reduction=REDUCTIONS[reduction])


@RULES.aten("margin_ranking_loss")
def _ranking(
    call: Any, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1
) -> Any:
    return nn.margin_ranking_loss(
        input1, input2, target, margin=margin, reduction=REDUCTIONS[reduction]
    )


@RULES.aten("cosine_embedding_loss")
def _cosine_embedding(
    call: Any, input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 1
) -> Any:
    return nn.cosine_embedding_loss(
        input1, input2, target, margin=margin, reduction=REDUCTIONS[reduction]
    )


@RULES.aten("triplet_margin_loss")
def _triplet(
    call: Any, anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 1,
) -> Any:  # fmt: skip
    return nn.triplet_margin_loss(
        anchor, positive, negative, margin=margin, p=p, eps=eps, swap=swap,
        reduction=REDUCTIONS[reduction],
    )  # fmt: skip


@RULES.aten("ctc_loss", note="of known lengths; torch.export itself gives up a module with CTCLoss")
def _ctc(
    call: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    blank: int = 0, reduction: int = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    lengths = [_known(n) for n in (input_lengths, target_lengths)]
    return ctc.ctc_loss(
        log_probs, targets, *lengths, blank=blank, reduction=REDUCTIONS[reduction],
        zero_infinity=zero_infinity,
    )  # fmt: skip


def _known(lengths: Any) -> Any:
    found = lengths if isinstance(lengths, (list, tuple)) else value_of(lengths)
    if found is None:
        raise refusal("ctc_loss: lengths must be known")
    return np.asarray(found)


# Distances.


@RULES.aten("cosine_similarity")
def _cosine(call: Any, x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    return nn.cosine_similarity(*typed(call, x1, x2), dim, eps)


@RULES.aten("pairwise_distance")
def _pairwise(
    call: Any, x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    return nn.pairwise_distance(*typed(call, x1, x2), p, eps, keepdim)


@RULES.aten("cdist", "_cdist_forward", "_euclidean_dist")
def _cdist(call: Any, x1: Any, x2: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    return nn.pairwise_distance(x1[..., :, None, :], x2[..., None, :, :], p, 0.0)


@RULES.aten("pdist", "_pdist_forward")
def _pdist(call: Any, x: Any, p: float = 2.0) -> Any:
    return nn.pdist(x, p)


@RULES.aten("dist")
def _dist(call: Any, x: Any, other: Any, p: float = 2.0) -> Any:
    x, other = typed(call, x, other)
    return gnp.linalg.vector_norm(gnp.ravel(op.subtract(x, other)), ord=p)
