"""gradir.export_library: functions as a library with a header for C."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from xdsl.dialects.builtin import ModuleOp

from gradir.aot.elf_library import write_library
from gradir.aot.elf_object import write_archive, write_object
from gradir.aot.files import linked_by, linker_words, write_files
from gradir.aot.groups import Groups, groups_of
from gradir.aot.header import check_names, description, header
from gradir.aot.hosts import operator_files
from gradir.aot.library import build_image, exported, is_parallel
from gradir.aot.mpi import LIBRARIES, MpiLibrary
from gradir.aot.program import CompiledFunction, compiled_function, targets_of
from gradir.api import Module
from gradir.argument_checks import known_arguments
from gradir.codegen.text.target import MachineTarget, host_is_arm
from gradir.compiler.dynamic import Shapes, needs_shapes, shapes_of_arrays, specialized
from gradir.dialects.base.diagnostics import PassError, value_name
from gradir.dialects.base.shapes import is_open
from gradir.dialects.grad.host_call import functions_of
from gradir.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    TraceError,
    gradir_errors,
)
from gradir.frontends.tracing.trace import Traced, function_name, traced
from gradir.frontends.transforms.donation import with_in_out
from gradir.frontends.transforms.jit import Jitted
from gradir.gc_pause import paused_gc
from gradir.runtime.threads import MAX_THREADS
from gradir.symbols import function_named

KINDS = ("shared", "object", "static")
# By words in targets, and by the ends of file names.
_FOREIGN = {"Mach-O": ("apple|darwin|macos", ".dylib"), "PE": ("windows|mingw|msvc", ".dll")}


@dataclass(frozen=True)
class ExportedLibrary:
    """The files that were written, and the names of the functions in C."""

    library: Path
    header: Path
    description: Path
    functions: tuple[str, ...]


@dataclass(frozen=True)
class _Wanted:
    """A function to export: its program, its name there and in C, the shapes of its arguments."""

    module: Module
    source: str
    name: str
    arrays: Sequence[Any] | None = None


@known_arguments
def export_library(
    function: Module | Callable[..., Any],
    path: str | PathLike[str],
    *arguments: Any,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    targets: Sequence[str] | str | None = None,
    threads: int = 1,
    kind: Literal["shared", "object", "static"] = "shared",
    linker: str | None = None,
    mpi: str = "mpich",
    groups: Mapping[str, Sequence[int] | Sequence[Sequence[int]]] | None = None,
) -> ExportedLibrary:
    """Write functions as native code for programs without Python: a library for C, and its header.

    `function` is a Module, whose `functions` are exported (a name, names, or a dict from names in
    the module to names in C; not needed if there is one), or a Python function, also one of
    gradir.jit or gradir.grad, for `arguments` like these (arrays, of which shape and dtype count,
    or gradir.Spec); `functions` may then be its name in C. Arguments and results are as in the
    program, nested ones in their order; docs/ahead-of-time.md has the interface.

    Beside the file at `path` are a header (.h) and a description (.json). `kind` "object" writes a
    relocatable object, "static" an archive with it. `targets` are levels, of which a call uses the
    best that the processor has: by default x86-64, x86-64-v3 and x86-64-v4, or aarch64. `threads`
    are the most threads of a call. `linker` is a command, such as "gcc" or "zig cc", that links in
    place of gradir. `mpi` says whose functions collectives call: "mpich" and its kin, "openmpi", or
    "abi", the ABI of MPI 5. `groups` has the ranks of the program's groups by name, as of
    {"even": [0, 2]}, or lists of ranks, of which each rank is in one; those of
    gradir.comm.add_group are known. Raises PassError and CompileError for what needs this process,
    such as calls of Python functions, and FileError; no file is written half.
    """
    place = _place(path)
    levels = _levels(targets)
    words = None if linker is None else linker_words(linker)
    _refuse_foreign(place, levels or (), words or ())
    if kind not in KINDS:
        raise ArgumentError(f"kind: one of {', '.join(KINDS)} expected, got {kind!r}")
    if type(threads) is not int or not 1 <= threads <= MAX_THREADS:
        raise ArgumentError(f"threads: a number from 1 to {MAX_THREADS} expected, got {threads!r}")
    chosen = targets_of(levels, host_is_arm())
    if mpi not in LIBRARIES:
        raise ArgumentError(f"mpi: one of {', '.join(LIBRARIES)} expected, got {mpi!r}")
    known_groups = groups_of(groups)
    wanted = _wanted(function, arguments, functions)
    check_names([each.name for each in wanted])
    outputs = output_files(place)
    refuse_inputs(outputs, [name for each in wanted for name in each.module._sources.files])
    with paused_gc():
        made = [_compiled(each, chosen, threads, known_groups) for each in wanted]
    refuse_inputs(outputs, operator_files(made))
    with paused_gc():
        files = _files(made, outputs, chosen, threads, kind, words, LIBRARIES[mpi], known_groups)
    write_files(files)
    library, top, said = files
    return ExportedLibrary(library, top, said, tuple(each.name for each in made))


def _place(path: str | PathLike[str]) -> Path:
    try:
        name = fspath(path)
        place = Path(name)
    except TypeError:
        raise ArgumentTypeError(f"path: expected the name of a file, got {path!r}") from None
    if not place.name or "\0" in name:
        raise ArgumentError(f"path: expected the name of a file, got {name!r}")
    return place


def _levels(targets: Sequence[str] | str | None) -> list[str] | None:
    if targets is None:
        return None
    several: Any = targets.split(",") if isinstance(targets, str) else targets
    is_sequence = isinstance(several, Sequence) and not isinstance(several, bytes)
    if not is_sequence or not all(isinstance(each, str) for each in several):
        raise ArgumentTypeError(f"targets: expected the names of levels, got {targets!r}")
    if not several:
        raise ArgumentError("targets: expected one level at least")
    return [*several]


def _refuse_foreign(place: Path, targets: Sequence[str], linker: Sequence[str]) -> None:
    """ArgumentError for formats that are not written here."""
    # names of folders say nothing
    asked = [*targets, *(Path(word).name for word in linker[:1])]
    asked += [word for word in linker[1:] if "/" not in word]
    for format, (words, end) in _FOREIGN.items():
        if place.name.endswith(end) or any(re.search(words, text) for text in asked):
            raise ArgumentError(
                f"{place.name}: gradir writes ELF files for Linux; a {format} file needs an "
                f"external linker{' for that format' if linker else ''}, and objects that are not "
                "ELF, which gradir does not write"
            )


def output_files(place: Path) -> tuple[Path, Path, Path]:
    """The library, the header and the description."""
    top, said = place.with_suffix(".h"), place.with_suffix(".json")
    if place in (top, said):
        raise ArgumentError(f"{place}: expected the name of a library, such as {place.stem}.so")
    return place, top, said


def refuse_inputs(outputs: Sequence[Path], inputs: Sequence[str]) -> None:
    """ArgumentError where a file to write is one of those that are read."""
    for output, name in ((o, i) for o in outputs for i in inputs):
        try:
            is_same = output.samefile(name)
        except (OSError, ValueError):
            continue  # one of them is no file
        if is_same:
            raise ArgumentError(
                f"cannot write '{output}': it is an input, '{name}'; give the library another name"
            )


# What is exported.


def _wanted(
    function: Module | Callable[..., Any],
    arguments: Sequence[Any],
    functions: str | Sequence[str] | Mapping[str, str] | None,
) -> list[_Wanted]:
    if isinstance(function, Module):
        if arguments:
            raise ArgumentTypeError(
                "export_library: arguments are for Python functions; a module has its types"
            )
        return [_Wanted(function, *names) for names in _names(function, functions)]
    if not callable(function):
        raise ArgumentTypeError(
            f"function: expected a gradir.Module or a Python function, got {function!r}"
        )
    if functions is not None and not isinstance(functions, str):
        raise ArgumentTypeError("functions: expected the name in C, for one Python function")
    found, leaves = _traced(function, arguments)
    name = functions or re.sub(r"\W", "_", found.name)
    return [_Wanted(found.module, found.name, name, leaves)]


def _names(
    module: Module, functions: str | Sequence[str] | Mapping[str, str] | None
) -> list[tuple[str, str]]:
    """The names of functions in the module and in C."""
    if functions is None:
        if len(module.functions) != 1:
            known = ", ".join(f"@{each}" for each in module.functions) or "none"
            raise ArgumentError(f"functions: say which of the module's to export: {known}")
        functions = module.functions
    several: Any = [functions] if isinstance(functions, str) else functions
    if not isinstance(several, (Sequence, Mapping)):
        raise ArgumentTypeError(f"functions: expected names of functions, got {functions!r}")
    if not several:
        raise ArgumentError("functions: expected one name at least")
    pairs = several.items() if isinstance(several, Mapping) else [(name, name) for name in several]
    for name in (name for pair in pairs for name in pair):
        if not isinstance(name, str):
            raise ArgumentTypeError(f"functions: expected names of functions, got {name!r}")
    return [(source.removeprefix("@"), name.removeprefix("@")) for source, name in pairs]


def _traced(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Traced, Sequence[Any]]:
    """The program of a Python function, and the leaves of its arguments."""
    if not isinstance(function, Jitted):
        return traced("export_library", function, arguments), ()
    program, leaves = function.program(tuple(arguments), {})
    found = program.traced
    if found.path is not None and found.path.questions:
        raise TraceError(
            f"export_library: {function_name(function)} asks for values of its arguments while it "
            "is traced, as Python's own if does, and a library has one program for all values; "
            "use gradir.cond, gradir.scan or gradir.while_loop"
        )
    if program.donation is not None:
        module = with_in_out(found, program.donation.taken)
        found = Traced(module, found.name, found.arguments, found.results, found.names, found.weak)
    return found, leaves


# Code.


def _compiled(
    wanted: _Wanted, targets: Sequence[MachineTarget], threads: int, groups: Groups
) -> CompiledFunction:
    module = wanted.module
    with gradir_errors(module._sources):
        op, source = module.op, wanted.source
        module._provenance.check(op, source)
        function_named(op, source)
        if needs_shapes(op, source):
            op = specialized(op, source, _shapes(op, source, wanted.arrays))
        functions = functions_of([op])
        if functions is None:
            raise ArgumentError(f"@{source}: two functions that it calls have one name")
        copies = [op.clone() for _ in targets]
        return compiled_function(wanted.name, source, copies, functions, targets, threads, groups)


def _shapes(op: ModuleOp, source: str, arrays: Sequence[Any] | None) -> Shapes:
    """The shapes of a function's arguments; PassError for extents that nothing says."""
    function = function_named(op, source)
    if arrays:
        return shapes_of_arrays(function, arrays)
    for argument in function.body.block.args:
        if is_open(argument.type):
            raise PassError(
                f"@{source}: a library needs static shapes, got argument {argument.index} "
                f"({value_name(argument)}) of {argument.type}; gradir-specialize gives them",
                argument,
            )
    return (None,) * len(function.body.block.args)


# Files.


def _files(
    functions: Sequence[CompiledFunction],
    outputs: tuple[Path, Path, Path],
    targets: Sequence[MachineTarget],
    threads: int,
    kind: str,
    linker: Sequence[str] | None,
    mpi: MpiLibrary,
    groups: Groups,
) -> dict[Path, bytes]:
    """The library, the header and the description, with their paths."""
    place, top, said = outputs
    version = str(import_module("gradir").__version__)
    image = build_image(functions, targets[0], threads, version, mpi, groups)
    has_threads = threads > 1 and is_parallel(functions)
    if kind == "shared" and linker is None:
        data = write_library(image, place.name, has_threads)
    else:
        data = write_object(image)
        if kind == "static":
            data = write_archive(f"{place.stem}.o", data, exported(functions))
        elif kind == "shared":
            if operator_files(functions):
                raise CompileError(
                    "linker: only gradir's own knows the libraries of native operators"
                )
            data = linked_by(linker or (), data, place.name, has_threads)
    return {
        place: data,
        top: header(functions, top.name, threads).encode(),
        said: description(functions, threads, version).encode(),
    }
