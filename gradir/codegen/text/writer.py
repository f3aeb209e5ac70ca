"""The writer of LLVM functions: loads and stores, which are masked, strided, reversed, gathered.

An element of kind i1 is a byte 0 or 1 in memory. A mask is the name of a vector of i1, or None
where all lanes are active; lanes that are not active are neither read nor written. Accesses assume
the alignment of the element, and only streaming stores assume more.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradir.codegen.text.functions import STREAMED
from gradir.codegen.text.instructions import Instructions
from gradir.codegen.text.kinds import (
    bytes_of,
    constant_mask,
    integers,
    llvm_type,
    mangled,
    mask_literal,
    memory_kind,
    splat_literal,
)
from gradir.dialects.base.traced_sizes import is_traced

# Elements up to this far apart are loaded as whole vectors, with those between them.
CLOSE_STRIDE = 4
LINE_BYTES = 64


def _flags(mask: str | None, lanes: int) -> list[bool] | None:
    """The lanes of a constant mask; None of one that is computed."""
    if mask is None:
        return [True] * lanes
    return [part.endswith("1") for part in mask[1:-1].split(", ")] if mask[0] == "<" else None


class FunctionWriter(Instructions):
    """Appends instructions that read and write memory."""

    def allocate(self, kind: str, count: int, alignment: int, hint: str = "slot") -> str:
        """`count` elements on the function's stack, allocated where the text stands."""
        type_ = llvm_type(memory_kind(kind))
        return self.emit(f"alloca [{count} x {type_}], align {alignment}", hint)

    def address(self, kind: str, pointer: str, offset: str | int) -> str:
        """The pointer `offset` elements on."""
        return self._moved("getelementptr", kind, pointer, str(offset))

    def element(self, kind: str, pointer: str, offset: str | int) -> str:
        """The pointer `offset` elements on, which is surely in the same buffer."""
        return self._moved("getelementptr inbounds", kind, pointer, str(offset))

    def _moved(self, opcode: str, kind: str, pointer: str, offset: str) -> str:
        if offset == "0":
            return pointer
        type_ = llvm_type(memory_kind(kind))
        return self.emit(f"{opcode} {type_}, ptr {pointer}, i64 {offset}", "p")

    # Slots on the stack hold vectors; LLVM makes registers of them, or aligns them as it likes.

    def new_slots(self, kind: str, lanes: int, count: int = 1, hint: str = "slot") -> str:
        type_ = llvm_type(kind, lanes)
        slots = type_ if count == 1 else f"[{count} x {type_}], align 64"
        return self.emit(f"alloca {slots}", hint)

    def load_slot(self, kind: str, lanes: int, slots: str, number: str | int = 0) -> str:
        """The vector in one of slots that follow each other."""
        place = self._slot(kind, lanes, slots, str(number))
        return self.emit(f"load {llvm_type(kind, lanes)}, ptr {place}")

    def store_slot(
        self, kind: str, lanes: int, slots: str, value: str, number: str | int = 0
    ) -> None:
        place = self._slot(kind, lanes, slots, str(number))
        self.line(f"store {llvm_type(kind, lanes)} {value}, ptr {place}")

    def _slot(self, kind: str, lanes: int, slots: str, number: str) -> str:
        if number == "0":
            return slots
        return self.emit(f"getelementptr {llvm_type(kind, lanes)}, ptr {slots}, i64 {number}")

    # Memory.

    def load(
        self, kind: str, lanes: int, pointer: str, mask: str | None = None, other: str = "0"
    ) -> str:
        """Contiguous elements; lanes that are not active have the literal `other`."""
        stored = memory_kind(kind)
        type_, align = llvm_type(stored, lanes), bytes_of(stored)
        if mask is None:
            result = self.emit(f"load {type_}, ptr {pointer}, align {align}")
        else:
            result = self.call(
                type_,
                f"@llvm.masked.load.{mangled(stored, lanes)}.p0",
                f"ptr align {align} {pointer}, {llvm_type('i1', lanes)} {mask}, "
                f"{type_} {_all_lanes(stored, lanes, other)}",
            )
        return self.from_memory(kind, lanes, result)

    def store(
        self,
        kind: str,
        lanes: int,
        pointer: str,
        value: str,
        mask: str | None = None,
        streamed: bool = False,
    ) -> None:
        """Contiguous elements; `streamed` ones go past the caches and have to be aligned."""
        stored = memory_kind(kind)
        value = self._to_memory(kind, lanes, value)
        type_, align = llvm_type(stored, lanes), bytes_of(stored)
        if streamed:
            align = min(LINE_BYTES, lanes * align)
            self.line(f"store {type_} {value}, ptr {pointer}, align {align}, {STREAMED}")
            return
        if mask is None:
            self.line(f"store {type_} {value}, ptr {pointer}, align {align}")
            return
        flags = _flags(mask, lanes)
        if flags is not None and sum(flags) <= 1:
            self._store_lane(stored, lanes, pointer, value, flags)
            return
        self.call(
            "void",
            f"@llvm.masked.store.{mangled(stored, lanes)}.p0",
            f"{type_} {value}, ptr align {align} {pointer}, {llvm_type('i1', lanes)} {mask}",
        )

    def _store_lane(
        self, stored: str, lanes: int, pointer: str, value: str, flags: Sequence[bool]
    ) -> None:
        """The one active lane, if there is one, by itself.

        LLVM 22 makes a scalar store of a masked one of a constant lane, and for vectors that were
        truncated, as bf16 and int8 are, writes an element of the wide type: past the buffer's end.
        """
        if not any(flags):
            return
        lane, type_ = flags.index(True), llvm_type(stored, lanes)
        one = self.emit(f"extractelement {type_} {value}, i64 {lane}")
        self.store(stored, 1, self.address(stored, pointer, lane), one)

    def load_strided(
        self, kind: str, lanes: int, pointer: str, stride: int, mask: str | None, other: str = "0"
    ) -> str:
        """Elements `stride` apart, the first at `pointer`."""
        if stride == 1 or lanes == 1:
            return self.load(kind, lanes, pointer, mask, other)
        if stride == -1:
            first = self.address(kind, pointer, 1 - lanes)
            loaded = self.load(kind, lanes, first, self.reverse_mask(lanes, mask), other)
            return self.reverse(kind, lanes, loaded)
        if not is_traced(stride) and 2 <= stride <= CLOSE_STRIDE and lanes >= 4:
            return self._load_close(kind, lanes, pointer, stride, mask, other)
        offsets = self.lane_offsets(lanes, stride)
        return self.gather(kind, lanes, pointer, offsets, mask, other)

    def _load_close(
        self, kind: str, lanes: int, pointer: str, stride: int, mask: str | None, other: str
    ) -> str:
        """Elements a few apart: what lies between them is loaded as well and dropped."""
        stored, result = memory_kind(kind), "poison"
        for part in range(stride):
            address = self.address(stored, pointer, part * lanes)
            inside = self._part_mask(lanes, stride, part, mask)
            loaded = self.load(stored, lanes, address, inside, other)
            places = [lane * stride - part * lanes for lane in range(lanes)]
            order = [lanes + p if 0 <= p < lanes else lane for lane, p in enumerate(places)]
            result = self.shuffle(stored, lanes, result, order, loaded)
        return self.from_memory(kind, lanes, result)

    def _part_mask(self, lanes: int, stride: int, part: int, mask: str | None) -> str | None:
        """Which elements of vector `part` of a strided load may be read."""
        if mask is None:
            # those after the last that is wanted may be outside of the buffer
            inside = (lanes - 1) * stride + 1 - part * lanes
            return None if inside >= lanes else constant_mask(lanes, inside)
        numbers = range(part * lanes, (part + 1) * lanes)
        order = [n // stride if n % stride == 0 else lanes for n in numbers]
        return self.shuffle("i1", lanes, mask, order, "zeroinitializer")

    def store_strided(
        self, kind: str, lanes: int, pointer: str, stride: int, value: str, mask: str | None
    ) -> None:
        """Elements `stride` apart, the first at `pointer`."""
        if stride == 1 or lanes == 1:
            self.store(kind, lanes, pointer, value, mask)
        elif stride == -1:
            first = self.address(kind, pointer, 1 - lanes)
            backwards = self.reverse(kind, lanes, value)
            self.store(kind, lanes, first, backwards, self.reverse_mask(lanes, mask))
        elif not is_traced(stride) and 2 <= stride <= CLOSE_STRIDE and lanes >= 4:
            self._store_close(kind, lanes, pointer, stride, value, mask)
        else:
            self.scatter(kind, lanes, pointer, self.lane_offsets(lanes, stride), value, mask)

    def store_interleaved(self, kind: str, lanes: int, pointer: str, even: str, odd: str) -> None:
        """Two vectors in turns, element by element, from `pointer` on."""
        stored = memory_kind(kind)
        even, odd = (self._to_memory(kind, lanes, value) for value in (even, odd))
        for part in range(2):
            order = [n // 2 + n % 2 * lanes for n in range(part * lanes, (part + 1) * lanes)]
            mixed = self.shuffle(stored, lanes, even, order, odd)
            self.store(stored, lanes, self.address(stored, pointer, part * lanes), mixed, None)

    def _store_close(
        self, kind: str, lanes: int, pointer: str, stride: int, value: str, mask: str | None
    ) -> None:
        """Elements a few apart: masks leave out what lies between them."""
        stored = memory_kind(kind)
        value, flags = self._to_memory(kind, lanes, value), _flags(mask, lanes)
        for part in range(stride):
            numbers = range(part * lanes, (part + 1) * lanes)
            spread = self.shuffle(stored, lanes, value, [n // stride for n in numbers])
            if flags is None:
                inside = self._part_mask(lanes, stride, part, mask)
            else:
                places = [n // stride if n % stride == 0 else lanes for n in numbers]
                inside = mask_literal([place < lanes and flags[place] for place in places])
            address = self.address(stored, pointer, part * lanes)
            self.store(stored, lanes, address, spread, inside)

    def lane_offsets(self, lanes: int, stride: int) -> str:
        """The constant vector `0, stride, 2 * stride, ...` with its type."""
        if is_traced(stride):
            return f"<{lanes} x i64> {self._multiples(lanes, stride, 'i64')}"
        # 32 bits where they do: a gather then takes one instruction instead of two
        kind = "i32" if abs(stride) * lanes < 1 << 31 else "i64"
        return (
            f"<{lanes} x {kind}> " + integers(range(0, stride * lanes, stride), kind)
            if stride
            else f"<{lanes} x i32> zeroinitializer"
        )

    def gather(
        self, kind: str, lanes: int, pointer: str, offsets: str, mask: str | None, other: str = "0"
    ) -> str:
        """Elements at `pointer + offsets`, a vector of integers with its type."""
        stored = memory_kind(kind)
        type_ = llvm_type(stored, lanes)
        result = self.call(
            type_,
            f"@llvm.masked.gather.{mangled(stored, lanes)}.v{lanes}p0",
            f"{self._gathered_places(stored, lanes, pointer, offsets, mask)}, "
            f"{type_} {_all_lanes(stored, lanes, other)}",
        )
        return self.from_memory(kind, lanes, result)

    def scatter(
        self, kind: str, lanes: int, pointer: str, offsets: str, value: str, mask: str | None
    ) -> None:
        """Elements at `pointer + offsets`, a vector of integers with its type; all distinct."""
        stored = memory_kind(kind)
        value = self._to_memory(kind, lanes, value)
        self.call(
            "void",
            f"@llvm.masked.scatter.{mangled(stored, lanes)}.v{lanes}p0",
            f"{llvm_type(stored, lanes)} {value}, "
            f"{self._gathered_places(stored, lanes, pointer, offsets, mask)}",
        )

    def _gathered_places(
        self, stored: str, lanes: int, pointer: str, offsets: str, mask: str | None
    ) -> str:
        """The pointers of all lanes and their mask, with their types."""
        pointers = self.emit(f"getelementptr {llvm_type(stored)}, ptr {pointer}, {offsets}")
        return (
            f"<{lanes} x ptr> align {bytes_of(stored)} {pointers}, "
            f"{llvm_type('i1', lanes)} {mask or 'splat (i1 true)'}"
        )

    def reverse(self, kind: str, lanes: int, value: str) -> str:
        """The lanes in the opposite order."""
        return self.shuffle(kind, lanes, value, range(lanes - 1, -1, -1))

    def reverse_mask(self, lanes: int, mask: str | None) -> str | None:
        flags = _flags(mask, lanes)
        if mask is None or flags is None:
            return None if mask is None else self.reverse("i1", lanes, mask)
        return mask_literal(flags[::-1])

    def lane_numbers(self, lanes: int, start: str, step: int = 1, kind: str = "i64") -> str:
        """The vector `start + step * lane` of a scalar start."""
        if lanes == 1:
            return start
        if is_traced(step):
            steps = self._multiples(lanes, step, kind)
        else:
            steps = integers(range(0, step * lanes, step), kind) if step else "zeroinitializer"
        if start == "0":
            return steps
        return self.binary("add", kind, lanes, self.splat(kind, lanes, start), steps)

    def _multiples(self, lanes: int, step: int, kind: str) -> str:
        """The vector `step * lane` of a step that is a value of the program."""
        name = str(step)
        if kind != "i64":
            name = self.cast("trunc", "i64", kind, 1, name)
        numbers = integers(range(lanes), kind)
        return self.binary("mul", kind, lanes, self.splat(kind, lanes, name), numbers)

    def first_lanes(self, lanes: int, active: str) -> str:
        """The mask of the first `active` lanes (an i64 value, not negative), never a constant.

        An empty assembly text hides the number from LLVM: see `_store_lane`.
        """
        active = self.emit(f'call i64 asm "", "=r,0"(i64 {active})')
        few = self.intrinsic("umin", "i64", 1, active, str(lanes))
        short = self.cast("trunc", "i64", "i32", 1, few)
        limit = self.splat("i32", lanes, short)
        return self.compare("ult", "i32", lanes, integers(range(lanes)), limit)

    def from_memory(self, kind: str, lanes: int, value: str) -> str:
        """A loaded value as bodies see it."""
        if kind == "i1":
            return self.compare("ne", "i8", lanes, value, "0" if lanes == 1 else "zeroinitializer")
        return value

    def _to_memory(self, kind: str, lanes: int, value: str) -> str:
        if kind == "i1":
            return self.cast("zext", "i1", "i8", lanes, value)
        return value


def _all_lanes(kind: str, lanes: int, other: str) -> str:
    if other == "0":
        return "zeroinitializer"
    return splat_literal(kind, lanes, other)
