"""Where a loop keeps snapshots of its carried values, for its backward code to run again from.

A `SnapshotTape` is a stack, on a tape: enough where each snapshot is newer than all that are kept.
`SnapshotSlots` are the rows of stacked tensors, one for each carried value, so that a snapshot
between others can give way to a new one: its row is written over. Two small tables are carried
along: the iterations of the snapshots in order, and the rows in which they are, then the free rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, TensorType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from gradir.dialects.shapes import element_of, is_element, is_tensor, shape_of
from gradir.dialects.tape import pop, push
from gradir.dialects.value import Emitter
from gradir.passes.differentiator import TapeThread
from gradir.passes.flow_builder import Integers, cast_integer, compare, name_all, named
from gradir.passes.loop_rules import take_over
from gradir.passes.snapshot_schedules import online_place

INDEX = IndexType()


class Snapshots(Protocol):
    """What the backward loop needs: values that it carries, and what it does with the last
    snapshot. `free` says for how many more there is room."""

    def carried(self) -> tuple[list[SSAValue], list[str | None]]:
        """What the loop starts from, and names."""
        ...

    def last(
        self, carried: Sequence[SSAValue], free: SSAValue, emitter: Emitter
    ) -> tuple[SSAValue, list[SSAValue], list[SSAValue]]:
        """The iteration of the last snapshot, the values in it, and what is carried then."""
        ...

    def updated(
        self, carried: Sequence[SSAValue], free: SSAValue, change: Change, emitter: Emitter
    ) -> list[SSAValue]:
        """What is carried after a change."""
        ...

    def finish(self, carried: Sequence[SSAValue]) -> None:
        """Say what is left behind the loop."""
        ...


@dataclass(frozen=True)
class Change:
    """What becomes of the last snapshot, `old`, which goes where `drops`; `new` comes on top of it
    unless `keeps_none`. Both are iterations and the values in front of them."""

    old: Sequence[SSAValue]
    drops: SSAValue
    new: Sequence[SSAValue]
    keeps_none: SSAValue


@dataclass(frozen=True)
class SnapshotTape:
    """Snapshots on a tape of records of an iteration and the carried values before it."""

    tape: TapeThread

    def carried(self) -> tuple[list[SSAValue], list[str | None]]:
        return [self.tape.in_backward()], ["tape"]

    def last(
        self, carried: Sequence[SSAValue], free: SSAValue, emitter: Emitter
    ) -> tuple[SSAValue, list[SSAValue], list[SSAValue]]:
        rest, (at, *state) = pop(carried[0], emitter)
        return at, state, [named(rest, "tape")]

    def updated(
        self, carried: Sequence[SSAValue], free: SSAValue, change: Change, emitter: Emitter
    ) -> list[SSAValue]:
        kept = _push_unless(change.drops, carried[0], change.old, emitter)
        return [_push_unless(change.keeps_none, kept, change.new, emitter)]

    def finish(self, carried: Sequence[SSAValue]) -> None:
        take_over([self.tape], carried, backward=True)


def _push_unless(
    condition: SSAValue, tape: SSAValue, columns: Sequence[SSAValue], emitter: Emitter
) -> SSAValue:
    as_it_is, pushed = Block(), Block()
    Emitter(as_it_is, emitter.location).insert(scf.YieldOp(tape))
    inside = Emitter(pushed, emitter.location)
    inside.insert(scf.YieldOp(push(tape, columns, inside)))
    made = scf.IfOp(condition, [tape.type], Region(as_it_is), Region(pushed))
    return named(emitter.insert(made).results[0], "tape")


@dataclass(frozen=True)
class SnapshotSlots:
    """Snapshots in the rows of stacked tensors, `slots` of them.

    `at`: the iterations of the snapshots in order; two places more are for `keep`. `order`: the
    row of each, then the free rows; one place more. `columns`: the stacked tensors, of values of
    `types`.
    """

    slots: int
    types: Sequence[Attribute]
    at: SSAValue
    order: SSAValue
    columns: list[SSAValue]

    @staticmethod
    def empty(
        types: Sequence[Attribute], names: Sequence[str | None], slots: int, emitter: Emitter
    ) -> SnapshotSlots:
        """Room for snapshots of values of these types. What no snapshot has been put into is never
        read, but for the table of rows."""
        index = Integers(INDEX, emitter)
        at = named(_nothing(TensorType(i64, [slots + 2]), emitter), "at")
        order = _nothing(TensorType(i64, [slots + 1]), emitter)
        block = Block(arg_types=[INDEX, order.type])
        name_all(block.args, ["slot", "order"])
        inside = Emitter(block, emitter.location)
        slot, given = block.args
        inside.insert(scf.YieldOp(_inserted(slot, given, slot, inside)))
        first, end, one = (index.constant(k) for k in (0, slots, 1))
        made = emitter.insert(scf.ForOp(first, end, one, [order], Region(block)))
        order = named(made.results[0], "order")
        columns = [
            named(_nothing(_stacked(type_, slots), emitter), _column_name(name))
            for type_, name in zip(types, names, strict=True)
        ]
        return SnapshotSlots(slots, types, at, order, columns)

    def with_values(self, values: Sequence[SSAValue]) -> SnapshotSlots:
        at, order, *columns = values
        return SnapshotSlots(self.slots, self.types, at, order, columns)

    def values(self) -> list[SSAValue]:
        return [self.at, self.order, *self.columns]

    def names(self) -> list[str | None]:
        return [v.name_hint for v in self.values()]

    # Forward.

    def keep(
        self, number: SSAValue, state: Sequence[SSAValue], times: SSAValue, emitter: Emitter
    ) -> tuple[SnapshotSlots, SSAValue]:
        """Put in a snapshot of an iteration in place of the one that the online schedule gives up,
        which may be the new one; returns t of the schedule as well."""
        index = Integers(INDEX, emitter)
        slots = index.constant(self.slots)
        held = named(emitter.insert(arith.MinSIOp(number, slots)).result, "held")
        at = _inserted(number, self.at, held, emitter)
        ends = [index.value(index.add(v, 1)) for v in (number, held)]
        at = _inserted(ends[0], at, ends[1], emitter)
        is_full = named(compare(held, "eq", slots, emitter), "is_full")
        full, room = Block(), Block()
        inside = Emitter(full, emitter.location)
        inside.insert(scf.YieldOp(*online_place(at, times, self.slots, inside)))
        Emitter(room, emitter.location).insert(scf.YieldOp(held, times))
        made = emitter.insert(scf.IfOp(is_full, [INDEX, INDEX], Region(full), Region(room)))
        name_all(made.results, ["place", "times"])
        place, times = made.results
        is_kept = named(compare(place, "slt", slots, emitter), "is_kept")
        here = self.with_values([at, *self.values()[1:]])
        return here._replaced(is_kept, place, held, state, emitter), times

    def _replaced(
        self,
        condition: SSAValue,
        place: SSAValue,
        held: SSAValue,
        state: Sequence[SSAValue],
        emitter: Emitter,
    ) -> SnapshotSlots:
        """Where the condition holds, take out the snapshot at a place, and put in a new one behind
        the last, of which the iteration stands at place `held` already."""
        changed, same = Block(), Block()
        Emitter(same, emitter.location).insert(scf.YieldOp(*self.values()))
        inside = Emitter(changed, emitter.location)
        slot = named(_at(self.order, place, inside), "slot")
        order = _inserted(slot, self.order, held, inside)
        one = Integers(INDEX, inside).constant(1)
        block = Block(arg_types=[INDEX, self.at.type, self.order.type])
        name_all(block.args, ["place", "at", "order"])
        there = Emitter(block, emitter.location)
        number, *tables = block.args
        whole = Integers(INDEX, there)
        following = whole.value(whole.add(number, 1))
        moved = [_inserted(_at(t, following, there), t, number, there) for t in tables]
        there.insert(scf.YieldOp(*moved))
        made = inside.insert(scf.ForOp(place, held, one, [self.at, order], Region(block)))
        name_all(made.results, ["at", "order"])
        rows = self._written(slot, state, inside)
        inside.insert(scf.YieldOp(*made.results, *rows))
        types = [v.type for v in self.values()]
        after = emitter.insert(scf.IfOp(condition, types, Region(changed), Region(same)))
        name_all(after.results, self.names())
        return self.with_values(after.results)

    def _written(
        self, slot: SSAValue, state: Sequence[SSAValue], emitter: Emitter
    ) -> list[SSAValue]:
        pairs = zip(state, self.columns, strict=True)
        return [named(_put(v, c, slot, emitter), c.name_hint) for v, c in pairs]

    # Backward.

    def carried(self) -> tuple[list[SSAValue], list[str | None]]:
        return [self.at, *self.columns], [v.name_hint for v in (self.at, *self.columns)]

    def last(
        self, carried: Sequence[SSAValue], free: SSAValue, emitter: Emitter
    ) -> tuple[SSAValue, list[SSAValue], list[SSAValue]]:
        at, *columns = carried
        index = Integers(INDEX, emitter)
        place = named(index.value(index.subtract(self.slots - 1, free)), "place")
        number = _at(at, place, emitter)
        slot = named(_at(self.order, place, emitter), "slot")
        rows = [_row(c, slot, t, emitter) for c, t in zip(columns, self.types, strict=True)]
        return number, rows, list(carried)

    def updated(
        self, carried: Sequence[SSAValue], free: SSAValue, change: Change, emitter: Emitter
    ) -> list[SSAValue]:
        """The last snapshot stays where it is, until something is put in its row."""
        at, *columns = carried
        here = self.with_values([at, self.order, *columns])
        same, more = Block(), Block()
        Emitter(same, emitter.location).insert(scf.YieldOp(*carried))
        inside = Emitter(more, emitter.location)
        index = Integers(INDEX, inside)
        place = named(index.value(index.subtract(self.slots, free)), "place")
        slot = named(_at(self.order, place, inside), "slot")
        number, *state = change.new
        written = _inserted(number, at, place, inside)
        inside.insert(scf.YieldOp(written, *here._written(slot, state, inside)))
        types = [v.type for v in carried]
        made = emitter.insert(scf.IfOp(change.keeps_none, types, Region(same), Region(more)))
        name_all(made.results, self.carried()[1])
        return list(made.results)

    def finish(self, carried: Sequence[SSAValue]) -> None:
        """Nobody goes on with the rows."""


# Rows of stacked tensors.


def _column_name(name: str | None) -> str:
    return f"{name}_snapshots" if name else "snapshots"


def _nothing(type_: TensorType[Attribute], emitter: Emitter) -> SSAValue:
    return emitter.insert(tensor.EmptyOp([], type_)).tensor


def _stacked(type_: Attribute, slots: int) -> TensorType[Attribute]:
    if is_tensor(type_):
        return TensorType(element_of(type_), [slots, *shape_of(type_)])
    return TensorType(type_ if is_element(type_) else i64, [slots])


def _at(table: SSAValue, place: SSAValue, emitter: Emitter) -> SSAValue:
    """A number in a table of numbers, an index."""
    return _number(table, place, INDEX, emitter)


def _number(table: SSAValue, place: SSAValue, type_: Attribute, emitter: Emitter) -> SSAValue:
    """A number in a table, whose elements are i64 where tensors have none of its type."""
    number = emitter.insert(tensor.ExtractOp(table, [place], element_of(table.type))).result
    if number.type == type_ or isinstance(type_, IndexType):
        return cast_integer(number, type_, emitter)
    return emitter.insert(arith.TruncIOp(number, cast(IntegerType, type_))).result


def _inserted(number: SSAValue, table: SSAValue, place: SSAValue, emitter: Emitter) -> SSAValue:
    """The table with a number at a place."""
    if isinstance(number.type, IndexType):
        number = cast_integer(number, i64, emitter)
    elif number.type != element_of(table.type):
        number = emitter.insert(arith.ExtSIOp(number, i64)).result
    return named(emitter.insert(tensor.InsertOp(number, table, [place])).result, table.name_hint)


def _put(value: SSAValue, column: SSAValue, slot: SSAValue, emitter: Emitter) -> SSAValue:
    """The column with a value, a number or a tensor, in a row."""
    if not is_tensor(value.type):
        return _inserted(value, column, slot, emitter)
    sizes = [1, *shape_of(value.type)]
    first = [DYNAMIC_INDEX, *(0 for _ in sizes[1:])]
    made = tensor.InsertSliceOp.get(value, column, sizes, first, [1] * len(sizes), offsets=[slot])
    return emitter.insert(made).result


def _row(column: SSAValue, slot: SSAValue, type_: Attribute, emitter: Emitter) -> SSAValue:
    """The number or the tensor in a row."""
    if not is_tensor(type_):
        return _number(column, slot, type_, emitter)
    sizes = [1, *shape_of(type_)]
    first = [slot, *(0 for _ in sizes[1:])]
    made = tensor.ExtractSliceOp(column, first, sizes, [1] * len(sizes), type_)
    return emitter.insert(made).result
