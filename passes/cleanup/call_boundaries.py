"""The boundaries of inlined calls, which exist only during differentiation."""

from __future__ import annotations

from xdsl.ir import Block

from gradir.dialects.grad.join import JoinOp


def remove_joins(block: Block) -> None:
    """Replace the joins in a block and its regions by their operands."""
    for op in list(block.walk()):
        if isinstance(op, JoinOp):
            op.y.replace_all_uses_with(op.x)
            op.detach()
            op.erase()
