"""Functions at buffer level as text, and their native code."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.dialects.math import Math
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser

from gradir.codegen.text.target import MachineTarget, host
from gradir.compiler.compiler import emit_code
from gradir.compiler.pipeline import Machine
from gradir.dialects.loopnest.loopnest import ContractOp, Loopnest
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.runtime.executable import Executable
from gradir.runtime.native_call import Runner
from gradir.runtime.native_code import loaded, runnable
from gradir.runtime.threads import thread_count

Array = np.ndarray[Any, np.dtype[Any]]


def parse(text: str) -> ModuleOp:
    """A verified module."""
    context = Context()
    for dialect in (Builtin, Func, Arith, Math, MemRef, Scf, Loopnest):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def function_of(text: str) -> FuncOp:
    """The first function of a module."""
    return next(op for op in parse(text).ops if isinstance(op, FuncOp))


def contraction_of(text: str) -> ContractOp:
    """The first contraction of a module."""
    return next(op for op in parse(text).walk() if isinstance(op, ContractOp))


def compile_buffers(
    function: FuncOp,
    threads: int | None = None,
    target: MachineTarget | None = None,
    plan: MemoryPlan | None = None,
) -> Executable:
    """A function at buffer level in memory, for at most `threads` threads."""
    target = runnable(target or host())
    return loaded(emit_code(function, Machine(target, thread_count(threads)), plan), target)


def compiled(text: str, threads: int = 1) -> Executable:
    return compile_buffers(function_of(text), threads)


def called_by_python(fn: Executable) -> Executable:
    """The function; all its calls go through Python now."""

    def declined(arguments: tuple[object, ...], out: object) -> None:
        return None

    def runner(table: int) -> Runner:
        return declined

    getattr(fn, "_native").runner = runner  # noqa: B009
    getattr(fn, "_idle").clear()  # noqa: B009
    return fn


def memref(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"memref<{''.join(f'{n}x' for n in shape)}{element}>"


def function(arguments: str, inputs: int, results: int, body: str, before: str = "") -> str:
    """The text of a module with the function @f."""
    counts = f"gradir.inputs = {inputs} : i64, gradir.results = {results} : i64"
    return f"""{before}
func.func @f({arguments}) attributes {{{counts}}} {{
{body}
  func.return
}}"""


def sum_of(n: int, left: str, right: str, target: str) -> str:
    """A nest that adds two vectors."""
    return f"""
  loopnest.nest [{n}] (%a = {left}[d0] : memref<{n}xf32>, %b = {right}[d0] : memref<{n}xf32>)
      -> ([d0] to {target} : memref<{n}xf32>) {{
    %0 = arith.addf %a, %b : f32
    loopnest.yield %0 : f32
  }}"""


def add_function(n: int) -> str:
    """@f(x, y) -> x + y for vectors of n floats."""
    v = f"memref<{n}xf32>"
    return function(f"%x: {v}, %y: {v}, %r: {v}", 2, 1, sum_of(n, "%x", "%y", "%r"))


def chain_function(n: int, layers: int) -> str:
    """@f(x, y) -> x + layers * y, through two buffers of an arena."""
    v, arena = f"memref<{n}xf32>", f"memref<{8 * n}xi8>"
    lines = [
        "  %c0 = arith.constant 0 : index",
        f"  %c1 = arith.constant {4 * n} : index",
        f"  %b0 = memref.view %arena[%c0][] : {arena} to {v}",
        f"  %b1 = memref.view %arena[%c1][] : {arena} to {v}",
    ]
    source = "%x"
    for layer in range(layers):
        target = "%r" if layer == layers - 1 else f"%b{layer % 2}"
        lines.append(sum_of(n, source, "%y", target))
        source = target
    return function(f"%arena: {arena}, %x: {v}, %y: {v}, %r: {v}", 2, 1, "\n".join(lines))


def resident_bytes() -> int:
    """The memory that this process has, after garbage is collected (Linux)."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
