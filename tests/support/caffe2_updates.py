"""A row for each type of operators that changes weights or counts steps; learning rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from caffe2_operators import Row

RNG = np.random.default_rng(6)
W, G, M = (RNG.normal(size=(4, 3)) for _ in range(3))
H, S = (RNG.uniform(0.5, 1.5, size=(4, 3)) for _ in range(2))
RATE, COUNT = np.array([-0.3]), np.array([4])
# a row twice, a negative number, and indices of two axes
ROWS, SOME = np.array([[2, 0], [2, -1]]), RNG.normal(size=(2, 2, 3))
DISTINCT = np.array([3, 1])


def momentum(grad: Any, moment: Any, lr: Any) -> Any:
    after = 0.8 * moment + lr * grad
    return after, after


def nesterov(grad: Any, moment: Any, lr: Any) -> Any:
    after = 0.8 * moment + lr * grad
    return 1.8 * after - 0.8 * moment, after


def momentum_update(grad: Any, moment: Any, lr: Any, param: Any) -> Any:
    made, after = nesterov(grad, moment, lr)
    return made, after, param - made


def rms_prop(grad: Any, square: Any, moment: Any, lr: Any) -> Any:
    squares = square + 0.3 * (grad**2 - square)
    after = 0.6 * moment + lr * grad / np.sqrt(1e-2 + squares)
    return after, squares, after


def adagrad(param: Any, moment: Any, grad: Any, lr: Any, decay: float = 0.9) -> Any:
    after = decay * moment + grad**2
    rate = lr / (np.sqrt(after) + 1e-2)
    return param + rate * grad, after, rate, rate * grad


def adam(param: Any, first: Any, second: Any, grad: Any, lr: Any, count: Any) -> Any:
    t = count[0] + 1
    mean, square = 0.7 * first + 0.3 * grad, 0.9 * second + 0.1 * grad**2
    made = np.sqrt(1 - 0.9**t) / (1 - 0.7**t) * mean / (np.sqrt(square) + 1e-2)
    return param + lr * made, mean, square, made


def in_rows(rule: Any, states: Any, indices: Any, grad: Any, *others: Any) -> Any:
    """A rule for the rows at indices, with the gradients of one row added up; what else stays."""
    total = np.zeros_like(states[0])
    np.add.at(total, indices, grad)
    at = np.unique(indices % len(total))
    made = [np.array(state) for state in states]
    found = rule(*(state[at] for state in states), total[at], *others)
    for state, rows in zip(made, found, strict=False):
        state[at] = rows
    return tuple(made)


def sparse_adagrad(param: Any, moment: Any, indices: Any, grad: Any, lr: Any) -> Any:
    return in_rows(lambda *xs: adagrad(*xs, decay=1.0), [param, moment], indices, grad, lr)


def sparse_adam(param: Any, first: Any, second: Any, i: Any, grad: Any, lr: Any, n: Any) -> Any:
    return in_rows(adam, [param, first, second], i, grad, lr, n)


def scatter_weighted_sum(x: Any, weight: Any, indices: Any, y: Any, a: Any, z: Any, b: Any) -> Any:
    made = np.array(x)
    for k in indices.ravel():
        made[k] *= weight[0]
    for values, share in ((y, a), (z, b)):
        np.add.at(made, indices, share[0] * values)
    return made


ADAM = {"beta1": 0.7, "beta2": 0.9, "epsilon": 1e-2}

UPDATES: tuple[Row, ...] = (
    Row("MomentumSGD", [G, M, RATE], momentum, {"momentum": 0.8}, range(3), 2),
    Row("MomentumSGD", [G, M, RATE], nesterov, {"momentum": 0.8, "nesterov": 1}, range(3), 2,
        "nesterov"),
    Row("MomentumSGDUpdate", [G, M, RATE, W], momentum_update, {"momentum": 0.8, "nesterov": 1},
        range(4), 3),
    Row("RmsProp", [G, S, M, RATE], rms_prop, {"decay": 0.7, "momentum": 0.6, "epsilon": 1e-2},
        range(4), 3),
    Row("Adagrad", [W, H, G, RATE], adagrad, {"epsilon": 1e-2, "decay": 0.9}, range(4), 4),
    Row("SparseAdagrad", [W, H, ROWS, SOME, RATE], sparse_adagrad, {"epsilon": 1e-2},
        (0, 1, 3, 4), 2),
    Row("Adam", [W, M, S, G, RATE, COUNT], adam, ADAM, range(5), 4),
    Row("SparseAdam", [W, M, S, ROWS, SOME, RATE, COUNT], sparse_adam, ADAM, (0, 1, 2, 4, 5), 3),
    Row("SparseAdam", [W, M, S, DISTINCT, SOME[0], RATE, COUNT], sparse_adam, ADAM,
        (0, 1, 2, 4, 5), 3, "distinct"),
    Row("ScatterWeightedSum", [W, np.array([0.5]), ROWS, SOME, RATE, -SOME, np.array([2.0])],
        scatter_weighted_sum, active=(0, 1, 3, 4, 5, 6)),
    Row("Iter", [COUNT], lambda n: n + 1, active=()),
)  # fmt: skip

RATES: tuple[tuple[str, dict[str, Any], dict[int, float]], ...] = (
    ("fixed", {}, {0: 1, 9: 1}),
    ("alter", {"active_period": 2, "inactive_period": 3}, {0: 1, 1: 1, 2: 0, 4: 0, 5: 1}),
    ("alter", {"active_period": 2, "inactive_period": 3, "active_first": 0},
     {0: 0, 2: 0, 3: 1, 4: 1, 5: 0}),
    ("step", {"stepsize": 3, "gamma": 0.5}, {0: 1, 2: 1, 3: 0.5, 6: 0.25}),
    ("exp", {"gamma": 0.5}, {0: 1, 1: 0.5, 3: 0.125}),
    ("gate", {"num_iter": 3, "multiplier_1": 0.25, "multiplier_2": 4.0}, {2: 0.25, 3: 4}),
    ("inv", {"gamma": 0.5, "power": 2.0}, {0: 1, 2: 0.25}),
    ("gate", {"num_iter": 0, "multiplier_2": 4.0}, {0: 4}),
    ("poly", {"max_iter": 4, "power": 2.5}, {0: 1, 2: 0.5**2.5, 4: 0, 9: 0}),
    ("linearWarmup", {"num_iter": 0}, {0: 1, 9: 1}),
    ("linearWarmup", {"num_iter": 4, "start_multiplier": 0.2}, {0: 0.2, 2: 0.6, 4: 1, 9: 1}),
    ("constantWarmup", {"num_iter": 4, "multiplier": 0.2}, {3: 0.2, 4: 1}),
    ("hill", {"num_iter": 2, "start_multiplier": 0.5, "gamma": 0.5, "power": 2.0,
              "end_multiplier": 0.2}, {0: 0.5, 1: 0.75, 2: 1, 4: 0.25, 9: 0.2}),
)  # fmt: skip
"""Policies of LearningRate, their arguments, and multipliers by the count of steps."""
