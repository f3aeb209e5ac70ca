"""Dead code removal, gradir's own ops with declared effects included, and a walk over blocks."""

from __future__ import annotations

from collections.abc import Iterator, Set

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.effects import OutsideEffect
from gradir.dialects.base.interfaces import TensorOp, has_trait
from gradir.dialects.base.shapes import is_open
from gradir.dialects.grad.tape import TapeNewOp
from gradir.dialects.loopnest.loopnest import BarrierOp
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.region_ops import is_region_op

_UNDECLARED = arith.RemUIOp | arith.ExtSIOp
"""Ops without effects that xDSL does not declare as such."""


def remove_dead_ops(
    block: Block, behind: Operation | None = None, kept: Set[SSAValue] = frozenset()
) -> None:
    """Erase the ops of a block (not of regions in it) without readers.

    Only those behind the op `behind`, if given, and none with a result in `kept`. The declared
    effects of barriers are ignored.
    """
    op = block.last_op
    while op is not None and op is not behind:
        previous = op.prev_op
        if is_dead(op) and kept.isdisjoint(op.results):
            erase(op)
        op = previous


def require_static_shapes(op: Operation) -> None:
    """PassError for an operand or result of an op with a dynamic extent, one with a name too."""
    for value in (*op.operands, *op.results):
        if is_open(value.type):
            raise PassError(
                f"{op.name}: native code needs static shapes, got {value.type}; write the extents, "
                "or run gradir-specialize",
                op,
            )


def is_dead(op: Operation) -> bool:
    """Whether no result is read and no effect would be lost."""
    if not (op.results or is_region_op(op)):
        return False
    if any(r.first_use is not None for r in op.results):
        return False
    return has_no_effect(op)


def has_no_effect(op: Operation) -> bool:
    """Whether an op and the ops in its regions have no effects.

    The declared effects of barriers are ignored.
    """
    if is_region_op(op):
        return all(is_region_op(inner) or has_no_effect(inner) for inner in op.walk())
    if isinstance(op, TapeNewOp | BarrierOp | _UNDECLARED) or is_side_effect_free(op):
        return True
    return isinstance(op, TensorOp) and not has_trait(op, OutsideEffect)


def is_only_block(block: Block) -> bool:
    """Whether a block is alone in its region: only it and its regions read its values."""
    return block.parent is None or block.parent.first_block is block.parent.last_block


def blocks_inside_out(root: Operation) -> Iterator[Block]:
    """Every block in an op, inner ones first; no recursion."""
    found: list[Block] = []
    pending = [root]
    while pending:
        op = pending.pop()
        for region in op.regions:
            for block in region.blocks:
                found.append(block)
                pending.extend(inner for inner in block.ops if inner.regions)
    return reversed(found)
