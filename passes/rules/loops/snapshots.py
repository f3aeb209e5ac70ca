"""Storage of snapshots: the carried values from which backward code repeats iterations.

Snapshots are the rows of stacked tensors, one tensor per carried value, with a table of their
iterations. In a `SnapshotStack` they lie in order, which suffices where each snapshot is newer than
all others. In `SnapshotSlots` a new snapshot can replace one between others: its row is
overwritten, and a second table has the row of each snapshot, then the free rows.

Tensors, not tapes: the backward loop reads rows at random, so that these loops can repeat
iterations in turn when a derivative is differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, TensorType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from gradir.dialects.base.shapes import element_of, is_element, is_tensor, shape_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import (
    Integers,
    cast_integer,
    choose,
    compare,
    name_all,
    named,
)
from gradir.passes.rules.loops.schedules import online_place

INDEX = IndexType()


@dataclass(frozen=True)
class StackedRows:
    """Stacked tensors, one per value: numbers, or tensors of static shape."""

    types: Sequence[Attribute]
    columns: list[SSAValue]

    @staticmethod
    def empty(
        types: Sequence[Attribute], names: Sequence[str | None], count: int, emitter: Emitter
    ) -> StackedRows:
        """`count` rows. Unwritten ones are never read."""
        columns = [
            named(_nothing(_stacked(type_, count), emitter), _column_name(name))
            for type_, name in zip(types, names, strict=True)
        ]
        return StackedRows(types, columns)

    def names(self) -> list[str | None]:
        return [v.name_hint for v in self.columns]

    def with_columns(self, columns: Sequence[SSAValue]) -> StackedRows:
        return StackedRows(self.types, list(columns))

    def written(self, row: SSAValue, values: Sequence[SSAValue], emitter: Emitter) -> StackedRows:
        """With values written to a row."""
        pairs = zip(values, self.columns, strict=True)
        return self.with_columns([named(_put(v, c, row, emitter), c.name_hint) for v, c in pairs])

    def read(self, row: SSAValue, emitter: Emitter) -> list[SSAValue]:
        """The values in a row."""
        pairs = zip(self.columns, self.types, strict=True)
        return [_row(column, row, type_, emitter) for column, type_ in pairs]


@dataclass(frozen=True)
class SnapshotStack:
    """Snapshots in rows, in order, at most `slots` of them; `at` are their iterations.

    Loops that change them carry `values`. `free` is the number of free slots: the last snapshot is
    at the place `slots - 1 - free`.
    """

    slots: int
    at: SSAValue
    rows: StackedRows

    @staticmethod
    def stack(
        types: Sequence[Attribute], names: Sequence[str | None], slots: int, emitter: Emitter
    ) -> SnapshotStack:
        """Room for snapshots of values of these types."""
        at = named(_nothing(TensorType(i64, [slots]), emitter), "at")
        return SnapshotStack(slots, at, StackedRows.empty(types, names, slots, emitter))

    def values(self) -> list[SSAValue]:
        """The values that change with the snapshots."""
        return [self.at, *self.rows.columns]

    def names(self) -> list[str | None]:
        return [v.name_hint for v in self.values()]

    def with_values(self, values: Sequence[SSAValue]) -> Self:
        return replace(self, at=values[0], rows=self.rows.with_columns(values[1:]))

    def row_of(self, place: SSAValue, emitter: Emitter) -> SSAValue:
        """The row of the snapshot at a place in the order."""
        return place

    def last(self, free: SSAValue, emitter: Emitter) -> tuple[SSAValue, list[SSAValue]]:
        """The iteration of the last snapshot, and its values. It stays until its row is
        overwritten."""
        index = Integers(INDEX, emitter)
        place = named(index.value(index.subtract(self.slots - 1, free)), "place")
        number = _at(self.at, place, emitter)
        return number, self.rows.read(self.row_of(place, emitter), emitter)

    def pushed(
        self, free: SSAValue, number: SSAValue, state: Sequence[SSAValue], emitter: Emitter
    ) -> Self:
        """With a snapshot of an iteration on top."""
        index = Integers(INDEX, emitter)
        place = named(index.value(index.subtract(self.slots, free)), "place")
        row = self.row_of(place, emitter)
        written = _inserted(number, self.at, place, emitter)
        return replace(self, at=written, rows=self.rows.written(row, state, emitter))

    def pushed_unless(
        self,
        condition: SSAValue,
        free: SSAValue,
        number: SSAValue,
        state: Sequence[SSAValue],
        emitter: Emitter,
    ) -> Self:
        made = choose(
            condition,
            self.names(),
            lambda _: self.values(),
            lambda inside: self.pushed(free, number, state, inside).values(),
            emitter,
        )
        return self.with_values(made)


@dataclass(frozen=True)
class SnapshotSlots(SnapshotStack):
    """Snapshots in rows in any order.

    `at`: two places more are for `keep`. `order`: the row of each snapshot, then the free rows; one
    place more. It changes in the forward code alone.
    """

    order: SSAValue

    @staticmethod
    def empty(
        types: Sequence[Attribute], names: Sequence[str | None], slots: int, emitter: Emitter
    ) -> SnapshotSlots:
        """Room for snapshots of values of these types. Unwritten rows are never read, except the
        table of rows."""
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
        return SnapshotSlots(slots, at, StackedRows.empty(types, names, slots, emitter), order)

    def row_of(self, place: SSAValue, emitter: Emitter) -> SSAValue:
        return named(_at(self.order, place, emitter), "slot")

    def with_order(self) -> list[SSAValue]:
        """The values that change in the forward code."""
        return [self.at, self.order, *self.rows.columns]

    def with_order_as(self, values: Sequence[SSAValue]) -> SnapshotSlots:
        at, order, *columns = values
        return replace(self, at=at, order=order, rows=self.rows.with_columns(columns))

    def keep(
        self, number: SSAValue, state: Sequence[SSAValue], times: SSAValue, emitter: Emitter
    ) -> tuple[SnapshotSlots, SSAValue]:
        """Store a snapshot of an iteration in place of the one that the online schedule drops,
        which may be the new one; also returns t of the schedule."""
        index = Integers(INDEX, emitter)
        slots = index.constant(self.slots)
        held = named(emitter.insert(arith.MinSIOp(number, slots)).result, "held")
        at = _inserted(number, self.at, held, emitter)
        ends = [index.value(index.add(v, 1)) for v in (number, held)]
        at = _inserted(ends[0], at, ends[1], emitter)
        is_full = named(compare(held, "eq", slots, emitter), "is_full")
        place, times = choose(
            is_full,
            ["place", "times"],
            lambda inside: online_place(at, times, self.slots, inside),
            lambda _: [held, times],
            emitter,
        )
        is_kept = named(compare(place, "slt", slots, emitter), "is_kept")
        here = replace(self, at=at)
        return here._replaced(is_kept, place, held, state, emitter), times

    def _replaced(
        self,
        condition: SSAValue,
        place: SSAValue,
        held: SSAValue,
        state: Sequence[SSAValue],
        emitter: Emitter,
    ) -> SnapshotSlots:
        """Where the condition is true, remove the snapshot at a place, and add a new one behind the
        last, whose iteration is at place `held` already."""

        def replace_one(inside: Emitter) -> list[SSAValue]:
            slot = named(_at(self.order, place, inside), "slot")
            order = _inserted(slot, self.order, held, inside)
            at, order = _closed_up(self.at, order, place, held, inside)
            return [at, order, *self.rows.written(slot, state, inside).columns]

        same = self.with_order()
        names = [v.name_hint for v in same]
        return self.with_order_as(choose(condition, names, replace_one, lambda _: same, emitter))


def _closed_up(
    at: SSAValue, order: SSAValue, place: SSAValue, end: SSAValue, emitter: Emitter
) -> Sequence[SSAValue]:
    """The tables with the numbers behind a place, up to another, moved one place forward."""
    block = Block(arg_types=[INDEX, at.type, order.type])
    name_all(block.args, ["place", "at", "order"])
    there = Emitter(block, emitter.location)
    number, *tables = block.args
    whole = Integers(INDEX, there)
    following = whole.value(whole.add(number, 1))
    moved = [_inserted(_at(t, following, there), t, number, there) for t in tables]
    there.insert(scf.YieldOp(*moved))
    one = Integers(INDEX, emitter).constant(1)
    made = emitter.insert(scf.ForOp(place, end, one, [at, order], Region(block)))
    name_all(made.results, ["at", "order"])
    return made.results


# StackedRows of stacked tensors.


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
    """A number in a table; its elements are i64 for types that tensors do not have."""
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
