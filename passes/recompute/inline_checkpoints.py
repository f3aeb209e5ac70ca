"""gradir-inline-checkpoints: replace each grad.checkpoint by the ops of its region.

After differentiation stages are no longer needed: recomputations read their inputs through
grad.barrier, so that no later pass merges them with the first computation.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.analysis.edits import replace_results
from gradir.passes.cleanup.dead_code import blocks_inside_out


def inline_checkpoints(root: Operation) -> None:
    """Inline all checkpoint stages in an op."""
    for block in blocks_inside_out(root):
        for op in list(block.ops):
            if isinstance(op, CheckpointOp):
                _inline(op)


def _inline(op: CheckpointOp) -> None:
    outer, inner = op.parent, op.body.block
    assert outer is not None
    end = inner.last_op
    assert end is not None
    for moved in list(inner.ops):
        if moved is not end:
            moved.detach()
            outer.insert_op_before(moved, op)
    replace_results(op, list(end.operands))


@dataclass(frozen=True)
class InlineCheckpointsPass(ModulePass):
    """Replace checkpoint stages by their ops."""

    name = "gradir-inline-checkpoints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_checkpoints(op)
