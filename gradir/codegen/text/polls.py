"""Polls at the back edges of long loops, so that a call can be ended from outside.

A loop spends what it does, in estimated nanoseconds, from a counter of its function that is a
register in the end. When that is used up it asks `@gradir_poll`, out of line, whether to go on;
if not, control leaves the function at once, from wherever it is, and touches no memory any more.
Loops that surely take little time have no poll: what is around them spends for them. A loop with a
known number of trips runs in chunks, and polls between them.

In a driver that several threads run, a thread that leaves goes to a barrier first. A barrier tells
all of its threads alike whether one of them is on its way out, and then all return.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation

from gradir.codegen.text.callback_functions import POLL_SYMBOL
from gradir.codegen.text.functions import UNLIKELY
from gradir.codegen.text.table import TABLE_STOP
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.constants import constant_integer
from gradir.passes.analysis.region_ops import blocks_of, is_loop, is_region_op

# Estimated nanoseconds between two polls, and of the longest loop without one. Estimates are wrong
# by a factor of five at times: so a signal waits some 10 ms, less than `POLL_INTERVAL`.
FUEL = SHORT = 2_000_000
# The fewest iterations of a chunk. In short loops a count inside costs more than chunks do: 9 % of
# a sort, where chunks cost 1 % (docs/decisions/runtime.md).
LEAST_CHUNK = 64
# Nanoseconds of one trip of a loop beside its body.
TRIP_COST = 0.5
# Block where a function ends before its time.
LEAVE = "leave"
POLL_DECLARATION = f"declare i64 @{POLL_SYMBOL}(ptr)"


class LoopCosts:
    """What the ops of one function cost, in nanoseconds, loops that poll aside.

    `cost_of` knows all but structured control flow. `trips_of` says how often a loop runs at most.
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
        if is_loop(op):
            return 0.0 if self.is_long(op) else self.trip(op) * (self.trips_of(op) or 0.0)
        if is_region_op(op):
            return max(map(self.block, blocks_of(op)), default=0.0)
        return self.cost_of(op)

    def trip(self, loop: Operation) -> float:
        """What one trip of a loop costs."""
        if loop not in self._trips:
            self._trips[loop] = TRIP_COST + sum(map(self.block, blocks_of(loop)))
        return self._trips[loop]

    def is_long(self, loop: Operation) -> bool:
        """Whether a loop may take so long that it needs a poll."""
        trips = self.trips_of(loop)
        return trips is None or trips * self.trip(loop) > SHORT

    def has_long_loop(self, block: Block) -> bool:
        """Whether any loop in a block and its regions needs a poll."""
        return any(is_loop(op) and self.is_long(op) for op in block.walk())


class Polls:
    """Writes the polls of one function, which has the table and the block `LEAVE`."""

    def __init__(self, text: FunctionWriter, costs: LoopCosts):
        self.text, self.costs = text, costs
        # where what is left to spend is, if anything is
        self._fuel: str | None = None
        # whether control may go to the block
        self.leaves = False

    def back_edge(self, loop: Operation, trips: int = 1) -> None:
        """After an iteration of a loop, or `trips` of them."""
        if is_loop(loop) and self.costs.is_long(loop):
            self.spend(trips * self.costs.trip(loop))

    def chunk(self, loop: scf.ForOp) -> int | None:
        """How many iterations of a long loop run without a poll; None to spend for each.

        Its trips must be known, so that the loop is sure to be worth two loops.
        """
        steps = [constant_integer(v) for v in (loop.lb, loop.ub, loop.step)]
        if None in steps or loop.lb.type != i64 or not self.costs.is_long(loop):
            return None
        size = int(FUEL / self.costs.trip(loop))
        return size if size >= LEAST_CHUNK else None

    def spend(self, nanoseconds: float) -> None:
        """A poll, if so much more makes it due."""
        if nanoseconds >= FUEL:
            self.poll()
            return
        text, spent = self.text, max(1, round(nanoseconds))
        if self._fuel is None:
            with text.early():
                self._fuel = text.emit("alloca i64, align 8", "fuel")
                text.store("i64", 1, self._fuel, str(FUEL))
        before = text.load("i64", 1, self._fuel)
        text.store("i64", 1, self._fuel, text.emit(f"sub i64 {before}, {spent}"))
        # one instruction with the subtraction, as a test of its sign would not be
        used = text.emit(f"icmp ult i64 {before}, {spent}")
        due, on = text.fresh("poll"), text.fresh("on")
        text.branch(used, due, on, UNLIKELY)
        text.label(due)
        text.store("i64", 1, self._fuel, str(FUEL))
        self.poll(on)

    def poll(self, on: str | None = None) -> None:
        """Ask, and go on in block `on`, a new one by default."""
        self.leave_if(self.text.call("i64", f"@{POLL_SYMBOL}", "ptr %table"), on)

    def check(self) -> None:
        """Leave if something else has noticed that the call is to end."""
        place = self.text.address("i64", "%table", TABLE_STOP)
        self.leave_if(self.text.emit(f"load atomic i64, ptr {place} monotonic, align 8"))

    def leave_if(self, stopped: str, on: str | None = None) -> None:
        """Leave if an i64 is not 0."""
        self.leaves = True
        self.text.leave_if(stopped, LEAVE, on)
