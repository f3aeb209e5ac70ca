"""An image as a relocatable object, for any linker; and archives of objects.

Names that are not exported become local: two such objects in one program do not meet.
"""

from __future__ import annotations

import struct

from gradir.aot import elf
from gradir.aot.linker import Image
from gradir.aot.objects import KINDS, ZEROS, Symbol
from gradir.aot.symbol_tables import local_symbols

_FLAGS = {"text": elf.EXECUTE, "data.rel.ro": elf.WRITE, "data": elf.WRITE, "bss": elf.WRITE}


def write_object(image: Image) -> bytes:
    """The file of a relocatable object."""
    file = _File(elf.HEADER.size)
    parts = [_part_header(image, kind) for kind in KINDS]
    for header, kind in zip(parts, KINDS, strict=True):
        file.append(header, image.parts[kind].data)
    texts = elf.Strings()
    strings = elf.Header(".strtab", elf.STRTAB)
    table = elf.Header(".symtab", elf.SYMTAB, link=strings, align=8, entry=elf.SYMBOL.size)
    rows, table.info, numbers = _symbol_rows(image, texts)
    relocations: list[elf.Header] = []
    for number, kind in enumerate(KINDS, 1):
        entries = [
            elf.RELOCATION.pack(offset, numbers[symbol] << 32 | type_, addend)
            for offset, type_, symbol, addend in image.relocations(kind)
        ]
        if entries:
            header = elf.Header(f".rela.{kind}", elf.RELA, elf.INFO_LINK, link=table, info=number)
            header.align, header.entry = 8, elf.RELOCATION.size
            relocations.append(header)
            file.append(header, b"".join(entries))
    file.append(table, b"".join(rows))
    file.append(strings, texts.data)
    note = elf.Header(".note.GNU-stack", elf.PROGBITS, offset=len(file.data))
    return file.finish(image.machine, [*parts, *relocations, table, strings, note])


def _part_header(image: Image, kind: str) -> elf.Header:
    part = image.parts[kind]
    type_ = elf.NOBITS if kind == ZEROS else elf.PROGBITS
    flags = elf.ALLOC | _FLAGS.get(kind, 0)
    return elf.Header(f".{kind}", type_, flags, size=part.size, align=part.align)


class _File:
    """A file of sections, which are appended."""

    def __init__(self, start: int):
        self.data = bytearray(start)

    def append(self, header: elf.Header, data: bytes | bytearray) -> None:
        """Append the data of a section, and say in its header where it is."""
        self.data += bytes(-len(self.data) % header.align)
        header.offset = len(self.data)
        self.data += data
        if header.kind != elf.NOBITS:
            header.size = len(data)

    def finish(self, machine: int, headers: list[elf.Header]) -> bytes:
        """The file, after the table of its sections."""
        names = elf.Header(".shstrtab", elf.STRTAB)
        every, texts = [*headers, names], elf.Strings()
        for header in every:
            texts.add(header.name)
        self.append(names, texts.data)
        self.data += bytes(-len(self.data) % 8)
        place = len(self.data)
        self.data += elf.section_headers(every, texts)
        self.data[: elf.HEADER.size] = elf.HEADER.pack(
            elf.MAGIC, elf.RELOCATABLE, machine, 1, 0, 0, place, 0,
            elf.HEADER.size, 0, 0, elf.SECTION_BYTES, len(every) + 1, len(every),
        )  # fmt: skip
        return bytes(self.data)


def _symbol_rows(image: Image, texts: elf.Strings) -> tuple[list[bytes], int, dict[Symbol, int]]:
    """The table's rows, the number of local ones, and the number of each symbol."""

    def place(symbol: Symbol) -> tuple[int, int]:
        assert symbol.section is not None
        return KINDS.index(symbol.section.kind) + 1, image.offset(symbol)

    rows = [bytes(elf.SYMBOL.size), *local_symbols(image, texts, place)]
    exported = {id(symbol) for symbol in image.exports.values()}
    listed = [symbol for _, symbol in image.symbols if id(symbol) not in exported]
    numbers = {symbol: k for k, symbol in enumerate(listed, 1)}
    # of relocations that name a section, or a place without a name
    for symbol in (r[2] for kind in KINDS for r in image.relocations(kind)):
        if symbol.section is not None and symbol not in numbers and id(symbol) not in exported:
            numbers[symbol] = len(rows)
            rows.append(elf.SYMBOL.pack(0, elf.LOCAL << 4, 0, *place(symbol), 0))
    local = len(rows)
    info = elf.GLOBAL << 4
    for name, symbol in image.imports.items():
        numbers[symbol] = len(rows)
        rows.append(elf.SYMBOL.pack(texts.add(name), info, 0, elf.UNDEFINED, 0, 0))
    for name, symbol in image.exports.items():
        numbers[symbol] = len(rows)
        kind = info | elf.FUNCTION
        rows.append(elf.SYMBOL.pack(texts.add(name), kind, 0, *place(symbol), symbol.size))
    return rows, local, numbers


def write_archive(name: str, data: bytes, exports: list[str]) -> bytes:
    """An archive with one object, and the index by which linkers find its symbols."""
    name = f"{name[:14]}/"
    texts = b"".join(e.encode() + b"\0" for e in exports)
    index_size = 4 + 4 * len(exports) + len(texts)
    padded = index_size + index_size % 2
    place = 8 + 60 + padded
    index = struct.pack(f">{1 + len(exports)}I", len(exports), *[place] * len(exports)) + texts
    members = (("/", index), (name, data))
    made = b"!<arch>\n"
    for member, held in members:
        made += f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(held):<10}`\n".encode()
        made += held + b"\n" * (len(held) % 2)
    return made
