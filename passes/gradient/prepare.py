"""The form of a function that is differentiated, for as long as its derivative is made.

Checkpoint stages are regions; ops whose derivative is that of the simpler ops they consist of are
these simpler ops, so that what the backward code reads of them is kept rather than computed again.
Functions with effects that a stage calls are part of the stage, which keeps what must not be
computed again.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.analysis.call_graph import called_name, callee_of, calls_in, functions_by_name
from gradir.passes.cleanup.dead_code import blocks_inside_out
from gradir.passes.cleanup.decompose import decompose_block
from gradir.passes.cleanup.inline import inline, inline_call
from gradir.passes.differentiate.derived_functions import Program
from gradir.passes.recompute.outline_checkpoints import has_markers, outline_checkpoints
from gradir.passes.shapes.infer_shapes import is_open


@contextmanager
def prepared(module: ModuleOp, function: str, flat: bool = False) -> Generator[None]:
    """For as long as this lasts, copies in that form stand for `@function` and what it calls.

    Functions that are in that form already stand for themselves. Where it is to be `flat`, calls
    are inlined too.
    """
    swapped: list[tuple[FuncOp, FuncOp]] = []
    try:
        for original in _unprepared(functions_by_name(module), function, flat):
            copy = original.clone()
            copy.location = original.location
            _swap(original, copy)
            swapped.append((original, copy))
            outline_checkpoints(copy)
            for block in blocks_inside_out(copy):
                decompose_block(block, is_taken_apart)
        _inline_effects(module, [copy for _, copy in swapped])
        if flat and function in functions_by_name(module):
            inline(module, function, joined=True)
        yield
    finally:
        for original, copy in swapped:
            _swap(copy, original)


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


def _inline_effects(module: ModuleOp, functions: Sequence[FuncOp]) -> None:
    """Inline what stages call that must not run twice, but for what has a vjp of its own."""
    program = Program(module)
    for function in functions:
        stages = [op for op in function.walk() if isinstance(op, CheckpointOp)]
        pending = list(dict.fromkeys(call for stage in stages for call in calls_in(stage)))
        while pending:
            call = pending.pop()
            if called_name(call) not in program.custom and program.has_own_effect(call):
                pending += inline_call(call, callee_of(program.functions, call), joined=True)


def _swap(old: FuncOp, new: FuncOp) -> None:
    block = old.parent
    assert block is not None
    block.insert_op_before(new, old)
    old.detach()
