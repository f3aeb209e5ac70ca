"""Families of values, as the versions of one tape: union-find."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, SSAValue

from gradir.dialects.grad.tape import TapePopOp, TapePushOp, is_tape
from gradir.passes.analysis.region_flow import ops_within, region_flow


class Families:
    """Disjoint families, each with a root among its members (union-find)."""

    def __init__(self) -> None:
        self.above: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> SSAValue:
        """The root of the family of a value."""
        root = value
        while (above := self.above.get(root, root)) is not root:
            root = above
        while (above := self.above.get(value, root)) is not root:
            self.above[value], value = root, above
        return root

    def join(self, one: SSAValue, other: SSAValue) -> None:
        """Merge two families; the root of `other` becomes the root of both."""
        self.above[self.of(one)] = self.of(other)


def tape_families(blocks: Iterable[Block]) -> Families:
    """The families of the versions of each tape, in blocks and their regions."""
    families = Families()
    for op in (op for block in blocks for op in ops_within(block)):
        flow = region_flow(op)
        for source, target in () if flow is None else flow.edges:
            if is_tape(source.type):
                families.join(source, target)
        if isinstance(op, TapePushOp | TapePopOp):
            families.join(op.tape, op.result)
    return families
