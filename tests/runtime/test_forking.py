"""Forks of a process that uses gradir: no child waits for a lock or a thread of the parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

# `in_child(function)` is whether the function returned true in a forked child, and soon.
BEGIN = """
import gc, multiprocessing, os, sys, threading, time, traceback
import numpy as np
import gradir, gradir.numpy as gnp

def in_child(function, seconds=60):
    child = os.fork()
    if child == 0:
        status = 2
        try:
            status = 0 if function() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False

def compiled(number):
    def f(x):
        y = x
        for k in range(8):
            y = gnp.tanh(y * float(number + k)) + gnp.exp(-y)
        return gnp.sum(y)
    return gradir.jit(gradir.grad(f))

class Compiling:
    def __enter__(self):
        self.ends, self.started = False, threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        self.started.wait()
    def work(self):
        number = 100
        while not self.ends:
            self.started.set()
            number += 1
            compiled(number)(np.ones(3))
    def __exit__(self, *error):
        self.ends = True
        self.thread.join()
"""

WHILE_COMPILING = """
product = gradir.jit(lambda x: gnp.matmul(x, x), threads=2)
x = np.ones((300, 300), np.float32)
product(x)

def child():
    other = gradir.jit(lambda x: gnp.matmul(x, x) + 1, threads=2)
    counts = [f.compiled(x).executable.threads for f in (product, other)]
    same = (product(x) == 300).all() and (other(x) == 301).all()
    return same and counts == [2, 2] and gc.isenabled() and np.isfinite(compiled(1)(x)).all()

with Compiling():
    for trial in range(6):
        time.sleep(0.013 * trial)
        assert in_child(child), trial
assert (product(x) == 300).all() and gc.isenabled()
"""

MULTIPROCESSING = """
square = gradir.jit(lambda x: gnp.sum(x * x))

def work(k):
    return float(square(np.full(k % 3 + 1, 2.0)))

square(np.ones(1))
with Compiling(), multiprocessing.get_context("fork").Pool(2) as pool:
    found = pool.map_async(work, range(12)).get(timeout=100)
assert found == [4.0 * (k % 3 + 1) for k in range(12)]
"""

# A lock under which user code runs, here for a function that is being traced.
WHILE_TRACING = """
tracing, go = threading.Event(), threading.Event()

def slow(x):
    tracing.set()
    go.wait(60)
    return x * 2

function = gradir.jit(slow)
thread = threading.Thread(target=function, args=(np.ones(2),))
thread.start()
tracing.wait()
assert in_child(lambda: go.set() or (function(np.ones(2)) == 2).all() and gc.isenabled())
go.set()
thread.join()
assert (function(np.ones(2)) == 2).all()
forked = []

def forks(x):
    if not forked:
        forked.append(in_child(lambda: (gradir.jit(lambda y: y + 1)(np.ones(2)) == 2).all()))
    return x + 1

assert (gradir.jit(forks)(np.ones(2)) == 2).all() and forked == [True]
"""

WITH_OTHER_LOCKS = """
from gradir.gc_pause import paused_gc
from gradir.forking import RenewedLock, compiler_lock, short_lock
from gradir.text.parser import _room_to_recurse

limit, lock = sys.getrecursionlimit(), RenewedLock()
ready, end = threading.Event(), threading.Event()

def hold():
    with paused_gc(), _room_to_recurse(), lock:
        ready.set()
        end.wait(60)

thread = threading.Thread(target=hold)
thread.start()
ready.wait()

def child():
    with lock, paused_gc():
        paused = not gc.isenabled()
    return paused and gc.isenabled() and sys.getrecursionlimit() == limit

def fork_inside():
    with paused_gc():
        return in_child(lambda: not gc.isenabled())

assert in_child(child) and fork_inside()
end.set()
thread.join()
assert gc.isenabled() and sys.getrecursionlimit() == limit

# a handler of a signal forks while its own thread has the lock; two threads fork at once
short, own = short_lock(), compiler_lock()
with short, own:
    assert in_child(lambda: short.locked())
assert in_child(lambda: short.acquire(timeout=1) and own.acquire(timeout=1))
found = []
threads = [threading.Thread(target=lambda: found.append(in_child(lambda: True))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [True] * 4
"""


@pytest.mark.parametrize(
    "program",
    [
        WHILE_COMPILING,
        MULTIPROCESSING,
        WHILE_TRACING,
        WITH_OTHER_LOCKS,
    ],
    ids=["while_compiling", "multiprocessing", "while_tracing", "with_other_locks"],
)
def test_a_child_goes_on(program: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + program]
    subprocess.run(command, check=True, timeout=400, cwd=ROOT)
