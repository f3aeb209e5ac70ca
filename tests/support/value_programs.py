"""Random NumPy programs whose paths depend on values, and a check of their derivatives.

The same Python function runs on NumPy's arrays, for central differences, and is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gradir

Array = np.ndarray[Any, Any]
Step = Callable[[Any, Any], Any]
"""From a vector, and data, to a vector of the same length."""


def _branch(rng: Any, depth: int) -> Step:
    first, second, at = _program(rng, depth - 1), _program(rng, depth - 1), rng.integers(3)
    limit = rng.normal()
    return lambda x, y: first(x, y) if x[at] + y[at] > limit else second(x, y)


def _loop(rng: Any, depth: int) -> Step:
    body = _program(rng, depth - 1)

    def step(x: Any, y: Any) -> Any:
        count = 0
        while count < 3 and np.sum(x * x) > 0.5:
            x, count = 0.5 * body(x, y), count + 1
        return x

    return step


def _mask(rng: Any, depth: int) -> Step:
    inner, limit = _program(rng, depth - 1), rng.normal()

    def step(x: Any, y: Any) -> Any:
        x = x.copy()
        mask = x > limit
        x[mask] = np.sin(x[mask]) + y[mask] ** 2
        x[~mask] *= 1.5
        return inner(x, y) + np.sum(x[mask])

    return step


def _order(rng: Any, depth: int) -> Step:
    inner = _program(rng, depth - 1)
    return lambda x, y: inner(x[np.argsort(x)], y) * (1 + int(np.argmax(y)))


def _nested(rng: Any, depth: int) -> Step:
    """A derivative inside, written by hand for NumPy's arrays."""
    power = int(rng.integers(2, 4))

    def step(x: Any, y: Any) -> Any:
        if isinstance(x, np.ndarray):
            return power * np.abs(x) ** (power - 1) * np.sign(x) * y[0]

        def inner(z: Any) -> Any:
            return np.sum(np.where(z > 0, z, -z) ** power * (y[0] if z[0] > -99 else x))

        return gradir.grad(inner)(x)

    return step


def _plain(rng: Any, depth: int) -> Step:
    matrix, scale = rng.normal(size=(4, 4)) / 2, float(rng.normal())
    return lambda x, y: np.tanh(matrix @ x) + scale * np.cos(x) * float(y.mean())


def _program(rng: Any, depth: int) -> Step:
    forms = (_branch, _loop, _mask, _order, _nested, _plain) if depth > 0 else (_plain, _nested)
    step = forms[rng.integers(len(forms))](rng, depth)
    return lambda x, y: 2 * np.sin(step(x, y))


def check(seed: int, depth: int = 2, points: int = 2) -> None:
    """AssertionError where a derivative of a random program is wrong."""
    rng = np.random.default_rng(seed)
    steps = [_program(rng, depth) for _ in range(2)]

    def f(x: Any, y: Any) -> Any:
        for step in steps:
            x = step(x, y)
        return np.sum(x * np.sin(x + 1))

    slope = gradir.grad(f)

    def along(x: Array, y: Array, way: Array) -> None:
        _agree(lambda h: f(x + h * way, y), slope(x, y) @ way)
        curve = gradir.hvp(partial(f, y=y), (x,), (way,)) @ way
        _agree(lambda h: slope(x + h * way, y) @ way, curve)

    for _ in range(points):
        along(*rng.normal(size=(3, 4)))


def _agree(f: Callable[[float], Any], found: float) -> None:
    """Compare with central differences of two steps; where these differ, an edge is near."""
    one, two = ((f(h) - f(-h)) / (2 * h) for h in (1e-5, 3e-6))
    if abs(one - two) < 1e-5 * (1 + abs(one)):
        assert abs(found - one) < 1e-3 * (1 + abs(one)), (found, one)
