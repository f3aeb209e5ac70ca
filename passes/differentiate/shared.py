"""The state shared by the blocks of one function during its differentiation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.gates import Gates
from gradir.passes.analysis.activity import Activity
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.program import ModuleFunctions
from gradir.passes.differentiate.reverse_mode import ORDINARY, ReverseRule
from gradir.passes.differentiate.structural_rule import Rules
from gradir.passes.differentiate.tables import Tables


@dataclass
class Shared:
    """The state shared by the blocks of one function.

    `rules` is the table of structural rules. `tables` are the values whose gradients are wanted as
    row slices. `primal` maps source values to forward values. `same`
    maps a carried value that never changes to its initial value: they share their cotangent.
    `saved` maps an op to the data from its rule's forward half for the backward half. `dissolved`
    maps an op to its block, whose ops became ops of the block around it. `loops` are those with
    cotangents. `dissolved_stages` hold a requested value, and are therefore dissolved. `copy_of`
    maps an op to its original in the source; their operands may differ, active or not, but both
    call the functions made for the source. `scaffold` are the blocks under construction: one
    without a region at the end is code without a cotangent.
    """

    program: ModuleFunctions
    rules: Rules
    activity: Activity
    tables: Tables
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
    gates: Gates = field(default_factory=lambda: Gates(Borders()))

    def rule(self, op: Operation) -> ReverseRule:
        """The rule of an op: its class's structural rule, or the ordinary one."""
        found = self.rules.get(type(op))
        return found.reverse if found and found.reverse else ORDINARY

    def takes_part(self, op: Operation) -> bool:
        """Whether an op has a backward half: a cotangent may flow to a result.

        A requested value inside of a stage may be its only active value.
        """
        return op in self.dissolved_stages or any(map(self.activity.is_active, op.results))

    def ops_backward(self, block: Block) -> Iterator[Operation]:
        """The ops of a block, the last one first; a dissolved op is replaced by its ops."""
        op = block.last_op
        while op is not None:
            if (inner := self.dissolved.get(op)) is not None:
                yield from self.ops_backward(inner)
            else:
                yield op
            op = op.prev_op

    def identify(self, value: SSAValue, origin: SSAValue) -> None:
        """Redirect contributions from a value to another one, which the walk back visits later."""
        self.same[value] = origin

    def origin(self, value: SSAValue) -> SSAValue:
        while value in self.same:
            value = self.same[value]
        return value

    def take_down(self, *kept: Block) -> None:
        """Erase the blocks without a region, so that values have no uses in them."""
        for block in self.scaffold:
            if block.parent is None and block not in kept:
                block.drop_all_references()
        self.scaffold.clear()
