"""A scf.for of the source: its changing values, and its bounds.

All loops made for it count up, the backward ones too: `Bounds` converts between an iteration's
number, its induction variable, and both of these in the reversed loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import (
    Integers,
    cast_integer,
    known_number,
    named,
    trip_count,
)
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.rules.loops.state import LoopState, Slots, changing_slots


@dataclass(frozen=True)
class ForLoop:
    """A loop, and the slots of the carried values that change. The others keep their initial
    values."""

    op: scf.ForOp
    changing: Slots

    @staticmethod
    def of(outer: Differentiator, op: scf.ForOp) -> ForLoop:
        (changing,) = changing_slots(outer, op)
        return ForLoop(op, changing)

    @property
    def in_body(self) -> Slots:
        """The changing slots that the body reads."""
        return self.changing

    @cached_property
    def state(self) -> LoopState:
        """The values that a repeated iteration needs."""
        return LoopState.of(self.op, self.in_body)

    @property
    def index(self) -> BlockArgument:
        return self.op.body.block.args[0]

    def active(self, outer: Differentiator) -> Slots:
        """The slots with a carried cotangent: active in the loop or behind it."""
        activity = outer.activity
        return Slots(
            slot
            for slot in self.changing
            if any(v in activity.useful for v in slot.values)
            and any(v in activity.varied for v in slot.values)
        )


@dataclass(frozen=True)
class Bounds:
    """The bounds and the step of a generated loop."""

    low: SSAValue
    high: SSAValue
    step: SSAValue

    @staticmethod
    def of(outer: Differentiator, op: scf.ForOp) -> Bounds:
        return Bounds(*(outer.primal(b) for b in (op.lb, op.ub, op.step)))

    def numbers(self) -> list[SSAValue | int]:
        """The bounds and the step: numbers where they are constant."""
        return [known_number(b) for b in (self.low, self.high, self.step)]

    def checked(self, emitter: Emitter) -> Bounds:
        """With a step that is checked where the loop would check it."""
        if constant_integer(self.step) is not None:
            return self
        # by a loop that runs once for any positive step
        whole = Integers(self.step.type, emitter)
        body = Block(arg_types=[self.step.type] * 2)
        body.add_op(scf.YieldOp(self.step))
        zero, one = whole.constant(0), whole.constant(1)
        made = emitter.insert(scf.ForOp(zero, one, self.step, [one], Region(body)))
        return Bounds(self.low, self.high, named(made.results[0], "step"))

    def loop(self, initial: Sequence[SSAValue], body: Block, emitter: Emitter) -> scf.ForOp:
        """Append a loop from `initial`."""
        return emitter.insert(scf.ForOp(self.low, self.high, self.step, initial, Region(body)))

    def trip_count(self, emitter: Emitter) -> SSAValue:
        """The number of iterations, an index."""
        return trip_count(self.low, self.high, self.step, emitter)

    def induction(self, number: SSAValue, emitter: Emitter) -> SSAValue:
        """The induction variable of an iteration from its number."""
        low, _, step = self.numbers()
        whole = Integers(self.low.type, emitter)
        gone = whole.multiply(cast_integer(number, self.low.type, emitter), step)
        return whole.value(whole.add(low, gone))

    def mirrored(self, induction: SSAValue, outside: Emitter, emitter: Emitter) -> SSAValue:
        """The induction variable of the iteration that a backward loop over the same bounds
        differentiates at `induction`: lower bound + last value - induction."""
        low, high, step = self.numbers()
        whole = Integers(induction.type, outside)
        steps = whole.divide_unsigned(whole.subtract(whole.subtract(high, low), 1), step)
        total = whole.add(low, whole.add(low, whole.multiply(steps, step)))
        here = Integers(induction.type, emitter)
        return here.value(here.subtract(total, induction))
