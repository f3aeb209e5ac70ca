"""The parts of ELF files of 64 bits, little endian, that are read and written here.

Numbers and layouts are those of the System V ABI and its supplements for x86-64 and AArch64.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAGIC = b"\x7fELF\x02\x01\x01" + bytes(9)
RELOCATABLE, SHARED = 1, 3
X86_64, AARCH64 = 62, 183
MACHINES = {"x86-64": X86_64, "aarch64": AARCH64}
NAMES = {number: name for name, number in MACHINES.items()}

# Kinds of sections.
PROGBITS, SYMTAB, STRTAB, RELA, HASH, DYNAMIC, NOBITS = 1, 2, 3, 4, 5, 6, 8
DYNSYM, GNU_HASH, VERNEED, VERSYM = 11, 0x6FFFFFF6, 0x6FFFFFFE, 0x6FFFFFFF
WRITE, ALLOC, EXECUTE, MERGE, INFO_LINK, TLS = 1, 2, 4, 0x10, 0x40, 0x400

# Segments and their rights.
LOAD, DYNAMIC_SEGMENT, STACK, RELRO = 1, 2, 0x6474E551, 0x6474E552
CAN_EXECUTE, CAN_WRITE, CAN_READ = 1, 2, 4

# Symbols.
LOCAL, GLOBAL, WEAK = 0, 1, 2
NO_TYPE, OBJECT, FUNCTION, SECTION_SYMBOL, FILE_SYMBOL = 0, 1, 2, 3, 4
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
DYNAMIC_ENTRY = struct.Struct("<QQ")
SECTION_BYTES = SECTION.size


@dataclass
class Header:
    """A section's header; `link` is another one, or None."""

    name: str
    kind: int
    flags: int = 0
    address: int = 0
    offset: int = 0
    size: int = 0
    link: Header | None = None
    info: int = 0
    align: int = 1
    entry: int = 0


class Strings:
    """A table of names, each of them once."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._places = {"": 0}

    def add(self, text: str) -> int:
        """The place of a name."""
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._places[text]

    def extend(self, texts: Sequence[str]) -> list[int]:
        """The places of new names, which are written as they are."""
        data = [text.encode() for text in texts]
        places, place = list[int](), len(self.data)
        for each in data:
            places.append(place)
            place += len(each) + 1
        self.data += b"".join([each + b"\0" for each in data])
        return places


def aligned(number: int, to: int) -> int:
    """The next multiple of `to`."""
    return -(-number // to) * to


def section_headers(headers: Iterable[Header], names: Strings) -> bytes:
    """The table of section headers, the empty one first."""
    listed = [None, *headers]
    numbers = {id(header): k for k, header in enumerate(listed)}
    parts = [bytes(SECTION.size)]
    for h in listed[1:]:
        assert h is not None
        link = 0 if h.link is None else numbers[id(h.link)]
        place = h.address, h.offset, h.size
        parts.append(
            SECTION.pack(names.add(h.name), h.kind, h.flags, *place, link, h.info, h.align, h.entry)
        )
    return b"".join(parts)


def symbol_hash(name: str) -> int:
    """The hash of a name in DT_HASH."""
    found = 0
    for byte in name.encode():
        found = (found << 4) + byte
        high = found & 0xF0000000
        found = (found ^ high >> 24) & ~high & 0xFFFFFFFF
    return found


def gnu_hash(name: str) -> int:
    """The hash of a name in DT_GNU_HASH."""
    found = 5381
    for byte in name.encode():
        found = (found * 33 + byte) & 0xFFFFFFFF
    return found
