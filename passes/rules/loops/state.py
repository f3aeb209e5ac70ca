"""What of the carried values changes in a loop, and what of that an iteration needs in order to run
again.

A value that the iterations only write into - a tape that gets records, a tensor of which rows are
set - decides nothing, and no derivative reads it: a snapshot does without it, and what runs again
writes into an empty one, which nobody reads either. So loops that keep something for a backward
loop run again like any others when they are differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, Use

from gradir.dialects.array.dynamic_slices import DynamicUpdateSliceOp
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.base.shapes import is_float, is_static, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, named
from gradir.dialects.grad.tape import TapePushOp, is_tape, new_tape
from gradir.passes.analysis.region_ops import Slot, fixed_value, region_flow
from gradir.passes.differentiate.differentiator import Differentiator

T = TypeVar("T")

# Ops that write into an operand, by its number: what they make of it depends on nothing else of it,
# and no derivative of them reads it.
_WRITES_INTO: dict[type[Operation], int] = {
    TapePushOp: 0,
    tensor.InsertOp: 1,
    tensor.InsertSliceOp: 1,
    DynamicUpdateSliceOp: 0,
}


def changing_slots(outer: Differentiator, op: Operation) -> list[Slots]:
    """The slots that a loop changes, of each group. What reads another slot is from now on the same
    as the value from outside that the slot always has."""
    flow = region_flow(op)
    assert flow is not None
    fixed = {slot: fixed_value(flow, slot) for slot in flow.slots}
    for slot, value in fixed.items():
        if value is not None:
            for each in slot.values:
                outer.shared.identify(each, value)
                outer.shared.primal[each] = outer.primal(value)
    return [Slots(slot for slot in row if fixed[slot] is None) for row in flow.rows]


class Slots(tuple[Slot, ...]):
    """Slots of a loop, and what they are in all places."""

    @property
    def starts(self) -> list[SSAValue]:
        return [slot.start for slot in self]

    @property
    def arguments(self) -> list[SSAValue]:
        return [slot.argument for slot in self]

    @property
    def handed_on(self) -> list[SSAValue]:
        return [slot.handed_on for slot in self]

    @property
    def results(self) -> list[SSAValue]:
        return [slot.result for slot in self]


@dataclass(frozen=True)
class LoopState:
    """The carried values that change, as arguments of the body, and which of them are `needed`, by
    their places among these."""

    arguments: Sequence[SSAValue]
    needed: Sequence[int]

    @staticmethod
    def of(op: Operation, slots: Slots) -> LoopState:
        """For slots of a loop that its body starts from."""
        needed = [
            k
            for k, slot in enumerate(slots)
            if not (_can_be_empty(slot.argument.type) and _is_only_written(op, slot.argument))
        ]
        return LoopState(slots.arguments, needed)

    def kept(self, values: Sequence[T]) -> list[T]:
        """Of values of all that changes, those that are needed."""
        return [values[k] for k in self.needed]

    @property
    def types(self) -> list[Attribute]:
        return self.kept([a.type for a in self.arguments])

    @property
    def names(self) -> list[str | None]:
        return self.kept([a.name_hint for a in self.arguments])

    def filled(self, values: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
        """Values of all that changes, from those that are needed."""
        given = dict(zip(self.needed, values, strict=True))
        return [given.get(k) or _nothing(a, emitter) for k, a in enumerate(self.arguments)]


def _can_be_empty(type_: Attribute) -> bool:
    return not (is_slices(type_) or (is_tensor(type_) and not is_static(type_)))


def _nothing(like: SSAValue, emitter: Emitter) -> SSAValue:
    """A value that is not read."""
    return named(_nothing_of(like.type, emitter), like.name_hint)


def _nothing_of(type_: Attribute, emitter: Emitter) -> SSAValue:
    if is_tape(type_):
        return new_tape(type_, emitter)
    if is_tensor(type_):
        return emitter.insert(tensor.EmptyOp([], type_)).tensor
    if is_float(type_):
        return emitter.insert(arith.ConstantOp(FloatAttr(0.0, type_))).result
    return Integers(type_, emitter).constant(0)


def _is_only_written(op: Operation, argument: BlockArgument) -> bool:
    """All that becomes of an argument in an iteration is the same argument of the next one."""
    arguments = argument.block.args
    pending: list[SSAValue] = [argument]
    found: set[SSAValue] = {argument}
    while pending:
        for use in pending.pop().uses:
            targets = _written(use)
            if targets is None:
                return False
            inside = [t for t in targets if t not in found and t not in op.results]
            if any(t in arguments for t in inside):
                return False
            found.update(inside)
            pending += inside
    return True


def _written(use: Use) -> list[SSAValue] | None:
    """What a value becomes where it is used; None where it is read."""
    op = use.operation
    if (place := _WRITES_INTO.get(type(op))) is not None:
        return list(op.results) if use.index == place else None
    around = op.parent_op() if is_terminator(op) else op
    flow = None if around is None else region_flow(around)
    if flow is None:
        return None
    value = op.operands[use.index]
    if any(value is each for each in flow.deciding):
        return None
    return [target for source, target in flow.edges if source is value]
