"""Quick code runs first, then better code with the same bits: when, and what may fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.cache import store
from gradir.cache.folder import FOLDER_VARIABLE
from gradir.compiler import compiler, tiers
from gradir.errors import ArgumentError, CompileError
from gradir.runtime import background
from gradir.runtime.native_code import unpacked_text

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(autouse=True)
def both_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.TIERS_VARIABLE, "1")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> list[tiers.Improvement]:
    """Work for the background is gathered, and not begun."""
    begun: list[Any] = []
    monkeypatch.setattr(background, "begin", begun.append)
    return begun


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(store.SWITCH_VARIABLE, "1")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def network(x: gradir.Array, w: gradir.Array) -> gradir.Array:
    return gnp.sum(gnp.tanh(x @ w) * gnp.exp(-x))


def arguments() -> tuple[Array, Array]:
    generator = np.random.default_rng(3)
    return generator.normal(size=(9, 8)), generator.normal(size=(8, 8))


def derivative(wait: bool = False) -> Any:
    """The network and its gradient, compiled anew."""
    both = gradir.value_and_grad(network, argnums=(0, 1))
    return gradir.compile(gradir.trace(lambda x, w: both(x, w), *arguments()), "main", wait=wait)


def bits(results: tuple[Array, ...]) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results]


def test_better_code_takes_the_place_of_quick_code(waiting: list[tiers.Improvement]) -> None:
    function = derivative()
    assert waiting == [function.improvement]
    quick = [function(*arguments()) for _ in range(3)]
    assert function.wait_for_code() is function
    assert function.improvement is None and waiting[0].is_done
    wanted = bits(derivative(wait=True)(*arguments()))
    assert len(waiting) == 1
    for results in (*quick, function(*arguments())):
        assert bits(results) == wanted


def test_better_code_comes_by_itself() -> None:
    function = derivative()
    until(lambda: function.improvement is None)
    until(lambda: not any(t.name == "gradir-background" for t in threading.enumerate()))


def until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.usefixtures("native_calls")
def test_native_calls_run_the_better_code(waiting: list[tiers.Improvement]) -> None:
    """Also calls that began when there was quick code alone: their records are changed."""
    function = gradir.jit(network)
    before = [function(*arguments()) for _ in range(3)]
    made = function.compiled(*arguments()).executable
    replaced = made._codes[0]
    made.wait_for_code()
    assert made._native._program.entry == made._codes[1].address != replaced.address
    assert [function(*arguments()) for _ in range(3)] == before


def test_calls_of_other_threads_go_on_meanwhile(waiting: list[tiers.Improvement]) -> None:
    function = derivative()
    wanted, ends = bits(function(*arguments())), threading.Event()
    wrong: list[list[bytes]] = []

    def call() -> None:
        while not ends.is_set():
            wrong.extend(r for r in [bits(function(*arguments()))] if r != wanted)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    function.wait_for_code()
    time.sleep(0.05)
    ends.set()
    for caller in callers:
        caller.join()
    assert not wrong


def test_setting(monkeypatch: pytest.MonkeyPatch, waiting: list[tiers.Improvement]) -> None:
    monkeypatch.setenv(tiers.TIERS_VARIABLE, "0")
    assert derivative().improvement is None
    monkeypatch.setenv(tiers.TIERS_VARIABLE, "2")
    with pytest.raises(ArgumentError, match="GRADIR_TIERS: 0 or 1 expected, got '2'"):
        derivative()
    monkeypatch.setenv(tiers.TIERS_VARIABLE, "")
    assert derivative().improvement is not None
    made = gradir.jit(network, wait=True).compiled(*arguments()).executable
    assert made.improvement is None
    static = gradir.jit(lambda n, x: x * n, static_argnums=0, wait=True)
    static(3, np.ones(4))
    assert len(waiting) == 1


def quick_kernels(improvement: tiers.Improvement) -> set[str]:
    """The kernels, by their names, whose code is quick, and the driver."""
    texts = [unpacked_text(module) for module in improvement._code.modules if module]
    return set(re.findall(r"^define void @(\w+)\b", "\n".join(texts), re.MULTILINE))


def test_kernels_that_run_for_long_are_compiled_well_at_once(
    waiting: list[tiers.Improvement],
) -> None:
    """By their estimated cost; a loop whose trips are data may take long."""

    def newton(x: gradir.Array) -> gradir.Array:
        def step(x: gradir.Array) -> gradir.Array:
            return gnp.tanh(gnp.tanh(x @ x) @ x) @ x

        return gradir.while_loop(lambda x: gnp.sum(x) > 0.0, step, x)

    def products(function: Any, size: int) -> set[str]:
        """The products that are compiled quickly first."""
        name = "newton" if function is newton else "main"
        gradir.compile(gradir.trace(function, np.zeros((size, size))), name)
        return {name for name in quick_kernels(waiting[-1]) if name.startswith("contract")}

    assert not products(newton, 64) and not products(lambda x: x @ x, 4000)
    assert products(newton, 4) and products(lambda x: x @ x, 8)


def test_only_quick_modules_are_compiled_again(
    monkeypatch: pytest.MonkeyPatch, waiting: list[tiers.Improvement]
) -> None:
    """The kernels of long runs stay as they are."""

    def loss(x: gradir.Array, y: gradir.Array) -> gradir.Array:
        return gnp.sum(gnp.tanh(x @ x.T) @ gnp.exp(x)) + gnp.sum(gnp.cumsum(y, axis=0) * y)

    both = gradir.jit(gradir.grad(loss, argnums=(0, 1)))
    x, y = (np.linspace(-1, 1, n * 100).reshape(n, 100) for n in (2000, 3))
    results = both(x, y)
    [improvement] = waiting
    quick = both.compiled(x, y).executable
    modules = improvement._code.modules
    kernels = {kernel.name for kernel in quick.program.kernels}
    assert b"" in modules and kernels & quick_kernels(improvement) not in (set(), kernels)
    compile_object, texts = tiers.compile_object, list[str]()

    def compile_noted(text: str, *given: Any) -> Any:
        texts.append(text)
        return compile_object(text, *given)

    monkeypatch.setattr(tiers, "compile_object", compile_noted)
    quick.wait_for_code()
    assert len(texts) == len([module for module in modules if module])
    assert bits(both(x, y)) == bits(results)


def test_profiles_are_of_the_better_code(waiting: list[tiers.Improvement]) -> None:
    function = derivative()
    function.profile(*arguments())
    assert function.improvement is None and len(waiting) == 1


def test_functions_of_many_shapes(waiting: list[tiers.Improvement]) -> None:
    module = gradir.parse(
        """
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %y = array.exp %x : tensor<?xf64>
  func.return %y : tensor<?xf64>
}"""
    )
    function: Any = gradir.compile(module, "f")
    for n in (3, 4):
        function(np.ones(n))
    function.wait_for_code()
    assert [work.is_done for work in waiting] == [True, True]
    gradir.compile(module, "f", wait=True)(np.ones(3))
    assert len(waiting) == 2


# The disk.


def test_both_tiers_are_kept(folder: Path, waiting: list[tiers.Improvement]) -> None:
    first = derivative()
    wanted = bits(first(*arguments()))
    again = derivative()  # quick code, from the disk
    assert (again.compile_times, len(waiting)) == (None, 2)
    first.wait_for_code()
    better = derivative()
    assert better.improvement is None and better.compile_times is None
    assert bits(better(*arguments())) == bits(again(*arguments())) == wanted


def test_quick_code_on_disk_is_compiled_well_on_request(
    folder: Path, waiting: list[tiers.Improvement], monkeypatch: pytest.MonkeyPatch
) -> None:
    derivative()
    waited = derivative(wait=True)
    assert waited.improvement is None and len(waiting) == 1
    # no stage has run for it, and the better code is kept
    monkeypatch.setattr(compiler, "native_code", lambda *_, **__: pytest.fail("compiled again"))
    assert derivative().improvement is None
    assert bits(waited(*arguments()))


def test_a_disk_that_fails(
    folder: Path, waiting: list[tiers.Improvement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The better code runs, and what is on disk is not half written."""
    function = derivative()
    wanted = bits(function(*arguments()))

    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    function.wait_for_code()
    assert function.improvement is None and bits(function(*arguments())) == wanted
    monkeypatch.undo()


# Faults.


def test_an_error_leaves_the_quick_code(
    waiting: list[tiers.Improvement], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = derivative()
    wanted = bits(function(*arguments()))

    def fail(*_: object) -> None:
        raise CompileError("LLVM has no memory")

    monkeypatch.setattr(tiers, "compile_object", fail)
    with pytest.warns(UserWarning, match="main keeps its first code: LLVM has no memory"):
        function.wait_for_code()
    assert waiting[0].is_done and bits(function(*arguments())) == wanted


def test_a_function_that_is_gone_is_not_compiled(
    waiting: list[tiers.Improvement], monkeypatch: pytest.MonkeyPatch
) -> None:
    derivative()
    monkeypatch.setattr(tiers, "compile_object", lambda *_: pytest.fail("compiled"))
    assert not waiting[0].step()


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick code runs; the next program that finds a thread takes the work along."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        patch.setenv("GRADIR_NUM_THREADS", "1")
        first = derivative()
    assert first.improvement is not None
    second = derivative()
    until(lambda: first.improvement is None and second.improvement is None)


# Processes.

BEGIN = """
import os, sys, threading, time
import numpy as np
import gradir, gradir.numpy as gnp
from gradir.compiler import tiers

compiled, seconds = tiers._better, SECONDS

def compiled_slowly(*args):
    time.sleep(seconds)
    return compiled(*args)

tiers._better = compiled_slowly

def function(k):
    def f(x):
        y = x
        for i in range(6):
            y = gnp.tanh(y * float(k + i)) + gnp.exp(-y @ x.T @ x)
        return gnp.sum(y)
    return gradir.jit(gradir.grad(f))

x = np.ones((5, 4))
first = function(0)
wanted = first(x)
made = first.compiled(x).executable
"""


def output_of(script: str, slowly: float = 0.0) -> str:
    """What a process prints, whose better code takes some seconds longer for each module."""
    code = BEGIN.replace("SECONDS", str(slowly)) + script
    # Python 3.12 warns of any fork of a process with threads
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def test_a_process_ends_while_code_is_compiled() -> None:
    """With much work left: after the module that is under way."""
    start = """
many = [function(k) for k in range(1, 9)]
for f in many:
    f(x)
left = sum(f.compiled(x).executable.improvement is not None for f in many)
print(left, flush=True)
"""
    assert int(output_of(start, slowly=0.3)) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_goes_on() -> None:
    """A child of a process with work in the background has its better code, too."""
    start = """
assert made.improvement is not None
child = os.fork()
end = time.monotonic() + 50
while made.improvement is not None and time.monotonic() < end:
    time.sleep(0.01)
status = 0 if made.improvement is None and (first(x) == wanted).all() else 1
if child == 0:
    os._exit(status)
print(status, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert output_of(start, slowly=0.3) == "0 0\n"


def test_many_functions_at_once() -> None:
    """Threads compile functions while one improves them; all of them get their better code."""
    start = """
many = [function(k) for k in range(1, 17)]
threads = [threading.Thread(target=f, args=(x,)) for f in many]
for t in threads: t.start()
for t in threads: t.join()
results = [f(x) for f in many]
for f in many:
    f.compiled(x).executable.wait_for_code()
print(all((f(x) == r).all() for f, r in zip(many, results)))
"""
    assert output_of(start) == "True\n"
