"""Object files in this process, from LLVM or from the disk: linked, and callable."""

from __future__ import annotations

import ctypes
import itertools
import re
import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradir.codegen.vector_math.target_functions import LIBRARY_FUNCTIONS
from gradir.errors import CompileError
from gradir.forking import compiler_lock
from gradir.runtime.llvm import llvm
from gradir.runtime.threads import library_function

# The first bytes of an object file: ELF, 64 bits, little endian.
MAGIC = b"\x7fELF\x02\x01"
# SHT_SYMTAB, SHN_UNDEF, and the size of an Elf64_Sym.
SYMBOL_TABLE = 2
UNDEFINED_SECTION = 0
SYMBOL_BYTES = 24
# The symbol in position-independent code that the linker defines.
LINKERS_OWN = ("_GLOBAL_OFFSET_TABLE_",)

# One thread at a time has a linker.
_linking = compiler_lock()


class _Linker:
    """An LLVM linker for a few libraries; closed after `leave` and the last `unload`.

    LLVM keeps some kilobytes of each library until its linker is closed, and a linker takes
    longer to make than a library. `unload` takes no lock: it may run at any point, when an object
    is collected.
    """

    LIBRARIES = 16

    def __init__(self) -> None:
        # JITLink places code and constants in one allocation, so that 32-bit offsets reach them;
        # the older linker asks for them one by one, which fails in a process that has mapped
        # gigabytes
        self._linker = llvm().create_lljit_compiler(use_jit_link=True)
        # empty when the linker is closed or being closed: the taker of the entry closes it
        self._open = [self._linker]
        self._live: set[int] = set()
        self._free_places = self.LIBRARIES
        self._is_left = False

    def link(self, library: Any) -> tuple[Any, int]:
        """Load a library; returns its tracker and number, for `unload`."""
        number = next(_library_numbers)
        self._free_places -= 1
        self._live.add(number)
        try:
            return library.link(self._linker, f"gradir_{number}"), number
        except BaseException:
            self._live.discard(number)
            raise

    def unload(self, tracker: Any, number: int) -> None:
        """Free a library."""
        tracker.close()
        self._live.discard(number)
        self._close_if_unused()

    def is_full(self) -> bool:
        return self._free_places <= 0

    def leave(self) -> None:
        """Close the linker after its last library."""
        self._is_left = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._is_left or self._live:
            return
        try:
            linker = self._open.pop()
        except IndexError:
            return
        linker.close()


class LoadedCode:
    """Native code in memory with the lifetime of this object."""

    def __init__(
        self, objects: Sequence[bytes], entries: Sequence[str], symbols: Mapping[str, int]
    ):
        """Load object files; `symbols` are the addresses of the functions that they call.

        `addresses` says where the functions `entries` begin.
        """
        library = llvm().JITLibraryBuilder()
        for data in objects:
            library.add_object_img(data)
        for entry in entries:
            library.export_symbol(entry)
        imported = _imported(objects, symbols)
        if imported is None:
            library.add_current_process()
            imported = symbols
        for name, address in imported.items():
            library.import_symbol(name, address)
        with _linking:
            linker = _linker()
            try:
                tracker, number = linker.link(library)
            except RuntimeError as error:
                raise CompileError(f"native code that cannot be loaded: {error}") from None
        # at the end of the process the system frees everything, and threads may still run code
        end: Any = weakref.finalize(self, linker.unload, tracker, number)
        end.atexit = False
        self.addresses = {entry: int(tracker[entry]) for entry in entries}
        for entry, address in self.addresses.items():
            if not address:
                raise CompileError(f"the compiled code has no function {entry}")
        self.address = self.addresses[entries[0]]

    def function(self) -> Any:
        """The first function, `void (ptr)`, callable with an address; it releases the GIL."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)


def _imported(objects: Sequence[bytes], symbols: Mapping[str, int]) -> dict[str, int] | None:
    """The addresses of the symbols that no object defines; None for an unknown format.

    CompileError for a symbol that is none of the allowed functions of the C library: a loaded
    library may define the name with another meaning. LLVM's linker would print a missing symbol,
    and stop.
    """
    undefined = undefined_symbols(objects)
    if undefined is None:
        return None
    unknown = [n for n in undefined if n not in symbols and n not in LIBRARY_FUNCTIONS]
    if unknown:
        raise CompileError(
            f"the native code calls functions that gradir does not have: {', '.join(unknown)}"
        )
    called = {n: library_function(n) for n in undefined if n not in symbols}
    return called | dict(symbols)


# LLVM chooses library functions while it emits code: no earlier text names them.


def undefined_symbols(objects: Sequence[bytes]) -> tuple[str, ...] | None:
    """The names that no object defines, sorted; None for a format other than ELF of 64 bits."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for data in objects:
        if not data.startswith(MAGIC):
            return None
        for table in _symbol_tables(data):
            for name, is_defined in _global_symbols(data, *table):
                named[is_defined].add(name)
    return tuple(sorted(named[False] - named[True] - {"", *LINKERS_OWN}))


def _symbol_tables(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each symbol table: the start of its global part, its end, the offset of its names."""
    (headers,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + k * size) for k in range(count)]
    for _, kind, _, _, offset, length, names, first_global, _, _ in sections:
        if kind == SYMBOL_TABLE:
            yield offset + first_global * SYMBOL_BYTES, offset + length, sections[names][4]


def _global_symbols(data: bytes, start: int, end: int, names: int) -> Iterator[tuple[str, bool]]:
    """The names of a table, and whether the object defines them."""
    for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[start:end]):
        first = names + name
        yield data[first : data.index(b"\0", first)].decode(), section != UNDEFINED_SECTION


def kernel_assembly(text: str, kernel: str) -> str:
    """The functions of one kernel in the assembly of a module."""
    function = rf'^_?"?{re.escape(kernel)}\.[^:\n]*:.*?^\.?Lfunc_end\d+:'
    return "\n".join(re.findall(function, text, re.DOTALL | re.MULTILINE))


_library_numbers = itertools.count()
_linkers: list[_Linker] = []


def _linker() -> _Linker:
    """The linker for the next library; the lock is held."""
    if _linkers and _linkers[0].is_full():
        _linkers.pop().leave()
    if not _linkers:
        _linkers.append(_Linker())
    return _linkers[0]
