"""Operator types that change weights by their gradients: steps of training, and rows.

State and weights keep their types. A step of MomentumSGD and RmsProp is subtracted, the others
add theirs, as Caffe2 does. Rows that occur several times in a gradient are added up first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import one_integer, one_number
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.shapes import as_rows, rows_for
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.optim.arithmetic import like, number, stored
from gradir.frontends.optim.leaves import aligned, require_not_negative, require_share
from gradir.frontends.optim.rows import added, on_values
from gradir.frontends.tracing.tracing import element
from gradir.runtime.row_slices import RowSlices


def _require_alike(x: Any, *others: Any) -> None:
    """ArgumentError unless these are floating, of one shape."""
    for each in (x, *others):
        if each.shape != x.shape:
            raise ArgumentError(
                f"the gradient, the weight and its state must have one shape, got {list(x.shape)} "
                f"and {list(each.shape)}"
            )
        if not is_float(element(each)):
            raise ArgumentError(
                f"the gradient, the weight and its state must be floating, got {each!r}"
            )


def _rows_of(param: Any, indices: Any, grad: Any) -> RowSlices:
    """A gradient of some rows of a weight."""
    at, rows = as_rows(indices, grad)
    if not param.ndim or rows.shape[1:] != param.shape[1:]:
        raise ArgumentError(
            f"grad: rows of shape {list(rows.shape[1:])} are none of a weight {list(param.shape)}"
        )
    return RowSlices(at, rows, param.shape)


def _times(leaf: Any, lr: Any) -> Any:
    """What a rule gives times the learning rate."""
    rate = one_number(lr, "lr")
    return on_values(lambda x: x * rate, leaf)


# Momentum.


@operator_type("MomentumSGD", inputs=3, outputs=2)
def momentum_sgd(
    grad: Any, moment: Any, lr: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> Any:
    """The step to subtract from a weight, and the next moment; both have lr as a factor."""
    _require_alike(grad, moment)
    after = moment * momentum + _times(grad, lr)
    step = after * (1 + momentum) - moment * momentum if nesterov else after
    return stored(step, grad), stored(after, moment)


@operator_type("MomentumSGDUpdate", inputs=4, outputs=3)
def momentum_sgd_update(
    grad: Any, moment: Any, lr: Any, param: Any, *, momentum: float = 0.0, nesterov: int = 0
) -> Any:
    """MomentumSGD's results, and the weight less the first."""
    _require_alike(grad, param)
    step, after = momentum_sgd(grad, moment, lr, momentum=momentum, nesterov=nesterov)
    return step, after, added(param, -step)


@operator_type("RmsProp", inputs=4, outputs=3)
def rms_prop(
    grad: Any, square: Any, moment: Any, lr: Any, *,
    decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """What is to be subtracted from a weight, the next mean of squares, and the next moment.

    The epsilon is in the root.
    """
    _require_alike(grad, square, moment)
    require_share("RmsProp", decay=decay)
    require_not_negative("RmsProp", epsilon=epsilon)
    mean = square * decay + gnp.square(grad) * (1 - decay)
    after = moment * momentum + _times(grad, lr) / gnp.sqrt(mean + epsilon)
    return stored(after, grad), stored(mean, square), stored(after, moment)


# Adagrad.


def _adagrad(grad: Any, moment: Any, epsilon: float, decay: float) -> tuple[Any, Any]:
    """sqrt(h) + epsilon, and h, the next sum of squares."""
    after = (moment if decay == 1 else moment * decay) + gnp.square(grad)
    return gnp.sqrt(after) + epsilon, stored(after, moment)


@operator_type("Adagrad", inputs=4, outputs=(2, 4))
def adagrad(
    param: Any, moment: Any, grad: Any, lr: Any, *, epsilon: float = 1e-5, decay: float = 1.0
) -> Any:
    """The next weight and sum of squares, the rate of each element, and the step.

    The step is added to the weight.
    """
    _require_alike(grad, param, moment)
    require_not_negative("Adagrad", epsilon=epsilon, decay=decay)
    root, after = _adagrad(grad, moment, epsilon, decay)
    rate = one_number(lr, "lr") / root
    return added(param, rate * grad), after, rate, rate * grad


@operator_type("SparseAdagrad", inputs=5, outputs=2, differentiable=(0, 1, 3, 4))
def sparse_adagrad(
    param: Any, moment: Any, indices: Any, grad: Any, lr: Any, *,
    epsilon: float = 1e-5, decay: float = 1.0,
) -> Any:  # fmt: skip
    """Adagrad of the rows at indices; without decay, as Caffe2 wants it."""
    if decay != 1:
        raise ArgumentError(f"decay: rows have none, got {decay}")
    require_not_negative("SparseAdagrad", epsilon=epsilon)

    def rule(grad: Any, before: Any) -> tuple[Any, Any]:
        root, after = _adagrad(grad, before, epsilon, 1.0)
        return grad / root, after

    made, after = _by_rows(rule, param, indices, grad, moment)
    return added(param, _times(made, lr)), after


def _by_rows(rule: Callable[..., Any], param: Any, indices: Any, grad: Any, *states: Any) -> Any:
    """What a rule gives for the rows of a gradient, and the states with new rows there."""
    _require_alike(param, *states)
    named = {f"moment_{k + 1}": state for k, state in enumerate(states)}
    leaves = aligned("rows", {"updates": _rows_of(param, indices, grad), **named})
    return leaves.map(rule, 1 + len(states), True)


# Adam.


def _adam(count: Any, beta1: float, beta2: float, epsilon: float) -> Callable[..., Any]:
    """What is to be multiplied by lr and added, and the next moments, of a gradient and both.

    Its epsilon is added to the root of the mean that is not yet divided. `count` is the number of
    steps before this one.
    """
    require_share("Adam", beta1=beta1, beta2=beta2)
    require_not_negative("Adam", epsilon=epsilon)
    t = number(one_integer(count, "iter")) + 1
    correction = gnp.sqrt(1 - beta2**t) / (1 - beta1**t)

    def rule(grad: Any, moment1: Any, moment2: Any) -> tuple[Any, Any, Any]:
        first = moment1 * beta1 + grad * (1 - beta1)
        second = moment2 * beta2 + gnp.square(grad) * (1 - beta2)
        made = like(correction, first) * first / (gnp.sqrt(second) + epsilon)
        return made, stored(first, moment1), stored(second, moment2)

    return rule


@operator_type("Adam", inputs=6, outputs=(3, 4), differentiable=(0, 1, 2, 3, 4))
def adam(
    param: Any, moment1: Any, moment2: Any, grad: Any, lr: Any, count: Any, *,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """The next weight and moments, and what lr times was added to the weight."""
    _require_alike(grad, param, moment1, moment2)
    made, *moments = _adam(count, beta1, beta2, epsilon)(grad, moment1, moment2)
    return added(param, _times(made, lr)), *moments, made


@operator_type("SparseAdam", inputs=7, outputs=3, differentiable=(0, 1, 2, 4, 5))
def sparse_adam(
    param: Any, moment1: Any, moment2: Any, indices: Any, grad: Any, lr: Any, count: Any, *,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """Adam of the rows at indices, whose moments alone change."""
    rule = _adam(count, beta1, beta2, epsilon)
    made, *moments = _by_rows(rule, param, indices, grad, moment1, moment2)
    return added(param, _times(made, lr)), *moments


# Rows.


def _all_but_indices(op: Operator) -> list[int]:
    return [k for k in range(len(op.inputs)) if k != 2]


@operator_type("ScatterWeightedSum", inputs=(5, None), differentiable=_all_but_indices)
def scatter_weighted_sum(x: Any, weight: Any, indices: Any, *terms: Any) -> Any:
    """x whose rows at indices are times a weight, plus the rows of the other arrays times theirs.

    A row is multiplied, and gets the others, as often as it occurs.
    """
    if len(terms) % 2:
        raise ArgumentError(f"expected a weight behind each array, got {3 + len(terms)} inputs")
    at = gnp.reshape(indices, [indices.size])
    times = gnp.scatter_add(gnp.zeros(x.shape[:1], x.dtype), at, gnp.ones(at.shape, x.dtype))
    power = one_number(weight, "weight") ** gnp.maximum(times, 1)
    factor = gnp.where(times > 0, power, 1)
    made = x * gnp.reshape(factor, [*factor.shape, *(1 for _ in x.shape[1:])])
    for values, share in zip(terms[::2], terms[1::2], strict=True):
        rows = rows_for(indices, values) * one_number(share, "weight")
        made = gnp.scatter_add(made, at, rows, axis=0)
    return made
