"""The costs of blocks with loops and branches, in nanoseconds: one walk for all who ask.

Kernels of scalar programs and drivers say what their own ops cost, and how often their loops run.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation

from gradir.codegen.costs import FUEL, TRIP_COST
from gradir.dialects.loopnest.body_ops import LanesOp
from gradir.passes.analysis.region_ops import blocks_of, is_loop, is_region_op


class BlockCosts:
    """The costs of blocks, loops with all of their trips.

    `cost_of` knows all ops but structured control flow and `loopnest.lanes`. `trips_of` says how
    often these run, None where nobody knows.
    """

    def __init__(
        self,
        cost_of: Callable[[Operation], float],
        trips_of: Callable[[Operation], float | None],
    ):
        self.cost_of, self.trips_of = cost_of, trips_of
        self._trips: dict[Operation, float] = {}

    def block(self, block: Block) -> float:
        return sum(map(self.one, block.ops))

    def one(self, op: Operation) -> float:
        if is_loop(op) or isinstance(op, LanesOp):
            return self.trip(op) * (self.trips_of(op) or 0.0)
        if is_region_op(op):
            return max(map(self.block, blocks_of(op)), default=0.0)
        return self.cost_of(op)

    def trip(self, loop: Operation) -> float:
        """The cost of one trip of a loop."""
        if loop not in self._trips:
            self._trips[loop] = TRIP_COST + sum(map(self.block, blocks_of(loop)))
        return self._trips[loop]


class LoopCosts(BlockCosts):
    """The same with the most trips of loops, and without loops that poll: these spend alone."""

    def one(self, op: Operation) -> float:
        return 0.0 if is_loop(op) and self.is_long(op) else super().one(op)

    def is_long(self, loop: Operation) -> bool:
        """Whether a loop may take so long that it needs a poll."""
        trips = self.trips_of(loop)
        return trips is None or trips * self.trip(loop) > FUEL

    def has_long_loop(self, block: Block) -> bool:
        """Whether any loop in a block and its regions needs a poll."""
        return any(is_loop(op) and self.is_long(op) for op in block.walk())
