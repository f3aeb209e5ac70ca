"""A scf.while of the source: what changes from iteration to iteration, and what counts them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, cast_integer
from gradir.passes.analysis.region_ops import Slot
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.rules.loops.state import Slots, changing_slots


@dataclass(frozen=True)
class WhileLoop:
    """A loop, and the slots that change: those that it carries into the first region, and those
    that it passes out of it. The others are the same as a value from outside."""

    op: scf.WhileOp
    carried: Slots
    passed: Slots

    @staticmethod
    def of(outer: Differentiator, op: scf.WhileOp) -> WhileLoop:
        return WhileLoop(op, *changing_slots(outer, op))

    @property
    def before(self) -> Block:
        return self.op.before_region.block

    @property
    def after(self) -> Block:
        return self.op.after_region.block

    @property
    def condition(self) -> scf.ConditionOp:
        last = self.before.last_op
        assert isinstance(last, scf.ConditionOp)
        return last

    def handed_through(self) -> list[tuple[Slot, Slot]]:
        """Carried and passed slots such that the second region starts from what the first does."""
        by_value: dict[SSAValue, list[Slot]] = {}
        for slot in self.passed:
            by_value.setdefault(slot.handed_on, []).append(slot)
        return [(c, p) for c in self.carried for p in by_value.get(c.argument, ())]

    def active(self, outer: Differentiator) -> WhileLoop:
        """With the slots to which cotangents flow."""
        is_active = outer.activity.is_active
        carried = Slots(slot for slot in self.carried if is_active(slot.argument))
        passed = Slots(slot for slot in self.passed if any(map(is_active, slot.values)))
        return WhileLoop(self.op, carried, passed)


@dataclass(frozen=True)
class Induction:
    """A carried integer that starts at a value and gets the same added in each iteration: as an
    argument of both regions, and as a result."""

    before: SSAValue
    after: SSAValue
    result: SSAValue
    start: SSAValue
    step: int

    def counts(self) -> bool:
        """It says how often the loop has run: it goes up by 1, in a type that is wide enough. A
        narrower one may have wrapped round: after 2**32 iterations i32 is where it was."""
        is_wide = isinstance(self.start.type, IndexType) or self.start.type == i64
        return is_wide and self.step == 1

    def count(self, outer: Differentiator, emitter: Emitter) -> SSAValue:
        """How often the loop has run: by how much the induction variable has gone up."""
        whole = Integers(self.start.type, emitter)
        gone = whole.subtract(outer.primal(self.result), self._first(outer))
        return cast_integer(whole.value(gone), IndexType(), emitter)

    def value(self, outer: Differentiator, number: SSAValue, emitter: Emitter) -> SSAValue:
        """What it is in an iteration, made from the iteration's number."""
        type_ = self.start.type
        whole = Integers(type_, emitter)
        gone = whole.multiply(cast_integer(number, type_, emitter), self.step)
        return whole.value(whole.add(self._first(outer), gone))

    def _first(self, outer: Differentiator) -> SSAValue | int:
        start = constant_integer(self.start)
        return outer.primal(self.start) if start is None else start


def inductions(loop: WhileLoop) -> list[Induction]:
    """The induction variables of a loop, one for each carried value."""
    found: dict[SSAValue, Induction] = {}
    for carried, passed in loop.handed_through():
        before, after = carried.argument, passed.argument
        step = _added(carried.handed_on, after)
        if step is not None and before not in found:
            found[before] = Induction(before, after, passed.result, carried.start, step)
    return list(found.values())


def _added(sum_: SSAValue, value: SSAValue) -> int | None:
    """The constant that is added to a value; None where a sum is of other values."""
    if isinstance(op := sum_.owner, arith.AddiOp):
        for one, other in (op.operands, reversed(op.operands)):
            if one is value and (step := constant_integer(other)) is not None:
                return step
    return None
