"""Structures of C in memory: the places of their fields, and code that reads and writes them.

Records of Python's and NumPy's (`driver/call_text.py`) and of libraries ahead of time
(`gradir/aot/abi.py`) are such structures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from gradir.codegen.text.writer import FunctionWriter

_SIZES = {"i32": 4, "i64": 8, "ptr": 8}
_TEXT = re.compile(r"\[(\d+) x i8\]")


def size_of(type_: str) -> int:
    """The bytes of a field, by its LLVM type: i32, i64, ptr, or a text [N x i8]."""
    text = _TEXT.fullmatch(type_)
    return int(text[1]) if text else _SIZES[type_]


def _aligned(place: int, type_: str) -> int:
    align = 1 if type_ not in _SIZES else _SIZES[type_]
    return -(-place // align) * align


@dataclass(frozen=True)
class Struct:
    """A structure: its fields and their LLVM types, which lie as a C compiler lays them."""

    name: str
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str, /, **fields: str) -> Struct:
        """The structure of these fields."""
        return cls(name, tuple(fields.items()))

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """The place of each field in bytes."""
        found: dict[str, int] = {}
        end = 0
        for name, type_ in self.fields:
            found[name] = _aligned(end, type_)
            end = found[name] + size_of(type_)
        return MappingProxyType(found)

    @cached_property
    def types(self) -> Mapping[str, str]:
        return MappingProxyType(dict(self.fields))

    @cached_property
    def size(self) -> int:
        """All its bytes: a multiple of the largest alignment, so that structures form arrays."""
        last, type_ = self.fields[-1]
        widest = max((t for _, t in self.fields if t in _SIZES), key=size_of)
        return _aligned(self.offsets[last] + size_of(type_), widest)


class StructWriter(FunctionWriter):
    """Writes functions on structures."""

    def place(self, struct: Struct, base: str, name: str) -> str:
        """The address of a field."""
        return self.address("i8", base, struct.offsets[name])

    def field(self, struct: Struct, base: str, name: str) -> str:
        """The value of a field, in the field's type."""
        return self.load(struct.types[name], 1, self.place(struct, base, name))

    def put(self, struct: Struct, base: str, name: str, value: str) -> None:
        """Store the value of a field, which has the field's type."""
        self.store(struct.types[name], 1, self.place(struct, base, name), value)

    def entry_of(self, struct: Struct, base: str, number: str) -> str:
        """The address of an entry of an array of structures."""
        return self.address("i8", base, self.multiply(number, struct.size))

    def new_struct(self, struct: Struct) -> str:
        """A structure on the function's stack."""
        return self.allocate("i8", struct.size, 8)

    def number(self, struct: Struct, base: str, name: str) -> str:
        """The value of a field as an i64; an i32 is signed."""
        found = self.field(struct, base, name)
        return self.emit(f"sext i32 {found} to i64") if struct.types[name] == "i32" else found

    def put_number(self, struct: Struct, base: str, name: str, value: str) -> None:
        """Store an i64, shortened to the field's type."""
        if struct.types[name] == "i32":
            value = self.emit(f"trunc i64 {value} to i32")
        self.put(struct, base, name, value)

    def put_all(self, struct: Struct, base: str, names: Sequence[str], value: str) -> None:
        """Store one value into several fields."""
        for name in names:
            self.put(struct, base, name, value)
