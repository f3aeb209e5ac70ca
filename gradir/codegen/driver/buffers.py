"""The buffers of a function: the allocation and the bytes of each, and the pointer to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from xdsl.dialects import func, memref
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.driver.attributes import global_data, graph_of
from gradir.codegen.driver.growing_memory import RECORDS_WORDS
from gradir.codegen.driver.parts import is_long_list
from gradir.codegen.driver.report import BufferType, Constant, byte_size
from gradir.codegen.driver.table import TableWords
from gradir.codegen.driver.threads import Use
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import LocatedError, value_name
from gradir.dialects.base.traced_sizes import TracedSize
from gradir.dialects.loopnest.buffer_ops import RecordsAtOp, RecordsOp, ReserveOp, WindowOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp, ReshapeOp
from gradir.passes.analysis.liveness import is_control_flow
from gradir.passes.analysis.region_ops import blocks_of

# The bytes of memory that grows, which has no end yet: more than any memory holds.
_UNBOUNDED = 1 << 62


@dataclass(frozen=True)
class Buffer:
    """A value of memref type: bytes of an argument or a constant, and the pointer to them.

    Of a window the bytes are all those where it may be. A private one is on a thread's own stack.
    In a long list of calls there is no `pointer`: it is found from word `root` of the table. Where
    sizes are values, buffers of one `slot` of an allocation may share bytes, and others do not.
    """

    root: int
    low: int
    high: int
    pointer: str
    is_window: bool = False
    is_private: bool = False
    slot: Hashable = None

    @property
    def place(self) -> Hashable:
        return self.root, self.low, self.high, self.pointer if self.is_window else ""

    def use(self, writes: bool) -> list[Use]:
        if self.is_private:
            return []
        if self.slot is not None:
            return [Use((self.root, self.slot), 0, 1, writes)]
        return [Use(self.root, self.low, self.high, writes)]


class BufferTable:
    """The buffer of each value of memref type; `DECLARATIONS` says how for each op that makes one.

    `constants` and `growing` are what the caller has to put in the table, as in `CompiledProgram`.
    """

    def __init__(self, function: func.FuncOp, text: FunctionWriter, table: TableWords):
        self.function, self.text, self.table = function, text, table
        self.is_long_list = is_long_list(function.body.block)
        self.is_sized = graph_of(function) is not None
        # of a long list, the pointers to allocations that the part being written has
        self._loaded: dict[int, str] = {}
        self.constants: dict[str, tuple[Constant, Buffer]] = {}
        self.growing: list[tuple[int, int, int]] = []
        self._buffers: dict[SSAValue, Buffer] = {}
        self._roots = 0
        for argument in function.body.block.args:
            self._buffers[argument] = self.new_buffer(cast(BufferType, argument.type))

    def __getitem__(self, value: SSAValue) -> Buffer:
        return self._buffers[value]

    def pointer(self, value: SSAValue, distance: int = 0) -> str:
        """The pointer to a place in a buffer, `distance` bytes behind its begin."""
        buffer = self._buffers[value]
        if not self.is_long_list:
            return self.text.address("i8", buffer.pointer, distance)
        if buffer.root not in self._loaded:
            self._loaded[buffer.root] = self._load(buffer.root)
        start = self._loaded[buffer.root]
        return self.text.address("i8", start, buffer.low + distance)

    def new_part(self) -> None:
        """Code written next is in another function."""
        self._loaded.clear()
        self.table.new_part()

    def declare(self, op: Operation) -> bool:
        """Say where the buffer is that `op` makes; False if it makes none."""
        declared = self.DECLARATIONS.get(type(op))
        if declared is not None:
            declared(self, op)
        return declared is not None

    # Uses.

    def uses(self, block: Block) -> Iterator[Use]:
        """The buffers that the ops in a block and its regions touch."""
        for op in block.ops:
            yield from self.uses_of(op)

    def uses_of(self, op: Operation) -> Iterator[Use]:
        """The buffers that an op and the ops in its regions touch."""
        if isinstance(op, KernelOp):
            for k, operand in enumerate(op.operands):
                yield from self._buffers[operand].use(k >= len(op.inputs))
        elif isinstance(op, HostInvokeOp):
            yield from self.all_uses(op.inputs, writes=False)
            yield from self.all_uses(op.outputs, writes=True)
        elif isinstance(op, ReserveOp):
            yield from self._buffers[op.records].use(writes=True)
        elif isinstance(op, memref.LoadOp | memref.StoreOp):
            yield from self._buffers[op.memref].use(isinstance(op, memref.StoreOp))
        elif is_control_flow(op):
            for inner in blocks_of(op):
                yield from self.uses(inner)

    def all_uses(self, values: Iterable[SSAValue], writes: bool) -> Iterator[Use]:
        for value in values:
            yield from self._buffers[value].use(writes)

    # Declarations.

    def view(self, op: memref.ViewOp) -> None:
        offset = constant_integer(op.byte_shift)
        if offset is None:
            raise LocatedError("memref.view: the byte shift must be an arith.constant", op)
        source, size = self._buffers[op.source], byte_size(op.result.type)
        low = source.low + offset
        if offset < 0 or low + size > source.high:
            raise LocatedError(
                f"memref.view: {size} bytes at {offset} do not fit {value_name(op.source)} of "
                f"{source.high - source.low} bytes",
                op,
            )
        pointer = ""
        if not self.is_long_list:
            with self.text.early():
                pointer = self.text.address("i8", source.pointer, offset)
        slot = low.terms if type(low) is TracedSize else low
        self._buffers[op.result] = Buffer(
            source.root, low, low + size, pointer, slot=slot if self.is_sized else None
        )

    def reshape(self, op: ReshapeOp) -> None:
        self._buffers[op.result] = self._buffers[op.operand]

    def get_global(self, op: memref.GetGlobalOp) -> None:
        name = op.name_.string_value()
        if name not in self.constants:
            word, buffer = self.table.count, self.new_buffer(op.memref.type)
            data = global_data(self.function, name, op)
            if len(data) != buffer.high:
                raise LocatedError(
                    f"memref.get_global: {buffer.high} bytes expected in @{name}, got {len(data)}",
                    op,
                )
            constant = Constant(name, op.memref.type, data, word)
            self.constants[name] = constant, buffer
        self._buffers[op.memref] = self.constants[name][1]

    def alloca(self, op: memref.AllocaOp) -> None:
        size = byte_size(op.memref.type)
        with self.text.early():
            pointer = self.text.allocate("i8", size, 8)
        self._buffers[op.memref] = Buffer(self._new_root(), 0, size, pointer, is_private=True)

    def window(self, op: WindowOp) -> None:
        source = self._buffers[op.source]
        pointer = "%" + self.text.fresh("window")
        self._buffers[op.result] = replace(source, pointer=pointer, is_window=True)

    def grown(self, op: RecordsOp) -> None:
        """Words of the table for memory that grows."""
        word = self.table.take(RECORDS_WORDS)
        kept = -1 if op.kept is None else op.kept.value.data
        self.growing.append((word, op.stride.value.data, kept))
        pointer = self.table.pointer(word)
        self._buffers[op.result] = Buffer(word, 0, _UNBOUNDED, pointer)

    def grown_before(self, op: RecordsAtOp) -> None:
        slot = self._buffers[op.slot]
        self._buffers[op.result] = Buffer(self._new_root(), 0, _UNBOUNDED, slot.pointer)

    DECLARATIONS: ClassVar[dict[type[Operation], Callable[[Any, Any], None]]] = {
        ReshapeOp: reshape,
        memref.ViewOp: view,
        memref.AllocaOp: alloca,
        memref.GetGlobalOp: get_global,
        RecordsOp: grown,
        RecordsAtOp: grown_before,
        WindowOp: window,
    }

    # New buffers.

    def _new_root(self) -> int:
        """The number of an allocation that is no word of the table."""
        self._roots += 1
        return -self._roots

    def new_slot(self) -> Buffer:
        """A word of the table, to hand a number from one thread to the others."""
        word = self.table.take()
        pointer = self.table.pointer(word)
        return Buffer(self._new_root(), 0, 8, pointer)

    def new_buffer(self, type_: BufferType) -> Buffer:
        """A buffer whose address is the next word of the table."""
        word = self.table.take()
        pointer = "" if self.is_long_list else self._load(word)
        slot = 0 if self.is_sized else None
        return Buffer(word, 0, byte_size(type_), pointer, slot=slot)

    def _load(self, word: int) -> str:
        place = self.table.pointer(word)
        with self.text.early():
            # atomic, so that LLVM loads no vector of words: the caller has just stored one by one,
            # and a load of several stores waits until all of them are in the cache
            return self.text.emit(f"load atomic ptr, ptr {place} unordered, align 8")
