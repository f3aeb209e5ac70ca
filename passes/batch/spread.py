"""Which values of a function have rows, given which of its arguments do.

A value has rows if it depends on one that has; a loop carries rows from its first iteration on.
What has no rows is computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.between_ranks import BetweenRanksOp
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.grad.tape import TapeSizeOp
from gradir.passes.analysis.region_flow import RegionFlow, region_flow
from gradir.passes.analysis.regions import values_read
from gradir.passes.batch.named_axis import NamedAxis

CalleeRows = Callable[[CallOp, Sequence[bool]], Sequence[bool] | None]
"""Which results of a call have rows, given which operands do; None if it cannot run on rows."""


class Spread:
    """`values` have rows. `single` ops run on one row after the other, with all that is in them."""

    def __init__(self, callee_rows: CalleeRows, axis: NamedAxis):
        self.values: set[SSAValue] = set()
        self.single: set[Operation] = set()
        self._callee_rows, self._axis = callee_rows, axis

    def rows(self, values: Iterable[SSAValue]) -> list[bool]:
        return [v in self.values for v in values]

    def block(self, block: Block) -> None:
        """Go through the ops of a block, whose arguments are known."""
        for op in block.ops:
            if not is_terminator(op) and self.depends_on_rows(op):
                self._op(op)

    def depends_on_rows(self, op: Operation) -> bool:
        """Whether an op reads what has rows, or what rows have in common."""
        return not self.values.isdisjoint(values_read(op)) or self._axis.sees_rows(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, CallOp):
            self._call(op)
        elif (flow := region_flow(op)) is not None:
            self._regions(op, flow)
        elif isinstance(op, BetweenRanksOp) and self._axis.is_over(op):
            self.values.update(op.results if op.DIFFERS_BY_RANK else ())
        elif not isinstance(op, TapeSizeOp):  # as many records in each row
            self.values.update(op.results)

    def _one_by_one(self, op: Operation) -> None:
        self.single.add(op)
        self.values.update(op.results)

    def _call(self, op: CallOp) -> None:
        found = self._callee_rows(op, self.rows(op.operands))
        if found is None:
            self._one_by_one(op)
        else:
            self.values.update(r for r, has in zip(op.results, found, strict=True) if has)

    def _regions(self, op: Operation, flow: RegionFlow) -> None:
        """What decides which region runs, or how often, must be the same for all rows."""
        before = -1
        while len(self.values) > before:
            before = len(self.values)
            for slot in flow.slots:
                if any(e.value in self.values for e in slot.entries):
                    self.values.update(slot.values)
            for block in flow.blocks:
                self.block(block)
        if not self.values.isdisjoint(flow.deciding):
            self._one_by_one(op)
