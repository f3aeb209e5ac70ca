"""From a module to native code: the stages, the plan for this machine, and the JIT."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from gradir.dialects.attribute_names import MEMORY_LIMIT
from gradir.dialects.host_call import HostCallOp
from gradir.host_calls import host_call_of
from gradir.lowering.scratch import allocate_scratch
from gradir.lowering.target import Target, host
from gradir.memory_limit import check_limit
from gradir.pipeline import place_buffers, run_stages
from gradir.runtime import executable
from gradir.runtime.slices import SlicesExecutable, slices_layout
from gradir.runtime.threads import thread_count
from gradir.symbols import check_signature, function_named


def compile_function(
    module: ModuleOp, function: str, threads: int | None = None, target: Target | None = None
) -> executable.Executable:
    """Native code for one function; uses up the module."""
    from gradir.passes.inline import inline

    target = target or host()
    count = thread_count(threads)
    check_signature(function_named(module, function))
    inline(module, function)
    for op in list(module.ops):
        if op is not function_named(module, function):
            op.detach()
            op.erase()
    place = function_named(module, function)
    limit = place.attributes.get(MEMORY_LIMIT)
    layout = slices_layout(place)
    for op in place.walk():
        if isinstance(op, HostCallOp):
            host_call_of(op)
    run_stages(module)
    allocate_scratch(module, target, count)
    plan = place_buffers(module)[function]
    check_limit(limit, plan.peak_bytes, place)
    compiled = function_named(module, function)
    if layout is None:
        return executable.compile_function(compiled, count, target, plan)
    made = executable.compile_function(compiled, count, target, plan, SlicesExecutable)
    made.layout = layout
    return made
