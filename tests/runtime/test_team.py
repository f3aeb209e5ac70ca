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
from gradir.runtime.team import CALLS_BEFORE, LONG_PATIENCE, SLOW, Team

US, MS, SECOND = 1e3, 1e6, 1e9

Times = Callable[[float], float]


def run(
    team: Team,
    alone: Times,
    parallel: Times,
    until: float,
    now: float = 0.0,
    used: float | None = None,
    pause: float = 0.0,
) -> list[int]:
    """The numbers of threads of the calls up to a time, where calls take as long as told.

    Calls alone use a core for `used`, each of two threads for less; they come after pauses.
    """
    sizes: list[int] = []
    while now < until:
        size = team.size()
        elapsed = (alone if size == 1 else parallel)(now)
        now += elapsed
        whole = used or elapsed
        worked = whole if size == 1 else 0.6 * whole
        team.note(size, elapsed, now, worked if team.needs_clock(size) else None)
        now += pause
        sizes.append(size)
    return sizes


def between(seed: int, *slices: float) -> Times:
    """A call of 30 ms alone beside others, which waits for its core again and again."""
    choose = random.Random(seed)
    return lambda now: 30 * MS + sum(choose.choice(slices) for _ in range(4))


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


@pytest.mark.parametrize("seed", range(6))
def test_long_calls_beside_others(seed: int):
    """Times of single calls say nothing: a parallel call is faster than some alone."""
    parallel = between(seed + 50, 4 * MS, 16 * MS)
    sizes = run(Team(2), between(seed, 0, 12 * MS), parallel, 60 * SECOND, used=30 * MS)
    assert sizes.count(2) < 0.05 * len(sizes)


@pytest.mark.parametrize("seed", range(6))
def test_they_take_all_threads_where_that_pays_in_a_crowd(seed: int):
    """Two threads of half a core each, and one of half a core."""
    parallel = between(seed + 50, 0, 2 * MS)
    sizes = run(Team(2), between(seed, 4 * MS, 12 * MS), parallel, 60 * SECOND, used=30 * MS)
    assert sizes.count(2) > 0.3 * len(sizes)


def test_an_interrupted_first_call_alone_decides_nothing():
    team = Team(2)
    waits = iter([90 * MS])
    sizes = run(
        team,
        lambda now: 30 * MS + next(waits, 0),
        lambda now: 40 * MS,
        60 * SECOND,
        used=30 * MS,
    )
    assert sizes.count(2) < 0.06 * len(sizes)


def test_short_calls_that_begin_in_a_crowd():
    """They take as long as slow ones, and are alone as soon as short ones."""
    sizes = run(Team(2), lambda now: MS, lambda now: 40 * MS, 2 * SECOND, used=MS)
    assert sizes[:5].count(1) >= 2 and sizes[:20].count(2) <= 4


def test_seldom_calls_are_no_trials():
    sizes = run(Team(2), lambda now: 100 * US, crowd(0, 1.0), 60 * SECOND, pause=50 * MS)
    assert sizes.count(2) < 0.02 * len(sizes)


def test_trials_get_seldom_but_never_end():
    team = Team(2)
    run(team, lambda now: 100 * US, lambda now: 8 * MS, 20 * SECOND)
    later = run(team, lambda now: 100 * US, lambda now: 8 * MS, 60 * SECOND, 20 * SECOND)
    assert 10 < later.count(2) < 0.006 * 40 * SECOND / (8 * MS)
    after = run(team, lambda now: 100 * US, lambda now: 60 * US, 65 * SECOND, 60 * SECOND)
    assert after.count(2) > 0.3 * len(after)
    assert LONG_PATIENCE < 5 * SECOND


def test_a_host_functions_wait_is_no_crowd():
    sizes = run(Team(2), lambda now: 30 * MS, lambda now: 25 * MS, 20 * SECOND)
    assert sizes.count(1) < 0.1 * len(sizes)


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
        def size(self) -> int:
            return 1 + len(sizes) % 2

        def note(self, size: int, *times: Any) -> None:
            sizes.append(size)

    assert executable.program.is_parallel
    executable._team = Turns(2)
    for _ in range(6):
        np.testing.assert_array_equal(function(x), wanted)
    # calls by Python, the first ones of a process, are timed as well
    assert sizes == [1, 2, 1, 2, 1, 2]
