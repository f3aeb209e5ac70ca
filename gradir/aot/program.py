"""A function at each level of a library, and refusals: what needs the process that compiles it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from gradir.aot.abi import ADD, WRITE
from gradir.aot.collectives import CollectiveCall, collective_call, collective_place
from gradir.aot.groups import NO_GROUPS, Groups
from gradir.codegen.text.target import HOST, LEVELS, MachineTarget, target_of
from gradir.compiler.compiler import native_code
from gradir.compiler.pipeline import Machine
from gradir.dialects.grad.host_functions import HostFunction
from gradir.errors import ArgumentError, CompileError
from gradir.runtime.arrays import ArraySpec, spec_of
from gradir.runtime.collectives import is_collective
from gradir.runtime.host import host_call_at
from gradir.runtime.host_calls import HostCall
from gradir.runtime.native_code import NativeCode
from gradir.runtime.native_functions import NativeFunction
from gradir.symbols import function_named

_PLACE = re.compile(r"(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?P<rest>.*)", re.DOTALL)
_OP = re.compile(r"[a-z_]+\.[a-z_0-9]+")

LEVELS_OF_X86 = ("x86-64", "x86-64-v3", "x86-64-v4")
"""The levels of a library where none are named: SSE2, AVX2, AVX-512."""


@dataclass(frozen=True)
class ArrayRole:
    """An array of a function, and for a result what is done with its contents: WRITE or ADD."""

    spec: ArraySpec
    request: int = 0


LibraryCall = HostCall | CollectiveCall
"""A call that a library makes: of a native operator, or a collective."""


@dataclass(frozen=True)
class LevelCode:
    """A function at one level, and the calls that it makes."""

    level: str
    code: NativeCode
    calls: tuple[LibraryCall, ...]


@dataclass(frozen=True)
class CompiledFunction:
    """A function by its name in C, at each level, the lowest first."""

    name: str
    source: str
    inputs: tuple[ArrayRole, ...]
    results: tuple[ArrayRole, ...]
    levels: tuple[LevelCode, ...]


@dataclass(frozen=True)
class PlacedMessage:
    """A message of a program, in parts: its text is without its place."""

    text: str
    file: str | None = None
    op: str | None = None
    line: int = 0
    column: int = 0

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, message: str) -> PlacedMessage:
        """The parts of a message that begins with a place, if it does; all levels have the same."""
        found = _PLACE.match(message)
        rest = message if found is None else found["rest"]
        op = _OP.match(rest)
        name = None if op is None else op[0]
        if found is None:
            return cls(rest, op=name)
        return cls(rest, found["file"], name, int(found["line"]), int(found["column"]))


def targets_of(levels: Sequence[str] | None, is_arm: bool) -> list[MachineTarget]:
    """The targets of some levels, the lowest first; by default those of this machine's kind."""
    names = [*levels] if levels else ["aarch64"] if is_arm else [*LEVELS_OF_X86]
    known = ", ".join(LEVELS)
    for name in names:
        if name == HOST or name not in LEVELS:
            raise ArgumentError(f"target: expected levels out of {known}, got {name!r}")
    if len({*names}) < len(names):
        raise ArgumentError(f"target: expected each level once, got {', '.join(names)}")
    if "aarch64" in names and len(names) > 1:
        raise ArgumentError(
            f"target: a library is for one kind of processor, got {', '.join(names)}; "
            "export one for each"
        )
    return [target_of(name) for name in sorted(names, key=LEVELS.index)]


def compiled_function(
    name: str,
    source: str,
    modules: Sequence[ModuleOp],
    functions: Mapping[str, HostFunction],
    targets: Sequence[MachineTarget],
    threads: int,
    groups: Groups = NO_GROUPS,
) -> CompiledFunction:
    """`@source` of a module for each target, which are used up, by the name that C gets.

    CompileError, located, for what cannot leave this process.
    """
    names = _result_names(function_named(modules[0], source))
    codes = [
        (target.level, native_code(module, source, Machine(target, threads)))
        for module, target in zip(modules, targets, strict=True)
    ]
    return function_of_codes(name, source, codes, names, functions, groups)


def function_of_codes(
    name: str,
    source: str,
    codes: Sequence[tuple[str, NativeCode]],
    result_names: Sequence[str | None],
    functions: Mapping[str, HostFunction],
    groups: Groups = NO_GROUPS,
) -> CompiledFunction:
    """The function of code for some levels, the lowest first."""
    made: list[LevelCode] = []
    for level, code in codes:
        _refuse_tapes(code, source)
        calls = tuple(_native_call(site, functions, groups) for site in code.program.host_calls)
        made.append(LevelCode(level, code, calls))
    first = made[0].code
    # row slices are two results each, which have other names
    names = dict(enumerate(result_names)) if first.layout is None else {}
    results = [
        ArrayRole(
            spec_of(names.get(k) or p.name, p.type), ADD if k in first.read_results else WRITE
        )
        for k, p in enumerate(first.program.results)
    ]
    inputs = [ArrayRole(spec_of(p.name, p.type)) for p in first.program.inputs]
    return CompiledFunction(name, source, tuple(inputs), tuple(results), tuple(made))


def _result_names(function: FuncOp) -> list[str | None]:
    """The source names of the returned values of a function."""
    returned = function.get_return_op()
    return [] if returned is None else [operand.name_hint for operand in returned.operands]


def _refuse_tapes(code: NativeCode, name: str) -> None:
    program = code.program
    if any(program.input_tapes) or any(program.result_tapes):
        raise CompileError(
            f"@{name}: arguments and results of a library must be arrays, got a tape; mode=vjp or "
            "mode=grad keeps it inside of one function"
        )
    if code.complexes is not None:
        raise CompileError(
            f"@{name}: arguments and results of a library must be real, got complex ones; hand "
            "over real and imaginary parts, of array.real, array.imag and array.complex"
        )


def _native_call(site: Any, functions: Mapping[str, HostFunction], groups: Groups) -> LibraryCall:
    """The call of a collective, or of a native operator that a linker can find; CompileError for
    any other call."""
    if is_collective(site):
        found = collective_call(site, groups)
        if isinstance(found, str):
            raise _refused(collective_place(site), found)
        return found
    call = host_call_at(site, functions)
    operator = None if call.operator is None else call.operator.operator
    function = None if operator is None else operator.function
    if operator is None or not isinstance(function, NativeFunction):
        raise _refused(
            site.place,
            "a library cannot call Python; write it in native code "
            "(gradir.native) or with gradir's own operators",
        )
    if site.is_async or site.is_started or function.finish or operator.debug:
        raise _refused(
            site.place,
            "a library calls native operators on its own thread, got one that is "
            "async, or in debug mode",
        )
    if function.source is None:
        raise _refused(
            site.place,
            "a library finds a native operator by its symbol, got an address of "
            "this process or one with data; use gradir.native(path, symbol)",
        )
    return call


def _refused(place: str, text: str) -> CompileError:
    """The error at a call, whose name begins with its place in the source."""
    message = PlacedMessage.of(place)
    where = "" if message.file is None else f"{message.file}:{message.line}:{message.column}: "
    return CompileError(f"{where}error: {message.text}: {text}" if where else f"{place}: {text}")
