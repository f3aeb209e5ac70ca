"""Operator types of training: counts, learning rates, and steps of weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import element


def _count(x: Any) -> Any:
    """A count of one element as float64 of rank 0."""
    if x.size != 1 or is_float(element(x)):
        raise ArgumentError(f"expected one integer, got {x!r}")
    return gnp.astype(gnp.reshape(x, ()), "float64")


@operator_type("Iter", inputs=1, reads=NOTHING, differentiable=())
def iterations(x: Any) -> Any:
    """A count, and one more."""
    _count(x)
    return x + 1


_POLICIES: dict[str, tuple[str, ...]] = {
    "fixed": (),
    "step": ("stepsize", "gamma"),
    "exp": ("gamma",),
    "inv": ("gamma", "power"),
    "poly": ("max_iter", "power"),
    "linearWarmup": ("num_iter", "start_multiplier"),
    "constantWarmup": ("num_iter", "multiplier"),
}
"""The policies of learning rates, with the arguments that they need."""

_PERIODS = ("stepsize", "max_iter", "num_iter")
_ARGUMENTS = tuple({name: None for names in _POLICIES.values() for name in names})


def _factor(policy: str, n: Any, given: Mapping[str, float]) -> Any:
    """What the rate is multiplied by after n steps."""
    match policy:
        case "step":
            return given["gamma"] ** gnp.floor(n / given["stepsize"])
        case "exp":
            return given["gamma"] ** n
        case "inv":
            return (n * given["gamma"] + 1) ** -given["power"]
        case "poly":
            return (1 - n / given["max_iter"]) ** given["power"]
        case "linearWarmup":
            start = given["start_multiplier"]
            share = gnp.minimum(n / given["num_iter"], 1.0)
            return share * (1 - start) + start
        case "constantWarmup":
            return gnp.where(n >= given["num_iter"], 1.0, given["multiplier"])
        case _:
            return gnp.ones_like(n)


@operator_type("LearningRate", inputs=1, reads=NOTHING, differentiable=(), arguments=_ARGUMENTS)
def learning_rate(count: Any, *, base_lr: float, policy: str = "fixed", **given: float) -> Any:
    """base_lr times what a policy says of a count; of the type of what it meets."""
    if policy not in _POLICIES:
        raise ArgumentError(f"policy: expected one of {', '.join(_POLICIES)}, got {policy!r}")
    missing = [name for name in _POLICIES[policy] if name not in given]
    if missing:
        raise ArgumentError(f'policy "{policy}" needs {" and ".join(missing)}')
    wanted = {name: float(given[name]) for name in _POLICIES[policy]}
    for name in _PERIODS:
        if wanted.get(name, 1) <= 0:
            raise ArgumentError(f"{name}: expected a positive number, got {given[name]}")
    made = _factor(policy, _count(count), wanted) * float(base_lr)
    made.weak = True
    return made


# Steps. State and weights keep their types; the sign of a step is that of its learning rate.


def _require_shape(x: Any, *others: Any) -> None:
    for other in others:
        if other.shape != x.shape:
            raise ArgumentError(
                f"the gradient, the weight and its state must have one shape, got {list(x.shape)} "
                f"and {list(other.shape)}"
            )


def _like(x: Any, before: Any) -> Any:
    """x in the type of what it takes the place of."""
    return x if element(x) == element(before) else gnp.astype(x, before.dtype)


def _scalar(x: Any) -> Any:
    """A learning rate of one element, of rank 0."""
    return gnp.reshape(x, ())


@operator_type("MomentumSGD", inputs=3, outputs=2)
def momentum_sgd(
    grad: Any, moment: Any, lr: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> Any:
    """What is to be subtracted from a weight, and the next moment, of which lr is a factor."""
    _require_shape(grad, moment)
    after = grad * _scalar(lr) + moment * momentum
    step = after * (1 + momentum) - moment * momentum if nesterov else after
    return _like(step, grad), _like(after, moment)


@operator_type("MomentumSGDUpdate", inputs=4, outputs=3)
def momentum_sgd_update(
    grad: Any, moment: Any, lr: Any, param: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> Any:
    """MomentumSGD's results, and the weight less the first."""
    _require_shape(grad, param)
    step, after = momentum_sgd(grad, moment, lr, momentum=momentum, nesterov=nesterov)
    return step, after, _like(param - step, param)


@operator_type("Adagrad", inputs=4, outputs=(2, 4))
def adagrad(
    param: Any, moment: Any, grad: Any, lr: Any, *, epsilon: float = 1e-5, decay: float = 1.0
) -> Any:
    """The next weight and sum of squares, the rate of each element, and the step.

    The step is added to the weight.
    """
    _require_shape(grad, param, moment)
    after = moment * decay + gnp.square(grad)
    rate = _scalar(lr) / (gnp.sqrt(after) + epsilon)
    step = rate * grad
    return _like(param + step, param), _like(after, moment), rate, step


@operator_type("Adam", inputs=6, outputs=(3, 4), differentiable=(0, 1, 2, 3, 4))
def adam(
    param: Any, moment1: Any, moment2: Any, grad: Any, lr: Any, count: Any, *,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """The next weight and moments, and the step, which is added to the weight.

    `count` is the number of steps before this one.
    """
    _require_shape(grad, param, moment1, moment2)
    t = _count(count) + 1
    correction = _like(gnp.sqrt(1 - beta2**t) / (1 - beta1**t), param)
    first = moment1 * beta1 + grad * (1 - beta1)
    second = moment2 * beta2 + gnp.square(grad) * (1 - beta2)
    step = _scalar(lr) * correction * first / (gnp.sqrt(second) + epsilon)
    return _like(param + step, param), _like(first, moment1), _like(second, moment2), step
