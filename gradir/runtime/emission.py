"""Functions at buffer level to native code."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp

from gradir.codegen.driver.program import emit_program
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.attributes import integers_of
from gradir.passes.analysis.arguments import READ_RESULTS
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.runtime import jit
from gradir.runtime.native_code import NativeCode
from gradir.runtime.slices import Layout


def emitted(
    function: FuncOp,
    thread_count: int,
    target: MachineTarget,
    plan: MemoryPlan | None = None,
    layout: Layout | None = None,
    profile: bool = False,
) -> NativeCode:
    """The native code of a function at buffer level; with `profile` it takes its times."""
    program = emit_program(function, target, thread_count, profile)
    compiled = jit.compile_object(program.text, target)
    found = function.attributes.get(READ_RESULTS)
    is_read = isinstance(found, DenseArrayBase)
    read = tuple(integers_of(cast(DenseArrayBase[Any], found))) if is_read else ()
    return NativeCode(program, compiled.data, thread_count, plan, read, layout, compiled.times)
