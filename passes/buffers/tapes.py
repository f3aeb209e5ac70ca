"""gradir-bufferize: tapes. Versions of one tape share their memory, and a tape value becomes the
number of its records: a push writes the next record, a pop reads the last one where it lies.

With a capacity each column is one buffer, planned like any other. Without one the records grow in
memory of the call (`loopnest.records`), one after the other with all of their columns. Every tape
must be used once on each path, which is so in code that gradir makes.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from gradir.dialects.base.diagnostics import PassError, location_text
from gradir.dialects.base.shapes import byte_size, element_of, is_tensor, shape_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import trip_count
from gradir.dialects.grad.tape import (
    TapeNewOp,
    TapePopOp,
    TapePushOp,
    TapeSizeOp,
    TapeType,
    is_tape,
    record_bytes,
)
from gradir.dialects.loopnest.buffer_ops import (
    BoundIfRoomOp,
    CheckOffsetOp,
    RecordsAtOp,
    RecordsOp,
    ReserveOp,
    WindowOp,
)
from gradir.passes.analysis.region_flow import ops_within, records_made, trips
from gradir.passes.analysis.union_find import Families, tape_families
from gradir.passes.buffers.state import BufferState

# Of the columns in a growing record.
ALIGNMENT = 8
# More records than any memory holds: what bounds the index of one that was pushed.
_MANY = 1 << 48


@dataclass
class _Store:
    """Where the records of a family of tapes are: a buffer a column, or one that grows."""

    type: TapeType
    buffers: list[SSAValue]
    pushes: list[TapePushOp]


class Tapes:
    """The memory of all tapes of a function; versions of one tape are a family."""

    def __init__(self, s: BufferState):
        self.s = s
        self._families = Families()
        self._stores: dict[SSAValue, _Store] = {}
        # Of the tapes that are arguments and results (by number), the buffers that stand for them.
        self.arguments: dict[SSAValue, list[SSAValue]] = {}
        self.results: dict[int, tuple[SSAValue, list[SSAValue]]] = {}
        # (push, column): computed in its place
        self._in_place: set[tuple[Operation, int]] = set()

    def declare(self, block: Block) -> None:
        """Find the families, and make their memory at the start of the function."""
        tapes: list[SSAValue] = []
        pushes: list[TapePushOp] = []
        self._families = tape_families([block])
        for op in ops_within(block):
            if isinstance(op, TapePushOp):
                pushes.append(op)
            if isinstance(op, TapeNewOp):
                tapes.append(op.tape)
        self._take_arguments({self._families.of(push.tape) for push in pushes})
        self._make_results(block)
        for tape in tapes:
            family = self._families.of(tape)
            if family not in self._stores:
                self._stores[family] = self._make(tape.type, tape)
        for push in pushes:
            self.store(push.tape).pushes.append(push)

    def store(self, tape: SSAValue) -> _Store:
        return self._stores[self._families.of(tape)]

    def place(self, tape: SSAValue, count: SSAValue) -> None:
        """`tape` has `count` records now."""
        for buffer in self.store(tape).buffers:
            self.s.place(tape, buffer, beside=True)
        self.s.values[tape] = count

    def enter(self, tape: SSAValue, count: SSAValue) -> None:
        """`tape` alone is what its memory holds, at the start of a block that carries it."""
        for buffer in self.store(tape).buffers:
            if self.s.is_writable(buffer):
                self.s.own(buffer)
        self.place(tape, count)

    # Tapes that come in and go out.

    def parameters(self, type_: TapeType, is_result: bool) -> list[MemRefType[Attribute]]:
        """The buffers as which a tape is handed over; the last is the number of its records."""
        count = MemRefType(IndexType(), [])
        if type_.records is not None:
            columns = [_column_type(type_, c) for c in type_.columns]
            return [*columns, count]
        # the memory of one that grew is handed over by its address, or kept by the call
        return [count] if is_result else [MemRefType(IndexType(), []), count]

    def _take_arguments(self, grow: Container[SSAValue]) -> None:
        """The memory of the tapes that are arguments: the caller's, or a copy of what is there,
        for the families that get further records; those without a capacity get none."""
        for argument, slots in self.arguments.items():
            type_, family = argument.type, self._families.of(argument)
            assert isinstance(type_, TapeType)
            store = _Store(type_, slots[:-1], [])
            if type_.records is None:
                store.buffers = [self.s.emit(RecordsAtOp(slots[0]), self.s.function).results[0]]
            elif family in grow:
                store = self._make(type_, argument)
                for given, buffer in zip(slots, store.buffers, strict=False):
                    self.s.copy(given, buffer)
            self._stores[family] = store
            load = self.s.emit(memref.LoadOp.get(slots[-1], []), self.s.function)
            self.place(argument, load.results[0])

    def _make_results(self, block: Block) -> None:
        """A tape that is returned grows in the caller's buffers, or in memory that it keeps."""
        last = block.last_op
        for k, (value, slots) in self.results.items():
            family = self._families.of(value)
            if family in self._stores:
                raise PassError(
                    "func.return: native code returns a tape once, and none that it was given",
                    last or self.s.function,
                )
            type_ = value.type
            assert isinstance(type_, TapeType)
            if type_.records is None:
                self._stores[family] = self._make(type_, value, kept=k)
            else:
                self._stores[family] = _Store(type_, slots[:-1], [])

    def store_counts(self, op: Operation) -> None:
        """At the end of the function: how many records the tapes have that it returns."""
        for value, slots in self.results.values():
            self.s.emit(memref.StoreOp.get(self.s.values[value], slots[-1], []), op)

    def _make(self, type_: Attribute, tape: SSAValue, kept: int | None = None) -> _Store:
        op = tape.owner if isinstance(tape.owner, Operation) else self.s.function
        assert isinstance(type_, TapeType)
        if type_.records is None:
            limit = -1 if type_.byte_limit is None else type_.byte_limit
            made = RecordsOp(_layout(type_)[1], record_bytes(type_), limit, kept)
            buffers: list[SSAValue] = [self.s.emit(made, op).results[0]]
        else:
            allocs = [_column_type(type_, c) for c in type_.columns]
            buffers = [
                self.s.emit(memref.AllocOp.get(t.element_type, None, t.get_shape()), op).results[0]
                for t in allocs
            ]
        for buffer in buffers:
            buffer.name_hint = tape.name_hint or "tape"
            self.s.own(buffer)
        return _Store(type_, buffers, [])

    def push_arguments(self, block: Block) -> None:
        """At the start of a block, put what it carries on tapes that it pushes on, so that the
        buffers are free for what it carries next."""
        for argument in block.args:
            if not is_tape(argument.type):
                continue
            for use in list(argument.uses):
                push = use.operation
                if isinstance(push, TapePushOp) and push.parent is block:
                    self._push_arguments(push, block)

    def _push_arguments(self, push: TapePushOp, block: Block) -> None:
        store = self.store(push.tape)
        early = [
            k
            for k, value in enumerate(push.columns)
            if is_tensor(value.type) and value in block.args and not self._moves(push, store)
        ]
        is_ours = all(map(self.s.is_writable, store.buffers))
        if not early or not is_ours or not self._is_last(store, push):
            return
        row = self._reserved(push, store, self.s.values[push.tape])
        for k in early:
            value = push.columns[k]
            self.s.copy(self.s.values[value], self._column(push, store, k, row))
            self._in_place.add((push, k))
            for use in value.uses:
                if use.operation is push and use.index == k + 1:
                    self.s.live.forget(use)

    def _moves(self, push: TapePushOp, store: _Store) -> bool:
        """Another push of the block comes first."""
        first = self.s.live.first
        return any(q.parent is push.parent and first(q) < first(push) for q in store.pushes)

    def reserve_for(
        self, loop: scf.ForOp, low: SSAValue, high: SSAValue, step: SSAValue
    ) -> SSAValue:
        """In front of a loop whose number of trips is known only then: make room for all records
        that it pushes; gives its upper bound, which lets it have no trips if there is no room."""
        if trips(loop) is not None:
            return high
        made = dict(records_made(loop))
        for k, tape in enumerate(loop.iter_args):
            if not is_tape(tape.type):
                continue
            store = self.store(tape)
            if store.type.records is not None or not isinstance(store.buffers[0].owner, RecordsOp):
                continue
            if (push := made.get(k)) is not None:
                count = trip_count(low, high, step, Emitter(self.s.block, loop.location))
                self._reserve_all(push, store, self.s.values[tape], count)
            bound = BoundIfRoomOp(store.buffers[0], low, high)
            high = self.s.emit(bound, loop).results[0]
        return high

    def _reserve_all(
        self, push: TapePushOp, store: _Store, before: SSAValue, count: SSAValue
    ) -> None:
        end = self.s.emit(arith.AddiOp(before, count), push).results[0]
        self._reserved(push, store, self._add(push, end, -1))

    # Ops.

    def bufferize(self, op: Operation) -> bool:
        """Write an op on tapes; False if `op` is none."""
        match op:
            case TapeNewOp():
                self.place(op.tape, self._constant(op, 0))
            case TapePushOp():
                self.push(op)
            case TapePopOp():
                self.pop(op)
            case TapeSizeOp():
                self.s.values[op.size] = self.s.values[op.tape]
            case _:
                return False
        return True

    def push(self, op: TapePushOp) -> None:
        s, store = self.s, self.store(op.tape)
        if not all(map(s.is_writable, store.buffers)):
            raise PassError(
                "grad.tape_push: native code adds no record to a tape without a capacity that is "
                "an argument; give its type a capacity",
                op,
            )
        if not self._is_last(store, op):
            raise PassError(
                "grad.tape_push: native code needs every tape to be used once on each path", op
            )
        count = s.values[op.tape]
        row = self._reserved(op, store, count)
        for k, value in enumerate(op.columns):
            if (op, k) not in self._in_place:
                target = self._column(op, store, k, row)
                if is_tensor(value.type):
                    s.copy(s.values[value], target)
                else:
                    s.emit(memref.StoreOp.get(s.values[value], target, []), op)
        # of a tape that grows what was reserved: after an error no row is used that has no room
        before = count if store.type.records is not None else row
        self.place(op.result, self._add(op, before, 1))

    def pop(self, op: TapePopOp) -> None:
        s, store = self.s, self.store(op.tape)
        left = self._add(op, s.values[op.tape], -1)
        bound = _MANY if store.type.records is None else max(store.type.records, 1)
        message = f"{location_text(op)}grad.tape_pop: the tape has no records left"
        row = s.emit(CheckOffsetOp(left, bound, message, is_plain=True), op).results[0]
        for k, value in enumerate(op.columns):
            source = self._column(op, store, k, row)
            if not is_tensor(value.type):
                s.values[value] = s.emit(memref.LoadOp.get(source, []), op).results[0]
                s.values[value].name_hint = value.name_hint
            elif self._is_overwritten(value, op, store):
                copy = s.alloc_for(value, op)
                s.copy(source, copy)
                s.place(value, copy)
            else:
                s.place(value, source, beside=True)
        self.place(op.result, row)

    def _is_overwritten(self, value: OpResult, op: TapePopOp, store: _Store) -> bool:
        """A record is pushed while the popped value is still read."""
        live = self.s.live
        return any(
            live.first(push) > live.first(op) and not live.dies(value, push)
            for push in store.pushes
        )

    def window_for(self, op: Operation, result: OpResult) -> SSAValue | None:
        """The place of a result on the tape that it is pushed on, to be computed there."""
        s = self.s
        for use in result.uses:
            push, k = use.operation, use.index - 1
            if not isinstance(push, TapePushOp) or push.parent is not op.parent:
                continue
            if push.tape not in s.values or not is_tensor(result.type):
                continue
            store = self.store(push.tape)
            is_ours = all(map(s.is_writable, store.buffers))
            if is_ours and self._is_last(store, push) and self._stays(result, push, store):
                count = s.values[push.tape]
                window = self._column(op, store, k, self._reserved(push, store, count))
                self._in_place.add((push, k))
                return window
        return None

    def _is_last(self, store: _Store, push: TapePushOp) -> bool:
        """No version of the tape is read after the push but the one that it makes."""
        holders = set[SSAValue]().union(*map(self.s.holders, store.buffers))
        return all(self.s.live.dies(tape, push) for tape in holders if is_tape(tape.type))

    def _stays(self, value: SSAValue, push: TapePushOp, store: _Store) -> bool:
        """No other record is pushed, which may move them all, while the value is read."""
        live = self.s.live
        others = (q for q in store.pushes if q is not push and live.first(q) > live.first(push))
        return all(live.dies(value, other) for other in others)

    # Places.

    def _reserved(self, op: TapePushOp, store: _Store, count: SSAValue) -> SSAValue:
        """The row of a record that is pushed when there are `count`; there is room for it."""
        place = f"{location_text(op)}grad.tape_push: the tape"
        records = store.type.records
        if records is not None:
            message = f"{place} holds {records} records"
            # of a tape without room every record is one too many
            last = count if records else self._add(op, count, 1)
            made: Operation = CheckOffsetOp(last, max(records, 1), message, is_plain=True)
        else:
            made = ReserveOp(store.buffers[0], count, place)
        return self.s.emit(made, op).results[0]

    def _column(self, op: Operation, store: _Store, k: int, row: SSAValue) -> SSAValue:
        """The window of one column of one record."""
        column = store.type.columns.data[k]
        type_ = MemRefType(_element(column), _shape(column))
        if store.type.records is not None:
            at = self._scaled(op, row, prod(_shape(column)))
            return self.s.emit(WindowOp(store.buffers[k], at, type_), op).results[0]
        offsets, stride = _layout(store.type)
        at = self._add(op, self._scaled(op, row, stride), offsets[k])
        return self.s.emit(WindowOp(store.buffers[0], at, type_), op).results[0]

    def _scaled(self, op: Operation, row: SSAValue, factor: int) -> SSAValue:
        if factor == 1:
            return row
        return self.s.emit(arith.MuliOp(row, self._constant(op, factor)), op).results[0]

    def _add(self, op: Operation, count: SSAValue, number: int) -> SSAValue:
        if number == 0:
            return count
        return self.s.emit(arith.AddiOp(count, self._constant(op, number)), op).results[0]

    def _constant(self, op: Operation, number: int) -> SSAValue:
        return self.s.emit(arith.ConstantOp(IntegerAttr(number, IndexType())), op).results[0]


def _element(column: Attribute) -> Attribute:
    return element_of(column) if is_tensor(column) else column


def _shape(column: Attribute) -> Sequence[int]:
    return shape_of(column) if is_tensor(column) else ()


def _column_type(type_: TapeType, column: Attribute) -> MemRefType[Attribute]:
    """The buffer of a column: there is always a row, for what is done after an error."""
    assert type_.records is not None
    return MemRefType(_element(column), [max(type_.records, 1), *_shape(column)])


def _layout(type_: TapeType) -> tuple[list[int], int]:
    """The offset of each column in a growing record, and the distance of records, in bytes."""
    offsets, total = list[int](), 0
    for column in type_.columns:
        offsets.append(total)
        size = byte_size(_element(column))
        total += -(-size * prod(_shape(column)) // ALIGNMENT) * ALIGNMENT
    return offsets, max(total, ALIGNMENT)
