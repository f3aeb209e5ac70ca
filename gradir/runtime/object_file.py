"""The undefined symbols of an object file, from its symbol table (ELF, 64 bits).

LLVM chooses library functions during code emission; no earlier text names them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little endian
# SHT_SYMTAB, SHN_UNDEF, and the size of an Elf64_Sym.
SYMBOL_TABLE = 2
UNDEFINED_SECTION = 0
SYMBOL_BYTES = 24
# The symbol in position-independent code that the linker defines.
LINKERS_OWN = ("_GLOBAL_OFFSET_TABLE_",)


def undefined_symbols(data: bytes) -> tuple[str, ...] | None:
    """The names, sorted; None for a format other than ELF of 64 bits."""
    if not data.startswith(MAGIC):
        return None
    names = {name for table in _symbol_tables(data) for name in _undefined(data, *table)}
    return tuple(sorted(names - {"", *LINKERS_OWN}))


def _symbol_tables(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each symbol table: the start of its global part, its end, the offset of its names."""
    (headers,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + k * size) for k in range(count)]
    for _, kind, _, _, offset, length, names, first_global, _, _ in sections:
        if kind == SYMBOL_TABLE:
            yield offset + first_global * SYMBOL_BYTES, offset + length, sections[names][4]


def _undefined(data: bytes, start: int, end: int, names: int) -> Iterator[str]:
    for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[start:end]):
        if section == UNDEFINED_SECTION:
            first = names + name
            yield data[first : data.index(b"\0", first)].decode()
