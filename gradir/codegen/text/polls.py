"""Polls at the back edges of long loops, so that a call can be ended from outside.

A loop subtracts its estimated nanoseconds from a counter of its function, which LLVM keeps in a
register. When the counter is used up the loop asks `@gradir_poll`, out of line, whether to go on;
if not, control leaves the function at once, from wherever it is, and touches no memory any more.
Loops that surely take little time have no poll: loops around them count their time. A loop with a
known number of trips runs in chunks, and polls between them.

In a driver that several threads run, a thread that leaves goes to a barrier first. A barrier tells
all of its threads alike whether one of them is on its way out, and then all return.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from gradir.codegen.costs import FUEL
from gradir.codegen.text.callback_functions import POLL_SYMBOL
from gradir.codegen.text.functions import UNLIKELY
from gradir.codegen.text.loop_costs import LoopCosts
from gradir.codegen.text.table import TABLE_STOP
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.constants import constant_integer
from gradir.passes.analysis.region_ops import is_loop

# The fewest iterations of a chunk. In short loops a count inside costs more than chunks do: 9 % of
# a sort, where chunks cost 1 % (docs/decisions/runtime.md).
LEAST_CHUNK = 64
# Block where a function ends before its time.
LEAVE = "leave"
POLL_DECLARATION = f"declare i64 @{POLL_SYMBOL}(ptr)"


class Polls:
    """Writes the polls of one function, which has the table and the block `LEAVE`."""

    def __init__(self, text: FunctionWriter, costs: LoopCosts):
        self.text, self.costs = text, costs
        # the address of the counter, once a loop uses it
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
        """Subtract from the counter, and poll if that uses it up."""
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
