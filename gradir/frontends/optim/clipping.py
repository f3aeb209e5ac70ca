"""Transformations that bound gradients: each element, or the norm of all."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import like
from gradir.frontends.optim.leaves import aligned, require_not_negative
from gradir.frontends.optim.rows import Leaf, scaled, sum_of_squares
from gradir.frontends.optim.transformation import GradientTransformation, stateless
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.transforms.jit import jit


@named_options
def clip(max_delta: float) -> GradientTransformation:
    """min(max(u, -max_delta), max_delta), elementwise; torch's clip_grad_value_."""
    require_not_negative("clip", max_delta=max_delta)

    def dense(update: Any) -> Any:
        bound = like(max_delta, update)
        return gnp.clip(update, -bound, bound)

    return stateless(
        lambda updates, params: aligned("clip", {"updates": updates}).map(dense, in_rows=True)
    )


@named_options
def clip_by_global_norm(max_norm: float) -> GradientTransformation:
    """u * max_norm / norm where the norm of all leaves together is beyond max_norm, else u.

    Pascanu et al., On the difficulty of training recurrent neural networks, 2012
    (https://arxiv.org/abs/1211.5063). The norm is computed in float32 at least. torch's
    clip_grad_norm_ multiplies by min(1, max_norm / (norm + 1e-6)). A norm that is nan or inf makes
    updates nan or 0.
    """
    require_not_negative("clip_by_global_norm", max_norm=max_norm)

    def update(updates: Any, params: Any) -> Any:
        leaves = aligned("clip_by_global_norm", {"updates": updates}).coalesced()
        norm = _norm([u for (u,) in leaves.rows])
        # of a norm that is nan the factor is nan, so that it is seen
        factor = gnp.where(norm <= max_norm, 1.0, max_norm / norm)
        return leaves.map_any(partial(scaled, factor=factor))

    return stateless(update)


@named_options
def global_norm(updates: Any) -> Any:
    """The Euclidean norm of all leaves together, of rank 0, in float32 at least; 0 of no leaf."""
    return _global_norm(updates)


@jit
def _global_norm(updates: Any) -> Any:
    return _norm([u for (u,) in aligned("global_norm", {"updates": updates}).rows])


def _norm(updates: list[Leaf]) -> Any:
    squares = [sum_of_squares(u) for u in updates]
    total: Any = squares[0] if squares else gnp.zeros((), "float32")
    for each in squares[1:]:
        total = total + each
    return gnp.sqrt(total)
