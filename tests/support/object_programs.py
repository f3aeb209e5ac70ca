"""Random programs that make NumPy's arrays of single elements, and mix them with whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def program(seed: int) -> Callable[[Any], Any]:
    """A function of a vector of four numbers; it gives one."""

    def run(x: Any) -> Any:
        random = np.random.default_rng(seed)
        pool = [x[:2], x[2:4], x[1:3] * x[0]]
        for _ in range(int(random.integers(3, 9))):
            pool.append(random_vector(random, pool))
        return sum(np.sum(part) * (0.5 + k) for k, part in enumerate(pool))

    return run


def random_vector(random: np.random.Generator, pool: list[Any]) -> Any:
    """A vector of two numbers out of others."""

    def some() -> Any:
        return pool[random.integers(len(pool))]

    def number() -> Any:
        return some()[int(random.integers(2))]

    def written() -> Any:
        made = np.array([number(), number()])
        made[int(random.integers(2))] = number() + 1
        return made

    def copied() -> Any:
        y = some() * 1.0
        made = np.array(y)
        y[0] = 0.5
        return made + y

    side = int(random.integers(2))
    forms: list[Callable[[], Any]] = [
        written,
        copied,
        lambda: np.array([number(), number() * 0.5]),
        lambda: np.array([number(), 1.5]) + some(),
        lambda: some() * np.array([2, number()]),
        lambda: np.asarray(some()) - 0.25,
        lambda: np.array([[number(), 0.5], [0.25, number()]]) @ some(),
        lambda: np.array([some(), some()]).sum(axis=side),
        lambda: np.sin(np.array([number(), number()])),
        lambda: np.full(2, number()) / (1 + some() ** 2),
        lambda: np.stack([np.array([number(), number()]), some()])[side],
        lambda: np.array(some().tolist()) * 0.5,
        lambda: np.mean([some(), some()], axis=0) + np.var([number(), number(), 1.0]),
        lambda: np.concatenate([[number()], [number() * 2]]),
        lambda: np.array([v * v for v in some()]) + np.dot(some(), np.array([number(), 1.0])),
        lambda: np.where(np.array([True, side > 0]), some(), np.array([number(), 0.0])),
    ]
    return forms[int(random.integers(len(forms)))]()
