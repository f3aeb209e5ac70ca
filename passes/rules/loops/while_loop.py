"""A scf.while of the source: its changing values, and its induction variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, cast_integer
from gradir.passes.analysis.region_ops import Slot
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.rules.loops.state import LoopState, Slots, changing_slots


@dataclass(frozen=True)
class WhileLoop:
    """A loop, and the changing slots: those carried into the first region, and those forwarded from
    it. The others equal values from outside."""

    op: scf.WhileOp
    carried: Slots
    passed: Slots

    @staticmethod
    def of(outer: Differentiator, op: scf.WhileOp) -> WhileLoop:
        return WhileLoop(op, *changing_slots(outer, op))

    @property
    def in_body(self) -> Slots:
        """The changing slots that the second region reads."""
        return self.passed

    @cached_property
    def state(self) -> LoopState:
        """The values that a repeated iteration needs."""
        return LoopState.of(self.op, self.in_body)

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
        """Pairs of a carried and a forwarded slot whose argument the first region forwards."""
        by_value: dict[SSAValue, list[Slot]] = {}
        for slot in self.passed:
            by_value.setdefault(slot.handed_on, []).append(slot)
        return [(c, p) for c in self.carried for p in by_value.get(c.argument, ())]

    def active(self, outer: Differentiator) -> WhileLoop:
        """With the slots that have cotangents."""
        is_active = outer.activity.is_active
        carried = Slots(slot for slot in self.carried if is_active(slot.argument))
        passed = Slots(slot for slot in self.passed if any(map(is_active, slot.values)))
        return WhileLoop(self.op, carried, passed)


@dataclass(frozen=True)
class Induction:
    """A carried integer to which each iteration adds a constant: as an argument of both regions,
    and as a result."""

    before: SSAValue
    after: SSAValue
    result: SSAValue
    start: SSAValue
    step: int

    def counts(self) -> bool:
        """Whether it counts the iterations: it goes up by 1, in a type that is wide enough. A
        narrower one may wrap: after 2**32 iterations an i32 has its initial value."""
        is_wide = isinstance(self.start.type, IndexType) or self.start.type == i64
        return is_wide and self.step == 1

    def count(self, outer: Differentiator, emitter: Emitter) -> SSAValue:
        """The number of iterations: the difference of the variable's last and first values."""
        whole = Integers(self.start.type, emitter)
        gone = whole.subtract(outer.primal(self.result), self._first(outer))
        return cast_integer(whole.value(gone), IndexType(), emitter)

    def value(self, outer: Differentiator, number: SSAValue, emitter: Emitter) -> SSAValue:
        """The variable's value in an iteration, from the iteration's number."""
        type_ = self.start.type
        whole = Integers(type_, emitter)
        gone = whole.multiply(cast_integer(number, type_, emitter), self.step)
        return whole.value(whole.add(self._first(outer), gone))

    def _first(self, outer: Differentiator) -> SSAValue | int:
        start = constant_integer(self.start)
        return outer.primal(self.start) if start is None else start


def inductions(loop: WhileLoop) -> list[Induction]:
    """The induction variables among the carried values of a loop."""
    found: dict[SSAValue, Induction] = {}
    for carried, passed in loop.handed_through():
        before, after = carried.argument, passed.argument
        step = _added(carried.handed_on, after)
        if step is not None and before not in found:
            found[before] = Induction(before, after, passed.result, carried.start, step)
    return list(found.values())


def _added(sum_: SSAValue, value: SSAValue) -> int | None:
    """The constant added to a value; None for a sum of other values."""
    if isinstance(op := sum_.owner, arith.AddiOp):
        for one, other in (op.operands, reversed(op.operands)):
            if one is value and (step := constant_integer(other)) is not None:
                return step
    return None
