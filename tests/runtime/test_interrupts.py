"""Signals end native loops: at once, without results, and the function is as good as before."""

import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_harness import resident_bytes

import gradir
from gradir.codegen.costs import FUEL
from gradir.errors import HostCallError

Array = np.ndarray[Any, np.dtype[Any]]

if not hasattr(signal, "SIGUSR1"):
    pytest.skip("signals are those of POSIX", allow_module_level=True)

X = np.linspace(0.1, 0.9, 96 * 96, dtype=np.float32).reshape(96, 96)
HUGE = np.int64(10**15)

HEAD = """
func.func @f(%x: tensor<f64>, %n: i64) -> tensor<f64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %v = tensor.extract %x[] : tensor<f64>
"""
TAIL = """
  %t = tensor.from_elements %r : tensor<f64>
  return %t : tensor<f64>
}
"""
FOR = f"""{HEAD}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (f64) : i64 {{
    %b = arith.mulf %a, %v : f64
    %c = arith.addf %b, %v : f64
    scf.yield %c : f64
  }}{TAIL}"""
WHILE = f"""{HEAD}
  %r, %k = scf.while (%a = %v, %i = %c0) : (f64, i64) -> (f64, i64) {{
    %more = arith.cmpi slt, %i, %n : i64
    scf.condition(%more) %a, %i : f64, i64
  }} do {{
  ^bb0(%a: f64, %i: i64):
    %b = arith.mulf %a, %a : f64
    %j = arith.addi %i, %c1 : i64
    scf.yield %b, %j : f64, i64
  }}{TAIL}"""
# inner loops are short, or do not run at all, and sines are computed for blocks of iterations
NESTED = f"""{HEAD}
  %c3 = arith.constant 3 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (f64) : i64 {{
    %m = arith.remsi %i, %c3 : i64
    %d = arith.sitofp %i : i64 to f64
    %s = math.sin %d : f64
    %q = scf.for %j = %c0 to %m step %c1 iter_args(%z = %a) -> (f64) : i64 {{
      %w = arith.mulf %z, %s : f64
      scf.yield %w : f64
    }}
    %c = arith.addf %q, %v : f64
    scf.yield %c : f64
  }}{TAIL}"""
# constant bounds: run in chunks
LONG = FOR.replace("%n step", "%end step").replace(
    HEAD, f"{HEAD}  %end = arith.constant {10**15} : i64\n"
)
TENSORS = """
func.func @f(%x: tensor<96x96xf32>, %n: i64) -> tensor<96x96xf32> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<96x96xf32>) : i64 {
    %b = array.matmul %a, %x : tensor<96x96xf32>, tensor<96x96xf32> -> tensor<96x96xf32>
    %c = array.tanh %b : tensor<96x96xf32>
    scf.yield %c : tensor<96x96xf32>
  }
  return %r : tensor<96x96xf32>
}
"""
# only the items of the second half go on for long, so that a thread waits at the barrier
PROGRAMS = """
func.func @f(%x: tensor<4096xi64>, %n: i64) -> tensor<4096xi64> {
  %number = tensor.from_elements %n : tensor<i64>
  %y = loopnest.forall [4096] (%in = %x : tensor<4096xi64>, %most = %number : tensor<i64>)
      -> (%out : tensor<4096xi64>) {
    %i = loopnest.index 0
    %one = arith.constant 1 : i64
    %zero = arith.constant 0 : i64
    %element = loopnest.load %in[%i] : tensor<4096xi64> -> i64
    %most.0 = loopnest.load %most[] : tensor<i64> -> i64
    %end = arith.muli %most.0, %element : i64
    %last = scf.while (%k = %zero) : (i64) -> i64 {
      %more = arith.cmpi slt, %k, %end : i64
      scf.condition(%more) %k : i64
    } do {
    ^bb0(%k: i64):
      %next = arith.addi %k, %one : i64
      %same = arith.xori %next, %zero : i64
      scf.yield %same : i64
    }
    loopnest.store %last, %out[%i] : i64 to memref<4096xi64>
    loopnest.yield
  }
  return %y : tensor<4096xi64>
}
"""
HALF = np.repeat(np.array([0, 1], np.int64), 2048)

# an input, and the text
CASES = {
    "for": (np.float64(0.3), FOR),
    "while": (np.float64(0.3), WHILE),
    "nested": (np.float64(0.3), NESTED),
    "tensors": (X, TENSORS),
    "programs": (HALF, PROGRAMS),
}


class _SignalError(BaseException):
    """What the handler raises.

    No Exception: those are a host function's own errors where the signal comes while it runs.
    """


@contextmanager
def _interrupted(memory: int = 0) -> Generator[None]:
    """_SignalError inside, after 0.1 s and when the process has `memory` bytes more than before.

    The process ends if it hangs.
    """
    enough, ended = resident_bytes() + memory if memory else 0, threading.Event()

    def handler(number: int, frame: object) -> None:
        raise _SignalError

    def interrupt() -> None:
        while not ended.wait(0.1):
            if not memory or resident_bytes() >= enough:
                os.kill(os.getpid(), signal.SIGUSR1)
                return

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Thread(target=interrupt)
    faulthandler.dump_traceback_later(120, exit=True)
    timer.start()
    try:
        with pytest.raises(_SignalError):
            yield
    finally:
        ended.set()
        timer.join()
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGUSR1, before)


def _compiled(text: str, threads: int) -> Any:
    return gradir.compile(gradir.parse(text), "f", threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_signal_ends_loops(name: str, threads: int) -> None:
    """A handler's exception comes out of the call; the next call is right."""
    x, text = CASES[name]
    function = _compiled(text, threads)
    assert function.program.can_stop
    wanted = function(x, 5)
    for _ in range(2):
        with _interrupted():
            function(x, HUGE)
    np.testing.assert_array_equal(function(x, 5)[0], wanted[0])


def test_keyboard_interrupt() -> None:
    """Ctrl-C, and `out` keeps being usable."""
    function, out = _compiled(FOR, 1), np.zeros(())
    # a shell ignores Ctrl-C for what it starts in the background, and so does Python then
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    faulthandler.dump_traceback_later(120, exit=True)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            function(0.3, HUGE, out=(out,))
    finally:
        timer.join()
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGINT, before)
    assert function(0.3, 3, out=(out,))[0] is out


def test_chunks() -> None:
    """A loop with constant bounds ends in the middle, and has the bits that it has without one."""
    with _interrupted():
        _compiled(LONG, 1)(0.3, 0)
    trips = FUEL * 3 // 2 + 1
    text, value = LONG.replace(str(10**15), str(trips)), np.float64(1e-7)
    chunked, whole = _compiled(text, 1), _compiled(FOR, 1)
    assert chunked.program.can_stop
    np.testing.assert_array_equal(chunked(value, 0), whole(value, trips))


def test_short_loops_have_no_poll() -> None:
    """A loop of few trips is written as it was."""
    text = LONG.replace(str(10**15), "1000")
    function = _compiled(text, 1)
    assert not function.program.can_stop and "gradir_poll" not in function.llvm_ir


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system tells no size")
def test_memory_is_given_back() -> None:
    """A tape that has grown to 64 MiB in a call that was ended is freed."""

    def power(x: Any) -> Any:
        def small(y: Any) -> Any:
            return y < 2.0

        def times(y: Any) -> Any:
            return y * x

        return gradir.while_loop(small, times, x)

    program = gradir.trace(power, np.float64(1.0))
    module = program.gradient(program.functions[0], mode="grad")
    function: Any = gradir.compile(module, f"{program.functions[0]}_grad")
    function(np.float64(1.5))
    before, tape = resident_bytes(), 64 << 20
    for _ in range(4):
        with _interrupted(memory=tape):
            function(np.float64(1.0))
    # An allocator keeps some of what it is given back: the four tapes are 256 MiB.
    assert resident_bytes() - before < tape
    np.testing.assert_array_equal(function(np.float64(1.5))[1], 2 * 1.5)


HOST = """
func.func @f(%x: tensor<f64>, %n: i64) -> tensor<f64> {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<f64>) : i64 {
    %b = grad.host_call %a {callee = "interrupts.f"} : (tensor<f64>) -> tensor<f64>
    scf.yield %b : tensor<f64>
  }
  return %r : tensor<f64>
}
"""


def _runner(module: gradir.Module, native: bool) -> Callable[..., Any]:
    return gradir.compile(module, "f") if native else partial(gradir.interpret, module, "f")


@pytest.mark.parametrize("native", [False, True])
def test_host_calls_end_the_loop(native: bool) -> None:
    """What a host function or a signal meanwhile raises ends the loop: no further call is made."""
    calls = 0

    def function(x: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return x + 1

    gradir.register_host_function("interrupts.f", function)
    run = _runner(gradir.parse(HOST), native)
    with pytest.raises(KeyboardInterrupt):
        run(0.0, 1000)
    assert calls == 5
    np.testing.assert_array_equal(run(0.0, 3)[0], 3.0)
    with _interrupted():
        run(0.0, HUGE)
    np.testing.assert_array_equal(run(0.0, 3)[0], 3.0)


@pytest.mark.parametrize("native", [False, True])
def test_recursion_through_host_calls(native: bool) -> None:
    """A RecursionError, also on a small stack; an error further in is told once."""
    limit, zero = 10**9, np.zeros(())

    def deeper(x: Array) -> Any:
        if x > limit:
            raise ValueError("deep enough")
        return run(x + 1, 1)[0]

    gradir.register_host_function("interrupts.f", deeper)
    run = _runner(gradir.parse(HOST), native)
    with pytest.raises(RecursionError, match=r"recursion limit|stack"):
        deeper(zero)
    limit = 20
    with pytest.raises(HostCallError, match="deep enough") as caught:
        deeper(zero)
    assert len(str(caught.value)) < 3000
    limit, errors = 10**9, list[BaseException]()
    before = threading.stack_size(512 << 10)
    thread = threading.Thread(target=_caught, args=(lambda: deeper(zero), errors))
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert isinstance(errors[0], RecursionError)


def _caught(run: Callable[[], object], errors: list[BaseException]) -> None:
    try:
        run()
    except BaseException as error:
        errors.append(error)
