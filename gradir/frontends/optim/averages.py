"""Averages over the steps: of weights, or of updates in a chain."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gradir.frontends.optim.arithmetic import like, number, stored, widened
from gradir.frontends.optim.leaves import (
    aligned,
    counter,
    filled_like,
    floating_element,
    incremented,
    require_share,
    require_state,
)
from gradir.frontends.optim.transformation import GradientTransformation
from gradir.frontends.tracing.source_locations import named_options


class EmaState(NamedTuple):
    """`count`: the entries so far, int32; `ema`: their average, not yet corrected for its zeros."""

    count: Any
    ema: Any


@named_options
def ema(decay: float, debias: bool = True, state_dtype: Any = None) -> GradientTransformation:
    """e' = decay e + (1 - decay) x from zeros; the result is e' / (1 - decay**t), t = 1 first.

    Without `debias` it is e'. For an average of weights, give it the weights after each step:
    `average, state = ema.update(params, state)`. In a chain it smooths the updates.
    `state_dtype`: the dtype of e; optax's accumulator_dtype. torch.optim's get_ema_avg_fn begins
    with the first weights in place of zeros and corrects nothing. Kingma and Ba, Adam, 2015
    (https://arxiv.org/abs/1412.6980), section 7.2.
    """
    require_share("ema", decay=decay)
    dtype = floating_element(state_dtype)

    def init(params: Any) -> EmaState:
        return EmaState(counter(), filled_like("ema", params, 0, dtype))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("ema", state, EmaState)
        count = incremented(state.count)
        made, new = _averaged("ema", updates, "state.ema", state.ema, dense_ema)
        if debias:
            correction = 1 - decay ** number(count)
            made = aligned("ema", {"ema": made}).map(partial(dense_debiased, correction))
        return made, EmaState(count, new)

    def dense_debiased(correction: Any, average: Any) -> Any:
        return average / like(correction, average)

    def dense_ema(x: Any, before: Any) -> Any:
        return like(decay, x) * before + (1 - like(decay, x)) * x

    return GradientTransformation(init, update)


class PolyakState(NamedTuple):
    """`count`: the entries so far, int32; `average`: their mean."""

    count: Any
    average: Any


@named_options
def polyak_average(state_dtype: Any = None) -> GradientTransformation:
    """The mean of all entries so far, a' = a + (x - a) / t, t = 1 first.

    Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992. Used as `ema`.
    torch.optim's AveragedModel is this; optax has none (its polyak_sgd is Polyak's step size).
    """
    dtype = floating_element(state_dtype)

    def init(params: Any) -> PolyakState:
        return PolyakState(counter(), filled_like("polyak_average", params, 0, dtype))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_state("polyak_average", state, PolyakState)
        count = incremented(state.count)
        t = number(count)
        made, new = _averaged(
            *("polyak_average", updates, "state.average", state.average),
            partial(dense_mean, t),
        )
        return made, PolyakState(count, new)

    def dense_mean(t: Any, x: Any, before: Any) -> Any:
        return before + (x - before) / like(t, x)

    return GradientTransformation(init, update)


def _averaged(
    what: str, updates: Any, name: str, before: Any, dense: Callable[[Any, Any], Any]
) -> Any:
    """The new averages, and what the state keeps of them."""

    def both(x: Any, average: Any) -> tuple[Any, Any]:
        new = dense(widened(x, average), average)
        return new, stored(new, average)

    return aligned(what, {"updates": updates, name: before}).map(both, 2)
