"""How long one outer iteration of a scalar program takes, roughly: from the trips of its loops.

Trips are estimated from the values that bounds have on average: constants, the middle of the range
of an index, and sums, products and extremes of these. Where that is not known, a guess.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.bodies.op_table import cost
from gradir.codegen.text.polls import TRIP_COST, LoopCosts
from gradir.dialects.loopnest.body_ops import IndexOp, LanesOp, LoadOp, StoreOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.passes.analysis.region_flow import trips
from gradir.passes.analysis.region_ops import blocks_of, is_loop

# Nanoseconds of a load or store.
MEMORY_COST = 0.5
# Trips of a loop whose bounds are not known.
UNKNOWN_TRIPS = 16.0
# The most trips of a loop, by those that it has on average.
MOST_OF_AVERAGE = 4.0
# Vectors of a loopnest.lanes are counted as this many of its iterations.
TYPICAL_LANES = 8.0

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
    return _Estimate(op).block(op.body.block)


def program_costs(op: ForallOp) -> LoopCosts:
    """The costs of loops in a program, for polls. Where a bound is not known, its average is."""
    estimate = _Estimate(op)
    estimate.block(op.body.block)

    def cost_of(inner: Operation) -> float:
        if isinstance(inner, LanesOp):
            # its vectors stay inside of a buffer
            count = estimate.trips.get(inner, UNKNOWN_TRIPS)
            return count * (costs.block(inner.body.block) + TRIP_COST)
        if isinstance(inner, LoadOp | StoreOp):
            return MEMORY_COST
        return cost(inner)

    def trips_of(loop: Operation) -> float | None:
        known, average = trips(loop), estimate.trips.get(loop)
        return known if known is not None or average is None else MOST_OF_AVERAGE * average

    costs = LoopCosts(cost_of, trips_of)
    return costs


class _Estimate:
    def __init__(self, op: ForallOp):
        self.extents = op.extents
        self.middle: dict[SSAValue, float] = {}
        # of loops whose bounds are known on average
        self.trips: dict[Operation, float] = {}

    def block(self, block: Block) -> float:
        return sum(self.one(op) for op in block.ops)

    def one(self, op: Operation) -> float:
        match op:
            case LoadOp() | StoreOp():
                return MEMORY_COST
            case scf.ForOp():
                step = self.middle.get(op.step, 1.0)
                return self.loop(op, op.lb, op.ub, max(step, 1.0))
            case LanesOp():
                return self.loop(op, op.lower, op.upper, TYPICAL_LANES)
            case scf.IfOp():
                return max(self.block(r.block) for r in op.regions if r.first_block is not None)
            case _ if is_loop(op):
                return UNKNOWN_TRIPS * (sum(map(self.block, blocks_of(op))) + TRIP_COST)
            case _:
                self.learn(op)
                return cost(op)

    def loop(self, op: scf.ForOp | LanesOp, lower: SSAValue, upper: SSAValue, step: float) -> float:
        block = op.body.block
        first, last = self.middle.get(lower), self.middle.get(upper)
        count = UNKNOWN_TRIPS
        if first is not None and last is not None:
            count = self.trips[op] = max(0.0, (last - first) / step)
            self.middle[block.args[0]] = (first + last) / 2
        return count * (self.block(block) + TRIP_COST)

    def learn(self, op: Operation) -> None:
        """Note what value an integer has on average."""
        if isinstance(op, IndexOp):
            self.middle[op.result] = max(0, self.extents[op.dim.value.data] - 1) / 2
        elif isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            self.middle[op.result] = float(op.value.value.data)
        elif (function := _ARITHMETIC.get(type(op))) is not None:
            known = [self.middle.get(v) for v in op.operands]
            left, right = known
            if left is not None and right is not None and abs(right) < 1e15:
                self.middle[op.results[0]] = function(left, right)
