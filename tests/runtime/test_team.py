"""How many threads calls take, by a clock of the test's own; and that it changes no bit."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.runtime.team import CALLS_BEFORE, SLOW, Team

US, MS, SECOND = 1e3, 1e6, 1e9

Times = Callable[[float], float]


def run(team: Team, alone: Times, parallel: Times, until: float, now: float = 0.0) -> list[int]:
    """The numbers of threads of the calls up to a time, where calls take as long as told."""
    sizes: list[int] = []
    while now < until:
        size = team.size(now)
        elapsed = (alone if size == 1 else parallel)(now)
        now += elapsed
        team.note(size, elapsed, now)
        sizes.append(size)
    return sizes


def crowd(seed: int, seldom: float = 0.5) -> Times:
    """Calls of 60 us; some lose the core for milliseconds."""
    choose = random.Random(seed)
    return lambda now: 60 * US + (choose.choice((4, 8, 24)) * MS if choose.random() < seldom else 0)


@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("length", [20 * US, 1 * MS, 40 * MS])
def test_all_threads_where_they_pay(threads: int, length: float):
    sizes = run(
        Team(threads), lambda now: length, lambda now: 0.6 * length, max(SECOND, 500 * length)
    )
    assert sizes[0] == threads
    assert sizes.count(1) < 0.05 * len(sizes)


@pytest.mark.parametrize("ratio", [1.01, 1.3, 3.0])
def test_one_where_they_never_pay(ratio: float):
    calls = len(run(Team(2), lambda now: 100 * US, lambda now: ratio * 100 * US, SECOND))
    assert calls > 0.93 * SECOND / (100 * US)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("seldom", [1.0, 0.5, 0.1, 0.02])
def test_beside_others(seed: int, seldom: float):
    """No less than nine tenths of what one thread does, which is interrupted too."""
    turn = count()

    def time_of_one(now: float) -> float:
        return 100 * US + (8 * MS if next(turn) % 200 == 100 else 0)

    calls = len(run(Team(2), time_of_one, crowd(seed, seldom), 4 * SECOND))
    only = len(run(Team(1), time_of_one, time_of_one, 4 * SECOND))
    assert calls > 0.9 * only


def test_a_crowd_that_comes_and_goes():
    team, busy = Team(2), crowd(0)

    def parallel(now: float) -> float:
        return busy(now) if SECOND < now < 3 * SECOND else 60 * US

    def time_of_one(now: float) -> float:
        return 100 * US

    assert run(team, time_of_one, parallel, SECOND).count(2) > 0.9 * SECOND / (60 * US)
    during = run(team, time_of_one, parallel, 3 * SECOND, SECOND)
    assert len(during) > 0.9 * 2 * SECOND / (100 * US)
    after = run(team, time_of_one, parallel, 6 * SECOND, 3 * SECOND)
    assert after[len(after) // 2 :].count(1) < 0.05 * len(after)


def test_one_interruption_is_borne():
    turn = count()

    def parallel(now: float) -> float:
        return 60 * US + (0.5 * MS if next(turn) == 2000 else 0)

    sizes = run(Team(2), lambda now: 100 * US, parallel, SECOND)
    assert sizes.count(1) < 0.05 * len(sizes)


def test_a_slow_function_begins_with_all_threads():
    sizes = run(Team(2), lambda now: SECOND, lambda now: 0.6 * SECOND, 60 * SECOND)
    assert sizes[: CALLS_BEFORE * 2] == [2] * (CALLS_BEFORE * 2)
    assert sizes[: CALLS_BEFORE * 2 + 2].count(1) == 1
    assert SLOW < SECOND


def test_the_number_of_threads_changes_no_bit():
    x = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)

    def of(x: Any) -> Any:
        return gnp.sum(gnp.tanh(x @ x) @ x, axis=0)

    function = gradir.jit(of, threads=2)
    executable = function.compiled(x).executable
    wanted = gradir.jit(of, threads=1)(x)
    sizes: list[int] = []

    class Turns(Team):
        def size(self, now: float) -> int:
            sizes.append(1 + len(sizes) % 2)
            return sizes[-1]

    assert executable.program.is_parallel
    executable._team = Turns(2)
    for _ in range(6):
        np.testing.assert_array_equal(function(x), wanted)
    assert sizes == [1, 2, 1, 2, 1, 2]
