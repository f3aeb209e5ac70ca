"""An image as a shared library for Linux, without a toolchain.

    read     headers, hash tables, symbols, versions, relocations for the loader, constants
    run      code, and a stub for each imported function that is called
    relro    pointers and .dynamic, which the loader makes read-only after it has written them
    write    data and zeros

All addresses begin at 0, and the loader adds where it puts the library. Imports are bound when the
library is loaded, never in a call. Tools find their way by the sections; the loader reads segments
alone. A section has the digest by which loader.py knows that a file is as it was written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from gradir.aot import elf, relocations
from gradir.aot.linker import Image
from gradir.aot.loader import DIGEST_BYTES, DIGEST_MARK, ElfFile
from gradir.aot.objects import DATA, RELRO, RODATA, TEXT, ZEROS, Relocation, Symbol
from gradir.aot.symbol_tables import (
    dynamic_symbols,
    gnu_hash_table,
    hash_table,
    local_symbols,
    pack_dynamic,
    version_tables,
)
from gradir.errors import CompileError

# The largest pages of the systems: segments share none.
PAGE_BYTES: Mapping[int, int] = MappingProxyType({elf.X86_64: 1 << 12, elf.AARCH64: 1 << 16})
WORD, STUB_BYTES = 8, 16

# Tags of .dynamic.
NULL, NEEDED, HASH, STRTAB, SYMTAB, RELA, RELASZ, RELAENT = 0, 1, 4, 5, 6, 7, 8, 9
STRSZ, SYMENT, SONAME, RUNPATH, FLAGS = 10, 11, 14, 29, 30
GNU_HASH, VERSYM, RELACOUNT = 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFF9
FLAGS_1, VERNEED, VERNEEDNUM = 0x6FFFFFFB, 0x6FFFFFFE, 0x6FFFFFFF
BIND_NOW, NOW, NODELETE = 8, 1, 8
ORIGIN = "$ORIGIN"
"""Where the libraries of custom operators are looked for first: beside this one."""
SYSTEM_LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0")

DIGEST = ".gradir"
"""It has the form of a note, but not the name: eu-elflint knows the notes that there are."""
PADDING = ".padding"
"""Up to the end of a page, since the loader makes no part of one read-only; as lld has it, whose
name for it, .relro_padding, is one of relocations to eu-elflint."""

READ, RUN, RELRO_SEGMENT, WRITE = range(4)
RIGHTS = (
    elf.CAN_READ, elf.CAN_READ | elf.CAN_EXECUTE,
    elf.CAN_READ | elf.CAN_WRITE, elf.CAN_READ | elf.CAN_WRITE,
)  # fmt: skip
SECTION_OF_PART = MappingProxyType(
    {RODATA: ".rodata", TEXT: ".text", RELRO: ".data.rel.ro", DATA: ".data", ZEROS: ".bss"}
)


@dataclass
class _Piece:
    """A section of the file, in one of the segments."""

    header: elf.Header
    segment: int
    data: bytearray = field(default_factory=bytearray)


def write_library(image: Image, name: str, stays: bool = False) -> bytes:
    """The file of a shared library. With `stays` it is never unloaded: it has threads."""
    return _Library(image, name, stays).write()


class _Library:
    """Makes the pieces, places them, fills them, and writes them."""

    def __init__(self, image: Image, name: str, stays: bool):
        self.image, self.stays = image, stays
        self.page = PAGE_BYTES[image.machine]
        self.strings = elf.Strings()
        needed = sorted({image.libraries[n] for n in image.imports} - {""})
        self.needed = [self.strings.add(n) for n in needed]
        self.soname = self.strings.add(name)
        is_searched = any(n not in SYSTEM_LIBRARIES for n in needed)
        self.runpath = self.strings.add(ORIGIN) if is_searched else None
        self.table = dynamic_symbols(image, self.strings)
        self.loaded: list[tuple[str, Relocation]] = []
        self.stubs, self.slots = self._needed_by_relocations()
        self.pieces = self._made_pieces()
        numbers = {name: number for number, name in enumerate(self.pieces, 1)}
        self.segments = self._placed()
        known = [kind for kind, name in SECTION_OF_PART.items() if name in self.pieces]
        self.starts = {kind: self.pieces[SECTION_OF_PART[kind]].header.address for kind in known}
        starts = self.starts
        self.addresses = {s: starts[s.kind] + place for s, place in image.places.items() if s.size}
        self.numbers = {kind: numbers[SECTION_OF_PART[kind]] for kind in known}

    def _needed_by_relocations(self) -> tuple[dict[Symbol, int], dict[Symbol, int]]:
        """The stubs and the slots of symbols, by number; finds what the loader writes."""
        called, looked_up = list[Symbol](), list[Symbol]()
        ways = relocations.WAYS[self.image.machine]
        for section, (offset, type_, symbol, addend) in self.image.special:
            way, symbol = ways[type_], self.image.found.get(symbol, symbol)
            if way.form == "word":
                place = self.image.places[section] + offset
                self.loaded.append((section.kind, (place, type_, symbol, addend)))
            elif way.asks == relocations.GOT:
                if symbol.type == elf.SECTION_SYMBOL:
                    raise CompileError(f"ahead of time: {way.name} of a place without a name")
                looked_up.append(symbol)
            elif symbol.section is None and way.asks == relocations.CALL:
                called.append(symbol)
        return _numbered(called), _numbered([*_numbered(called), *looked_up])

    # Layout.

    def _made_pieces(self) -> dict[str, _Piece]:
        """All pieces by section name, in order, without their places."""
        made: dict[str, _Piece] = {}

        def add(
            name: str,
            kind: int,
            segment: int,
            data: bytes | bytearray,
            align: int = 8,
            entry: int = 0,
        ) -> None:
            flags = elf.ALLOC | (elf.EXECUTE, elf.WRITE)[segment != RUN] * (segment != READ)
            header = elf.Header(name, kind, flags, size=len(data), align=align, entry=entry)
            made[name] = _Piece(header, segment, bytearray(data))

        def add_part(kind: str, segment: int, least: int = 1) -> None:
            part = self.image.parts[kind]
            type_ = elf.NOBITS if kind == ZEROS else elf.PROGBITS
            add(SECTION_OF_PART[kind], type_, segment, part.data, max(least, part.align))
            made[SECTION_OF_PART[kind]].header.size = part.size

        versions, needs, self.version_count = version_tables(
            self.image, self.table.names, self.strings
        )
        add(DIGEST, elf.PROGBITS, READ, DIGEST_MARK + bytes(DIGEST_BYTES), align=4)
        add(".gnu.hash", elf.GNU_HASH, READ, gnu_hash_table(self.table))
        add(".hash", elf.HASH, READ, hash_table(self.table), entry=4)
        symbol_bytes = len(self.table.names) * elf.SYMBOL.size
        add(".dynsym", elf.DYNSYM, READ, bytes(symbol_bytes), entry=elf.SYMBOL.size)
        add(".dynstr", elf.STRTAB, READ, self.strings.data, align=1)
        add(".gnu.version", elf.VERSYM, READ, versions, align=2, entry=2)
        add(".gnu.version_r", elf.VERNEED, READ, needs)
        entries = len(self.loaded) + len(self.slots)
        add(".rela.dyn", elf.RELA, READ, bytes(entries * elf.RELOCATION.size), entry=24)
        add_part(RODATA, READ)
        add_part(TEXT, RUN, 16)
        add(".plt", elf.PROGBITS, RUN, bytes(len(self.stubs) * STUB_BYTES), 16, STUB_BYTES)
        add_part(RELRO, RELRO_SEGMENT, 16)
        add(".dynamic", elf.DYNAMIC, RELRO_SEGMENT, b"", entry=16)
        add(".got", elf.PROGBITS, RELRO_SEGMENT, bytes(WORD * len(self.slots)), entry=WORD)
        add(PADDING, elf.NOBITS, RELRO_SEGMENT, b"", align=1)
        add_part(DATA, WRITE)
        if self.image.parts[ZEROS].size and not self.image.parts[DATA].size:
            # a segment of zeros alone has no section in the file, which tools take for a fault
            add(".data", elf.PROGBITS, WRITE, bytes(WORD))
        add_part(ZEROS, WRITE)
        made = {n: p for n, p in made.items() if p.header.size or n in (".dynamic", PADDING)}
        self.pieces = made
        made[".dynamic"].header.size = len(self._dynamic())
        return made

    def _placed(self) -> list[list[int]]:
        """Give the pieces addresses and offsets; the segments as kind, offset, address, sizes.

        A segment goes on where the file has come to, at that place of the next page.
        """
        rows: list[list[int]] = []
        count = len({p.segment for p in self.pieces.values()}) + 3
        offset = address = elf.HEADER.size + count * elf.SEGMENT.size
        rows.append([READ, 0, 0, 0, 0])
        for piece in self.pieces.values():
            header = piece.header
            if piece.segment != rows[-1][0]:
                offset = elf.aligned(offset, 16)
                address = elf.aligned(address, self.page) + offset % self.page
                rows.append([piece.segment, offset, address, 0, 0])
            moved = elf.aligned(address, header.align) - address
            address, offset = address + moved, offset + moved
            header.address, header.offset = address, offset
            if header.name == PADDING:
                header.size = elf.aligned(address, self.page) - address
            address += header.size
            if header.kind != elf.NOBITS:
                offset += header.size
                rows[-1][3] = offset - rows[-1][1]
            rows[-1][4] = address - rows[-1][2]
        return rows

    # Contents.

    def write(self) -> bytes:
        """The file."""
        self._link_sections()
        self._fill_stubs_and_slots()
        self._relocate()
        symbols = pack_dynamic(self.table, self._symbol_place)
        self.pieces[".dynsym"].data[:] = symbols
        self.pieces[".dynstr"].data[:] = self.strings.data
        self.pieces[".dynamic"].data[:] = self._dynamic()
        rows = self._segment_rows()
        file = bytearray(elf.HEADER.size) + b"".join(rows)
        for piece in self.pieces.values():
            if piece.header.kind != elf.NOBITS:
                file += bytes(piece.header.offset - len(file)) + piece.data
        headers = self._add_tables(file)
        file[: elf.HEADER.size] = self._header(len(rows), len(headers) + 1, len(file))
        names = headers[-1]
        strings = elf.Strings()
        for header in headers:
            strings.add(header.name)
        names.offset, names.size = len(file), len(strings.data)
        file += strings.data
        file += bytes(-len(file) % 8)
        file[40:48] = struct.pack("<Q", len(file))
        file += elf.section_headers(headers, strings)
        return ElfFile("the library", bytes(file)).with_digest()

    def _link_sections(self) -> None:
        """Which sections refer to which."""
        headers = {name: piece.header for name, piece in self.pieces.items()}
        for name in (".gnu.hash", ".hash", ".gnu.version", ".rela.dyn"):
            if name in headers:
                headers[name].link = headers[".dynsym"]
        for name in (".dynsym", ".gnu.version_r", ".dynamic"):
            if name in headers:
                headers[name].link = headers[".dynstr"]
        headers[".dynsym"].info = 1
        if ".gnu.version_r" in headers:
            headers[".gnu.version_r"].info = self.version_count

    def _address(self, symbol: Symbol) -> int:
        """The address of a symbol; of an import, of its stub."""
        section = symbol.section
        if section is None:
            return self.pieces[".plt"].header.address + STUB_BYTES * self.stubs[symbol]
        return self.addresses[section] + symbol.value

    def _slot_address(self, symbol: Symbol) -> int:
        return self.pieces[".got"].header.address + WORD * self.slots[symbol]

    def _symbol_place(self, symbol: Symbol) -> tuple[int, int]:
        """The number of a symbol's section, and its address."""
        section = symbol.section
        assert section is not None
        return self.numbers[section.kind], self.addresses[section] + symbol.value

    def _fill_stubs_and_slots(self) -> None:
        for symbol, k in self.stubs.items():
            plt = self.pieces[".plt"]
            place = plt.header.address + STUB_BYTES * k
            code = _stub(self.image.machine, place, self._slot_address(symbol))
            plt.data[STUB_BYTES * k : STUB_BYTES * (k + 1)] = code
        for symbol, k in self.slots.items():
            if symbol.section is not None:
                got = self.pieces[".got"]
                got.data[WORD * k : WORD * (k + 1)] = struct.pack("<Q", self._address(symbol))

    def _relocate(self) -> None:
        """Write all addresses, and what the loader has to add to."""
        machine = self.image.machine
        ways, addresses = relocations.WAYS[machine], self.addresses
        near = {number for number, way in ways.items() if way.is_plain and way.form == "rel32"}
        write_near = relocations.REL32.pack_into
        found = self.image.found
        for section in [s for sections in self.image.relocated.values() for s in sections]:
            data = self.pieces[SECTION_OF_PART[section.kind]].data
            first, place = self.image.places[section], addresses[section]
            for offset, type_, symbol, addend in section.relocations:
                if symbol.section is None:
                    symbol = found[symbol]
                if type_ in near and symbol.section is not None:  # most of all
                    target = addresses[symbol.section] + symbol.value + addend
                    try:
                        write_near(data, first + offset, target - place - offset)
                        continue
                    except struct.error:
                        pass  # too far, as `apply` says
                else:
                    target = self._target(ways[type_], symbol)
                    if target is None:
                        continue
                    target += addend
                relocations.apply(data, first + offset, ways[type_], target, place + offset)
        relative, named = list[bytes](), list[bytes]()
        for place, symbol, addend, is_slot in self._loader_places():
            if symbol.section is not None:
                target = self._address(symbol) + addend
                kind = relocations.RELATIVE[machine]
                relative.append(elf.RELOCATION.pack(place, kind, target))
            else:
                kinds = relocations.GLOBAL_DATA if is_slot else relocations.ABSOLUTE
                info = self.table.number(symbol) << 32 | kinds[machine]
                named.append(elf.RELOCATION.pack(place, info, addend))
        self.relative_count = len(relative)
        if ".rela.dyn" in self.pieces:
            self.pieces[".rela.dyn"].data[:] = b"".join([*relative, *named])

    def _target(self, way: relocations.RelocationKind, symbol: Symbol) -> int | None:
        """The address that a relocation takes; None if the loader finds it."""
        if way.asks == relocations.GOT:
            return self._slot_address(symbol)
        return None if symbol.section is None and way.form == "word" else self._address(symbol)

    def _loader_places(self) -> list[tuple[int, Symbol, int, bool]]:
        """The words that the loader writes: their address, symbol, addend, whether in the GOT."""
        found: list[tuple[int, Symbol, int, bool]] = []
        for part, (offset, _, symbol, addend) in self.loaded:
            found.append((self.starts[part] + offset, symbol, addend, False))
        return found + [(self._slot_address(s), s, 0, True) for s in self.slots]

    def _dynamic(self) -> bytes:
        """.dynamic."""
        rows = [(NEEDED, place) for place in self.needed]
        rows.append((SONAME, self.soname))
        if self.runpath is not None:
            rows.append((RUNPATH, self.runpath))
        at = {name: piece.header for name, piece in self.pieces.items()}
        for tag, name in (
            *((GNU_HASH, ".gnu.hash"), (HASH, ".hash"), (STRTAB, ".dynstr")),
            *((SYMTAB, ".dynsym"), (VERSYM, ".gnu.version"), (VERNEED, ".gnu.version_r")),
        ):
            if name in at:
                rows.append((tag, at[name].address))
        if ".gnu.version_r" in at:
            rows.append((VERNEEDNUM, self.version_count))
        rows += [(STRSZ, at[".dynstr"].size), (SYMENT, elf.SYMBOL.size)]
        if ".rela.dyn" in at:
            rows += [(RELA, at[".rela.dyn"].address), (RELASZ, at[".rela.dyn"].size)]
            rows += [(RELAENT, elf.RELOCATION.size)]
            rows += [(RELACOUNT, getattr(self, "relative_count", 0))]
        rows += [(FLAGS, BIND_NOW), (FLAGS_1, NOW | NODELETE * self.stays), (NULL, 0)]
        return b"".join(elf.DYNAMIC_ENTRY.pack(*row) for row in rows)

    # The file.

    def _segment_rows(self) -> list[bytes]:
        rows: list[bytes] = []

        def add(kind: int, rights: int, place: Sequence[int], align: int) -> None:
            offset, address, held, size = place
            row = kind, rights, offset, address, address, held, size, align
            rows.append(elf.SEGMENT.pack(*row))

        for segment, *place in self.segments:
            add(elf.LOAD, RIGHTS[segment], place, self.page)
        dynamic = self.pieces[".dynamic"].header
        where = dynamic.offset, dynamic.address, dynamic.size, dynamic.size
        add(elf.DYNAMIC_SEGMENT, RIGHTS[RELRO_SEGMENT], where, 8)
        relro = next(row for row in self.segments if row[0] == RELRO_SEGMENT)
        add(elf.RELRO, elf.CAN_READ, relro[1:], 1)
        add(elf.STACK, RIGHTS[WRITE], (0, 0, 0, 0), 16)
        return rows

    def _add_tables(self, file: bytearray) -> list[elf.Header]:
        """Append the symbols for tools; all headers, the names' own last."""
        strings = elf.Strings()
        rows = [bytes(elf.SYMBOL.size), *local_symbols(self.image, strings, self._symbol_place)]
        local = len(rows)
        info = elf.GLOBAL << 4 | elf.FUNCTION
        for name in self.image.imports:
            rows.append(elf.SYMBOL.pack(strings.add(name), info, 0, elf.UNDEFINED, 0, 0))
        for name, symbol in self.image.exports.items():
            place = self._symbol_place(symbol)
            rows.append(elf.SYMBOL.pack(strings.add(name), info, 0, *place, symbol.size))
        texts = elf.Header(".strtab", elf.STRTAB)
        table = elf.Header(".symtab", elf.SYMTAB, link=texts, info=local, align=8, entry=24)
        file += bytes(-len(file) % 8)
        for header, data in ((table, b"".join(rows)), (texts, bytes(strings.data))):
            header.offset, header.size = len(file), len(data)
            file += data
        names = elf.Header(".shstrtab", elf.STRTAB)
        return [*(piece.header for piece in self.pieces.values()), table, texts, names]

    def _header(self, segments: int, sections: int, place: int) -> bytes:
        return elf.HEADER.pack(
            elf.MAGIC, elf.SHARED, self.image.machine, 1, 0, elf.HEADER.size, place, 0,
            elf.HEADER.size, elf.SEGMENT.size, segments, elf.SECTION_BYTES, sections, sections - 1,
        )  # fmt: skip


def _numbered(symbols: list[Symbol]) -> dict[Symbol, int]:
    return {symbol: k for k, symbol in enumerate(dict.fromkeys(symbols))}


def _stub(machine: int, place: int, slot: int) -> bytes:
    """A jump to the address in a slot."""
    if machine == elf.X86_64:
        return b"\xff\x25" + struct.pack("<i", slot - place - 6) + b"\xcc" * 10
    # adrp x16, slot; ldr x17, [x16, slot]; br x17; brk
    code = bytearray(struct.pack("<4I", 0x90000010, 0xF9400211, 0xD61F0220, 0xD4200000))
    page, low = relocations.WAYS[machine][311], relocations.WAYS[machine][312]
    relocations.apply(code, 0, page, slot, place)
    relocations.apply(code, 4, low, slot, place + 4)
    return bytes(code)
