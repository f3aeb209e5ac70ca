"""The symbol tables of files: those that the loader looks in, and those for people's tools."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gradir.aot import elf
from gradir.aot.linker import Image
from gradir.aot.objects import Symbol

LIBC = "libc.so.6"
# Where a name alone means what old programs expect; the others are alike in all versions.
VERSIONS: Mapping[int, Mapping[str, str]] = MappingProxyType(
    {
        elf.X86_64: {
            "memcpy": "GLIBC_2.14",
            "pthread_cond_init": "GLIBC_2.3.2",
            "pthread_cond_signal": "GLIBC_2.3.2",
            "pthread_cond_wait": "GLIBC_2.3.2",
        },
        elf.AARCH64: {},
    }
)
# In .gnu.version: any version, and the first number of those that are needed.
ANY_VERSION, FIRST_NEEDED = 1, 2


@dataclass
class DynamicTable:
    """The symbols for the loader: none, the imports, then the exports by their buckets."""

    names: list[str]
    imports: list[Symbol]
    exports: list[tuple[str, Symbol]]
    places: list[int]
    buckets: int

    @property
    def first_export(self) -> int:
        return 1 + len(self.imports)

    def number(self, symbol: Symbol) -> int:
        """The number of an import."""
        return 1 + self.imports.index(symbol)


def dynamic_symbols(image: Image, strings: elf.Strings) -> DynamicTable:
    """The table of an image; `strings` takes its names."""
    buckets = max(1, len(image.exports) // 2)
    exports = sorted(image.exports.items(), key=lambda e: (elf.gnu_hash(e[0]) % buckets, e[0]))
    names = ["", *image.imports, *(name for name, _ in exports)]
    places = [strings.add(name) for name in names]
    return DynamicTable(names, [*image.imports.values()], exports, places, buckets)


def pack_dynamic(table: DynamicTable, place_of: Callable[[Symbol], tuple[int, int]]) -> bytes:
    """The bytes of a table; `place_of` gives the section number and the address of a symbol."""
    rows = [bytes(elf.SYMBOL.size)]
    info = elf.GLOBAL << 4 | elf.FUNCTION
    places = iter(table.places[1:])
    for _ in table.imports:
        rows.append(elf.SYMBOL.pack(next(places), info, 0, elf.UNDEFINED, 0, 0))
    for _, symbol in table.exports:
        rows.append(elf.SYMBOL.pack(next(places), info, 0, *place_of(symbol), symbol.size))
    return b"".join(rows)


def hash_table(table: DynamicTable) -> bytes:
    """DT_HASH, which old loaders read."""
    count = len(table.names)
    buckets, chains = [0] * max(1, count // 2), [0] * count
    for number in range(1, count):
        bucket = elf.symbol_hash(table.names[number]) % len(buckets)
        buckets[bucket], chains[number] = number, buckets[bucket]
    return struct.pack(f"<{2 + len(buckets) + count}I", len(buckets), count, *buckets, *chains)


def gnu_hash_table(table: DynamicTable) -> bytes:
    """DT_GNU_HASH: a filter of one word, buckets, and the hashes of the exports."""
    hashes = [elf.gnu_hash(name) for name, _ in table.exports]
    shift, word = 6, 0
    for each in hashes:
        word |= 1 << each % 64 | 1 << (each >> shift) % 64
    buckets, chain = [0] * table.buckets, list[int]()
    for k, each in enumerate(hashes):
        place = each % table.buckets
        buckets[place] = buckets[place] or table.first_export + k
        is_last = k + 1 == len(hashes) or hashes[k + 1] % table.buckets != place
        chain.append(each & ~1 | is_last)
    head = struct.pack("<4IQ", table.buckets, table.first_export, 1, shift, word)
    return head + struct.pack(f"<{len(buckets) + len(chain)}I", *buckets, *chain)


def version_tables(
    image: Image, names: Sequence[str], strings: elf.Strings
) -> tuple[bytes, bytes, int]:
    """.gnu.version, .gnu.version_r, and how many libraries that names; empty without versions."""
    wanted = VERSIONS[image.machine]
    used = sorted({wanted[n] for n in image.imports if n in wanted})
    if not used:
        return b"", b"", 0
    numbers = {version: FIRST_NEEDED + k for k, version in enumerate(used)}
    of_symbols = [0]
    for name in names[1:]:
        is_old = name in image.imports and name in wanted
        of_symbols.append(numbers[wanted[name]] if is_old else ANY_VERSION)
    needs = struct.pack("<HHIII", 1, len(used), strings.add(LIBC), 16, 0)
    for k, version in enumerate(used):
        following = 16 if k + 1 < len(used) else 0
        place = strings.add(version)
        needs += struct.pack(
            "<IHHII", elf.symbol_hash(version), 0, numbers[version], place, following
        )
    return struct.pack(f"<{len(of_symbols)}H", *of_symbols), needs, 1


def local_symbols(
    image: Image, strings: elf.Strings, place_of: Callable[[Symbol], tuple[int, int]]
) -> list[bytes]:
    """The rows of the symbols that only tools see: functions and data, by prefixed names."""
    exported = {*image.exports.values()}
    listed = [each for each in image.symbols if each[1] not in exported]
    places = strings.extend([name for name, _ in listed])
    pack, kind = elf.SYMBOL.pack, elf.LOCAL << 4
    return [
        pack(place, kind | symbol.type, 0, *place_of(symbol), symbol.size)
        for place, (_, symbol) in zip(places, listed, strict=True)
    ]
