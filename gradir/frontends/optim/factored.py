"""Adafactor's second moments: a row and a column in place of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import like, number, require_epsilon, stored, widened
from gradir.frontends.optim.leaves import (
    Leaves,
    aligned,
    counter,
    floating_element,
    incremented,
    require_not_negative,
    require_state,
)
from gradir.frontends.optim.rows import leaf_text
from gradir.frontends.optim.transformation import GradientTransformation
from gradir.frontends.tracing.source_locations import named_options, refusal
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.tracing.trees import leaves_like


class FactoredState(NamedTuple):
    """`count`: the steps taken, int32; a leaf has `v_row` and `v_col`, or `v`, and None else."""

    count: Any
    v_row: Any
    v_col: Any
    v: Any


@named_options
def scale_by_factored_rms(
    factored: bool = True,
    decay_rate: float = 0.8,
    step_offset: int = 0,
    min_dim_size_to_factor: int = 128,
    epsilon: float = 1e-30,
    state_dtype: Any = None,
) -> GradientTransformation:
    """u / sqrt(V') with averages V' of q = u**2 + epsilon, kept as their row and column means.

    With c = 1 - (t - step_offset)**-decay_rate, t = 1 first, and means over the larger (`a`) and
    the smaller (`b`) of the two largest axes of a leaf,

        r' = c r + (1 - c) mean_a(q),  s' = c s + (1 - c) mean_b(q),  V' = r' s' / mean_b(r').

    A leaf with one of these two axes below `min_dim_size_to_factor`, and every leaf without
    `factored`, has V' = c V + (1 - c) q. `adafactor` gives the source. `state_dtype`: the dtype of
    r, s and V. The state has None where optax's has zeros of shape [1].
    """
    require_not_negative("scale_by_factored_rms", decay_rate=decay_rate, epsilon=epsilon)
    dtype = floating_element(state_dtype)

    def axes(shape: tuple[int, ...]) -> Axes:
        return _factored_axes(shape, min_dim_size_to_factor) if factored else None

    def init(params: Any) -> FactoredState:
        def begin(leaf: Any) -> tuple[Any, ...]:
            kind = numpy_dtype(dtype) if dtype else leaf.dtype
            shapes = _shapes(leaf.shape, axes(leaf.shape))
            return tuple(None if shape is None else gnp.zeros(shape, kind) for shape in shapes)

        leaves = aligned("adafactor", {"params": params})
        return FactoredState(counter(), *leaves.map(begin, 3))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("adafactor", state, FactoredState)
        leaves = aligned("adafactor", {"updates": updates})
        leaves = leaves.beside(_moments(leaves, state, axes))
        count = incremented(state.count)
        decay: Any = 1 - (number(count) - step_offset) ** -decay_rate

        def dense_adafactor(u: Any, moments: tuple[Any, ...]) -> tuple[Any, ...]:
            return _dense_adafactor(u, moments, axes(u.shape), decay, epsilon)

        made, row, col, full = leaves.map(dense_adafactor, 4)
        return made, FactoredState(count, row, col, full)

    return GradientTransformation(init, update)


Axes = tuple[int, int] | None
"""The smaller and the larger of two axes; None of a leaf that is not factored."""


def _factored_axes(shape: tuple[int, ...], least: int) -> Axes:
    if len(shape) < 2:
        return None
    *_, smaller, larger = np.argsort(shape, kind="stable").tolist()
    return (smaller, larger) if shape[smaller] >= least else None


def _shapes(shape: tuple[int, ...], axes: Axes) -> tuple[tuple[int, ...] | None, ...]:
    """The shapes of a leaf's row, column and full moments, None for one that it does not have."""
    if axes is None:
        return None, None, shape
    smaller, larger = axes
    without = [tuple(n for d, n in enumerate(shape) if d != axis) for axis in (larger, smaller)]
    return without[0], without[1], None


def _moments(
    leaves: Leaves, state: FactoredState, axes: Callable[[tuple[int, ...]], Axes]
) -> list[tuple[Any, ...]]:
    """The moments of each leaf; TraceError where their shapes do not fit the leaf."""
    columns: list[list[Any]] = []
    for name in ("v_row", "v_col", "v"):
        found = leaves_like(getattr(state, name), leaves.tree)
        if found is None:
            raise refusal(f"adafactor: state.{name} must be nested like updates")
        columns.append([None if moment is None else lifted(moment) for moment in found])
    rows = list(zip(*columns, strict=True))
    for path, (u,), row in zip(leaves.tree.paths("updates"), leaves.rows, rows, strict=True):
        if tuple(None if moment is None else moment.shape for moment in row) != _shapes(
            u.shape, axes(u.shape)
        ):
            raise refusal(
                f"adafactor: the state must be that of {path}, {leaf_text(u)}, "
                "but init was given another shape there"
            )
    return rows


def _dense_adafactor(
    update: Any, moments: tuple[Any, ...], axes: Axes, decay: Any, epsilon: Any
) -> tuple[Any, ...]:
    row, col, full = moments
    u = widened(update, full if axes is None else row)
    require_epsilon("adafactor", epsilon, u)
    rate = like(decay, u)
    square: Any = u * u + like(epsilon, u)
    if axes is None:
        second: Any = rate * full + (1 - rate) * square
        return u / gnp.sqrt(second), None, None, stored(second, full)
    smaller, larger = axes
    new_row = rate * row + (1 - rate) * gnp.mean(square, axis=larger)
    new_col = rate * col + (1 - rate) * gnp.mean(square, axis=smaller)
    within_row = smaller - 1 if smaller > larger else smaller
    row_share = new_row / gnp.mean(new_row, axis=within_row, keepdims=True)
    rows = gnp.expand_dims(gnp.sqrt(row_share), larger)
    cols = gnp.expand_dims(gnp.sqrt(new_col), smaller)
    return u / rows / cols, stored(new_row, row), stored(new_col, col), None
