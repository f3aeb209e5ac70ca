"""Dead code removal that knows which ops are gradir's own to drop, and a walk over all blocks."""

from __future__ import annotations

from collections.abc import Iterator, Set

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_static, is_tensor
from gradir.dialects.grad.tape import TapeNewOp
from gradir.dialects.loopnest.loopnest import BarrierOp
from gradir.passes.analysis.region_ops import is_region_op

_UNDECLARED = arith.RemUIOp | arith.ExtSIOp
"""Ops without effects of which xDSL does not say so."""


def remove_dead_ops(
    block: Block, behind: Operation | None = None, kept: Set[SSAValue] = frozenset()
) -> None:
    """Erase the ops of a block (not of regions in it) whose results nobody reads.

    Only those behind an op, if one is given, and not those with a result in `kept`. Every tensor op
    is free of effects as far as its value goes, a barrier too.
    """
    op = block.last_op
    while op is not None and op is not behind:
        previous = op.prev_op
        if is_dead(op) and kept.isdisjoint(op.results):
            op.detach()
            op.erase()
        op = previous


def require_static_shapes(op: Operation) -> None:
    """PassError where a tensor that an op reads or makes has an extent that is not known."""
    for value in (*op.operands, *op.results):
        if is_tensor(value.type) and not is_static(value.type):
            raise PassError(
                f"{op.name}: native code needs static shapes, got {value.type}; write the extents, "
                "or run gradir-specialize",
                op,
            )


def is_dead(op: Operation) -> bool:
    """No result is read and no effect is lost."""
    if not (op.results or is_region_op(op)):
        return False
    if any(r.first_use is not None for r in op.results):
        return False
    return has_no_effect(op)


def has_no_effect(op: Operation) -> bool:
    """Whether an op, with all that is in its regions, only gives its results.

    Barriers only seem to have effects.
    """
    if is_region_op(op):
        return all(is_region_op(inner) or has_no_effect(inner) for inner in op.walk())
    return isinstance(op, TensorOp | TapeNewOp | BarrierOp | _UNDECLARED) or is_side_effect_free(op)


def is_only_block(block: Block) -> bool:
    """A block is the one of its region: only it, and regions in it, read what it makes."""
    return block.parent is None or block.parent.first_block is block.parent.last_block


def blocks_inside_out(root: Operation) -> Iterator[Block]:
    """Every block in an op, inner ones before those around them; no recursion."""
    found: list[Block] = []
    pending = [root]
    while pending:
        op = pending.pop()
        for region in op.regions:
            for block in region.blocks:
                found.append(block)
                pending.extend(inner for inner in block.ops if inner.regions)
    return reversed(found)
