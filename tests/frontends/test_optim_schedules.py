"""gradir.optim's schedules against their formulas in Python's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir import optim
from gradir.errors import ArgumentError

COUNTS = (0, 1, 2, 5, 9, 10, 11, 20, 1000)


def linear(c: int) -> float:
    return 3 + (1 - 3) * min(max(c - 2, 0), 8) / 8


def decayed(c: int) -> float:
    return max(2 * 0.5 ** (max(c - 1, 0) / 4), 0.3)


def stairs(c: int) -> float:
    return 2 * 1.5 ** (c // 5) if c < 1000 else 4


def cosine(c: int) -> float:
    done = min(c / 10, 1)
    return 2 * (0.9 * ((1 + math.cos(math.pi * done)) / 2) ** 1.5 + 0.1)


def warm(c: int) -> float:
    if c < 5:
        return 0.1 + (2 - 0.1) * c / 5
    done = min((c - 5) / 10, 1)
    return 0.2 + (2 - 0.2) * (1 + math.cos(math.pi * done)) / 2


def pieces(c: int) -> float:
    return 8 * (0.5 if c >= 2 else 1) * (0.25 if c >= 10 else 1)


def joined_schedule(c: int) -> float:
    return 1 if c < 2 else linear(c - 2) if c < 10 else 1 / (c - 10 + 1)


SCHEDULES: list[tuple[optim.Schedule, Callable[[int], float]]] = [
    (optim.constant_schedule(0.5), lambda c: 0.5),
    (optim.linear_schedule(3, 1, 8, transition_begin=2), linear),
    (optim.exponential_decay(2.0, 4, 0.5, transition_begin=1, end_value=0.3), decayed),
    (optim.exponential_decay(2, 5, 1.5, staircase=True, end_value=4), lambda c: min(stairs(c), 4)),
    (optim.cosine_decay_schedule(2.0, 10, alpha=0.1, exponent=1.5), cosine),
    (optim.warmup_cosine_decay_schedule(0.1, 2, 5, 15, end_value=0.2), warm),
    (
        optim.warmup_cosine_decay_schedule(0.1, 2, 0, 10),
        lambda c: 1 + math.cos(min(c / 10, 1) * math.pi),
    ),
    (optim.piecewise_constant_schedule(8, {10: 0.25, 2: 0.5}), pieces),
    (optim.piecewise_constant_schedule(8), lambda c: 8),
    (
        optim.join_schedules(
            [
                optim.constant_schedule(1),
                optim.linear_schedule(3, 1, 8, transition_begin=2),
                lambda c: 1 / (c + 1),
            ],
            [2, 10],
        ),
        joined_schedule,
    ),
]


@pytest.mark.parametrize(("schedule", "formula"), SCHEDULES)
def test_values(schedule: optim.Schedule, formula: Callable[[int], float]) -> None:
    """Called with numbers, and traced with a count of int32."""
    for count in COUNTS:
        found = schedule(count)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, formula(count), rtol=1e-14)
    each = gradir.jit(lambda counts: [schedule(c) for c in counts])
    np.testing.assert_allclose(
        each([np.int32(c) for c in COUNTS]), [formula(c) for c in COUNTS], rtol=1e-14
    )


@pytest.mark.parametrize(
    "schedule",
    [
        lambda c: 0.5 ** (c // 2) / (1 + c),
        lambda c: gnp.where(c < 1, 0.5, 1 / 4),
        lambda c: gnp.take(np.array([0.5, 0.25], np.float32), gnp.astype(c, "int32")),
        lambda c: np.float64(0.5),
    ],
    ids=["python", "where", "table", "numpy"],
)
def test_a_schedule_of_ones_own_keeps_the_dtype(schedule: Callable[[Any], Any]) -> None:
    optimizer = optim.sgd(schedule)
    params = np.ones(3, np.float32)
    state = optimizer.init(params)
    for count in range(2):
        updates, state = optimizer.update(params, state)
        wanted = gradir.jit(schedule)(float(count))
        assert updates.dtype == np.float32
        np.testing.assert_array_equal(updates, -np.float32(wanted) * params)
    assert (state[0].count, state[0].count.dtype) == (2, np.int32)


def test_the_last_count_stays() -> None:
    last = np.iinfo(np.int32).max
    optimizer = optim.scale_by_schedule(lambda count: count)
    updates, state = optimizer.update(np.ones(1), optim.ScaleByScheduleState(np.int32(last)))
    assert (updates[0], state.count) == (last, last)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optim.linear_schedule(1, 0, 0), "transition_steps must be 1 or more, got 0"),
        (lambda: optim.cosine_decay_schedule(1, -1), "decay_steps must be 1 or more, got -1"),
        (lambda: optim.warmup_cosine_decay_schedule(0, 1, 5, 5), "decay_steps must be 6 or more"),
        (lambda: optim.exponential_decay(1, 5, 0), "decay_rate must be positive, got 0"),
        (lambda: optim.piecewise_constant_schedule(1, {2: -1}), "scales must be >= 0"),
        (lambda: optim.join_schedules([], []), "one boundary fewer than schedules, got 0 and 0"),
        (lambda: optim.join_schedules([abs] * 3, [5, 2]), r"boundaries must rise, got \[5, 2\]"),
    ],
)
def test_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
