"""gradir-decompose: replace compound ops (softmax, losses, ...) by simpler ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import Decomposition, apart, decomposition, is_inactive, vjp_rule
from gradir.dialects.base.shapes import has_open_types
from gradir.dialects.base.value import Emitter, Value
from gradir.passes.analysis.edits import replace_results
from gradir.passes.cleanup.dead_code import blocks_inside_out, require_static_shapes


def decompose(module: ModuleOp) -> None:
    """Replace all ops with a decomposition."""
    for block in blocks_inside_out(module):
        decompose_block(block)


def decompose_block(
    block: Block,
    simpler: Callable[[Operation], Decomposition | None] = decomposition,
    behind: Operation | None = None,
) -> None:
    """Replace the ops of a block (not of regions in it) for which `simpler` gives a decomposition.

    With `behind`, only ops behind that one.
    """
    op = block.first_op if behind is None else behind.next_op
    while op is not None:
        made = simpler(op)
        op = op.next_op if made is None else _decompose_op(block, op, made)


def taken_apart(op: Operation) -> Decomposition | None:
    """The decomposition by which an op of known shapes is differentiated; None without one."""
    if has_open_types(op):
        return None
    return decomposition(op) if is_only_apart(op) else apart(op)


def is_taken_apart(op: Operation) -> bool:
    return taken_apart(op) is not None


def is_only_apart(op: Operation) -> bool:
    """Whether an op of another dialect has a decomposition, and no derivative of its own."""
    if isinstance(op, TensorOp) or decomposition(op) is None:
        return False
    return vjp_rule(op) is None and not is_inactive(op)


def without_compounds(function: FuncOp, wanted: Callable[[Operation], bool]) -> FuncOp:
    """A function without the wanted ops: a copy in a module of its own, or itself without any."""
    if not any(map(wanted, function.walk())):
        return function
    copy = function.clone()
    copy.location = function.location
    ModuleOp([copy])  # regions are as deep as in a program
    for block in blocks_inside_out(copy):
        if block.parent_op() is not None:  # an op may have gone with the blocks in it
            decompose_block(block, lambda op: decomposition(op) if wanted(op) else None)
    return copy


def _decompose_op(block: Block, op: Operation, apart: Decomposition) -> Operation | None:
    """Replace one op; returns its first replacement, which may be compound too."""
    require_static_shapes(op)
    source = op.source_name if isinstance(op, TensorOp) else op.name
    emitter = Emitter(block, op.location, before=op, source=source)
    previous = op.prev_op
    made = apart(*(emitter.value(o) for o in op.operands))
    values: Sequence[Value] = [made] if isinstance(made, Value) else made
    for result, value in zip(op.results, values, strict=True):
        assert value.type == result.type, f"{op.name} decomposes to {value.type}"
    replace_results(op, [value.ssa for value in values])
    return block.first_op if previous is None else previous.next_op


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Replace compound ops by simpler ones."""

    name = "gradir-decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decompose(op)
