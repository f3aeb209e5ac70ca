"""The boundaries of inlined calls, which exist only during differentiation."""

from __future__ import annotations

from xdsl.ir import Block

from gradir.dialects.grad.join import JoinOp
from gradir.passes.analysis.edits import replace_results


def remove_joins(block: Block) -> None:
    """Replace the joins in a block and its regions by their operands."""
    for op in list(block.walk()):
        if isinstance(op, JoinOp):
            replace_results(op, [op.x])
