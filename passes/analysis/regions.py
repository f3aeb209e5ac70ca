"""The blocks of definitions, and the values captured by regions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

MAX_REGION_DEPTH = 128
"""The most nested regions: the parser's limit, and safe for xDSL's recursive walks."""


def region_depth(block: Block) -> int:
    """The number of regions around the ops of a block."""
    depth, op = 0, block.parent_op()
    while op is not None:
        depth, op = depth + 1, op.parent_op()
    return depth


def defining_block(value: SSAValue) -> Block | None:
    """The block of an argument, or of the op of a result."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_defined_in(value: SSAValue, op: Operation) -> bool:
    """Whether a value is defined in a region of an op."""
    block = defining_block(value)
    return block is not None and op.is_ancestor(block)


def values_read(op: Operation) -> Sequence[SSAValue]:
    """The operands of an op and of the ops in its regions."""
    if not op.regions:
        return op.operands
    return [operand for inner in op.walk() for operand in inner.operands]


def values_read_inside(op: Operation) -> list[SSAValue]:
    """The operands of the ops in the regions of an op."""
    return list(values_read(op))[len(op.operands) :]


def captured(op: Operation) -> list[SSAValue]:
    """The values from outside that an op and its regions read, each once."""
    if not op.regions:
        return list(dict.fromkeys(op.operands))
    return _from_outside(op, values_read(op))


def captured_inside(op: Operation) -> list[SSAValue]:
    """The values from outside that the regions of an op read, each once."""
    return _from_outside(op, values_read_inside(op))


def _from_outside(op: Operation, read: Sequence[SSAValue]) -> list[SSAValue]:
    inside = defined_inside(op)
    return [value for value in dict.fromkeys(read) if value not in inside]


def defined_inside(op: Operation) -> set[SSAValue]:
    """The results of the ops, and the block arguments, in the regions of an op."""
    found: set[SSAValue] = set()
    for inner in op.walk():
        if inner is not op:
            found.update(inner.results)
        for region in inner.regions:
            for block in region.blocks:
                found.update(block.args)
    return found
