"""Where values are defined, and what an op with regions reads from around it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

MAX_REGION_DEPTH = 128
"""How many regions may stand in each other: what text that is parsed may have, and xDSL's recursive
walks can take."""


def region_depth(block: Block) -> int:
    """In how many regions the ops of a block stand."""
    depth, op = 0, block.parent_op()
    while op is not None:
        depth, op = depth + 1, op.parent_op()
    return depth


def defining_block(value: SSAValue) -> Block | None:
    """The block that a value is an argument of, or is computed in."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_defined_in(value: SSAValue, op: Operation) -> bool:
    """A value is from a region of an op."""
    block = defining_block(value)
    return block is not None and op.is_ancestor(block)


def values_read(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op, and those of the ops in its regions."""
    if not op.regions:
        return op.operands
    return [operand for inner in op.walk() for operand in inner.operands]


def values_read_inside(op: Operation) -> list[SSAValue]:
    """The operands of the ops in the regions of an op."""
    return list(values_read(op))[len(op.operands) :]


def captured(op: Operation) -> list[SSAValue]:
    """What an op and its regions read of the values from outside of it, each once."""
    if not op.regions:
        return list(dict.fromkeys(op.operands))
    return _from_outside(op, values_read(op))


def captured_inside(op: Operation) -> list[SSAValue]:
    """What the regions of an op read of the values from outside of it, each once."""
    return _from_outside(op, values_read_inside(op))


def _from_outside(op: Operation, read: Sequence[SSAValue]) -> list[SSAValue]:
    inside = defined_inside(op)
    return [value for value in dict.fromkeys(read) if value not in inside]


def defined_inside(op: Operation) -> set[SSAValue]:
    """The results of the ops in the regions of an op, and the arguments of their blocks."""
    found: set[SSAValue] = set()
    for inner in op.walk():
        if inner is not op:
            found.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                found.update(block.args)
    return found
