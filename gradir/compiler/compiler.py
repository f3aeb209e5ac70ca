"""From a module to native code: the stages, the plan for this machine, and the JIT."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.dialects.func import FuncOp

from gradir.codegen.driver.program import emit_program
from gradir.codegen.text.target import MachineTarget, host
from gradir.compiler.pipeline import Machine, Plans, run_stages
from gradir.dialects.base.attribute_names import MEMORY_LIMIT
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.host_call import HostCallOp
from gradir.interpreter.known_programs import check_program
from gradir.passes.analysis.arguments import READ_RESULTS
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.runtime.executable import Executable
from gradir.runtime.llvm import (
    Compilation,
    CompiledObject,
    compile_object,
    total_times,
)
from gradir.runtime.native_code import NativeCode, loaded, packed_text, runnable
from gradir.runtime.packed import (
    ComplexLayout,
    SlicesLayout,
    complex_layout,
    slices_layout,
)
from gradir.runtime.threads import thread_count
from gradir.symbols import check_signature, function_named

if TYPE_CHECKING:
    from gradir.passes.gradient.memory_limit import check_limit
    from gradir.runtime.host_calls import host_call_of
else:
    check_limit = lazy_function("gradir.passes.gradient.memory_limit", "check_limit")
    host_call_of = lazy_function("gradir.runtime.host_calls", "host_call_of")


Layouts: TypeAlias = tuple[SlicesLayout | None, ComplexLayout | None]
"""The row slices, and the complex numbers, among arguments and results."""


def compile_function(
    module: ModuleOp,
    function: str,
    threads: int | None = None,
    target: MachineTarget | None = None,
    profile: bool = False,
) -> Executable:
    """One function as native code in memory; uses up the module.

    With `profile` it takes the times of its kernels, and all else is the same.
    """
    machine = Machine(runnable(target or host()), thread_count(threads))
    return loaded(native_code(module, function, machine, profile), machine.target)


def native_code(
    module: ModuleOp,
    function: str,
    machine: Machine,
    profile: bool = False,
    stages: Callable[[ModuleOp, Machine], Plans] = run_stages,
    may_be_quick: bool = False,
) -> NativeCode:
    """The native code of one function; uses up the module. `stages` runs all stages.

    With `may_be_quick` the parts for which that pays are compiled quickly first (`tiers.py`).
    """
    isolated = isolate_function(module, function)
    layouts = slices_layout(isolated), complex_layout(isolated)
    compiled, plan = _placed(module, function, machine, stages)
    return emit_code(compiled, machine, plan, layouts, profile, may_be_quick)


def emit_code(
    function: FuncOp,
    machine: Machine,
    plan: MemoryPlan | None = None,
    layouts: Layouts = (None, None),
    profile: bool = False,
    may_be_quick: bool = False,
) -> NativeCode:
    """The native code of a function at buffer level; with `profile` it takes its times."""
    with Compilation(machine.target) as compilation:
        program = emit_program(
            *(function, machine.target, machine.threads, profile, compilation.add, may_be_quick)
        )
        objects = compilation.finish()
    found = function.attributes.get(READ_RESULTS)
    is_read = isinstance(found, DenseArrayBase)
    read = tuple(integers_of(cast(DenseArrayBase[Any], found))) if is_read else ()
    files, times = tuple(o.data for o in objects), total_times(objects)
    again = tuple(packed_text(text) if text else b"" for text in compilation.quick_texts)
    slices, complexes = layouts
    return NativeCode(
        *(program, files, machine.threads, plan, read, slices, times, again, complexes)
    )


def emit_object(
    module: ModuleOp, function: str, target: MachineTarget, threads: int = 1
) -> CompiledObject:
    """The object file of one function for any target; uses up the module."""
    isolate_function(module, function)
    compiled, _ = _placed(module, function, Machine(target, threads))
    return compile_object(emit_program(compiled, target, threads).text, target)


def isolate_function(module: ModuleOp, function: str) -> FuncOp:
    """The function, alone in its module, with all calls inlined."""
    from gradir.passes.cleanup.inline import isolate

    check_signature(function_named(module, function))
    return isolate(module, function)


def _placed(
    module: ModuleOp,
    function: str,
    machine: Machine,
    stages: Callable[[ModuleOp, Machine], Plans] = run_stages,
) -> tuple[FuncOp, MemoryPlan]:
    """The function after all stages, and the plan of its memory."""
    place = function_named(module, function)
    check_program([place])
    limit = place.attributes.get(MEMORY_LIMIT)
    for op in place.walk():
        if isinstance(op, HostCallOp):
            op.hold()
            host_call_of(op)
    plan = stages(module, machine)[function]
    if limit is not None:
        check_limit(limit, plan.peak_bytes, place)
    return function_named(module, function), plan
