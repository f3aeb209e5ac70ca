"""The header of a library, complete in itself, and its description as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gradir.aot.abi import ABI, ADD, WORKSPACE_ALIGNMENT
from gradir.aot.elf import aligned
from gradir.aot.library import is_parallel, workspace_bytes, workspace_of
from gradir.aot.program import ArrayRole, CompiledFunction, LevelCode
from gradir.errors import ArgumentError, CompileError
from gradir.runtime.native_functions import include_dir
from gradir.runtime.threads import library_function

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# What the header has itself, or includes.
_TAKEN = re.compile(
    r"(?i:gradir_).*|NULL|offsetof|(u?int(_least|_fast)?\d+|u?int(max|ptr)|s?size|ptrdiff|wchar"
    r"|max_align)_t"
)
_PUBLIC_HEADERS = ("gradir_array.h", "gradir_abi.h")
_KEYWORDS = frozenset(
    """nullptr decltype noexcept static_cast dynamic_cast const_cast reinterpret_cast thread_local
    static_assert requires concept char8_t char16_t char32_t consteval constinit co_await co_return
    co_yield bitand bitor compl and_eq or_eq xor_eq not_eq linux unix typeof
    alignas alignof and asm auto bool break case catch char class const constexpr continue
    default delete do double else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new not operator or private protected public register restrict return
    short signed sizeof static struct switch template this throw true try typedef typeid typename
    union unsigned using virtual void volatile while xor main""".split()
)


def check_names(names: Sequence[str]) -> None:
    """ArgumentError for names that C does not take, or that clash."""
    taken: set[str] = set()
    for name in names:
        if not NAME.fullmatch(name) or name in _KEYWORDS or _TAKEN.fullmatch(name):
            raise ArgumentError(
                f"function: expected a name that C can have, got {name!r}; say another one: "
                f"--function {name}=NAME, or functions="
            )
        if is_in_c_library(name):
            raise ArgumentError(
                f"function: {name!r} is a function of the C library, which programs with the "
                f"library would lose; say another one: --function {name}=NAME, or functions="
            )
        symbols = {f"{name}{end}" for end in ("", "_info", "_workspace_bytes")}
        symbols |= {f"{name.upper()}_{end}_BYTES" for end in ("WORKSPACE", "ROOM")}
        if symbols & taken:
            raise ArgumentError(f"function: the symbols of {name!r} are another function's, too")
        taken |= symbols


def is_in_c_library(name: str) -> bool:
    """Whether this machine's C library has a function of the name."""
    try:
        return bool(library_function(name))
    except CompileError:
        return False


def header(functions: Sequence[CompiledFunction], file: str, threads: int) -> str:
    """The text of a header; `file` is its name."""
    # other names have other guards
    guard = re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", file)
    guard = f"GRADIR_LIBRARY_{guard}"
    parts = [
        "/* Written by gradir. The functions are at the end; what they take is described first. */",
        f"#ifndef {guard}\n#define {guard}\n",
        *(_public(name) for name in _PUBLIC_HEADERS),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *(_declarations(function, threads) for function in functions),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(parts)


def _public(name: str) -> str:
    """A header of gradir's, without lines that include another one: it stands before it."""
    text = (Path(include_dir()) / name).read_text()
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith('#include "')
    )


def _declarations(function: CompiledFunction, threads: int) -> str:
    name = function.name
    lines = [f"/* {name}: @{_plain(function.source)} of the program."]
    lines += _comment("in", function.inputs)
    lines += _comment("out", function.results)
    if is_parallel([function]) and threads > 1:
        lines.append(f" * up to {threads} threads")
    lines.append(f" * levels: {', '.join(level.level for level in function.levels)} */")
    macro = name.upper()
    room = sum(aligned(a.spec.nbytes, WORKSPACE_ALIGNMENT) for a in function.results)
    return "\n".join(
        [
            *lines,
            f"#define {macro}_WORKSPACE_BYTES {workspace_bytes(function)}",
            f"#define {macro}_ROOM_BYTES {room} /* of all results: see gradir_room_bytes */",
            f"int32_t {name}(const gradir_array *in, gradir_array *out, void *workspace,",
            f"{' ' * (9 + len(name))}gradir_status *status);",
            f"size_t {name}_workspace_bytes(void);",
            f"const gradir_info *{name}_info(void);\n",
        ]
    )


def _comment(kind: str, arrays: Iterable[ArrayRole]) -> list[str]:
    return [
        f" * {kind}[{k}]  {_plain(a.spec.name)}: {a.spec.dtype.name}"
        f"[{','.join(map(str, a.spec.shape))}]{', its contents are read' * (a.request == ADD)}"
        for k, a in enumerate(arrays)
    ]


def _plain(name: str) -> str:
    """A name that neither ends nor begins a comment, on one line."""
    return " ".join(name.replace("*/", "* /").replace("/*", "/ *").split())


def description(functions: Sequence[CompiledFunction], threads: int, version: str) -> str:
    """The description as JSON."""
    said = {
        "abi": ABI,
        "gradir": version,
        "functions": [_described(function, threads) for function in functions],
    }
    return json.dumps(said, indent=1) + "\n"


def _described(function: CompiledFunction, threads: int) -> dict[str, Any]:
    return {
        "name": function.name,
        "source": function.source,
        "threads": threads if is_parallel([function]) else 1,
        "workspace_bytes": workspace_bytes(function),
        "in": [_array(a) for a in function.inputs],
        "out": [{**_array(a), "request": "add" if a.request == ADD else "write"}
                for a in function.results],
        "levels": [_level(level) for level in function.levels],
    }  # fmt: skip


def _level(level: LevelCode) -> dict[str, Any]:
    program = level.code.program
    return {
        "name": level.level,
        "workspace_bytes": workspace_of(program).size,
        "grows": bool(program.growing),
        "can_stop": program.can_stop,
    }


def _array(array: ArrayRole) -> dict[str, Any]:
    spec = array.spec
    return {"name": spec.name, "dtype": spec.dtype.name, "shape": [*spec.shape]}
