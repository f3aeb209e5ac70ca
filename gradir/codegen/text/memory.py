"""Loads and stores of scalars and vectors: masked, strided, reversed, gathered.

An element of kind i1 is a byte 0 or 1 in memory. A mask is the name of a vector of i1, or None
where all lanes are active; lanes that are not active are neither read nor written. Nothing is
assumed of the alignment but that of the element, except by streaming stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradir.codegen.text.instructions import (
    Instructions,
    bytes_of,
    llvm_type,
    mangled,
    splat_literal,
)

# Elements up to this far apart are loaded as whole vectors, with those between them.
CLOSE_STRIDE = 4
LINE_BYTES = 64
# What streaming stores refer to: metadata number 0, as number 1 is of polls.py.
STREAM_METADATA = "!0 = !{i32 1}"


# How elements lie in memory, where that is not as LLVM sees their kind.
_MEMORY_KINDS = {"i1": "i8", "f16": "i16", "bf16": "i16"}


def memory_kind(kind: str) -> str:
    return _MEMORY_KINDS.get(kind, kind)


def integers(values: Sequence[int], kind: str = "i32") -> str:
    """A constant vector of integers."""
    return "<" + ", ".join(f"{kind} {v}" for v in values) + ">"


def constant_mask(lanes: int, active: int) -> str:
    """The mask whose first `active` lanes are set."""
    return _literal([lane < active for lane in range(lanes)])


def _literal(flags: Sequence[bool]) -> str:
    return "<" + ", ".join(f"i1 {int(flag)}" for flag in flags) + ">"


def _flags(mask: str | None, lanes: int) -> list[bool] | None:
    """The lanes of a constant mask; None of one that is computed."""
    if mask is None:
        return [True] * lanes
    return [part.endswith("1") for part in mask[1:-1].split(", ")] if mask[0] == "<" else None


class MemoryInstructions(Instructions):
    """Appends instructions that read and write memory."""

    def address(self, kind: str, pointer: str, offset: str | int) -> str:
        """The pointer `offset` elements on."""
        if str(offset) == "0":
            return pointer
        return self.f.emit(
            f"getelementptr {llvm_type(memory_kind(kind))}, ptr {pointer}, i64 {offset}", "p"
        )

    def load(
        self, kind: str, lanes: int, pointer: str, mask: str | None = None, other: str = "0"
    ) -> str:
        """Contiguous elements; lanes that are not active have the literal `other`."""
        stored = memory_kind(kind)
        type_, align = llvm_type(stored, lanes), bytes_of(stored)
        if mask is None:
            result = self.f.emit(f"load {type_}, ptr {pointer}, align {align}")
        else:
            symbol = f"@llvm.masked.load.{mangled(stored, lanes)}.p0"
            masks = llvm_type("i1", lanes)
            self.needs.declarations.add(f"declare {type_} {symbol}(ptr, {masks}, {type_})")
            result = self.f.emit(
                f"call {type_} {symbol}(ptr align {align} {pointer}, {masks} {mask}, "
                f"{type_} {_all_lanes(stored, lanes, other)})"
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
            self.f.line(f"store {type_} {value}, ptr {pointer}, align {align}, !nontemporal !0")
            return
        if mask is None:
            self.f.line(f"store {type_} {value}, ptr {pointer}, align {align}")
            return
        flags = _flags(mask, lanes)
        if flags is not None and sum(flags) <= 1:
            self._store_lane(stored, lanes, pointer, value, flags)
            return
        symbol = f"@llvm.masked.store.{mangled(stored, lanes)}.p0"
        masks = llvm_type("i1", lanes)
        self.needs.declarations.add(f"declare void {symbol}({type_}, ptr, {masks})")
        self.f.line(
            f"call void {symbol}({type_} {value}, ptr align {align} {pointer}, {masks} {mask})"
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
        one = self.f.emit(f"extractelement {type_} {value}, i64 {lane}")
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
        if 2 <= stride <= CLOSE_STRIDE and lanes >= 4:
            return self._load_close(kind, lanes, pointer, stride, mask, other)
        offsets = self.lane_offsets(lanes, stride)
        return self.gather(kind, lanes, pointer, offsets, mask, other)

    def _load_close(
        self, kind: str, lanes: int, pointer: str, stride: int, mask: str | None, other: str
    ) -> str:
        """Elements a few apart: what lies between them is loaded as well and dropped."""
        stored = memory_kind(kind)
        type_ = llvm_type(stored, lanes)
        result = "poison"
        for part in range(stride):
            address = self.address(stored, pointer, part * lanes)
            inside = self._part_mask(lanes, stride, part, mask)
            loaded = self.load(stored, lanes, address, inside, other)
            places = [lane * stride - part * lanes for lane in range(lanes)]
            order = [lanes + p if 0 <= p < lanes else lane for lane, p in enumerate(places)]
            result = self.f.emit(
                f"shufflevector {type_} {result}, {type_} {loaded}, "
                f"<{lanes} x i32> {integers(order)}"
            )
        return self.from_memory(kind, lanes, result)

    def _part_mask(self, lanes: int, stride: int, part: int, mask: str | None) -> str | None:
        """Which elements of vector `part` of a strided load may be read."""
        if mask is None:
            # those after the last that is wanted may be outside of the buffer
            inside = (lanes - 1) * stride + 1 - part * lanes
            return None if inside >= lanes else constant_mask(lanes, inside)
        numbers = range(part * lanes, (part + 1) * lanes)
        order = [n // stride if n % stride == 0 else lanes for n in numbers]
        type_ = llvm_type("i1", lanes)
        return self.f.emit(
            f"shufflevector {type_} {mask}, {type_} zeroinitializer, "
            f"<{lanes} x i32> {integers(order)}"
        )

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
        elif 2 <= stride <= CLOSE_STRIDE and lanes >= 4:
            self._store_close(kind, lanes, pointer, stride, value, mask)
        else:
            self.scatter(kind, lanes, pointer, self.lane_offsets(lanes, stride), value, mask)

    def _store_close(
        self, kind: str, lanes: int, pointer: str, stride: int, value: str, mask: str | None
    ) -> None:
        """Elements a few apart: masks leave out what lies between them."""
        stored = memory_kind(kind)
        value, type_ = self._to_memory(kind, lanes, value), llvm_type(stored, lanes)
        masks, flags = llvm_type("i1", lanes), _flags(mask, lanes)
        for part in range(stride):
            numbers = range(part * lanes, (part + 1) * lanes)
            order = integers([n // stride for n in numbers])
            spread = self.f.emit(
                f"shufflevector {type_} {value}, {type_} poison, <{lanes} x i32> {order}"
            )
            places = [n // stride if n % stride == 0 else lanes for n in numbers]
            if flags is None:
                inside = self.f.emit(
                    f"shufflevector {masks} {mask}, {masks} zeroinitializer, "
                    f"<{lanes} x i32> {integers(places)}"
                )
            else:
                inside = _literal([place < lanes and flags[place] for place in places])
            address = self.address(stored, pointer, part * lanes)
            self.store(stored, lanes, address, spread, inside)

    def lane_offsets(self, lanes: int, stride: int) -> str:
        """The constant vector `0, stride, 2 * stride, ...` with its type."""
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
        type_, pointers = self._gathered(stored, lanes, pointer, offsets)
        symbol = f"@llvm.masked.gather.{mangled(stored, lanes)}.v{lanes}p0"
        masks = llvm_type("i1", lanes)
        self.needs.declarations.add(f"declare {type_} {symbol}(<{lanes} x ptr>, {masks}, {type_})")
        result = self.f.emit(
            f"call {type_} {symbol}(<{lanes} x ptr> align {bytes_of(stored)} {pointers}, "
            f"{masks} {mask or 'splat (i1 true)'}, {type_} {_all_lanes(stored, lanes, other)})"
        )
        return self.from_memory(kind, lanes, result)

    def scatter(
        self, kind: str, lanes: int, pointer: str, offsets: str, value: str, mask: str | None
    ) -> None:
        """Elements at `pointer + offsets`, a vector of integers with its type; all distinct."""
        stored = memory_kind(kind)
        value = self._to_memory(kind, lanes, value)
        type_, pointers = self._gathered(stored, lanes, pointer, offsets)
        symbol = f"@llvm.masked.scatter.{mangled(stored, lanes)}.v{lanes}p0"
        masks = llvm_type("i1", lanes)
        self.needs.declarations.add(f"declare void {symbol}({type_}, <{lanes} x ptr>, {masks})")
        self.f.line(
            f"call void {symbol}({type_} {value}, <{lanes} x ptr> align {bytes_of(stored)} "
            f"{pointers}, {masks} {mask or 'splat (i1 true)'})"
        )

    def _gathered(self, stored: str, lanes: int, pointer: str, offsets: str) -> tuple[str, str]:
        pointers = self.f.emit(f"getelementptr {llvm_type(stored)}, ptr {pointer}, {offsets}")
        return llvm_type(stored, lanes), pointers

    def reverse(self, kind: str, lanes: int, value: str) -> str:
        """The lanes in the opposite order."""
        order = integers(range(lanes - 1, -1, -1))
        type_ = llvm_type(kind, lanes)
        return self.f.emit(
            f"shufflevector {type_} {value}, {type_} poison, <{lanes} x i32> {order}"
        )

    def reverse_mask(self, lanes: int, mask: str | None) -> str | None:
        flags = _flags(mask, lanes)
        if mask is None or flags is None:
            return None if mask is None else self.reverse("i1", lanes, mask)
        return _literal(flags[::-1])

    def lane_numbers(self, lanes: int, start: str, step: int = 1, kind: str = "i64") -> str:
        """The vector `start + step * lane` of a scalar start."""
        steps = integers(range(0, step * lanes, step), kind) if step else "zeroinitializer"
        if start == "0":
            return steps
        return self.binary("add", kind, lanes, self.splat(kind, lanes, start), steps)

    def first_lanes(self, lanes: int, active: str) -> str:
        """The mask of the first `active` lanes (an i64 value, not negative), never a constant.

        An empty assembly text hides the number from LLVM: see `_store_lane`.
        """
        active = self.f.emit(f'call i64 asm "", "=r,0"(i64 {active})')
        few = self.f.emit(f"call i64 @llvm.umin.i64(i64 {active}, i64 {lanes})")
        self.needs.declarations.add("declare i64 @llvm.umin.i64(i64, i64)")
        short = self.cast("trunc", "i64", "i32", 1, few)
        limit = self.splat("i32", lanes, short)
        return self.f.emit(f"icmp ult <{lanes} x i32> {integers(range(lanes))}, {limit}")

    def from_memory(self, kind: str, lanes: int, value: str) -> str:
        """A loaded value as bodies see it."""
        if kind == "i1":
            return self.f.emit(f"icmp ne {llvm_type('i8', lanes)} {value}, {_zero(lanes)}")
        return value

    def _to_memory(self, kind: str, lanes: int, value: str) -> str:
        if kind == "i1":
            return self.cast("zext", "i1", "i8", lanes, value)
        return value


def _zero(lanes: int) -> str:
    return "0" if lanes == 1 else "zeroinitializer"


def _all_lanes(kind: str, lanes: int, other: str) -> str:
    if other == "0":
        return "zeroinitializer"
    return splat_literal(kind, lanes, other)
