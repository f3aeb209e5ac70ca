"""gradir-bufferize: tapes. Versions of one tape share their memory, and a tape value becomes the
number of its records: a push writes the next record, a pop reads the last one where it lies.

Where the records lie is `tape_memory`. Every tape must be used once on each path, which is so in
code that gradir makes.
"""

from __future__ import annotations

from collections.abc import Container

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from gradir.dialects.base.diagnostics import PassError, location_text
from gradir.dialects.base.shapes import is_tensor
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import trip_count
from gradir.dialects.grad.tape import (
    TapeNewOp,
    TapePopOp,
    TapePushOp,
    TapeSizeOp,
    TapeType,
    is_tape,
)
from gradir.dialects.loopnest.buffer_ops import (
    BoundIfRoomOp,
    CheckOffsetOp,
    RecordsAtOp,
)
from gradir.passes.analysis.region_flow import ops_within, records_made, trips
from gradir.passes.analysis.union_find import Families, tape_families
from gradir.passes.buffers.state import BufferState
from gradir.passes.buffers.tape_memory import (
    GrowingTape,
    TapeMemory,
    added,
    allocate,
    constant,
    tape_memory,
)


class Tapes:
    """The memory of all tapes of a function; versions of one tape are a family."""

    def __init__(self, s: BufferState):
        self.s = s
        self._families = Families()
        self._stores: dict[SSAValue, TapeMemory] = {}
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
                self._stores[family] = allocate(self.s, tape_type(tape), tape)
        for push in pushes:
            self.store(push.tape).pushes.append(push)

    def store(self, tape: SSAValue) -> TapeMemory:
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

    def _take_arguments(self, grow: Container[SSAValue]) -> None:
        """The memory of the tapes that are arguments: the caller's, or a copy of it for the
        families that get further records; tapes without a capacity get none."""
        for argument, slots in self.arguments.items():
            type_, family = tape_type(argument), self._families.of(argument)
            if type_.records is None:
                at = self.s.emit(RecordsAtOp(slots[0]), self.s.function).results[0]
                store = tape_memory(self.s, type_, [at])
            elif family in grow:
                store = allocate(self.s, type_, argument)
                for given, buffer in zip(slots, store.buffers, strict=False):
                    self.s.copy(given, buffer)
            else:
                store = tape_memory(self.s, type_, slots[:-1])
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
            type_ = tape_type(value)
            if type_.records is None:
                self._stores[family] = allocate(self.s, type_, value, kept=k)
            else:
                self._stores[family] = tape_memory(self.s, type_, slots[:-1])

    def store_counts(self, op: Operation) -> None:
        """At the end of the function: how many records the tapes have that it returns."""
        for value, slots in self.results.values():
            self.s.emit(memref.StoreOp.get(self.s.values[value], slots[-1], []), op)

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
        if not early or not store.is_writable or not self._is_last(store, push):
            return
        row = store.row(push, self.s.values[push.tape])
        for k in early:
            value = push.columns[k]
            self.s.copy(self.s.values[value], store.column(push, k, row))
            self._in_place.add((push, k))
            for use in value.uses:
                if use.operation is push and use.index == k + 1:
                    self.s.live.forget(use)

    def _moves(self, push: TapePushOp, store: TapeMemory) -> bool:
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
            if not isinstance(store, GrowingTape) or not store.is_made_here:
                continue
            if (push := made.get(k)) is not None:
                count = trip_count(low, high, step, Emitter(self.s.block, loop.location))
                self._reserve_all(push, store, self.s.values[tape], count)
            bound = BoundIfRoomOp(store.buffers[0], low, high)
            high = self.s.emit(bound, loop).results[0]
        return high

    def _reserve_all(
        self, push: TapePushOp, store: TapeMemory, before: SSAValue, count: SSAValue
    ) -> None:
        end = self.s.emit(arith.AddiOp(before, count), push).results[0]
        store.row(push, added(self.s, push, end, -1))

    # Ops.

    def bufferize(self, op: Operation) -> bool:
        """Write an op on tapes; False if `op` is none."""
        match op:
            case TapeNewOp():
                self.place(op.tape, constant(self.s, op, 0))
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
        if not store.is_writable:
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
        row = store.row(op, count)
        for k, value in enumerate(op.columns):
            if (op, k) not in self._in_place:
                target = store.column(op, k, row)
                if is_tensor(value.type):
                    s.copy(s.values[value], target)
                else:
                    s.emit(memref.StoreOp.get(s.values[value], target, []), op)
        self.place(op.result, added(s, op, store.count_before(count, row), 1))

    def pop(self, op: TapePopOp) -> None:
        s, store = self.s, self.store(op.tape)
        left = added(s, op, s.values[op.tape], -1)
        message = f"{location_text(op)}grad.tape_pop: the tape has no records left"
        row = s.emit(CheckOffsetOp(left, store.bound, message, is_plain=True), op).results[0]
        for k, value in enumerate(op.columns):
            source = store.column(op, k, row)
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

    def _is_overwritten(self, value: OpResult, op: TapePopOp, store: TapeMemory) -> bool:
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
            if (
                store.is_writable
                and self._is_last(store, push)
                and self._stays(result, push, store)
            ):
                count = s.values[push.tape]
                window = store.column(op, k, store.row(push, count))
                self._in_place.add((push, k))
                return window
        return None

    def _is_last(self, store: TapeMemory, push: TapePushOp) -> bool:
        """No version of the tape is read after the push but the one that it makes."""
        holders = set[SSAValue]().union(*map(self.s.holders, store.buffers))
        return all(self.s.live.dies(tape, push) for tape in holders if is_tape(tape.type))

    def _stays(self, value: SSAValue, push: TapePushOp, store: TapeMemory) -> bool:
        """No other record is pushed, which may move them all, while the value is read."""
        live = self.s.live
        others = (q for q in store.pushes if q is not push and live.first(q) > live.first(push))
        return all(live.dies(value, other) for other in others)


def tape_type(tape: SSAValue) -> TapeType:
    assert isinstance(tape.type, TapeType)
    return tape.type
