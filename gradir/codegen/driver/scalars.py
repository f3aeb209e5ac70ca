"""Scalar code of a driver: arith and math, loads and stores of elements, checked offsets and steps.

Every thread computes scalars for itself, in registers, so that all of them take the same way
through the control flow. A store is done by thread 0; but a slot of a function's stack, from
`memref.alloca`, is each thread's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.codegen.bodies.op_table import OPS
from gradir.codegen.costs import MEMORY_COST
from gradir.codegen.driver.growing_memory import CAPACITY, FAILED, ROW, limit_of_machine
from gradir.codegen.driver.threads import SharedWork, Use
from gradir.codegen.text.errors import report_error
from gradir.codegen.text.functions import is_number
from gradir.codegen.text.kernel import NO_BOUND, PLAIN
from gradir.codegen.text.kinds import bits_of, kind_of, llvm_type
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.loopnest.buffer_ops import (
    BoundIfRoomOp,
    CheckOffsetOp,
    CheckStepOp,
    RecordsAtOp,
    RecordsOp,
    ReserveOp,
    WindowOp,
)
from gradir.dialects.loopnest.loopnest import CheckIndexOp


class BufferPlace(Protocol):
    """Where a buffer is: its pointer, and the bytes of an allocation that it may touch."""

    @property
    def pointer(self) -> str: ...

    def use(self, writes: bool) -> list[Use]: ...

    @property
    def is_private(self) -> bool: ...


class ScalarCode:
    """Writes scalar ops into a driver; `names` are the LLVM values of all scalars so far.

    `place_of` gives the place of a buffer, `error` the pointer to the record of failed checks.
    """

    def __init__(
        self,
        f: FunctionWriter,
        work: SharedWork,
        place_of: Callable[[SSAValue], BufferPlace],
        error: Callable[[], str],
    ):
        self.f, self.work, self.place_of, self.error = f, work, place_of, error
        self.names: dict[SSAValue, str] = {}
        # whether anything calls @gradir_grow
        self.grows = False

    def emit(self, op: Operation) -> bool:
        """Write `op` if it is scalar code; otherwise write nothing and return False."""
        special = self.EMITTERS.get(type(op))
        if special is not None:
            special(self, op)
            return True
        function = OPS.get(type(op))
        if function is None:
            return False
        if not isinstance(op, arith.ConstantOp):
            self.work.on_all_threads()
        names = [self.names[o] for o in op.operands]
        self.names[op.results[0]] = function(self.f, op, names, 1)
        return True

    def load(self, op: memref.LoadOp) -> None:
        place = self.place_of(op.memref)
        self.work.on_all_threads(place.use(writes=False))
        kind = kind_of(op.res.type)
        pointer = self._address(place, op.memref, op.indices)
        self.names[op.res] = self.f.load(kind, 1, pointer)

    def store(self, op: memref.StoreOp) -> None:
        place = self.place_of(op.memref)
        if place.is_private:
            self.work.on_all_threads()
        else:
            self.work.on_thread_zero(place.use(writes=True), MEMORY_COST)
        kind = kind_of(op.value.type)
        pointer = self._address(place, op.memref, op.indices)
        self.f.store(kind, 1, pointer, self.names[op.value])

    def window(self, op: WindowOp) -> None:
        """The pointer of a window, under the name that its place has."""
        self.work.on_all_threads()
        kind = kind_of(cast(MemRefType[Attribute], op.source.type).element_type)
        source, window = self.place_of(op.source), self.place_of(op.result)
        pointer = source.pointer
        if isinstance(op.source.owner, RecordsOp | RecordsAtOp):
            self.work.on_all_threads(source.use(writes=False))
            pointer, kind = self.f.load("ptr", 1, pointer), "i8"
        start = self.f.address(kind, pointer, self.names[op.offset])
        self.f.line(f"{window.pointer} = getelementptr i8, ptr {start}, i64 0")

    def check_offset(self, op: CheckOffsetOp) -> None:
        self.work.on_all_threads()
        index, bound = self.names[op.index], op.bound.value.data
        wrong = self.f.emit(f"icmp uge i64 {index}, {bound}")
        self.report(wrong, op.message.data, index, PLAIN if op.plain else bound)
        above = self.f.intrinsic("smax", "i64", 1, index, "0")
        last = str(max(bound - 1, 0))
        self.names[op.result] = self.f.intrinsic("smin", "i64", 1, above, last)

    def check_index(self, op: CheckIndexOp) -> None:
        self.work.on_all_threads()
        index, bound, f = self.names[op.index], op.bound.value.data, self.f
        wrapped = index
        if op.from_start is None:
            negative = self.f.emit(f"icmp slt i64 {index}, 0")
            from_end = f.binary("add", "i64", 1, index, str(bound))
            wrapped = f.select("i64", 1, negative, from_end, index)
        wrong = self.f.emit(f"icmp uge i64 {wrapped}, {bound}")
        self.report(wrong, op.message.data, index, bound)
        above = f.intrinsic("smax", "i64", 1, wrapped, "0")
        self.names[op.result] = f.intrinsic("smin", "i64", 1, above, str(bound - 1))

    def check_step(self, op: CheckStepOp) -> None:
        self.work.on_all_threads()
        step, kind = self.names[op.step], kind_of(op.step.type)
        type_ = llvm_type(kind)
        wrong = self.f.emit(f"icmp sle {type_} {step}, 0")
        shown = step if kind == "i64" else self.f.cast("sext", kind, "i64", 1, step)
        self.report(wrong, op.message.data, shown, NO_BOUND)
        large = str(1 << bits_of(kind) - 2)
        self.names[op.result] = self.f.select(kind, 1, wrong, large, step)

    def reserve(self, op: ReserveOp) -> None:
        """Thread 0 makes room; the row is handed to all through memory, next to the pointer."""
        place, f = self.place_of(op.records), self.f
        records = op.records.owner
        assert isinstance(records, RecordsOp)
        self.work.on_thread_zero(place.use(writes=True), MEMORY_COST)
        count, limit = self.names[op.count], records.limit.value.data
        capacity = f.load("i64", 1, f.address("i64", place.pointer, CAPACITY))
        f.store("i64", 1, f.address("i64", place.pointer, ROW), count)
        full = f.emit(f"icmp uge i64 {count}, {capacity}")
        numbers = (
            *(count, records.stride.value.data, records.size.value.data),
            *(limit if limit >= 0 else limit_of_machine(),),
            self.f.needs.message_code(op.message.data),
        )
        arguments = ", ".join(f"i64 {number}" for number in numbers)
        self.grows = True
        with f.when(full, "grow"):
            f.call("void", "@gradir_grow", f"ptr {place.pointer}, {arguments}, ptr {self.error()}")
        self.work.on_all_threads(place.use(writes=False))
        row = f.address("i64", place.pointer, ROW)
        self.names[op.row] = f.load("i64", 1, row)

    def unless_failed(self, condition: str, records: SSAValue) -> str:
        """A condition that ends a loop where there was no room for a record."""
        place = self.place_of(records)
        self.work.on_all_threads(place.use(writes=False))
        failed = self.f.load("i64", 1, self.f.address("i64", place.pointer, FAILED))
        going = self.f.emit(f"icmp eq i64 {failed}, 0")
        return self.f.binary("and", "i1", 1, condition, going)

    def bound_if_room(self, op: BoundIfRoomOp) -> None:
        going = self.unless_failed("true", op.records)
        kind, low, high = kind_of(op.result.type), self.names[op.low], self.names[op.high]
        self.names[op.result] = self.f.select(kind, 1, going, high, low)

    def report(self, wrong: str, message: str, index: str, bound: int) -> None:
        """Store an error in the record if `wrong`, an i1, and none was yet."""
        report_error(self.f, self.error(), wrong, message, lambda: index, bound)

    def _address(self, place: BufferPlace, buffer: SSAValue, indices: Sequence[SSAValue]) -> str:
        """The pointer to one element."""
        kind = kind_of(cast(MemRefType[Attribute], buffer.type).element_type)
        pointer, step = place.pointer, 1
        for index, extent in zip(reversed(indices), reversed(shape_of(buffer.type)), strict=True):
            offset = self.names[index]
            if is_number(offset):
                offset = str(int(offset) * step)
            elif step != 1:
                offset = self.f.binary("mul", "i64", 1, offset, str(step))
            pointer = self.f.address(kind, pointer, offset)
            step *= extent
        return pointer

    EMITTERS: ClassVar[dict[type[Operation], Callable[[Any, Any], None]]] = {
        memref.LoadOp: load,
        memref.StoreOp: store,
        WindowOp: window,
        CheckIndexOp: check_index,
        CheckOffsetOp: check_offset,
        CheckStepOp: check_step,
        ReserveOp: reserve,
        BoundIfRoomOp: bound_if_room,
    }
