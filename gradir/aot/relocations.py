"""How places in code take addresses: the relocations that LLVM emits for gradir's code.

A table for each machine says what a type of relocation is; `apply` writes the number into the
bytes. Others are refused by number: a library never has a place that was not filled.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gradir.aot import elf
from gradir.errors import CompileError

# What a relocation asks for: an address, a distance, a call, the place of an address in the GOT.
ADDRESS, DISTANCE, CALL, GOT = "address", "distance", "call", "GOT"


@dataclass(frozen=True)
class RelocationKind:
    """What a type asks for, and how its number is written: see `_WRITERS`."""

    asks: str
    form: str
    name: str

    @property
    def is_plain(self) -> bool:
        """Whether it needs neither the loader nor the GOT where its symbol is defined."""
        return self.asks != GOT and self.form != "word"


_X86_64 = {
    1: RelocationKind(ADDRESS, "word", "R_X86_64_64"),
    2: RelocationKind(DISTANCE, "rel32", "R_X86_64_PC32"),
    4: RelocationKind(CALL, "rel32", "R_X86_64_PLT32"),
    9: RelocationKind(GOT, "rel32", "R_X86_64_GOTPCREL"),
    24: RelocationKind(DISTANCE, "rel64", "R_X86_64_PC64"),
    41: RelocationKind(GOT, "rel32", "R_X86_64_GOTPCRELX"),
    42: RelocationKind(GOT, "rel32", "R_X86_64_REX_GOTPCRELX"),
}
_AARCH64 = {
    257: RelocationKind(ADDRESS, "word", "R_AARCH64_ABS64"),
    260: RelocationKind(DISTANCE, "rel64", "R_AARCH64_PREL64"),
    261: RelocationKind(DISTANCE, "rel32", "R_AARCH64_PREL32"),
    275: RelocationKind(DISTANCE, "page", "R_AARCH64_ADR_PREL_PG_HI21"),
    277: RelocationKind(DISTANCE, "low0", "R_AARCH64_ADD_ABS_LO12_NC"),
    278: RelocationKind(DISTANCE, "low0", "R_AARCH64_LDST8_ABS_LO12_NC"),
    282: RelocationKind(CALL, "jump26", "R_AARCH64_JUMP26"),
    283: RelocationKind(CALL, "jump26", "R_AARCH64_CALL26"),
    284: RelocationKind(DISTANCE, "low1", "R_AARCH64_LDST16_ABS_LO12_NC"),
    285: RelocationKind(DISTANCE, "low2", "R_AARCH64_LDST32_ABS_LO12_NC"),
    286: RelocationKind(DISTANCE, "low3", "R_AARCH64_LDST64_ABS_LO12_NC"),
    299: RelocationKind(DISTANCE, "low4", "R_AARCH64_LDST128_ABS_LO12_NC"),
    311: RelocationKind(GOT, "page", "R_AARCH64_ADR_GOT_PAGE"),
    312: RelocationKind(GOT, "low3", "R_AARCH64_LD64_GOT_LO12_NC"),
}
WAYS: Mapping[int, Mapping[int, RelocationKind]] = MappingProxyType(
    {elf.X86_64: _X86_64, elf.AARCH64: _AARCH64}
)
PLAIN: Mapping[int, frozenset[int]] = MappingProxyType(
    {
        machine: frozenset(n for n, way in ways.items() if way.is_plain)
        for machine, ways in WAYS.items()
    }
)
"""The types that need neither the loader nor the GOT where their symbols are defined."""

# Types that the loader of the system gets: an address plus the library's, that of a symbol, and
# that of a symbol in the GOT.
RELATIVE = MappingProxyType({elf.X86_64: 8, elf.AARCH64: 1027})
ABSOLUTE = MappingProxyType({elf.X86_64: 1, elf.AARCH64: 257})
GLOBAL_DATA = MappingProxyType({elf.X86_64: 6, elf.AARCH64: 1025})

PAGE_BITS = 12
REL32, _WORD = struct.Struct("<i"), struct.Struct("<Q")


def unknown_type(machine: int, type_: int, symbol: str) -> CompileError:
    """The error for a type that is not known here."""
    return CompileError(
        f"ahead of time: relocation type {type_} of {elf.NAMES[machine]}, of symbol "
        f"{symbol or 'of a section'!r}, is not known to gradir's linker; --linker takes another"
    )


def apply(data: bytearray, offset: int, way: RelocationKind, target: int, place: int) -> None:
    """Write the address `target`, with its addend, at `offset`, which will be at address `place`.

    CompileError where it is too far away.
    """
    if way.form == "rel32":
        try:
            REL32.pack_into(data, offset, target - place)
        except struct.error:
            _require_reach(way, target - place, 32)
            raise
    elif way.form == "word":
        _WORD.pack_into(data, offset, target % 2**64)
    elif way.form == "rel64":
        _require_reach(way, target - place, 64)
        data[offset : offset + 8] = (target - place).to_bytes(8, "little", signed=True)
    else:
        word = int.from_bytes(data[offset : offset + 4], "little")
        word |= _bits_of_instruction(way, target, place)
        data[offset : offset + 4] = word.to_bytes(4, "little")


def _bits_of_instruction(way: RelocationKind, target: int, place: int) -> int:
    """What an instruction of AArch64 takes in its field, which is 0 before."""
    if way.form == "page":
        pages = (target >> PAGE_BITS) - (place >> PAGE_BITS)
        _require_reach(way, pages, 21)
        return (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    if way.form == "jump26":
        _require_reach(way, target - place, 28)
        return (target - place) >> 2 & 0x3FFFFFF
    shift = int(way.form.removeprefix("low"))
    low = target & (1 << PAGE_BITS) - 1
    if low & (1 << shift) - 1:
        raise CompileError(f"ahead of time: {way.name} of a place that is not aligned")
    return low >> shift << 10


def _require_reach(way: RelocationKind, distance: int, bits: int) -> None:
    if not -(1 << bits - 1) <= distance < 1 << bits - 1:
        raise CompileError(
            f"ahead of time: {way.name} reaches {bits} bits far, and a place is {distance} away; "
            "export fewer functions in one library"
        )
