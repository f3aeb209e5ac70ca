"""Region ops: ops whose regions run as part of them. `_KINDS` describes them for all passes.

The values that such an op carries or returns are slots. A slot is a variable: its entries are the
operands that set it, its values are the block arguments and results that read it.

    op and its text                                                entries        values
    %r = scf.for ... iter_args(%a = %i) { ... scf.yield %y }       %i, %y         %a, %r
    %r = scf.while (%a = %i) { ... scf.condition(%c) %p }          %i, %y         %a
         do { ^(%b): ... scf.yield %y }                            %p             %b, %r
    %r = scf.if %c { ... scf.yield %y } else { ... scf.yield %z }  %y, %z         %r

All values of a slot have one type. Values captured from outside need no slot. To add a region op:
a row in `_KINDS`, and the list in CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeGuard

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.grad.checkpoint import CheckpointOp, CheckpointYieldOp
from gradir.passes.analysis.edits import erase, insert_before
from gradir.passes.analysis.regions import is_defined_in

Edge = tuple[SSAValue, SSAValue]


class Runs(Enum):
    """How often a region op runs its regions."""

    ONCE = "once"
    ONE_OF = "one of them"
    REPEATEDLY = "repeatedly"


@dataclass(frozen=True)
class SlotEntry:
    """An operand, of a region op or of a terminator in it, that sets a slot."""

    reader: Operation
    index: int

    @property
    def value(self) -> SSAValue:
        return self.reader.operands[self.index]


@dataclass(frozen=True, eq=False)
class Slot:
    """A variable of a region op: the operands that set it, and the block arguments and results that
    read it."""

    entries: tuple[SlotEntry, ...]
    values: tuple[SSAValue, ...]

    # Of a slot of a loop:

    @property
    def start(self) -> SSAValue:
        """The entry before the first iteration."""
        (value,) = (e.value for e in self.entries if not is_terminator(e.reader))
        return value

    @property
    def handed_on(self) -> SSAValue:
        """The entry at the end of a region."""
        (value,) = (e.value for e in self.entries if is_terminator(e.reader))
        return value

    @property
    def argument(self) -> BlockArgument:
        """The argument by which a region reads it."""
        (argument,) = (v for v in self.values if isinstance(v, BlockArgument))
        return argument

    @property
    def result(self) -> OpResult:
        """The result by which code behind the loop reads it."""
        (result,) = (v for v in self.values if isinstance(v, OpResult))
        return result


@dataclass(frozen=True)
class Side:
    """One place per slot of a group, in order.

    The places are the operands of `reader` from number `first` on, or else `values`. `where` names
    the places in messages.
    """

    where: str
    values: Sequence[SSAValue]
    reader: Operation | None = None
    first: int = 0


@dataclass(frozen=True)
class Group:
    """Slots whose places lie side by side; `what` names one of them in messages. The types of the
    first side are the types of the slots."""

    what: str
    sides: tuple[Side, ...]

    def slots(self) -> list[Slot]:
        entries = [
            [SlotEntry(s.reader, s.first + k) for k in range(len(s.values))]
            for s in self.sides
            if s.reader is not None
        ]
        values = [s.values for s in self.sides if s.reader is None]
        return [
            Slot(e, v)
            for e, v in zip(zip(*entries, strict=True), zip(*values, strict=True), strict=True)
        ]


@dataclass(frozen=True)
class RegionFlow:
    """The flow of values into, around and out of the regions of one op in its current state.

    `deciding` are the values that choose the region, or the number of runs.
    """

    op: Operation
    runs: Runs
    blocks: Sequence[Block]
    groups: Sequence[Group]
    deciding: Sequence[SSAValue]

    @cached_property
    def rows(self) -> list[list[Slot]]:
        """The slots of each group."""
        return [group.slots() for group in self.groups]

    @cached_property
    def slots(self) -> list[Slot]:
        return [slot for row in self.rows for slot in row]

    @cached_property
    def reads(self) -> dict[SSAValue, Slot]:
        """The slot of each value."""
        return {value: slot for slot in self.slots for value in slot.values}

    @property
    def edges(self) -> list[Edge]:
        """Pairs of a value that enters a slot and a value that reads the slot."""
        return [
            (entry.value, target)
            for slot in self.slots
            for entry in slot.entries
            for target in slot.values
        ]


# The table.


@dataclass(frozen=True)
class _Kind:
    runs: Runs
    flow: Callable[[Any], tuple[Sequence[Group], Sequence[SSAValue]]]
    # the classes of the regions' terminators, in order; the last applies to further regions
    terminators: tuple[type[Operation], ...] = (scf.YieldOp,)
    # the op's class verifies its regions itself; xDSL's classes do so in part
    verifies_itself: bool = False
    # the region that a number chooses
    chosen: Callable[[Any, int], Region] | None = None


def _read(where: str, op: Operation, first: int = 0) -> Side:
    return Side(where, op.operands[first:], op, first)


def terminator(block: Block) -> Operation:
    """The last op of a block of a region op."""
    last = block.last_op
    assert last is not None
    return last


def _for(op: scf.ForOp) -> tuple[Sequence[Group], Sequence[SSAValue]]:
    sides = (
        _read("as an operand", op, 3),
        Side("as an argument of the body", op.body.block.args[1:]),
        _read("from scf.yield", terminator(op.body.block)),
        Side("as a result", op.results),
    )
    return [Group("carried value", sides)], [op.lb, op.ub, op.step]


def _while(op: scf.WhileOp) -> tuple[Sequence[Group], Sequence[SSAValue]]:
    before, after = op.before_region.block, op.after_region.block
    condition = terminator(before)
    carried = (
        _read("as an operand", op),
        Side("as an argument of the condition", before.args),
        _read("from scf.yield", terminator(after)),
    )
    passed = (
        Side("as a result", op.results),
        _read("from scf.condition", condition, 1),
        Side("as an argument of the body", after.args),
    )
    groups = [Group("carried value", carried), Group("passed value", passed)]
    return groups, condition.operands[:1]


def _branches(op: Operation) -> tuple[Sequence[Group], Sequence[SSAValue]]:
    ends = [terminator(block) for block in blocks_of(op)]
    sides = (Side("as a result", op.results), *(_read(f"from {e.name}", e) for e in ends))
    return [Group("result", sides)], op.operands


def _case(op: scf.IndexSwitchOp, number: int) -> Region:
    cases = integers_of(op.cases)
    return op.case_regions[cases.index(number)] if number in cases else op.default_region


def _side(op: scf.IfOp, number: int) -> Region:
    return op.true_region if number else op.false_region


_KINDS: dict[type[Operation], _Kind] = {
    scf.ForOp: _Kind(Runs.REPEATEDLY, _for),
    scf.WhileOp: _Kind(Runs.REPEATEDLY, _while, (scf.ConditionOp, scf.YieldOp)),
    scf.IfOp: _Kind(Runs.ONE_OF, _branches, chosen=_side),
    scf.IndexSwitchOp: _Kind(Runs.ONE_OF, _branches, chosen=_case),
    scf.ExecuteRegionOp: _Kind(Runs.ONCE, _branches),
    CheckpointOp: _Kind(Runs.ONCE, _branches, (CheckpointYieldOp,), verifies_itself=True),
}


BRANCH_OPS = tuple(kind for kind, row in _KINDS.items() if row.runs is Runs.ONE_OF)
"""The classes of ops that run one of their regions; a number chooses it."""


# Queries.


def region_flow(op: Operation) -> RegionFlow | None:
    """The flow through a region op; None for other ops."""
    if not op.regions or (kind := _KINDS.get(type(op))) is None:
        return None
    groups, deciding = kind.flow(op)
    return RegionFlow(op, kind.runs, blocks_of(op), groups, deciding)


def is_region_op(op: Operation | None) -> TypeGuard[Operation]:
    return op is not None and type(op) in _KINDS


def runs(op: Operation | None) -> Runs | None:
    """How often a region op runs its regions; None for other ops."""
    kind = None if op is None else _KINDS.get(type(op))
    return None if kind is None else kind.runs


def is_loop(op: Operation | None) -> TypeGuard[Operation]:
    """Whether a region op may repeat its regions."""
    return runs(op) is Runs.REPEATEDLY


def is_counted(op: Operation | None) -> TypeGuard[Operation]:
    """Whether a loop knows its number of trips at its start. The first region of any other loop
    decides on each trip, so that it runs once more than the second."""
    return is_loop(op) and scf.ConditionOp not in _KINDS[type(op)].terminators


def is_branch(op: Operation | None) -> TypeGuard[Operation]:
    """Whether a region op runs one of its regions."""
    return runs(op) is Runs.ONE_OF


def chosen_region(op: Operation, number: int) -> Region:
    """The region of a branch that runs where its operand is a number."""
    choose = _KINDS[type(op)].chosen
    assert choose is not None, op.name
    return choose(op, number)


def unverified_ends(op: Operation) -> list[tuple[Region, type[Operation]]] | None:
    """The regions of a region op, each with the class of its terminator; None for other ops, and
    for those that verify their regions themselves."""
    kind = _KINDS.get(type(op))
    if kind is None or kind.verifies_itself:
        return None
    last = len(kind.terminators) - 1
    return [(r, kind.terminators[min(k, last)]) for k, r in enumerate(op.regions)]


def blocks_of(op: Operation) -> list[Block]:
    """The blocks of all regions of an op."""
    return [block for region in op.regions for block in region.blocks]


def is_carrier(op: Operation) -> bool:
    """Whether an op is a region op or the terminator of one."""
    return is_region_op(op) or any(isinstance(op, kind.terminators) for kind in _KINDS.values())


def slot_of(value: SSAValue) -> Slot | None:
    """The slot of a block argument or a result; None where it has none."""
    op = value.block.parent_op() if isinstance(value, BlockArgument) else value.owner
    if not isinstance(op, Operation) or (flow := region_flow(op)) is None:
        return None
    return flow.reads.get(value)


def unwrapped(value: SSAValue, within: Operation | None = None) -> SSAValue:
    """The source of a value through region ops that run once (those in an op, or all): loops look
    the same with and without stages."""
    while isinstance(value, OpResult) and runs(value.op) is Runs.ONCE:
        if within is not None and not within.is_ancestor(value.op):
            break
        value = terminator(value.op.regions[0].block).operands[value.index]
    return value


def sole_source(flow: RegionFlow, slot: Slot) -> SSAValue | None:
    """The only value that enters a slot, directly or through other slots of its op and through
    regions in it that run once; None if there are several.

    A slot that a loop never changes has one, which is defined outside of the loop.
    """
    # by their sources outside of the op as well: a stage does not change a value
    found: dict[SSAValue, SSAValue] = {}
    seen, pending = {slot}, [slot]
    while pending and len(found) < 2:
        for entry in pending.pop().entries:
            value = unwrapped(entry.value, flow.op)
            through = flow.reads.get(value)
            if through is None:
                found.setdefault(unwrapped(value), value)
            elif through not in seen:
                seen.add(through)
                pending.append(through)
    return found.popitem()[1] if len(found) == 1 else None


def fixed_value(flow: RegionFlow, slot: Slot) -> SSAValue | None:
    """The constant value, from outside of its op, of a slot; None where the op changes it. In a
    loop: the value that every iteration starts from and hands on."""
    source = sole_source(flow, slot)
    return None if source is None or is_defined_in(source, flow.op) else source


# Changes.


def drop_slots(
    op: Operation, dropped: Sequence[Slot], between: Callable[[Block], object] | None = None
) -> Sequence[SSAValue]:
    """Remove slots from a region op, entries first.

    `between` then removes their readers from each block; none may be left. Returns the remaining
    results, of a new op if some are removed.
    """
    _drop_operands([entry for slot in dropped for entry in slot.entries])
    values = {value for slot in dropped for value in slot.values}
    for block in blocks_of(op):
        if between is not None:
            between(block)
        for argument in reversed(block.args):
            if argument in values:
                block.erase_arg(argument)
    left = [r for r in op.results if r not in values]
    if len(left) == len(op.results):
        return left
    made = rebuilt(op, [r.type for r in left])
    for old, new in zip(left, made.results, strict=True):
        old.replace_all_uses_with(new)
    erase(op)
    return made.results


def _drop_operands(entries: Sequence[SlotEntry]) -> None:
    gone: dict[Operation, set[int]] = {}
    for entry in entries:
        gone.setdefault(entry.reader, set()).add(entry.index)
    for reader, places in gone.items():
        reader.operands = [o for k, o in enumerate(reader.operands) if k not in places]


def with_regions(
    op: Operation,
    operands: Sequence[SSAValue],
    types: Sequence[Attribute],
    regions: Sequence[Region],
) -> Operation:
    """An op of the same class, attributes and place with other operands, results and regions."""
    made = type(op).create(
        operands=operands,
        result_types=types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=regions,
    )
    made.location = op.location
    return made


def rebuilt(op: Operation, types: Sequence[Attribute]) -> Operation:
    """Put an op with the operands, attributes and regions of `op` in front of it, with results of
    other types. `op` stays without regions, for the caller to replace its results and erase it."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    made = with_regions(op, op.operands, types, regions)
    insert_before(made, op)
    return made
