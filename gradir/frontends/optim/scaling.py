"""Transformations that most optimizers are chains of: learning rates, momentum, weight decay."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import like, stored, widened
from gradir.frontends.optim.leaves import (
    aligned,
    counter,
    incremented,
    require_not_negative,
    require_params,
    require_positive,
    require_share,
    require_state,
)
from gradir.frontends.optim.moments import of_moments
from gradir.frontends.optim.rows import on_values, root_mean_square, scaled, sum_of_squares
from gradir.frontends.optim.schedules import Schedule, value_of
from gradir.frontends.optim.transformation import GradientTransformation, stateless
from gradir.frontends.tracing.nesting import chosen_leaves
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.trees import flatten
from gradir.runtime.row_slices import RowSlices

ScalarOrSchedule = float | Schedule
"""A number, an array of rank 0, or a function of the count of steps that gives one."""


def _scaled(what: str, updates: Any, factor: Any) -> Any:
    return aligned(what, {"updates": updates}).map_any(partial(scaled, factor=factor))


@named_options
def scale(step_size: float) -> GradientTransformation:
    """u * step_size."""
    return stateless(lambda updates, params: _scaled("scale", updates, step_size))


class ScaleByScheduleState(NamedTuple):
    """`count`: the steps taken, int32."""

    count: Any


@named_options
def scale_by_schedule(step_size: Schedule) -> GradientTransformation:
    """u * step_size(count), where count is 0 at the first step."""

    def init(params: Any) -> ScaleByScheduleState:
        return ScaleByScheduleState(counter())

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("scale_by_schedule", state, ScaleByScheduleState)
        made = _scaled("scale_by_schedule", updates, value_of(step_size, state.count))
        return made, ScaleByScheduleState(incremented(state.count))

    return GradientTransformation(init, update)


@named_options
def scale_by_learning_rate(
    learning_rate: ScalarOrSchedule, flip_sign: bool = True
) -> GradientTransformation:
    """u * -learning_rate, or u * learning_rate without `flip_sign`; the rate may be a schedule."""
    sign = -1 if flip_sign else 1
    if callable(learning_rate):
        rate = learning_rate
        return scale_by_schedule(lambda count: sign * rate(count))
    require_not_negative("scale_by_learning_rate", learning_rate=learning_rate)
    return scale(sign * learning_rate)


class TraceState(NamedTuple):
    """`trace`: the sum of past updates, which decays."""

    trace: Any


@named_options
def trace(
    decay: float, nesterov: bool = False, state_dtype: Any = None, lazy: bool = False
) -> GradientTransformation:
    """Momentum: t' = u + decay * t, and the update t', or u + decay * t' with `nesterov`.

    Polyak, 1964; Sutskever et al., On the importance of initialization and momentum, 2013.
    `state_dtype`: the dtype of t, the parameters' if None; optax's accumulator_dtype.
    `lazy`: of row slices, t changes and gives updates in their rows alone.
    """
    require_share("trace", decay=decay)
    dense = partial(_dense_trace, decay=decay, nesterov=nesterov)
    return of_moments("trace", TraceState, [0], dense, state_dtype, lazy)


def _dense_trace(update: Any, before: Any, decay: Any, nesterov: bool) -> tuple[Any, Any]:
    u = widened(update, before)
    new = u + like(decay, u) * before
    return u + like(decay, u) * new if nesterov else new, stored(new, before)


@named_options
def add_decayed_weights(
    weight_decay: float = 0.0, mask: Any = None, lazy: bool = False
) -> GradientTransformation:
    """u + weight_decay * p.

    Before a learning rate this is the decoupled decay of Loshchilov and Hutter, Decoupled Weight
    Decay Regularization, 2019 (https://arxiv.org/abs/1711.05101); before the rest of an optimizer
    it is the gradient of an L2 penalty, as torch.optim's `weight_decay` of SGD and Adam. `mask`
    says for each leaf whether it decays: True or False nested like the parameters, or for a whole
    part of them, or a function that gives that for the parameters. `lazy`: of row slices, the
    parameters of their rows alone decay.
    """
    require_not_negative("add_decayed_weights", weight_decay=weight_decay)

    def update(updates: Any, params: Any) -> Any:
        require_params("add_decayed_weights", params)
        leaves = aligned("add_decayed_weights", {"params": params, "updates": updates})
        decayed = leaves.map(dense_decay, in_rows=lazy)
        if mask is None:
            return decayed
        given = mask(params) if callable(mask) else mask
        chosen = chosen_leaves("add_decayed_weights", "mask", given, "params", leaves.tree)
        rows = zip(chosen, flatten(decayed, RowSlices)[0], leaves.rows, strict=True)
        return leaves.tree.build([new if chooses else old for chooses, new, (_, old) in rows])

    def dense_decay(param: Any, update: Any) -> Any:
        return update + scaled(widened(param, update), weight_decay)

    return stateless(update)


@named_options
def scale_by_trust_ratio(
    min_norm: float = 0.0, trust_coefficient: float = 1.0, eps: float = 0.0
) -> GradientTransformation:
    """u * trust_coefficient * norm(p) / (norm(u) + eps), for each leaf; u where a norm is 0.

    You et al., LARS, 2017 (https://arxiv.org/abs/1708.03888). The norms are Euclidean, computed in
    float32 at least, and `min_norm` at least. Those of row slices are the norms of whole leaves.
    """
    require_not_negative("scale_by_trust_ratio", min_norm=min_norm, eps=eps)

    def trusted(param: Any, update: Any) -> Any:
        lengths = (gnp.sqrt(sum_of_squares(x)) for x in (param, update))
        of_param, of_update = (gnp.maximum(x, min_norm) for x in lengths)
        is_zero = (of_param == 0) | (of_update == 0)
        safe = gnp.where(is_zero, 1.0, of_update + eps)
        ratio = gnp.where(is_zero, 1.0, trust_coefficient * of_param / safe)
        return scaled(update, ratio)

    def update(updates: Any, params: Any) -> Any:
        require_params("scale_by_trust_ratio", params)
        leaves = aligned("scale_by_trust_ratio", {"params": params, "updates": updates})
        return leaves.coalesced().map_any(trusted)

    return stateless(update)


@named_options
def clip_by_block_rms(threshold: float) -> GradientTransformation:
    """u / max(1, rms(u) / threshold), for each leaf; rms is the root of the mean square.

    Shazeer and Stern, Adafactor, 2018 (https://arxiv.org/abs/1804.04235), section 6.
    """
    require_positive("clip_by_block_rms", threshold=threshold)

    def clipped(update: Any) -> Any:
        divisor = gnp.maximum(root_mean_square(update) / threshold, 1.0)
        return on_values(lambda x: x / like(divisor, x), update)

    def update(updates: Any, params: Any) -> Any:
        return aligned("clip_by_block_rms", {"updates": updates}).coalesced().map_any(clipped)

    return stateless(update)


@named_options
def scale_by_param_block_rms(min_scale: float = 1e-3) -> GradientTransformation:
    """u * max(rms(p), min_scale), for each leaf; rms is the root of the mean square.

    Shazeer and Stern, Adafactor, 2018 (https://arxiv.org/abs/1804.04235), section 8.
    """
    require_not_negative("scale_by_param_block_rms", min_scale=min_scale)

    def by_param(param: Any, update: Any) -> Any:
        return scaled(update, gnp.maximum(root_mean_square(param), min_scale))

    def update(updates: Any, params: Any) -> Any:
        require_params("scale_by_param_block_rms", params)
        given = {"params": params, "updates": updates}
        return aligned("scale_by_param_block_rms", given).map_any(by_param)

    return stateless(update)
