"""Async host calls: what runs meanwhile, what waits for what, and what becomes of late ones.

No test measures time: functions wait for each other by events, and would fail by their time limits.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentError, HostCallError
from gradir.runtime import native_blocks, workers

LONG = 60.0
"""Seconds after which a test fails that waits."""

X = np.array([1.0, -2.0, 3.0])


def op_of(run: Callable[[Any], Any], exec: Any = "async", **options: Any) -> Any:
    """An op of one array, of a function that returns its value."""

    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = run(inputs[0])

    return gradir.custom_op(forward, lambda x: x, exec=exec, **options)


def test_calls_run_at_the_same_time():
    meeting = threading.Barrier(3, timeout=LONG)

    def meet(x: Any) -> Any:
        meeting.wait()
        return x * 2

    ops = [op_of(meet) for _ in range(3)]
    np.testing.assert_array_equal(gradir.jit(lambda x: sum(op(x) for op in ops))(X), 6 * X)


def test_what_does_not_need_it_goes_on():
    """The program comes to the sync call while the async one waits for that."""
    event = threading.Event()

    def late(x: Any) -> Any:
        assert event.wait(LONG)
        return x + 1

    def release(x: Any) -> Any:
        event.set()
        return x

    first, second = op_of(late), op_of(release, "sync")
    found = gradir.jit(lambda x: first(x) * second(gnp.sin(x)))(X)
    np.testing.assert_allclose(found, (X + 1) * np.sin(X))


def test_it_reads_the_values_at_its_place():
    """A program that overwrites an argument in place need not wait for who read it before."""
    event = threading.Event()

    def late(x: Any) -> Any:
        assert event.wait(LONG)
        return x * 10

    def release(x: Any) -> Any:
        event.set()
        return x

    reader, writer = op_of(late), op_of(release, "sync")

    def step(x: Any) -> Any:
        old = reader(x)
        return writer(x + 1), old

    new, old = gradir.jit(step, donate_argnums=0)(X.copy())
    np.testing.assert_array_equal((new, old), (X + 1, X * 10))


def test_loops_branches_stages_and_derivatives():
    def forward(inputs: Any, outputs: Any, req: Any) -> None:
        np.multiply(inputs[0], 2, out=outputs[0])

    def backward(cts: Any, inputs: Any, outputs: Any, grads: Any, req: Any) -> None:
        np.multiply(cts[0], 2, out=grads[0])

    options: Any = {"needs": ("cotangents",), "exec": "async", "pure": True}
    double = gradir.custom_op(forward, lambda x: x, backward, **options)

    def of(x: Any, on: Any) -> Any:
        def body(k: Any, y: Any) -> Any:
            return gradir.checkpoint(lambda y: gnp.sin(double(y)))(y)

        y = gradir.fori_loop(0, 3, body, x)
        return gnp.sum(gradir.cond(on, lambda v: double(v) * x, lambda v: v, y))

    def plain(x: Any, on: Any) -> Any:
        y = x
        for _ in range(3):
            y = gnp.sin(y * 2)
        return gnp.sum(gradir.cond(on, lambda v: 2 * v * x, lambda v: v, y))

    for on in (True, False):
        for policy in ("keep_all", "keep_none"):
            found, wanted = (
                gradir.value_and_grad(f, policy=policy)(X, np.bool_(on)) for f in (of, plain)
            )
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


KINDS = ("sync", "async", "async", "kernel", "kernel", "update", "loop")


def random_program(seed: int) -> Any:
    """A function of three arrays, of `steps` that each combine earlier values."""
    choose = random.Random(seed)
    steps = [
        (choose.choice(KINDS), choose.randrange(99), choose.randrange(99), choose.random())
        for _ in range(12)
    ]

    def program(calls: Any, *values: Any) -> Any:
        found = list(values)
        for kind, i, j, c in steps:
            a, b = found[i % len(found)], found[j % len(found)]
            if kind in ("sync", "async"):
                made = calls[kind](a)
            elif kind == "update":
                made = a.at[1:].set(b[:-1] * c)
            elif kind == "loop":
                made = gradir.fori_loop(0, 2, lambda k, v, b=b: calls["async"](v) + b, a)
            else:
                made = gnp.cos(a) * c + b
            found.append(made)
        return tuple(found[-3:])

    return program


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_have_the_bits_of_sync_ones(seed: int):
    choose = random.Random(seed)
    pauses = [choose.choice((0.0, 0.0, 0.002)) for _ in range(8)]

    def slow(x: Any) -> Any:
        time.sleep(pauses[int(abs(x[0]) * 1000) % 8])
        return x * 1.5 - 0.25

    makers = {exec: op_of(slow, exec) for exec in ("sync", "async")}
    program, values = random_program(seed), np.random.default_rng(seed).normal(size=(3, 40))
    sync = gradir.jit(lambda *v: program(dict.fromkeys(makers, makers["sync"]), *v))
    wanted = sync(*values)
    for threads in (1, 2):
        for donated in ((), (0, 1)):
            mixed = gradir.jit(
                lambda *v: program(makers, *v), threads=threads, donate_argnums=donated
            )
            for one, other in zip(mixed(*values.copy()), wanted, strict=True):
                np.testing.assert_array_equal(one, other)


def test_a_future_completes_it():
    """The arrays are written after the function returned, by another thread."""
    with ThreadPoolExecutor(2) as pool:

        def write(x: Any, out: Any) -> None:
            time.sleep(0.005)
            out[...] = x * 3

        def forward(inputs: Any, outputs: Any, req: Any) -> Any:
            return pool.submit(write, inputs[0], outputs[0])

        op = gradir.custom_op(forward, lambda x: x, exec="async")
        run = gradir.jit(lambda x: op(x) + op(x * 2))
        for _ in range(3):
            np.testing.assert_array_equal(run(X), 9 * X)
        np.testing.assert_array_equal(op(X), 3 * X)  # outside of a program
        sync = gradir.custom_op(forward, lambda x: x)
        with pytest.raises(HostCallError, match='Future; exec="async" waits for a Future'):
            sync(X)


def _failing(error: Exception) -> Any:
    made = Future[Any]()
    made.set_exception(error)
    return made


def _done(value: Any) -> Any:
    made = Future[Any]()
    made.set_result(value)
    return made


def _cancelled() -> Any:
    made = Future[Any]()
    made.cancel()
    return made


def _raises() -> Any:
    raise ValueError("no luck")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (_raises, "ValueError: no luck"),
        (lambda: _failing(KeyError("lost")), "KeyError: 'lost'"),
        (lambda: _done(3), "must write into outputs and return None, got int"),
        (_cancelled, "CancelledError"),
        (lambda: Future[Any](), "is not complete after 0.05 s, its timeout"),
        (lambda: None, r"outputs\[0\] is not written"),
    ],
)
def test_failures(returned: Any, message: str):
    fails = True

    def forward(inputs: Any, outputs: Any, req: Any) -> Any:
        if fails:
            return returned()
        outputs[0][...] = inputs[0]
        return None

    op = gradir.custom_op(forward, lambda x: x, exec="async", timeout=0.05, name="failing")
    others = [op_of(lambda x: x + 1) for _ in range(2)]
    run = gradir.jit(lambda x: others[0](x) + op(x) + others[1](x))
    for _ in range(2):
        with pytest.raises(HostCallError, match=rf"test_async_calls.py.*@failing: {message}"):
            run(X)
    fails = False
    np.testing.assert_array_equal(run(X), 3 * X + 2)


def test_a_call_that_is_late_harms_nothing():
    """The program goes on after its time limit; later writes miss its memory."""
    event, wrote = threading.Event(), threading.Event()

    def late(x: Any) -> Any:
        assert event.wait(LONG)
        wrote.set()
        return x * 100

    op = op_of(late, timeout=0.05)
    run = gradir.jit(lambda x: op(x) + 1)
    with pytest.raises(HostCallError, match="not complete"):
        run(X)
    kept = [gradir.jit(lambda x: x * 2)(X) for _ in range(5)]
    event.set()
    assert wrote.wait(LONG)
    np.testing.assert_array_equal(kept, [2 * X] * 5)
    np.testing.assert_array_equal(run(X), X * 100 + 1)


def test_the_first_error_ends_the_call():
    """Calls that nobody has begun are dropped, those that run end by themselves."""
    event, ran = threading.Event(), list[str]()

    def held(x: Any) -> Any:
        assert event.wait(LONG)
        ran.append("held")
        return x

    slow = op_of(held)

    def fail(x: Any) -> Any:
        raise ValueError("at once")

    failing = op_of(fail, "sync")
    with pytest.raises(HostCallError, match="at once"):
        gradir.jit(lambda x: slow(x) + failing(x))(X)
    event.set()
    assert ran in ([], ["held"])
    np.testing.assert_array_equal(gradir.jit(lambda x: slow(x))(X), X)


def test_timeouts_that_are_none():
    for wrong in (0, -1.0, "1", True, float("nan")):
        with pytest.raises(ArgumentError, match="timeout: expected a positive number of seconds"):
            op_of(lambda x: x, timeout=wrong)
    assert op_of(lambda x: x, timeout=None)(X) is not X


def test_few_workers_are_enough_for_calls_in_calls(monkeypatch: pytest.MonkeyPatch):
    """Who waits for a call that no worker has begun runs it."""
    monkeypatch.setattr(workers, "MOST_WORKERS", 1)
    monkeypatch.setattr(workers, "_pool", workers._Pool())
    leaf = op_of(lambda x: x + 1)
    inner = gradir.jit(lambda x: leaf(x) * leaf(x * 2))
    middle = op_of(lambda x: inner(x))
    outer = gradir.jit(lambda x: middle(x) + middle(-x))
    for _ in range(20):
        wanted = (X + 1) * (2 * X + 1) + (-X + 1) * (-2 * X + 1)
        np.testing.assert_array_equal(outer(X), wanted)


def test_many_threads_call_often():
    """10,000 calls from 8 threads: no deadlock, no lost call, nothing left behind."""
    ops = {exec: op_of(lambda x: x + 1, exec) for exec in ("sync", "async")}
    run = gradir.jit(lambda x: ops["async"](x) + ops["sync"](x) + ops["async"](x * 2))
    run(X)
    failed = list[Any]()

    def work(number: int) -> None:
        x = X + number
        for _ in range(420):  # three calls each
            if not np.array_equal(run(x), 4 * x + 3):
                failed.append(number)

    before = threading.active_count()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10 * LONG)
        assert not thread.is_alive()
    assert not failed
    assert threading.active_count() <= before + workers.MOST_WORKERS
    host = run.compiled(X).executable.host
    assert host._jobs == {}


def test_a_signal_ends_the_wait():
    event = threading.Event()

    def held(x: Any) -> Any:
        timer.start()
        assert event.wait(LONG)
        return x

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    op = op_of(held)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            gradir.jit(lambda x: op(x))(X)
    finally:
        signal.signal(signal.SIGINT, before)
        event.set()


FORK = """
import os, numpy as np, gradir

def forward(inputs, outputs, req):
    outputs[0][...] = inputs[0] + 1

op = gradir.custom_op(forward, lambda x: x, exec="async")
run = gradir.jit(lambda x: op(x) + op(x))
wanted = run(np.ones(3))
child = os.fork()
assert np.array_equal(run(np.ones(3)), wanted)
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_both_sides_of_a_fork_call():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout, done.returncode) == ("both\n", 0), done.stderr


NEVER_ENDS = """
import threading, numpy as np, gradir

def forward(inputs, outputs, req):
    threading.Event().wait()

op = gradir.custom_op(forward, lambda x: x, exec="async", timeout=0.05)
try:
    gradir.jit(lambda x: op(x))(np.ones(3))
except gradir.GradirError:
    print("late")
"""


def test_a_function_that_never_returns_does_not_keep_the_process():
    command = [sys.executable, "-c", NEVER_ENDS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout, done.returncode) == ("late\n", 0), done.stderr


def test_native_functions_too():
    """A native function that is async runs on a worker: here one of ctypes, that waits."""
    meeting = threading.Barrier(2, timeout=LONG)

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    def meet(call: int) -> int:
        meeting.wait()
        record = native_blocks.CallRecord.from_address(call)
        x, y = record.inputs[0], record.outputs[0]
        ctypes.memmove(y.data, x.data, x.size * 8)
        return 0

    op = gradir.custom_op(gradir.native(meet), lambda x: x, exec="async")
    np.testing.assert_array_equal(gradir.jit(lambda x: op(x) + op(2 * x))(X), 3 * X)

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    def fail(call: int) -> int:
        return 7

    op = gradir.custom_op(gradir.native(fail), lambda x: x, exec="async", name="fails_natively")
    for _ in range(2):
        with pytest.raises(HostCallError, match="@fails_natively: the function returned 7"):
            gradir.jit(lambda x: op(x))(X)
