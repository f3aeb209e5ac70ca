"""Code and data before linking: what LLVM's object files hold, and data that is made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gradir.aot import elf
from gradir.errors import CompileError

TEXT, RODATA, RELRO, DATA, ZEROS = "text", "rodata", "data.rel.ro", "data", "bss"
KINDS = (RODATA, TEXT, RELRO, DATA, ZEROS)
"""The kinds of sections, in the order of a library: read, run, written by the loader, written."""

MOST_WRITTEN_ZEROS = 2048
"""Bytes up to which zeros are data like others, as all of a pool of threads are: eu-elflint takes
zeros behind the padding of another segment for a part of that."""

UNWIND_TABLE = b".eh_frame\0"
"""Left out: no exception passes through native code."""


# A symbol's binding, in the upper half of a byte.
_GLOBAL, _AFTER_GLOBAL = elf.GLOBAL << 4, elf.GLOBAL + 1 << 4


@dataclass(eq=False, slots=True)
class Section:
    """Bytes of one kind that stay together; of zeros there is only the `size`."""

    kind: str
    data: bytes | bytearray
    align: int
    size: int
    relocations: list[tuple[int, int, Symbol, int]] = field(
        default_factory=list["tuple[int, int, Symbol, int]"]
    )


@dataclass(eq=False, slots=True)
class Symbol:
    """A name for a place in a section; without a section it is defined elsewhere."""

    name: str
    section: Section | None
    value: int = 0
    size: int = 0
    is_global: bool = True
    type: int = elf.NO_TYPE


Relocation: TypeAlias = tuple[int, int, Symbol, int]
"""Offset, type, symbol and addend: a place in its section that takes the address of a symbol, in
the way of the machine. A program has hundreds, of which tuples are made in half the time."""


@dataclass
class ObjectCode:
    """The sections and symbols of one object."""

    machine: int
    sections: list[Section]
    symbols: list[Symbol]


def read_object(data: bytes) -> ObjectCode:
    """The contents of a relocatable object file; CompileError for what is not known here."""
    if not data.startswith(elf.MAGIC[:6]):
        raise CompileError("ahead of time: expected an ELF object of 64 bits from LLVM")
    fields = elf.HEADER.unpack_from(data)
    kind, machine, table, count = fields[1], fields[2], fields[6], fields[12]
    if kind != elf.RELOCATABLE or machine not in elf.NAMES:
        raise CompileError(f"ahead of time: no linking of ELF type {kind}, machine {machine}")
    rows = [*elf.SECTION.iter_unpack(data[table : table + count * elf.SECTION.size])]
    names = rows[fields[13]][4]
    made: dict[int, Section] = {}
    for k, row in enumerate(rows):
        # the others are not in memory
        if row[2] & elf.ALLOC and not data.startswith(UNWIND_TABLE, names + row[0]):
            made[k] = _section(data, row, names + row[0])
    named, symbols, values = _symbols(data, rows, made)
    for row in rows:
        if row[1] == elf.RELA and row[7] in made:
            entries = elf.RELOCATION.iter_unpack(data[row[4] : row[4] + row[5]])
            made[row[7]].relocations += [
                (offset, info & 0xFFFFFFFF, symbols[info >> 32], addend + values[info >> 32])
                for offset, info, addend in entries
            ]
    return ObjectCode(machine, [*made.values()], named)


def _section(data: bytes, row: Sequence[int], name: int) -> Section:
    """A section that is in memory, whose name is at a place; CompileError for other kinds."""
    _, type_, flags, _, offset, size, _, _, align, _ = row
    if type_ not in (elf.PROGBITS, elf.NOBITS) or flags & elf.TLS:
        text = data[name : data.index(b"\0", name)].decode()
        raise CompileError(f"ahead of time: LLVM's section {text} has no place in a library")
    if flags & elf.EXECUTE:
        kind = TEXT
    elif not flags & elf.WRITE:
        kind = RODATA
    elif data.startswith(b".data.rel.ro", name):
        kind = RELRO
    else:
        kind = ZEROS if type_ == elf.NOBITS and size > MOST_WRITTEN_ZEROS else DATA
    is_held = type_ != elf.NOBITS
    held = data[offset : offset + size] if is_held else bytes(size if kind == DATA else 0)
    return Section(kind, held, align or 1, size)


def _symbols(
    data: bytes, rows: Sequence[Sequence[int]], sections: dict[int, Section]
) -> tuple[list[Symbol], list[Symbol], list[int]]:
    """The symbols with names; and for each number of a symbol one to refer to, and what is added.

    A place that is local and has no type, as constants are, half of all, is referred to by its
    section: nobody looks for its name.
    """
    table = next(row for row in rows if row[1] == elf.SYMTAB)
    start, size = rows[table[6]][4:6]
    texts = data[start : start + size].decode()
    find, section_of = texts.index, sections.get
    begins = {k: _begin(section) for k, section in sections.items()}
    begin_of, nowhere = begins.get, _begin(None)
    named, found, values = list[Symbol](), list[Symbol](), list[int]()
    for name, info, _, place, value, size in elf.SYMBOL.iter_unpack(
        data[table[4] : table[4] + table[5]]
    ):
        if not info or not name:
            found.append(begin_of(place, nowhere))
            values.append(value)
            continue
        if place == elf.COMMON or info >= _AFTER_GLOBAL:
            raise CompileError("ahead of time: a symbol of LLVM's is neither local nor global")
        text = texts[name : find("\0", name)]
        symbol = Symbol(text, section_of(place), value, size, info >= _GLOBAL, info & 15)
        named.append(symbol)
        found.append(symbol)
        values.append(0)
    return named, found, values


def _begin(section: Section | None) -> Symbol:
    return Symbol("", section, is_global=False, type=elf.SECTION_SYMBOL)
