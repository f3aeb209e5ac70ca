"""Copies of functions in a form for differentiation; the module is unchanged.

Checkpoint stages are regions. Ops differentiated by their decomposition are decomposed, so that
the backward code keeps their residuals rather than recomputes them. Calls of functions with
effects in a stage are inlined: the stage keeps values that must not be recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.analysis.call_graph import called_name, callee_of, calls_in
from gradir.passes.cleanup.dead_code import blocks_inside_out
from gradir.passes.cleanup.decompose import decompose_block, is_taken_apart, taken_apart
from gradir.passes.cleanup.inline import inline_call, inline_calls
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.gradient.spectral_functions import gives_vectors, recognize_spectral_functions
from gradir.passes.recompute.outline_checkpoints import has_markers, outline_checkpoints
from gradir.passes.rules.custom_vjp import self_calling_function


def prepared(module: ModuleOp, function: str, flat: bool) -> tuple[ModuleFunctions, FuncOp]:
    """The program to differentiate, and the prepared `@function` in it.

    Prepared copies stand for `@function` and its callees, unless these need no preparation. If
    `flat`, calls are inlined too. PassError if there is no `@function`.
    """
    program = ModuleFunctions(module)
    written = program.function(function)
    functions = program.functions
    if function in program.custom:
        functions[function] = self_calling_function(written)
    copies: list[FuncOp] = []
    # in a module, so that their regions are as deep as in the source
    around = ModuleOp([]).body.block
    for original in _unprepared(functions, function, flat):
        copy = original.clone()
        around.add_op(copy)
        functions[copy.sym_name.data] = copy
        copies.append(copy)
        outline_checkpoints(copy)
        for block in blocks_inside_out(copy):
            recognize_spectral_functions(block)
            decompose_block(block, taken_apart)
    _inline_effects(program, copies)
    source = functions[function]
    if flat:
        inline_calls(functions, source, program.custom, joined=True)
    if function in program.custom:
        # callers call the function itself, whose derivative is declared
        functions[function] = written
    return program, source


def _unprepared(functions: dict[str, FuncOp], name: str, anyway: bool) -> list[FuncOp]:
    """A function and its callees that need preparation; itself always if `anyway`."""
    reached = [name]
    seen = set(reached)
    for caller in reached:
        for call in calls_in(functions[caller]) if caller in functions else ():
            if (callee := called_name(call)) not in seen:
                seen.add(callee)
                reached.append(callee)
    found = [functions[n] for n in reached if n in functions]
    return [f for f in found if (anyway and f.sym_name.data == name) or _needs_work(f)]


def _needs_work(function: FuncOp) -> bool:
    if has_markers(function):
        return True
    if any(is_taken_apart(op) or gives_vectors(op) for op in function.walk()):
        return True
    return any(isinstance(op, CheckpointOp) and any(calls_in(op)) for op in function.walk())


def _inline_effects(program: ModuleFunctions, functions: Sequence[FuncOp]) -> None:
    """Inline calls in stages of functions with effects, except those with a custom vjp."""
    for function in functions:
        stages = [op for op in function.walk() if isinstance(op, CheckpointOp)]
        pending = list(dict.fromkeys(call for stage in stages for call in calls_in(stage)))
        while pending:
            call = pending.pop()
            if called_name(call) not in program.custom and program.has_own_effect(call):
                pending += inline_call(call, callee_of(program.functions, call), joined=True)
