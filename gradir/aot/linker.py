"""Objects to one image: each program's names are its own, and what is left over is imported.

The objects of a program form a unit. A name is looked for in its own unit, then in the shared one,
then among the functions that a library may import; so two programs may both have a
`gradir_entry`. An image is the sections by kind, one behind the other, and the symbols.
`elf_library.py` writes it as a shared library, `elf_object.py` as an object for other linkers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradir.aot import elf
from gradir.aot.objects import (
    KINDS,
    ZEROS,
    ObjectCode,
    Relocation,
    Section,
    Symbol,
)
from gradir.aot.relocations import PLAIN, WAYS, unknown_type
from gradir.errors import CompileError

NO_LIBRARY = ""
"""The library of an imported symbol that whoever links or loads the library has to provide."""


@dataclass
class Unit:
    """Objects that see each other's names; `prefix` is put before these in symbol tables."""

    prefix: str
    objects: Sequence[ObjectCode]


@dataclass
class ImagePart:
    """All sections of one kind."""

    kind: str
    data: bytearray = field(default_factory=bytearray)
    size: int = 0
    align: int = 1


@dataclass
class Image:
    """Linked code. `places` says where in its part each section is.

    `relocated` are the sections with relocations, of each part. `special` are the relocations that
    need more than the place of a symbol of their object, with their sections; `found` has the
    symbol for one that is defined elsewhere: in the image, or one of `imports`. `libraries` has the
    libraries of these.
    """

    machine: int
    parts: Mapping[str, ImagePart]
    places: Mapping[Section, int]
    relocated: Mapping[str, Sequence[Section]]
    special: Sequence[tuple[Section, Relocation]]
    found: Mapping[Symbol, Symbol]
    symbols: Sequence[tuple[str, Symbol]]
    exports: Mapping[str, Symbol]
    imports: Mapping[str, Symbol]
    libraries: Mapping[str, str]

    def relocations(self, kind: str) -> Iterator[Relocation]:
        """Those of a part, with offsets there, and the symbols that are meant."""
        found = self.found
        for section in self.relocated[kind]:
            start = self.places[section]
            for offset, type_, symbol, addend in section.relocations:
                yield start + offset, type_, found.get(symbol, symbol), addend

    def offset(self, symbol: Symbol) -> int:
        """The place of a defined symbol in its part."""
        assert symbol.section is not None
        return self.places[symbol.section] + symbol.value


def link(
    units: Sequence[Unit], shared: Unit, exports: Iterable[str], libraries: Mapping[str, str]
) -> Image:
    """The image of units. `exports` are names of the shared unit that others see, `libraries` the
    functions that may be imported, with the library of each."""
    every = [*units, shared]
    machines = {o.machine for unit in every for o in unit.objects}
    if len(machines) != 1:
        raise CompileError("ahead of time: the objects of a library are for different machines")
    machine = machines.pop()
    sections = [s for unit in every for o in unit.objects for s in o.sections]
    parts, places = _placed(sections)
    common, imports = _globals(shared), dict[str, Symbol]()
    relocated: dict[str, list[Section]] = {kind: [] for kind in KINDS}
    known, plain, found = WAYS[machine], PLAIN[machine], dict[Symbol, Symbol]()
    special: list[tuple[Section, Relocation]] = []
    for unit in every:
        own = common if unit is shared else _globals(unit)
        for section in [s for o in unit.objects for s in o.sections if s.relocations]:
            relocated[section.kind].append(section)
            for relocation in section.relocations:
                symbol = relocation[2]
                if relocation[1] in plain and symbol.section is not None:
                    continue  # most of all
                special.append((section, relocation))
                if relocation[1] not in known:
                    raise unknown_type(machine, relocation[1], symbol.name)
                if symbol.section is None and symbol not in found:
                    found[symbol] = _found(symbol.name, own, common, imports, libraries)
    symbols = [
        (f"{unit.prefix}{s.name}", s)
        for unit in every
        for o in unit.objects
        for s in o.symbols
        # tools look for functions; others are half of the names
        if s.type == elf.FUNCTION and s.section is not None
    ]
    missing = [name for name in exports if name not in common]
    assert not missing, missing
    seen = {name: common[name] for name in exports}
    return Image(
        machine, parts, places, relocated, special, found, symbols, seen, imports, libraries
    )


def _placed(sections: Iterable[Section]) -> tuple[dict[str, ImagePart], dict[Section, int]]:
    parts = {kind: ImagePart(kind) for kind in KINDS}
    places: dict[Section, int] = {}
    for section in sections:
        part = parts[section.kind]
        place = elf.aligned(part.size, section.align)
        if section.kind != ZEROS:
            if place > part.size:
                part.data += bytes(place - part.size)
            part.data += section.data
        places[section], part.size = place, place + section.size
        if section.align > part.align:
            part.align = section.align
    return parts, places


def _globals(unit: Unit) -> dict[str, Symbol]:
    """The names that the objects of a unit define for each other."""
    found: dict[str, Symbol] = {}
    for symbol in (s for o in unit.objects for s in o.symbols):
        if symbol.is_global and symbol.section is not None:
            if symbol.name in found:
                raise CompileError(f"ahead of time: {symbol.name} is defined twice")
            found[symbol.name] = symbol
    return found


def _found(
    name: str,
    own: Mapping[str, Symbol],
    shared: Mapping[str, Symbol],
    imports: dict[str, Symbol],
    libraries: Mapping[str, str],
) -> Symbol:
    found = own.get(name) or shared.get(name) or imports.get(name)
    if found is None:
        if name not in libraries:
            raise CompileError(
                f"ahead of time: the native code calls {name}, which no library may import"
            )
        found = imports[name] = Symbol(name, None, type=elf.FUNCTION)
    return found
