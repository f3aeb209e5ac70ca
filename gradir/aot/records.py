"""Data of a library: bytes, texts, and structures that point to them, once each."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from gradir.aot import elf
from gradir.aot.objects import RELRO, RODATA, ObjectCode, Section, Symbol
from gradir.aot.relocations import ABSOLUTE
from gradir.codegen.text.structs import Struct, size_of

Value = int | Symbol | None
"""A number, or what a pointer points to; None is null, or 0."""


@cache
def _packing(
    type_: Struct,
) -> tuple[Callable[..., bytes], tuple[str, ...], list[tuple[int, int]]]:
    """The function that packs the numbers of a structure; its fields, and its pointers by their
    number among these and their place."""
    form, end = "<", 0
    for name, kind in type_.fields:
        form += f"{type_.offsets[name] - end}x{'i' if kind == 'i32' else 'q'}"
        end = type_.offsets[name] + size_of(kind)
    pointers = [
        (k, type_.offsets[name]) for k, (name, kind) in enumerate(type_.fields) if kind == "ptr"
    ]
    return struct.Struct(f"{form}{type_.size - end}x").pack, tuple(type_.offsets), pointers


class DataRecords:
    """Gathers data; the sections of `object_code` then hold it."""

    def __init__(self, machine: int) -> None:
        self._machine = machine
        self._symbols: list[Symbol] = []
        self._sections: dict[tuple[str, int], Section] = {}
        self._known: dict[tuple[bytes, int], Symbol] = {}

    def object_code(self) -> ObjectCode:
        """All of it, as an object."""
        return ObjectCode(self._machine, [*self._sections.values()], self._symbols)

    def constant(self, data: bytes, align: int = 8, name: str = "") -> Symbol:
        """Constant bytes; equal ones are the same. Tools do not see data without a name."""
        key = data, align
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._add(RODATA, data, align, name)
        return found

    def text(self, text: str | None) -> Symbol | None:
        """A text of C; None is null."""
        return None if text is None else self.constant(text.encode() + b"\0", 1)

    def words(self, numbers: Sequence[int]) -> Symbol:
        """An array of i64."""
        return self.constant(struct.pack(f"<{len(numbers)}q", *numbers))

    def halves(self, numbers: Sequence[int]) -> Symbol:
        """An array of i32."""
        return self.constant(struct.pack(f"<{len(numbers)}i", *numbers) or bytes(4), 16)

    def pointers(self, targets: Sequence[Symbol | None]) -> Symbol:
        """An array of pointers."""
        return self._with_pointers(
            bytes(8 * len(targets)), {8 * k: t for k, t in enumerate(targets)}, "", False
        )

    def structs(
        self,
        type_: Struct,
        rows: Sequence[Mapping[str, Value]],
        name: str | None = None,
        is_global: bool = False,
        kind: str = RELRO,
        align: int = 8,
    ) -> Symbol:
        """An array of structures, by the values of their fields; fields left out are 0."""
        data, pointers = list[bytes](), dict[int, Symbol]()
        (pack, fields, places), start, size = _packing(type_), 0, type_.size
        for row in rows:
            numbers = [row.get(field, 0) for field in fields]
            for column, place in places:
                target = numbers[column]
                if target:
                    assert isinstance(target, Symbol)
                    pointers[start + place] = target
                numbers[column] = 0
            data.append(pack(*numbers))
            start += size
        return self._with_pointers(
            b"".join(data), pointers, name or type_.name, is_global, kind, align
        )

    def block(self, data: bytes, pointers: Mapping[int, Symbol], name: str) -> Symbol:
        """Bytes with pointers at some places."""
        return self._with_pointers(data, pointers, name, False)

    def mixed(
        self, words: Sequence[int | Symbol | None], name: str, is_global: bool = False
    ) -> Symbol:
        """Words, numbers and pointers; None is null."""
        data = struct.pack(f"<{len(words)}q", *(w if isinstance(w, int) else 0 for w in words))
        pointers = {8 * k: w for k, w in enumerate(words) if isinstance(w, Symbol)}
        return self._with_pointers(data, pointers, name, is_global)

    def _with_pointers(
        self,
        data: bytes,
        pointers: Mapping[int, Symbol | None],
        name: str,
        is_global: bool,
        kind: str = RELRO,
        align: int = 8,
    ) -> Symbol:
        if not data:
            return self.constant(bytes(8))
        made = self._add(kind, data, align, name)
        made.is_global = is_global
        assert made.section is not None
        type_, start = ABSOLUTE[self._machine], made.value
        made.section.relocations += [
            (start + place, type_, target, 0)
            for place, target in pointers.items()
            if target is not None
        ]
        return made

    def _add(self, kind: str, data: bytes, align: int, name: str) -> Symbol:
        section = self._sections.get((kind, align))
        if section is None:
            section = self._sections[kind, align] = Section(kind, bytearray(), align, 0)
        held, place = section.data, section.size
        assert isinstance(held, bytearray)
        padding = -place % align
        if padding:
            held += bytes(padding)
            place += padding
        held += data
        section.size = place + len(data)
        symbol = Symbol(name, section, place, len(data), False, elf.OBJECT)
        self._symbols.append(symbol)
        return symbol
