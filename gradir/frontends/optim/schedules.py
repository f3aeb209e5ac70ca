"""Schedules: a number, such as a learning rate, as a function of the count of steps.

The count is 0 at the first step. The schedules here compute in float64, whatever the dtype of the
parameters, and their result is rounded once, to the dtype of the updates that it scales; optax's
compute in float32. In a traced function they are traced, else compiled and run: `schedule(10)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import number
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.tracing import is_number
from gradir.frontends.transforms.jit import jit

Schedule = Callable[[Any], Any]
"""A function of the count of steps, a number of rank 0."""


def _schedule(function: Schedule) -> Schedule:
    """The schedule whose value is this function of the count as a weak float64."""

    def schedule(count: Any) -> Any:
        return number(function(number(count)))

    return jit(schedule)


def value_of(schedule: Schedule, count: Any) -> Any:
    """The value of any schedule, at a count that gives way like a Python number."""
    return schedule(number(count))


def _require_steps(what: str, name: str, steps: object, least: int = 1) -> None:
    if not is_number(steps):
        raise ArgumentTypeError(f"{what}: {name} must be a number, got {steps!r}")
    if cast(float, steps) < least:
        raise ArgumentError(f"{what}: {name} must be {least} or more, got {steps}")


@named_options
def constant_schedule(value: float) -> Schedule:
    """The same value at each step."""
    return _schedule(lambda count: value)


@named_options
def linear_schedule(
    init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """init + (end - init) * min(max(count - begin, 0), steps) / steps.

    Steps of 0 or less are refused; optax's schedule is the constant init_value then.
    """
    _require_steps("linear_schedule", "transition_steps", transition_steps)
    _require_steps("linear_schedule", "transition_begin", transition_begin, 0)

    def value(count: Any) -> Any:
        done = gnp.clip(count - transition_begin, 0, transition_steps) / transition_steps
        return init_value + (end_value - init_value) * done

    return _schedule(value)


@named_options
def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """init * rate ** ((count - begin) / steps), init before begin.

    `staircase`: the exponent is rounded down. `end_value` is the least value, or the greatest if
    the rate is 1 or more. Rates and steps of 0 or less are refused; optax's schedule is the
    constant init_value then.
    """
    _require_steps("exponential_decay", "transition_steps", transition_steps)
    _require_steps("exponential_decay", "transition_begin", transition_begin, 0)
    if not decay_rate > 0:
        raise ArgumentError(f"exponential_decay: decay_rate must be positive, got {decay_rate}")

    def value(count: Any) -> Any:
        exponent = gnp.maximum(count - transition_begin, 0) / transition_steps
        made = init_value * decay_rate ** (gnp.floor(exponent) if staircase else exponent)
        if end_value is None:
            return made
        return (gnp.maximum if decay_rate < 1 else gnp.minimum)(made, end_value)

    return _schedule(value)


@named_options
def cosine_decay_schedule(
    init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0
) -> Schedule:
    """init * ((1 - alpha) * ((1 + cos(pi * min(count / steps, 1))) / 2) ** exponent + alpha).

    Loshchilov and Hutter, SGDR, 2017 (https://arxiv.org/abs/1608.03983), without restarts.
    torch.optim's CosineAnnealingLR is this with alpha = eta_min / init, and rises again later.
    """
    _require_steps("cosine_decay_schedule", "decay_steps", decay_steps)

    def value(count: Any) -> Any:
        done = gnp.minimum(count, decay_steps) / decay_steps
        cosine = (1 + gnp.cos(gnp.pi * done)) / 2
        shaped = cosine if exponent == 1 else cosine**exponent
        return init_value * ((1 - alpha) * shaped + alpha)

    return _schedule(value)


@named_options
def warmup_cosine_decay_schedule(
    init_value: float,
    peak_value: float,
    warmup_steps: int,
    decay_steps: int,
    end_value: float = 0.0,
    exponent: float = 1.0,
) -> Schedule:
    """Linear from init to peak over warmup_steps, then a cosine to end.

    `decay_steps` counts all steps, the warmup's too. No warmup is warmup_steps = 0.
    """
    _require_steps("warmup_cosine_decay_schedule", "warmup_steps", warmup_steps, 0)
    _require_steps("warmup_cosine_decay_schedule", "decay_steps", decay_steps, warmup_steps + 1)
    alpha = 0.0 if peak_value == 0 else end_value / peak_value
    decay = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    if warmup_steps == 0:
        return decay
    warmup = linear_schedule(init_value, peak_value, warmup_steps)
    return join_schedules([warmup, decay], [warmup_steps])


@named_options
def piecewise_constant_schedule(
    init_value: float, boundaries_and_scales: Mapping[int, float] | None = None
) -> Schedule:
    """init times the scale of each boundary that count has reached: {100: 0.1, 200: 0.5}.

    torch.optim's MultiStepLR has one scale for all boundaries.
    """
    scales = sorted((boundaries_and_scales or {}).items())
    if any(scale < 0 for _, scale in scales):
        raise ArgumentError(f"piecewise_constant_schedule: scales must be >= 0, got {dict(scales)}")

    def value(count: Any) -> Any:
        made: Any = init_value
        for boundary, scale in scales:
            made = gnp.where(count >= boundary, made * scale, made)
        return made

    return _schedule(value)


@named_options
def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """The first schedule until the first boundary, the second until the second, and so on.

    Each counts from 0 where it begins. There is one boundary fewer than schedules, in rising order.
    """
    if len(schedules) != len(boundaries) + 1:
        raise ArgumentError(
            "join_schedules: there must be one boundary fewer than schedules, "
            f"got {len(boundaries)} and {len(schedules)}"
        )
    if list(boundaries) != sorted(boundaries):
        raise ArgumentError(f"join_schedules: boundaries must rise, got {list(boundaries)}")

    def value(count: Any) -> Any:
        made = schedules[0](count)
        for boundary, schedule in zip(boundaries, schedules[1:], strict=True):
            made = gnp.where(count < boundary, made, schedule(count - boundary))
        return made

    return _schedule(value)
