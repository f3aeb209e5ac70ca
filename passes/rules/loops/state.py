"""The changing carried values of a loop, and those that a repeated iteration needs.

A value that the iterations only write (a tape that gets records, a tensor whose rows are set)
decides nothing, and no derivative reads it: snapshots leave it out, and repeated iterations write
into an unread empty one. So loops that keep residuals for a backward loop can repeat iterations
like any others when they are differentiated.
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

# Ops that write into an operand, by its number: only the unwritten part of the result depends on
# the operand, and no derivative reads it.
_WRITES_INTO: dict[type[Operation], int] = {
    TapePushOp: 0,
    tensor.InsertOp: 1,
    tensor.InsertSliceOp: 1,
    DynamicUpdateSliceOp: 0,
}


def changing_slots(outer: Differentiator, op: Operation) -> list[Slots]:
    """The slots that a loop changes, by group. Readers of other slots are identified with the
    slots' constant values from outside."""
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
    """Slots of a loop, and their values at all places."""

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
    """The changing carried values, as arguments of the body; `needed` are the places among them of
    the values in snapshots."""

    arguments: Sequence[SSAValue]
    needed: Sequence[int]

    @staticmethod
    def of(op: Operation, slots: Slots) -> LoopState:
        """The state for a loop's slots that its body reads."""
        needed = [
            k
            for k, slot in enumerate(slots)
            if not (_can_be_empty(slot.argument.type) and _is_only_written(op, slot.argument))
        ]
        return LoopState(slots.arguments, needed)

    def kept(self, values: Sequence[T]) -> list[T]:
        """The needed ones among values of all changing slots."""
        return [values[k] for k in self.needed]

    @property
    def types(self) -> list[Attribute]:
        return self.kept([a.type for a in self.arguments])

    @property
    def names(self) -> list[str | None]:
        return self.kept([a.name_hint for a in self.arguments])

    def filled(self, values: Sequence[SSAValue], emitter: Emitter) -> list[SSAValue]:
        """Values of all changing slots, from the needed ones."""
        given = dict(zip(self.needed, values, strict=True))
        return [given.get(k) or _nothing(a, emitter) for k, a in enumerate(self.arguments)]


def _can_be_empty(type_: Attribute) -> bool:
    return not (is_slices(type_) or (is_tensor(type_) and not is_static(type_)))


def _nothing(like: SSAValue, emitter: Emitter) -> SSAValue:
    """An unread value."""
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
    """Whether an iteration only writes into an argument and hands it to the next one."""
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
    """The result of a write into a value at a use; None for a read."""
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
