"""What the blocks of one function share while it is differentiated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from gradir.passes.analysis.activity import Activity
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.program import Program
from gradir.passes.differentiate.rule import ORDINARY, Rules, StructuralRule


@dataclass
class Shared:
    """What the blocks of one function share.

    `rules` is the table of structural rules. `primal` gives the forward value of each source value.
    `same` gives, of a carried value that never changes, the value that it starts from: cotangents
    of the one are the other's. `saved` is what the forward half of an op's rule left for the
    backward half. `dissolved` gives the block of an op whose ops became ops of the block around.
    `loops` are those through which cotangents flow. `dissolved_stages` hold a requested value, so
    that they are dissolved. `copy_of` gives the op of the source that an op stands for; its
    operands may be others, active or not, but it calls what was made for the source. `scaffold` are
    the blocks in which code is made: a block that is in no region in the end is code to which no
    cotangent has come.
    """

    program: Program
    rules: Rules
    activity: Activity
    dissolved_stages: set[Operation] = field(default_factory=set[Operation])
    primal: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    same: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    saved: dict[Operation, object] = field(default_factory=dict[Operation, object])
    dissolved: dict[Operation, Block] = field(default_factory=dict[Operation, Block])
    loops: dict[Operation, DifferentiatedLoop] = field(
        default_factory=dict[Operation, DifferentiatedLoop]
    )
    copy_of: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    scaffold: list[Block] = field(default_factory=list[Block])

    def rule(self, op: Operation) -> StructuralRule:
        """The rule of an op: that of its class in the table, or the one around its vjp."""
        return self.rules.get(type(op), ORDINARY)

    def takes_part(self, op: Operation) -> bool:
        """Whether an op has a backward half: a cotangent may flow to a result.

        A requested value in a stage may be all that is active of the stage.
        """
        return op in self.dissolved_stages or any(map(self.activity.is_active, op.results))

    def ops_backward(self, block: Block) -> Iterator[Operation]:
        """The ops of a block, the last one first; in the place of a dissolved op those in it."""
        op = block.last_op
        while op is not None:
            if (inner := self.dissolved.get(op)) is not None:
                yield from self.ops_backward(inner)
            else:
                yield op
            op = op.prev_op

    def identify(self, value: SSAValue, origin: SSAValue) -> None:
        """Let the contributions to a value be those of another, which the walk back sees later."""
        self.same[value] = origin

    def origin(self, value: SSAValue) -> SSAValue:
        while value in self.same:
            value = self.same[value]
        return value

    def take_down(self, *kept: Block) -> None:
        """Erase the code that became part of nothing, so that nobody finds uses in it."""
        for block in self.scaffold:
            if block.parent is None and block not in kept:
                block.drop_all_references()
        self.scaffold.clear()
