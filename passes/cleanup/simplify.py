"""gradir-simplify: replace ops by cheaper equal ones, by each op's `simplify`.

A simplification never changes a bit of a result; x + 0 stays, since it turns -0 into 0.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import simplified
from gradir.dialects.base.value import Emitter
from gradir.passes.analysis.edits import replace_results
from gradir.passes.cleanup.dead_code import blocks_inside_out, remove_dead_ops
from gradir.passes.cleanup.initial_reads import read_initial_values, remove_true_gates
from gradir.passes.cleanup.simplify_flow import simplify_flow


def simplify_block(block: Block) -> None:
    """Simplify the ops of one block, merge equal constants, and remove dead ops.

    Blocks inside are simple already; a loop's body is simplified again where it reads less.
    """
    op = block.first_op
    while op is not None:
        if isinstance(op, scf.ForOp) and read_initial_values(op):
            remove_true_gates(op)
            simplify_block(op.body.block)
        op = _simplify_op(block, op) if len(op.results) == 1 else op.next_op
    simplify_flow(block)
    _merge_equal_constants(block)
    remove_dead_ops(block)


def _merge_equal_constants(block: Block) -> None:
    """Keep the first of equal ops without operands; general merging is left to cse."""
    seen: dict[Hashable, Operation] = {}
    for op in block.ops:
        is_constant = isinstance(op, TensorOp | ConstantOp) and is_side_effect_free(op)
        if is_constant and not op.operands:
            given = (*op.attributes.items(), *op.properties.items())
            attributes = tuple(sorted(given, key=lambda item: item[0]))
            first = seen.setdefault((type(op), attributes, op.results[0].type), op)
            if first is not op:
                op.results[0].replace_all_uses_with(first.results[0])


def _simplify_op(block: Block, op: Operation) -> Operation | None:
    """Simplify one op; returns the next op to simplify: its first replacement, or the next one."""
    emitter = Emitter(block, op.location, before=op)
    previous, following = op.prev_op, op.next_op
    replacement = simplified(op, [emitter.value(o) for o in op.operands])
    if replacement is None:
        return following
    replace_results(op, [replacement.ssa])
    return block.first_op if previous is None else previous.next_op


def simplify(module: ModuleOp) -> None:
    """Simplify every block of the module."""
    for block in blocks_inside_out(module):
        simplify_block(block)


@dataclass(frozen=True)
class SimplifyPass(ModulePass):
    """Replace ops by cheaper ones with the same bits."""

    name = "gradir-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op)
