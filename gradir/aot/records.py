"""Data of a library: bytes, texts, and structures that point to them, once each."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from gradir.aot import elf
from gradir.aot.objects import RELRO, RODATA, ObjectCode, Relocation, Section, Symbol
from gradir.aot.relocations import ABSOLUTE
from gradir.codegen.text.structs import Struct, size_of

Value = int | Symbol | None
"""A number, or what a pointer points to; None is null, or 0."""


class DataRecords:
    """Gathers data; the sections of `object_code` then hold it."""

    def __init__(self, machine: int) -> None:
        self._machine = machine
        self._symbols: list[Symbol] = []
        self._sections: list[Section] = []
        self._known: dict[tuple[bytes, int], Symbol] = {}

    def object_code(self) -> ObjectCode:
        """All of it, as an object."""
        return ObjectCode(self._machine, self._sections, self._symbols)

    def constant(self, data: bytes, align: int = 8, name: str = "data") -> Symbol:
        """Constant bytes; equal ones are the same."""
        key = data, align
        if key not in self._known:
            self._known[key] = self._add(RODATA, bytearray(data), align, name)
        return self._known[key]

    def text(self, text: str | None) -> Symbol | None:
        """A text of C; None is null."""
        return None if text is None else self.constant(text.encode() + b"\0", 1, "text")

    def words(self, numbers: Sequence[int]) -> Symbol:
        """An array of i64."""
        return self.constant(struct.pack(f"<{len(numbers)}q", *numbers))

    def halves(self, numbers: Sequence[int]) -> Symbol:
        """An array of i32."""
        return self.constant(struct.pack(f"<{len(numbers)}i", *numbers) or bytes(4), 16)

    def pointers(self, targets: Sequence[Symbol | None]) -> Symbol:
        """An array of pointers."""
        return self._with_pointers(
            bytes(8 * len(targets)), {8 * k: t for k, t in enumerate(targets)}, "pointers", False
        )

    def structs(
        self,
        type_: Struct,
        rows: Sequence[Mapping[str, Value]],
        name: str | None = None,
        is_global: bool = False,
    ) -> Symbol:
        """An array of structures, by the values of their fields; fields left out are 0."""
        data, pointers = bytearray(type_.size * len(rows)), dict[int, Symbol | None]()
        for k, row in enumerate(rows):
            for field, value in row.items():
                place = k * type_.size + type_.offsets[field]
                if type_.types[field] == "ptr":
                    assert not isinstance(value, int)
                    pointers[place] = value
                else:
                    assert isinstance(value, int)
                    size = size_of(type_.types[field])
                    data[place : place + size] = value.to_bytes(size, "little", signed=True)
        return self._with_pointers(bytes(data), pointers, name or type_.name, is_global)

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
        self, data: bytes, pointers: Mapping[int, Symbol | None], name: str, is_global: bool
    ) -> Symbol:
        if not data:
            return self.constant(bytes(8))
        made = self._add(RELRO, bytearray(data), 8, name)
        made.is_global = is_global
        assert made.section is not None
        made.section.relocations += [
            Relocation(place, ABSOLUTE[self._machine], target, 0)
            for place, target in pointers.items()
            if target is not None
        ]
        return made

    def _add(self, kind: str, data: bytearray, align: int, name: str) -> Symbol:
        section = Section(kind, data, align, len(data))
        symbol = Symbol(name, section, 0, len(data), is_global=False, type=elf.OBJECT)
        self._sections.append(section)
        self._symbols.append(symbol)
        return symbol
