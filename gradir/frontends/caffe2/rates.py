"""Operator types that count steps, and learning rates as functions of the count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import one_integer
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.optim.arithmetic import number


@operator_type("Iter", inputs=1, reads=NOTHING, differentiable=())
def iterations(x: Any) -> Any:
    """A count, and one more."""
    one_integer(x, "iter")
    return x + 1


_POLICIES: dict[str, dict[str, float | None]] = {
    "fixed": {},
    "alter": {"active_period": None, "inactive_period": None, "active_first": 1},
    "step": {"stepsize": None, "gamma": None},
    "exp": {"gamma": None},
    "gate": {"num_iter": None, "multiplier_1": 1, "multiplier_2": 1},
    "inv": {"gamma": None, "power": None},
    "poly": {"max_iter": None, "power": None},
    "linearWarmup": {"num_iter": None, "start_multiplier": 0},
    "constantWarmup": {"num_iter": None, "multiplier": 0.5},
    "hill": {
        "num_iter": None, "gamma": None, "power": None,
        "start_multiplier": 0, "end_multiplier": 0,
    },
}  # fmt: skip
"""The policies of learning rates: their arguments, with what stands for one that is not given.

None where there is nothing.
"""

_POSITIVE = {"stepsize", "max_iter", "gamma"}
_NOT_NEGATIVE = {"num_iter", "active_period", "inactive_period"}
_ARGUMENTS = tuple({name: None for names in _POLICIES.values() for name in names})


def _inv(n: Any, given: Mapping[str, float]) -> Any:
    return (n * given["gamma"] + 1) ** -given["power"]


def _warmup(n: Any, given: Mapping[str, float]) -> Any:
    """From the first multiplier to 1 in a straight line."""
    start, count = given["start_multiplier"], given["num_iter"]
    return gnp.where(n < count, n * ((1 - start) / max(count, 1)) + start, 1.0)


def _alter(n: Any, given: Mapping[str, float]) -> Any:
    """1 in active periods, 0 in the others."""
    periods = {True: given["active_period"], False: given["inactive_period"]}
    first, whole = bool(given["active_first"]), sum(periods.values())
    if not whole:
        raise ArgumentError("active_period and inactive_period: expected one that is not 0")
    return gnp.where(gnp.remainder(n, whole) < periods[first], float(first), float(not first))


def _factor(policy: str, n: Any, given: Mapping[str, float]) -> Any:
    """What the rate is multiplied by after n steps."""
    match policy:
        case "alter":
            return _alter(n, given)
        case "step":
            return given["gamma"] ** gnp.floor(n / given["stepsize"])
        case "exp":
            return given["gamma"] ** n
        case "gate":
            return gnp.where(n < given["num_iter"], given["multiplier_1"], given["multiplier_2"])
        case "inv":
            return _inv(n, given)
        case "poly":  # behind the last step Caffe2 takes a power of a negative number
            return gnp.maximum(1 - n / given["max_iter"], 0.0) ** given["power"]
        case "linearWarmup":
            return _warmup(n, given)
        case "constantWarmup":
            return gnp.where(n < given["num_iter"], given["multiplier"], 1.0)
        case "hill":
            down = _inv(gnp.maximum(n - given["num_iter"], 0.0), given)
            down = gnp.maximum(down, given["end_multiplier"])
            return gnp.where(n < given["num_iter"], _warmup(n, given), down)
        case _:
            return gnp.ones_like(n)


@operator_type("LearningRate", inputs=1, reads=NOTHING, differentiable=(), arguments=_ARGUMENTS)
def learning_rate(count: Any, *, base_lr: float, policy: str, **given: float) -> Any:
    """base_lr times what a policy says of a count; of the type of what it meets.

    Arguments of other policies are left aside, as in Caffe2.
    """
    if policy not in _POLICIES:
        raise ArgumentError(f"policy: expected one of {', '.join(_POLICIES)}, got {policy!r}")
    wanted = {name: given.get(name, other) for name, other in _POLICIES[policy].items()}
    missing = [name for name, value in wanted.items() if value is None]
    if missing:
        raise ArgumentError(f'policy "{policy}" needs {" and ".join(missing)}')
    numbers = {name: float(value) for name, value in wanted.items() if value is not None}
    for name, value in numbers.items():
        if name in _POSITIVE and not value > 0:
            raise ArgumentError(f"{name}: expected a positive number, got {given[name]}")
        if name in _NOT_NEGATIVE and not value >= 0:
            raise ArgumentError(f"{name}: expected 0 or more, got {given[name]}")
    return number(_factor(policy, number(one_integer(count, "iter")), numbers) * float(base_lr))
