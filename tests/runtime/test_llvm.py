"""Modules of a program are compiled side by side, and their objects do not depend on how."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.codegen.driver import modules
from gradir.codegen.text.target import host
from gradir.errors import CompileError
from gradir.runtime import llvm
from gradir.runtime.llvm import FULL, QUICK, Compilation, compile_object, total_times

pytestmark = pytest.mark.usefixtures("llvm_alone")


def text_of(number: int) -> str:
    """A module of one function, which takes LLVM a while."""
    lines = [f"define double @f{number}(double %x0) {{"]
    lines += [f"  %x{k + 1} = fmul double %x{k}, %x{k // 2}" for k in range(200)]
    return "\n".join([*lines, "  ret double %x200", "}"])


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "gradir-llvm"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_objects_are_those_of_single_modules(count: int) -> None:
    texts = [text_of(k) for k in range(5)]
    with Compilation(host(), count) as compilation:
        for text in texts:
            compilation.add(text)
        found = compilation.finish()
    assert [o.data for o in found] == [compile_object(text, host()).data for text in texts]
    assert total_times(found).emit == pytest.approx(sum(o.times.emit for o in found))
    assert not helpers()


@pytest.mark.parametrize("count", [0, 2])
def test_each_module_has_its_tier(count: int) -> None:
    """But none of a very long one is quick, whose values would take too much of the stack."""
    texts = [text_of(k) for k in range(4)]
    texts[3] += ";" + llvm.LONG_TEXT * " "
    with Compilation(host(), count) as compilation:
        for text, is_quick in zip(texts, (False, True, True, True), strict=True):
            compilation.add(text, is_quick)
        found = compilation.finish()
    tiers = (FULL, QUICK, QUICK, FULL)
    wanted = [compile_object(text, host(), t).data for text, t in zip(texts, tiers, strict=True)]
    assert [o.data for o in found] == wanted
    assert compilation.quick_texts == ("", *texts[1:3], "")


@pytest.mark.parametrize("count", [0, 2])
def test_an_error_of_any_module_is_raised(count: int) -> None:
    with Compilation(host(), count) as compilation:
        for text in (text_of(0), "define void @g( {", text_of(1)):
            compilation.add(text)
        with pytest.raises(CompileError, match="LLVM does not take the code that gradir wrote"):
            compilation.finish()
    assert not helpers()


def test_an_interruption_is_raised_before_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calling thread is interrupted while a helper fails."""
    caller = threading.current_thread()

    def compile_nothing(*_: object) -> None:
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        time.sleep(0.1)
        raise CompileError("a module")

    monkeypatch.setattr(llvm._Worker, "compile", compile_nothing)
    with Compilation(host(), 1) as compilation:
        compilation.add("one")
        time.sleep(0.02)
        compilation.add("two")
        with pytest.raises(KeyboardInterrupt):
            compilation.finish()
    assert not helpers()


def test_no_thread_outlives_an_error_of_the_emission() -> None:
    with pytest.raises(ValueError, match="emission"), Compilation(host(), 2) as compilation:
        for k in range(4):
            compilation.add(text_of(k))
        raise ValueError("emission")
    assert not helpers()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_a_compiling_process_compiles() -> None:
    with Compilation(host(), 2) as compilation:
        for k in range(6):
            compilation.add(text_of(k))
        child = os.fork()
        if not child:
            status = 1
            try:
                status = 0 if len(compilation.finish()) == 6 else 2
            finally:
                os._exit(status)
        assert len(compilation.finish()) == 6
    assert os.waitpid(child, 0)[1] == 0


def network(x: gradir.Array, *weights: gradir.Array) -> gradir.Array:
    for k, weight in enumerate(weights):
        x = gnp.tanh(x @ weight) * (k + 1.0) + gnp.exp(-x * x).sum(axis=0)
    # the kernels of factorizations poll for signals
    return gnp.sum(x * x) + gnp.linalg.det(x / 10)


def test_bits_do_not_depend_on_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module for each kernel, and one for all."""
    random = np.random.default_rng(0)
    x, *weights = (random.normal(size=(24, 24)).astype(np.float32) for _ in range(4))
    results: list[bytes] = []
    for size in (1, 1 << 40):
        monkeypatch.setattr(modules, "GROUP_BYTES", size)
        # another program in each turn, which no store of code knows
        step = gradir.value_and_grad(lambda *given: network(*given), argnums=(0, 1, 2, 3))
        module = gradir.trace(step, x, *weights)
        function = gradir.compile(module, module.functions[0])
        results.append(b"".join(np.asarray(r).tobytes() for r in function(x, *weights)))
    assert results[0] == results[1]
