"""The memory of tapes: one buffer a column for those with a capacity, or records that grow.

A tape without a capacity has its records one after the other, each with all of its columns, in
memory of the call (`loopnest.records`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.base.shapes import byte_size, element_of, is_tensor, memref_type, shape_of
from gradir.dialects.grad.tape import TapePushOp, TapeType, record_bytes
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp, RecordsOp, ReserveOp, WindowOp
from gradir.passes.buffers.state import BufferState, alloc_of

# Bytes, of the columns in a growing record: of the largest element type, so that all are aligned.
ALIGNMENT = 8
# More records than any memory holds: what bounds the index of one that was pushed.
_MANY = 1 << 48


class TapeMemory(ABC):
    """Where the records of a family of tapes are, and the ops that push there."""

    def __init__(self, s: BufferState, type_: TapeType, buffers: Sequence[SSAValue]):
        self.s, self.type, self.buffers = s, type_, buffers
        self.pushes: list[TapePushOp] = []

    @property
    def is_writable(self) -> bool:
        return all(map(self.s.is_writable, self.buffers))

    @property
    @abstractmethod
    def bound(self) -> int:
        """What the row of each record is below."""

    @abstractmethod
    def row(self, push: TapePushOp, count: SSAValue) -> SSAValue:
        """The row of a record that is pushed when there are `count`; there is room for it."""

    @abstractmethod
    def column(self, op: Operation, k: int, row: SSAValue) -> SSAValue:
        """The window of one column of one record."""

    def count_before(self, count: SSAValue, row: SSAValue) -> SSAValue:
        """The number of records that a push at `row` is added to."""
        return count

    def element_type(self, k: int) -> MemRefType[Attribute]:
        """The type of one column of one record."""
        column = self.type.columns.data[k]
        return memref_type(_shape(column), _element(column))

    def place(self, push: TapePushOp) -> str:
        """How the error of a push begins."""
        return f"{location_text(push)}grad.tape_push: the tape"


class TapeWithCapacity(TapeMemory):
    """One buffer a column, planned like any other."""

    @property
    def capacity(self) -> int:
        assert self.type.records is not None
        return self.type.records

    @property
    def bound(self) -> int:
        return max(self.capacity, 1)

    def row(self, push: TapePushOp, count: SSAValue) -> SSAValue:
        message = f"{self.place(push)} holds {self.capacity} records"
        # of a tape without room every record is one too many
        last = count if self.capacity else added(self.s, push, count, 1)
        made = CheckOffsetOp(last, self.bound, message, is_plain=True)
        return self.s.emit(made, push).results[0]

    def column(self, op: Operation, k: int, row: SSAValue) -> SSAValue:
        type_ = self.element_type(k)
        at = _scaled(self.s, op, row, prod(type_.get_shape()))
        return self.s.emit(WindowOp(self.buffers[k], at, type_), op).results[0]


class GrowingTape(TapeMemory):
    """Records one after the other, in one buffer that grows while the program runs."""

    @property
    def bound(self) -> int:
        return _MANY

    @property
    def is_made_here(self) -> bool:
        """The function grows it; otherwise the caller has handed it over."""
        return isinstance(self.buffers[0].owner, RecordsOp)

    def row(self, push: TapePushOp, count: SSAValue) -> SSAValue:
        return self.s.emit(ReserveOp(self.buffers[0], count, self.place(push)), push).results[0]

    def column(self, op: Operation, k: int, row: SSAValue) -> SSAValue:
        offsets, stride = _layout(self.type)
        at = added(self.s, op, _scaled(self.s, op, row, stride), offsets[k])
        return self.s.emit(WindowOp(self.buffers[0], at, self.element_type(k)), op).results[0]

    def count_before(self, count: SSAValue, row: SSAValue) -> SSAValue:
        # the reserved row: after an error no row is used that has no room
        return row


def tape_memory(s: BufferState, type_: TapeType, buffers: Sequence[SSAValue]) -> TapeMemory:
    """The memory of tapes of this type that lie in `buffers`."""
    kind = GrowingTape if type_.records is None else TapeWithCapacity
    return kind(s, type_, buffers)


def allocate(
    s: BufferState, type_: TapeType, tape: SSAValue, kept: int | None = None
) -> TapeMemory:
    """New memory for the family of `tape`; `kept` is the result whose records the call keeps."""
    op = tape.owner if isinstance(tape.owner, Operation) else s.function
    if type_.records is None:
        limit = -1 if type_.byte_limit is None else type_.byte_limit
        made = RecordsOp(_layout(type_)[1], record_bytes(type_), limit, kept)
        buffers: list[SSAValue] = [s.emit(made, op).results[0]]
    else:
        buffers = [s.emit(alloc_of(t), op).results[0] for t in column_types(type_)]
    for buffer in buffers:
        buffer.name_hint = tape.name_hint or "tape"
        s.own(buffer)
    return tape_memory(s, type_, buffers)


def parameters(type_: TapeType, is_result: bool) -> list[MemRefType[Attribute]]:
    """The buffers as which a tape is handed over; the last is the number of its records."""
    count = memref_type([], IndexType())
    if type_.records is not None:
        return [*column_types(type_), count]
    # the memory of one that grew is handed over by its address, or kept by the call
    return [count] if is_result else [count, count]


def column_types(type_: TapeType) -> list[MemRefType[Attribute]]:
    """The buffers of a tape's columns; each has a row, for code that runs after an error."""
    assert type_.records is not None
    rows = max(type_.records, 1)
    return [memref_type([rows, *_shape(c)], _element(c)) for c in type_.columns]


def added(s: BufferState, op: Operation, count: SSAValue, number: int) -> SSAValue:
    """`count + number`."""
    if number == 0:
        return count
    return s.emit(arith.AddiOp(count, constant(s, op, number)), op).results[0]


def constant(s: BufferState, op: Operation, number: int) -> SSAValue:
    return s.emit(arith.ConstantOp(IntegerAttr(number, IndexType())), op).results[0]


def _scaled(s: BufferState, op: Operation, row: SSAValue, factor: int) -> SSAValue:
    if factor == 1:
        return row
    return s.emit(arith.MuliOp(row, constant(s, op, factor)), op).results[0]


def _element(column: Attribute) -> Attribute:
    return element_of(column) if is_tensor(column) else column


def _shape(column: Attribute) -> Sequence[int]:
    return shape_of(column) if is_tensor(column) else ()


def _layout(type_: TapeType) -> tuple[list[int], int]:
    """The offset of each column in a growing record, and the distance of records, in bytes."""
    offsets, total = list[int](), 0
    for column in type_.columns:
        offsets.append(total)
        size = byte_size(_element(column))
        total += -(-size * prod(_shape(column)) // ALIGNMENT) * ALIGNMENT
    return offsets, max(total, ALIGNMENT)
