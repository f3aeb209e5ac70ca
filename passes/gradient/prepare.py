"""The form in which a function is differentiated, as a copy: the module stays as it is.

Checkpoint stages are regions; ops whose derivative is that of the simpler ops they consist of are
these simpler ops, so that what the backward code reads of them is kept rather than computed again.
Functions with effects that a stage calls are part of the stage, which keeps what must not be
computed again.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.analysis.call_graph import called_name, callee_of, calls_in
from gradir.passes.cleanup.dead_code import blocks_inside_out
from gradir.passes.cleanup.decompose import decompose_block
from gradir.passes.cleanup.inline import inline_call, inline_calls
from gradir.passes.differentiate.program import Program
from gradir.passes.recompute.outline_checkpoints import has_markers, outline_checkpoints
from gradir.passes.rules.custom_vjp import shell
from gradir.passes.shapes.infer_shapes import is_open


def prepared(module: ModuleOp, function: str, flat: bool) -> tuple[Program, FuncOp]:
    """The module as it is differentiated, and what stands for `@function` in it.

    Prepared copies stand for `@function` and what it calls. Functions that are in that form already
    stand for themselves. Where it is to be `flat`, calls are inlined too. PassError if there is no
    `@function`.
    """
    program = Program(module)
    written = program.function(function)
    functions = program.functions
    if function in program.custom:
        functions[function] = shell(written)
    copies: list[FuncOp] = []
    # a module around them too, so that regions are as deep in them as in what was written
    around = ModuleOp([]).body.block
    for original in _unprepared(functions, function, flat):
        copy = original.clone()
        around.add_op(copy)
        functions[copy.sym_name.data] = copy
        copies.append(copy)
        outline_checkpoints(copy)
        for block in blocks_inside_out(copy):
            decompose_block(block, is_taken_apart)
    _inline_effects(program, copies)
    source = functions[function]
    if flat:
        inline_calls(functions, source, program.custom, joined=True)
    if function in program.custom:
        # what calls it calls the function itself, whose derivative is declared
        functions[function] = written
    return program, source


def is_taken_apart(op: Operation) -> bool:
    """Its derivative is that of its decomposition, which can be made: the shapes are known."""
    if not (isinstance(op, TensorOp) and op.IS_TAKEN_APART):
        return False
    return not any(is_open(v.type) for v in (*op.operands, *op.results))


def _unprepared(functions: dict[str, FuncOp], name: str, anyway: bool) -> list[FuncOp]:
    """A function (`anyway`, or if it needs work) and those it may call that need work."""
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
    if has_markers(function) or any(map(is_taken_apart, function.walk())):
        return True
    return any(isinstance(op, CheckpointOp) and any(calls_in(op)) for op in function.walk())


def _inline_effects(program: Program, functions: Sequence[FuncOp]) -> None:
    """Inline what stages call that must not run twice, but for what has a vjp of its own."""
    for function in functions:
        stages = [op for op in function.walk() if isinstance(op, CheckpointOp)]
        pending = list(dict.fromkeys(call for stage in stages for call in calls_in(stage)))
        while pending:
            call = pending.pop()
            if called_name(call) not in program.custom and program.has_own_effect(call):
                pending += inline_call(call, callee_of(program.functions, call), joined=True)
