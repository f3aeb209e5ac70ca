"""Loss scaling: gradients of small dtypes kept in range, and steps with inf or nan left out.

Micikevicius et al., Mixed Precision Training, 2018 (https://arxiv.org/abs/1710.03740).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from gradir.errors import ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import like, single_or_double
from gradir.frontends.optim.leaves import (
    aligned,
    counter,
    incremented,
    require_range,
    require_state,
)
from gradir.frontends.optim.rows import on_values, values_of
from gradir.frontends.optim.transformation import GradientTransformation, LossScaled
from gradir.frontends.tracing.nesting import require_nested_alike
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.tracing.trees import flatten
from gradir.runtime.row_slices import RowSlices

INFINITY = float("inf")


class LossScaleState(NamedTuple):
    """`scale`: the factor of the loss, float32; `inner`: the state of the optimizer.

    `finite_steps`: the steps since the scale changed or a step was left out; `skipped_steps`: those
    left out so far; both int32.
    """

    scale: Any
    finite_steps: Any
    skipped_steps: Any
    inner: Any


@named_options
def static_loss_scale(optimizer: GradientTransformation, scale: float) -> LossScaled:
    """The optimizer for gradients of scale * loss; steps with inf or nan are left out.

    `update` divides the gradients by the scale, in float32 at least. If one of them is inf or nan,
    updates are 0 and the state of the optimizer stays. `gradir.optim.train_step` multiplies the
    loss; elsewhere multiply it by `state.scale` in float32. Neither optax nor torch has it.
    """
    require_range("static_loss_scale", "scale", scale, 2.0**-126, 2.0**127)
    return _loss_scaled(optimizer, scale, lambda scale, finite_steps, is_finite: scale)


@named_options
def dynamic_loss_scale(
    optimizer: GradientTransformation,
    initial_scale: float = 2.0**15,
    growth_interval: int = 2000,
    growth_factor: float = 2.0,
    backoff_factor: float = 0.5,
    min_scale: float = 1.0,
    max_scale: float = 2.0**24,
) -> LossScaled:
    """As static_loss_scale, with a scale that falls at inf or nan and grows while there is none.

    A step that is left out multiplies the scale by `backoff_factor`; `growth_interval` steps in a
    row that are not, by `growth_factor`; within `min_scale` and `max_scale`. torch.amp.GradScaler
    begins with 2**16, has the same interval and factors, and no bounds; optax has none, jmp's
    DynamicLossScale is this without an upper bound.
    """
    what = "dynamic_loss_scale"
    require_range(what, "min_scale", min_scale, 2.0**-126, 2.0**127)
    require_range(what, "max_scale", max_scale, min_scale, 2.0**127)
    require_range(what, "initial_scale", initial_scale, min_scale, max_scale * (1 + 2.0**-52))
    require_range(what, "growth_interval", growth_interval, 1, 2**31)
    require_range(what, "growth_factor", growth_factor, 1, INFINITY)
    require_range(what, "backoff_factor", backoff_factor, 0, 1)

    def next_scale(scale: Any, finite_steps: Any, is_finite: Any) -> Any:
        grows = finite_steps >= growth_interval
        factor = gnp.where(is_finite, gnp.where(grows, growth_factor, 1.0), backoff_factor)
        return gnp.clip(scale * factor, min_scale, max_scale)

    return _loss_scaled(optimizer, initial_scale, next_scale)


def _loss_scaled(
    optimizer: GradientTransformation,
    initial_scale: float,
    next_scale: Callable[[Any, Any, Any], Any],
) -> LossScaled:
    """`next_scale` of the scale, the steps since it changed, and whether this one is finite."""
    given = cast(object, optimizer)
    if not isinstance(given, GradientTransformation) or isinstance(given, LossScaled):
        raise ArgumentTypeError(f"optimizer: expected one without loss scaling, got {optimizer!r}")

    def init(params: Any) -> LossScaleState:
        scale = gnp.full((), initial_scale, "float32")
        return LossScaleState(scale, counter(), counter(), optimizer.init(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("loss scaling", state, LossScaleState)
        scale, inner = lifted(state.scale), state.inner
        leaves = aligned("loss scaling", {"updates": updates})
        unscaled = leaves.map_any(partial(on_values, partial(_unscaled, scale)))
        is_finite = _all_finite(unscaled)
        made, new = optimizer.update(unscaled, inner, params)
        finite_steps = gnp.where(is_finite, incremented(state.finite_steps), 0)
        scale_after = next_scale(scale, finite_steps, is_finite)
        return _chosen(is_finite, made, None), LossScaleState(
            scale_after,
            gnp.where(scale_after == scale, finite_steps, 0),
            gnp.where(is_finite, state.skipped_steps, incremented(state.skipped_steps)),
            _chosen(is_finite, new, inner),
        )

    return LossScaled(init, update, lambda state: state.scale)


def _unscaled(scale: Any, update: Any) -> Any:
    wide = single_or_double(update)
    return wide / like(scale, wide)


def _all_finite(tree: Any) -> Any:
    """Whether no element of any leaf is inf or nan; of rank 0."""
    found: Any = lifted(True)
    for leaf in flatten(tree, RowSlices)[0]:
        found = found & gnp.all(gnp.isfinite(values_of(leaf)))
    return found


def _chosen(is_new: Any, new: Any, old: Any) -> Any:
    """The new leaves where `is_new` is true, else the old ones, or 0 where there are none."""
    leaves, tree = flatten(new, RowSlices)
    others, nested = flatten(old) if old is not None else ([0] * len(leaves), tree)
    require_nested_alike("loss scaling", "state.inner", nested, "the new one", tree)
    choices = [partial(gnp.where, is_new, y=other) for other in others]
    return tree.build([on_values(*pair) for pair in zip(choices, leaves, strict=True)])
