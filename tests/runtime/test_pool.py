"""Threads of parallel calls: who runs what when helpers are late, leave, are few or forked away.

No result may show it: all is compared with one thread, bit by bit.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from flow_programs import flow_program
from runtime_harness import add_function, compiled

import gradir
import gradir.numpy as gnp
from gradir.codegen.driver import pool as text
from gradir.codegen.driver import threads as driver_threads
from gradir.runtime import pool
from gradir.runtime.team import Team

LONG = 1 << 16

# the threads of a pool never end, so that it must not either
KEPT: list[pool.ThreadPool] = []


def floats(count: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def own_pool(monkeypatch: pytest.MonkeyPatch, **constants: int) -> pool.ThreadPool:
    """A pool made with other constants, for programs that are compiled in the test.

    All calls take all threads.
    """
    for name, value in constants.items():
        monkeypatch.setattr(text, name, value)

    def every(team: Any) -> int:
        return team._count

    monkeypatch.setattr(Team, "size", every)
    KEPT.append(pool.ThreadPool())
    monkeypatch.setattr(pool, "_made", [KEPT[-1]])
    return KEPT[-1]


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can be shared is shared."""
    monkeypatch.setattr(driver_threads, "PHASE_COST", 0.0)
    monkeypatch.setattr(driver_threads, "PROGRAM_COST", 0.0)


def loops(x: Any, y: Any) -> Any:
    """Barriers in loops: rows that a step reads were written by another thread."""

    def step(k: Any, carried: Any) -> Any:
        rows, total = carried
        return gnp.tanh(rows @ y), total + rows.sum(axis=0)

    return gradir.fori_loop(0, 12, step, (x, gnp.zeros(y.shape[1])))


def all_bits(function: Callable[..., Any], *arguments: Any) -> list[bytes]:
    return [np.asarray(a).tobytes() for a in function(*arguments)]


def departures(threads: int) -> Iterator[bool]:
    """Whether helpers have left, after calls that lose all the time by waiting."""
    x, y = np.random.default_rng(1).normal(size=(2, 40, 40))
    fn = gradir.jit(loops, threads=threads)
    wanted = all_bits(gradir.jit(loops, threads=1), x, y)
    for _ in range(100):
        assert all_bits(fn, x, y) == wanted
        yield was_left(KEPT[-1])


def was_left(used: pool.ThreadPool) -> bool:
    place = used.address + text.POOL_BARRIER + text.BARRIER_GENERATION
    return bool(pool.ctypes.c_int64.from_address(place).value & text.ALONE)


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_helpers_leave_at_any_barrier(monkeypatch: pytest.MonkeyPatch, threads: int):
    """More threads than cores wait for each other; every wait that is noted sends helpers away."""
    own_pool(monkeypatch, LONG_NANOSECONDS=0, LOST_NANOSECONDS=0, LOST_SHARE=0, SPIN_TRIPS=1)
    assert any([*departures(threads)])


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("threads", [2, 5])
def test_helpers_that_sleep_at_once_are_woken(monkeypatch: pytest.MonkeyPatch, threads: int):
    """As where others want their cores: any offer of a core takes longer than none."""
    own_pool(monkeypatch, CROWDED_NANOSECONDS=0, SPIN_TRIPS=1, LOST_NANOSECONDS=(1 << 62))
    assert not any([*departures(threads)])


@pytest.mark.usefixtures("sharing")
def test_they_stay_where_nothing_is_lost(monkeypatch: pytest.MonkeyPatch):
    own_pool(monkeypatch, LOST_NANOSECONDS=(1 << 62))
    assert not any([*departures(3)])


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("seed", [105, 111, 117, 123])
def test_random_programs_from_which_helpers_leave(monkeypatch: pytest.MonkeyPatch, seed: int):

    own_pool(monkeypatch, LONG_NANOSECONDS=0, LOST_NANOSECONDS=0, LOST_SHARE=0, SPIN_TRIPS=1)
    module = gradir.parse(flow_program(random.Random(seed).choice, 8, 33, 130))
    generator = np.random.default_rng(seed)
    arguments = [
        generator.normal(size=(33, 130)),
        generator.normal(size=130),
        np.array(generator.normal()),
        float(generator.normal()),
        int(generator.integers(-1, 5)),
        bool(generator.integers(2)),
    ]
    wanted = all_bits(gradir.compile(module, "f", threads=1), *arguments)
    fn = gradir.compile(module, "f", threads=4)
    for _ in range(10):
        assert all_bits(fn, *arguments) == wanted


def test_a_pool_without_helpers(monkeypatch: pytest.MonkeyPatch):
    """The system gives no thread."""
    used = own_pool(monkeypatch)

    def refused(number: int) -> bool:
        return False

    monkeypatch.setattr(used, "_start", refused)
    fn = compiled(add_function(LONG), threads=4)
    x = floats(LONG)
    np.testing.assert_array_equal(fn(x, x)[0], x + x)
    assert used.size == 1


def test_as_many_threads_as_asked_for(monkeypatch: pytest.MonkeyPatch):
    used = own_pool(monkeypatch)
    fn = compiled(add_function(LONG), threads=60)
    x = floats(LONG)
    for _ in range(3):
        np.testing.assert_array_equal(fn(x, x)[0], x + x)
    assert used.size == 60
    assert fn.threads == 60
    assert compiled(add_function(LONG), threads=5000).threads == 1024


def test_two_pythons_threads_call(monkeypatch: pytest.MonkeyPatch):
    """One has the helpers, the other runs alone; and which is which changes."""
    own_pool(monkeypatch)
    fn = compiled(add_function(LONG), threads=2)
    wrong: list[int] = []

    def work(number: int) -> None:
        x, y = floats(LONG, seed=number), floats(LONG, seed=number + 1)
        for _ in range(200):
            if not np.array_equal(fn(x, y)[0], x + y):
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_threads_of_its_own():
    fn = compiled(add_function(LONG), threads=2)
    x = floats(LONG)
    assert np.array_equal(fn(x, x)[0], x + x)
    child = os.fork()
    if child == 0:
        ends = 1
        try:
            before = pool.shared().size
            is_right = all(np.array_equal(fn(x, x)[0], x + x) for _ in range(5))
            ends = 0 if is_right and (before, pool.shared().size) == (1, 2) else 2
        finally:
            os._exit(ends)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(fn(x, x)[0], x + x)
