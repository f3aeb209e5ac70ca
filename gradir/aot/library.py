"""Compiled functions as one image: their objects, the code around them, and what that reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from gradir.aot import elf
from gradir.aot.abi import (
    ABI,
    ARRAY,
    ARRAY_INFO,
    BLOCK_BYTES,
    CONSTANT,
    EXTENT,
    FUNCTION,
    GROWING,
    INFO,
    MESSAGE,
    PROGRAM,
    WANTED,
    WORKSPACE_ALIGNMENT,
)
from gradir.aot.callers import ENDS, caller_functions
from gradir.aot.collectives import CollectiveCall, collective_functions
from gradir.aot.cpu import LEVEL_NUMBERS, cpu_functions, cpu_instructions
from gradir.aot.entry import CALL, entry_functions
from gradir.aot.groups import NO_GROUPS, Groups
from gradir.aot.hosts import (
    handles,
    host_function,
    host_records,
    library_of,
    named_groups,
    operators_of,
    symbol_of,
)
from gradir.aot.linker import Image, Unit, link
from gradir.aot.mpi import FUNCTIONS, LIBRARIES, MpiLibrary
from gradir.aot.mpi_code import REQUESTS
from gradir.aot.objects import ObjectCode, Symbol, read_object
from gradir.aot.program import (
    ArrayRole,
    CompiledFunction,
    LevelCode,
    LibraryCall,
    PlacedMessage,
)
from gradir.aot.quick_checks import (
    DIFFER,
    FOUR,
    MOST_LANES,
    NO_END,
    end_of,
    extents_of,
    in_fours,
    meetings_of,
    quick_functions,
)
from gradir.aot.records import DataRecords, Value
from gradir.aot.threads import GROW, grow_function
from gradir.codegen.driver import pool
from gradir.codegen.driver.report import CompiledProgram
from gradir.codegen.text.table import TABLE_ARGUMENTS
from gradir.codegen.text.target import MachineTarget, target_of
from gradir.codegen.vector_math.target_functions import LIBRARY_FUNCTIONS, completed
from gradir.errors import CompileError
from gradir.runtime.collectives import is_collective
from gradir.runtime.fixed_code import fixed_object
from gradir.runtime.llvm import FULL
from gradir.runtime.native_blocks import DTYPES

LIBC, LIBM, LIBPTHREAD = "libc.so.6", "libm.so.6", "libpthread.so.0"
_MATH = ("fmod", "fmodf", "fma")
_OLD_THREADS = ("pthread_create", "pthread_detach", "pthread_attr_setstacksize")
"""Of a library of their own, up to glibc 2.33."""

IMPORTS: Mapping[str, str] = MappingProxyType(
    {name: LIBM if name in _MATH else LIBC for name in LIBRARY_FUNCTIONS}
    | dict.fromkeys(("snprintf", "realloc", "free"), LIBC)
)
"""The functions that a library may import, with the libraries that have them."""


def thread_imports() -> dict[str, str]:
    """Those of a library with threads."""
    from gradir.aot.threads import FUNCTIONS

    every = (*FUNCTIONS, *pool.LIBRARY_FUNCTIONS)
    return {name: LIBPTHREAD if name in _OLD_THREADS else LIBC for name in every}


@dataclass(frozen=True)
class Workspace:
    """The memory of a call: where the arena and the first blocks of growing memory are. Its first
    `words` are 0 when a call begins: the table, and from `requests` on those of collectives."""

    requests: int
    words: int
    arena: int
    blocks: tuple[int, ...]
    size: int


def workspace_of(program: CompiledProgram) -> Workspace:
    """The workspace of a program: its table, blocks with room for one record each, its arena."""
    requests = 8 * program.table_words
    end = requests + REQUESTS.size * _collectives(program)
    words = end // 8
    blocks: list[int] = []
    for _, stride, _ in program.growing:
        end = elf.aligned(end, BLOCK_BYTES)
        blocks.append(end)
        end += BLOCK_BYTES + stride
    arena = elf.aligned(end, WORKSPACE_ALIGNMENT) if program.arena_bytes else 0
    end = arena + program.arena_bytes if program.arena_bytes else end
    size = elf.aligned(end, WORKSPACE_ALIGNMENT)
    return Workspace(requests, words, arena, tuple(blocks), size)


def _collectives(program: CompiledProgram) -> int:
    return sum(is_collective(site) for site in program.host_calls)


def workspace_bytes(function: CompiledFunction) -> int:
    """The workspace of the level that needs most."""
    return max(workspace_of(level.code.program).size for level in function.levels)


def exported(functions: Iterable[CompiledFunction]) -> list[str]:
    """The symbols that others see."""
    return [f"{f.name}{end}" for f in functions for end in ENDS]


def is_parallel(functions: Iterable[CompiledFunction]) -> bool:
    """Whether any of the functions has work for several threads."""
    return any(level.code.program.is_parallel for f in functions for level in f.levels)


def build_image(
    functions: Sequence[CompiledFunction],
    target: MachineTarget,
    threads: int,
    version: str,
    mpi: MpiLibrary = LIBRARIES["mpich"],
    groups: Groups = NO_GROUPS,
) -> Image:
    """The image of functions, with the code that they share, for the lowest target."""
    machine = elf.AARCH64 if target.level == "aarch64" else elf.X86_64
    units: list[Unit] = []
    entries: dict[tuple[str, str], Symbol] = {}
    imports = {**IMPORTS, **_operators(functions)}
    for function in functions:
        for level in function.levels:
            objects = [read_object(data) for data in level.code.objects]
            entries[function.name, level.level] = _defined(objects, level.code.program.entry)
            if level.calls:
                place = workspace_of(level.code.program).requests
                objects.append(host_records(level.calls, machine, mpi, place))
            units.append(Unit(f"{function.name}.{level.level}.", objects))
    differs: dict[str, Symbol] = {}
    for name in dict.fromkeys(level.level for f in functions for level in f.levels):
        level = target_of(name)
        checks = _shared_object(quick_functions(level.vector_bytes // 4), level)
        differs[name] = _defined([checks], DIFFER)
        units.append(Unit(f"gradir.{name}.", [checks]))
    with_threads = threads > 1 and is_parallel(functions)
    kinds = sorted({call.kind for call in _calls(functions) if isinstance(call, CollectiveCall)})
    if kinds:
        imports |= dict.fromkeys((*FUNCTIONS, *mpi.variables), mpi.file)
    if with_threads:
        imports |= thread_imports()
    texts = _shared_texts(functions, target, threads if with_threads else 1, kinds, mpi)
    objects = [_shared_object(text, target) for text in texts]
    if machine == elf.X86_64:
        objects.append(cpu_instructions())
    if kinds:
        objects.append(handles(machine, mpi, _calls(functions), groups))
    grow = _defined(objects, GROW) if with_threads else None
    records, placed = _records(functions, machine, entries, differs, grow, threads, version)
    callers = caller_functions(machine, _defined(objects, CALL), placed)
    objects += [callers, records]
    return link(units, Unit("gradir.", objects), exported(functions), imports)


@lru_cache(maxsize=8)
def _with_processor(entry: str, target: MachineTarget) -> str:
    """The code around programs, with what it needs to know of the target's kind of processor."""
    return "\n".join([*completed(entry, target), cpu_functions(target.level != "aarch64")])


@lru_cache(maxsize=16)
def _shared_object(text: str, target: MachineTarget) -> ObjectCode:
    """Code that all libraries share, read once in a process; nobody changes an object."""
    return read_object(fixed_object(text, target, FULL))


def _calls(functions: Iterable[CompiledFunction]) -> list[LibraryCall]:
    """The calls of operators and collectives, at all levels."""
    return [call for f in functions for level in f.levels for call in level.calls]


def _shared_texts(
    functions: Sequence[CompiledFunction],
    target: MachineTarget,
    threads: int,
    kinds: Sequence[str],
    mpi: MpiLibrary,
) -> list[str]:
    """The modules that all programs share; one thread needs no pool."""
    grows = any(level.code.program.growing for f in functions for level in f.levels)
    texts = [_with_processor(entry_functions(grows, bool(kinds)), target)]
    calls = _calls(functions)
    if calls:
        texts.append(host_function(bool(operators_of(calls)), bool(kinds)))
    if kinds:
        texts.append(collective_functions(kinds, mpi.in_place, bool(named_groups(calls))))
    if threads > 1:
        texts += [pool.pool_functions(target), grow_function(threads)]
    return texts


def _defined(objects: Iterable[ObjectCode], name: str) -> Symbol:
    return next(s for o in objects for s in o.symbols if s.name == name and s.section is not None)


def _operators(functions: Sequence[CompiledFunction]) -> dict[str, str]:
    """The symbols of native operators, with the libraries that have them.

    CompileError for a symbol that would be found twice: a process has one for each name.
    """
    found: dict[str, str] = {}
    own = set(exported(functions))
    for function in operators_of(_calls(functions)):
        symbol, library = symbol_of(function), library_of(function)
        other = found.setdefault(symbol, library)
        if symbol in own or other != library:
            why = "the name of an exported function" if symbol in own else f"in {other}, too"
            raise CompileError(
                f"ahead of time: the symbol {symbol} of a native operator in {library} is {why}; "
                "give one of them another name"
            )
    return found


def _records(
    functions: Iterable[CompiledFunction],
    machine: int,
    entries: Mapping[tuple[str, str], Symbol],
    differs: Mapping[str, Symbol],
    grow: Symbol | None,
    threads: int,
    version: str,
) -> tuple[ObjectCode, list[tuple[str, int, Symbol, Symbol]]]:
    """The records of all functions, and for each its name, the bytes of its workspace, its record
    and its description."""
    records, placed = DataRecords(machine), list[tuple[str, int, Symbol, Symbol]]()
    for function in functions:
        every = [_array(a, records) for a in (*function.inputs, *function.results)]
        rooms = [workspace_of(level.code.program) for level in function.levels]
        info = _info(function, every, rooms, records, threads, version)
        programs = records.structs(
            PROGRAM,
            [
                _program(
                    level, room, records, entries[function.name, level.level], differs[level.level]
                )
                for level, room in reversed([*zip(function.levels, rooms, strict=True)])
            ],
        )
        row: dict[str, Value] = {"info": info, "programs": programs, "grow": grow}
        size = max(room.size for room in rooms)
        row |= _quick_checks(function, every, size, records)
        record = records.structs(FUNCTION, [row], f"{function.name}.record")
        placed.append((function.name, size, record, info))
    return records.object_code(), placed


def _quick_checks(
    function: CompiledFunction,
    arrays: Sequence[dict[str, Value]],
    workspace: int,
    records: DataRecords,
) -> dict[str, Value]:
    """What the quick checks of a call read."""
    inputs, results = function.inputs, function.results
    fours = in_fours(len(inputs)), in_fours(len(results))
    lanes = [*fours[0], *(len(inputs) + k for k in fours[1])]
    places = [ARRAY.size * k for four in fours for k in four]
    wanted = [_wanted(array) for array in arrays]
    sizes = [a.spec.nbytes for a in (*inputs, *results)]
    ends = [end_of(size) for size in sizes]
    masks = [a.spec.dtype.itemsize - 1 for a in (*inputs, *results)]
    extents = [extents_of([a.spec.shape for a in each]) for each in (inputs, results)]
    return {
        "wanted": records.structs(WANTED, [wanted[k] for k in lanes], align=16),
        "places": records.halves(places),
        "masks": records.halves([*(masks[k] for k in lanes), *[0] * MOST_LANES]),
        "ends": records.halves([*(ends[k] for k in lanes), *[NO_END] * MOST_LANES]),
        "meetings": meetings_of([*sizes, workspace], len(results)),
        "workspace_end": end_of(workspace),
        "results": len(results),
        "in_fours": len(fours[0]) // FOUR,
        "out_fours": len(fours[1]) // FOUR,
        "extents": records.structs(EXTENT, [row for rows in extents for row in rows]),
        "in_extents": len(extents[0]),
        "out_extents": len(extents[1]),
    }


def _wanted(said: dict[str, Value]) -> dict[str, Value]:
    """What an array must be, by its description."""
    rank, dtype = said["rank"], said["dtype"]
    assert isinstance(rank, int) and isinstance(dtype, int)
    kind = rank | dtype << 32
    return {"shape": said["shape"], "size": said["size"], "kind": kind, "request": said["request"]}


def _info(
    function: CompiledFunction,
    arrays: Sequence[dict[str, Value]],
    rooms: Sequence[Workspace],
    records: DataRecords,
    threads: int,
    version: str,
) -> Symbol:
    programs = [level.code.program for level in function.levels]
    row: dict[str, Value] = {
        "abi": ABI,
        "threads": threads if is_parallel([function]) else 1,
        "version": records.text(version),
        "name": records.text(function.name),
        "in": records.structs(ARRAY_INFO, arrays[: len(function.inputs)]),
        "out": records.structs(ARRAY_INFO, arrays[len(function.inputs) :]),
        "n_in": len(function.inputs),
        "n_out": len(function.results),
        "n_levels": len(function.levels),
        "grows": int(any(p.growing for p in programs)),
        "workspace_bytes": max(room.size for room in rooms),
        "levels": records.pointers([records.text(level.level) for level in function.levels]),
        "level_bytes": records.words([room.size for room in rooms]),
    }
    return records.structs(INFO, [row], f"{function.name}.info")


def _array(array: ArrayRole, records: DataRecords) -> dict[str, Value]:
    spec = array.spec
    return {
        "name": records.text(spec.name),
        "shape": records.words(spec.shape or (0,)),
        "size": spec.nbytes // spec.dtype.itemsize,
        "bytes": spec.nbytes,
        "rank": len(spec.shape),
        "dtype": _dtype_number(spec.dtype),
        "request": array.request,
        "alignment": spec.dtype.itemsize,
    }


@cache
def _dtype_number(dtype: np.dtype[Any]) -> int:
    """A dtype's number in C; its name takes NumPy longer than all else of an array."""
    return DTYPES.index(dtype.name)


def _program(
    level: LevelCode, place: Workspace, records: DataRecords, entry: Symbol, differ: Symbol
) -> dict[str, Any]:
    program = level.code.program
    constants = [
        {"word": c.word, "data": records.constant(c.data or b"\0", WORKSPACE_ALIGNMENT, c.name)}
        for c in program.constants
    ]
    growing = [
        {"word": word, "stride": stride, "place": block}
        for (word, stride, _), block in zip(program.growing, place.blocks, strict=True)
    ]
    return {
        "entry": entry,
        "differ": differ,
        "least": LEVEL_NUMBERS[level.level],
        "workspace_bytes": place.size,
        "words": place.words,
        "first": TABLE_ARGUMENTS + (program.arena_bytes is not None),
        "arena": place.arena,
        "constants": records.structs(CONSTANT, constants),
        "n_constants": len(constants),
        "growing": records.structs(GROWING, growing),
        "n_growing": len(growing),
        "messages": records.structs(MESSAGE, [_message(m, records) for m in program.messages]),
        "is_parallel": int(program.is_parallel),
        "requests": place.requests,
        "n_requests": _collectives(program),
    }


def _message(text: str, records: DataRecords) -> dict[str, Value]:
    message = PlacedMessage.of(text)
    return {
        "text": records.text(message.text),
        "file": records.text(message.file),
        "op": records.text(message.op),
        "line": message.line,
        "column": message.column,
    }
