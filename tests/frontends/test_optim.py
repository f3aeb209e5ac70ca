"""The formulas of gradir.optim's optimizers, against loops in plain NumPy and float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from optim_harness import STEPS, courses

from gradir import optim

Array = np.ndarray[Any, Any]
Steps = Iterator[Array]
Course = Callable[[Array, list[Array]], Steps]


# A parameter after each step, from the one before the first step and the gradients.


def momentum_sgd(p: Array, grads: list[Array], nesterov: bool = False) -> Steps:
    velocity = np.zeros_like(p)
    for g in grads:
        velocity = 0.9 * velocity + g
        p = p - 0.1 * (g + 0.9 * velocity if nesterov else velocity)
        yield p


def nesterov_sgd(p: Array, grads: list[Array]) -> Steps:
    return momentum_sgd(p, grads, nesterov=True)


def plain_sgd(p: Array, grads: list[Array]) -> Steps:
    """At rates 0.1, 0.08, 0.06, ... plus an L2 penalty."""
    for k, g in enumerate(grads):
        p = p - (0.1 - 0.02 * k) * (g + 0.3 * p)
        yield p


def adagrad(p: Array, grads: list[Array]) -> Steps:
    total = np.full_like(p, 0.1)
    for g in grads:
        total = total + g * g
        p = p - 0.1 * g / np.sqrt(total + 1e-7)
        yield p


def rmsprop(p: Array, grads: list[Array]) -> Steps:
    square = np.zeros_like(p)
    for g in grads:
        square = 0.8 * square + 0.2 * g**2
        p = p - 0.1 * g / np.sqrt(square + 1e-3)
        yield p


def rmsprop_as_in_torch(p: Array, grads: list[Array]) -> Steps:
    """Centered, with momentum, and eps beside the root."""
    square, mean, velocity = np.zeros_like(p), np.zeros_like(p), np.zeros_like(p)
    for g in grads:
        square, mean = 0.8 * square + 0.2 * g**2, 0.8 * mean + 0.2 * g
        velocity = 0.7 * velocity + g / (np.sqrt(square - mean**2) + 1e-3)
        p = p - 0.1 * velocity
        yield p


def adam_directions(
    p: Array, grads: list[Array], eps: float = 1e-8, nesterov: bool = False
) -> Steps:
    mean, square = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
        ahead = mean / (1 - 0.9**t)
        if nesterov:
            ahead = 0.9 * mean / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
        yield ahead / (np.sqrt(square / (1 - 0.999**t)) + eps)


def adam(p: Array, grads: list[Array]) -> Steps:
    for d in adam_directions(p, grads):
        p = p - 0.1 * d
        yield p


def nadam(p: Array, grads: list[Array]) -> Steps:
    for d in adam_directions(p, grads, nesterov=True):
        p = p - 0.1 * d
        yield p


def adamw(p: Array, grads: list[Array]) -> Steps:
    for d in adam_directions(p, grads):
        p = p - 0.1 * d - 0.1 * 0.2 * p
        yield p


def lamb(p: Array, grads: list[Array]) -> Steps:
    for d in adam_directions(p, grads, 1e-6):
        u = d + 0.2 * p
        lengths = np.sqrt(np.sum(p**2)), np.sqrt(np.sum(u**2))
        p = p - 0.1 * u * (lengths[0] / lengths[1] if min(lengths) > 0 else 1)
        yield p


def lion(p: Array, grads: list[Array]) -> Steps:
    mean = np.zeros_like(p)
    for g in grads:
        p = p - 0.1 * (np.sign(0.9 * mean + 0.1 * g) + 0.001 * p)
        mean = 0.99 * mean + 0.01 * g
        yield p


def factored_root(square: Array, row: Array, col: Array, axes: tuple[int, int]) -> Array:
    """The root of the outer product of both means over the mean of one."""
    smaller, larger = axes
    rows, cols = np.expand_dims(row, larger), np.expand_dims(col, smaller)
    return np.sqrt(rows * cols / rows.mean(axis=smaller, keepdims=True)) + 0 * square


def adafactor(p: Array, grads: list[Array]) -> Steps:
    """Matrices of 3 and more in both axes are factored; the kernel in its last two."""
    axes = {2: (0, 1), 3: (1, 2)}.get(p.ndim) if p.size else None
    row, col, full, average = (np.float64(0),) * 4
    for t, g in enumerate(grads, 1):
        keep, square = 1 - t**-0.8, g**2 + 1e-30
        if axes is None:
            full = keep * full + (1 - keep) * square
            u = g / np.sqrt(full)
        else:
            row = keep * row + (1 - keep) * square.mean(axis=axes[1])
            col = keep * col + (1 - keep) * square.mean(axis=axes[0])
            u = g / factored_root(square, row, col, axes)
        u = u / max(1, rms(u) / 0.5) * 0.1 * max(rms(p), 1e-3)
        average = 0.6 * average + 0.4 * u
        p = p - average - 0.01 * p
        yield p


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if x.size else 0


OPTIMIZERS: list[tuple[optim.GradientTransformation, Course]] = [
    (optim.sgd(0.1, momentum=0.9), momentum_sgd),
    (optim.sgd(0.1, momentum=0.9, nesterov=True), nesterov_sgd),
    (
        optim.chain(
            optim.add_decayed_weights(0.3), optim.sgd(optim.linear_schedule(0.1, 0.02, STEPS))
        ),
        plain_sgd,
    ),
    (optim.adagrad(0.1), adagrad),
    (optim.rmsprop(0.1, decay=0.8, eps=1e-3), rmsprop),
    (
        optim.rmsprop(0.1, 0.8, 1e-3, eps_in_sqrt=False, centered=True, momentum=0.7),
        rmsprop_as_in_torch,
    ),
    (optim.adam(0.1), adam),
    (optim.adam(0.1, nesterov=True), nadam),
    (optim.adamw(0.1, weight_decay=0.2), adamw),
    (optim.lamb(0.1, weight_decay=0.2), lamb),
    (optim.lion(0.1), lion),
    (
        optim.adafactor(
            *(0.1, 3),
            clipping_threshold=0.5,
            momentum=0.6,
            weight_decay_rate=0.01,
        ),
        adafactor,
    ),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("optimizer", "course"), OPTIMIZERS, ids=lambda o: getattr(o, "__name__", "")
)
def test_formula(optimizer: optim.GradientTransformation, course: Course, dtype: str) -> None:
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    for values, grads in courses(optimizer, dtype):
        start, *found = values
        wide = [np.asarray(g, np.float64) for g in grads]
        for one, other in zip(found, course(start.astype(np.float64), wide), strict=True):
            assert (one.dtype, one.shape) == (np.dtype(dtype), start.shape)
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
