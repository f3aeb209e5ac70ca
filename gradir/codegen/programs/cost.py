"""How long one outer iteration of a scalar program takes, roughly: from the trips of its loops.

Trips are estimated from the values that bounds have on average: constants, the middle of the range
of an index, and sums, products and extremes of these. Where that is not known, a guess.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.op_table import number_cost
from gradir.codegen.costs import MOST_OF_AVERAGE, TYPICAL_LANES, UNKNOWN_TRIPS
from gradir.codegen.text.loop_costs import BlockCosts, LoopCosts
from gradir.dialects.base.traced_sizes import as_cost
from gradir.dialects.loopnest.body_ops import IndexOp, LanesOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.passes.analysis.region_flow import trips
from gradir.passes.analysis.region_ops import blocks_of

_ARITHMETIC: dict[type[Operation], Callable[[float, float], float]] = {
    arith.AddiOp: lambda x, y: x + y,
    arith.SubiOp: lambda x, y: x - y,
    arith.MuliOp: lambda x, y: x * y,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.DivSIOp: lambda x, y: x / (y or 1),
    arith.FloorDivSIOp: lambda x, y: x / (y or 1),
    arith.ShRSIOp: lambda x, y: x / 2**y,
    arith.ShLIOp: lambda x, y: x * 2**y,
}


def program_cost(op: ForallOp) -> float:
    """Roughly the nanoseconds of one outer iteration on one thread."""
    average = _AverageTrips(op).trips
    costs = BlockCosts(number_cost, lambda loop: average.get(loop, UNKNOWN_TRIPS))
    return costs.block(op.body.block)


def loop_costs(op: ForallOp) -> LoopCosts:
    """The costs of loops in a program, for polls. Where a bound is not known, its average is."""
    average = _AverageTrips(op).trips

    def most_trips(loop: Operation) -> float | None:
        if isinstance(loop, LanesOp):
            # its vectors stay inside of a buffer
            return average.get(loop, UNKNOWN_TRIPS)
        known = trips(loop)
        return MOST_OF_AVERAGE * average[loop] if known is None and loop in average else known

    return LoopCosts(number_cost, most_trips)


class _AverageTrips:
    """`trips` of the loops of a program whose bounds are known on average."""

    def __init__(self, op: ForallOp):
        self.extents = op.extents
        self.middle: dict[SSAValue, float] = {}
        self.trips: dict[Operation, float] = {}
        self.block(op.body.block)

    def block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case scf.ForOp():
                    step = self.middle.get(op.step, 1.0)
                    self.loop(op, op.lb, op.ub, max(step, 1.0))
                case LanesOp():
                    self.loop(op, op.lower, op.upper, TYPICAL_LANES)
                case _:
                    self.learn(op)
            for inner in blocks_of(op):
                self.block(inner)

    def loop(self, op: scf.ForOp | LanesOp, lower: SSAValue, upper: SSAValue, step: float) -> None:
        """Note how often a loop runs on average, and the middle of its index."""
        first, last = self.middle.get(lower), self.middle.get(upper)
        if first is not None and last is not None:
            self.trips[op] = max(0.0, (last - first) / step)
            self.middle[op.body.block.args[0]] = (first + last) / 2

    def learn(self, op: Operation) -> None:
        """Note the mean value of an integer."""
        if isinstance(op, IndexOp):
            self.middle[op.result] = max(0, self.extents[op.dim.value.data] - 1) / 2
        elif isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            self.middle[op.result] = as_cost(op.value.value.data)
        elif (function := _ARITHMETIC.get(type(op))) is not None:
            known = [self.middle.get(v) for v in op.operands]
            left, right = known
            if left is not None and right is not None and abs(right) < 1e15:
                self.middle[op.results[0]] = function(left, right)
