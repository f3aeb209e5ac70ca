"""Programs for the command lines, and their errors as text."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from gradir.api import Module
from gradir.compiler.provenance import Provenance
from gradir.diagnostics import Diagnostic, Sources, render
from gradir.errors import ArgumentError, GradirError, gradir_errors
from gradir.passes.verify.verify import verify
from gradir.text.parser import parse_module
from gradir.text.source_text import decode

STANDARD_INPUT = "<stdin>"

_PLACE = re.compile(r"(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?P<error>error: )?")


def read_module(file: str, sources: Sources, trusted: bool) -> Module:
    """The program in a file, - for standard input; its text goes to `sources`, for messages."""
    name = STANDARD_INPUT if file == "-" else file
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot read '{file}': {reason(error)}") from None
    sources.add(name, data.decode("utf-8", "replace"))
    with gradir_errors(sources):
        text = decode(data, name)
        sources.add(name, text)
        module = parse_module(text, name)
        verify(module)
        provenance = Provenance() if trusted else Provenance.of_text(module)
    return Module(module, sources, provenance)


def write_text(file: str, text: str) -> None:
    """Write a file; ArgumentError where that is impossible."""
    try:
        Path(file).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot write '{file}': {reason(error)}") from None


def reason(error: Exception) -> str:
    """What the system says of an error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _message(error: GradirError, sources: Sources, program: str) -> str:
    """`file:line:col: error: ...` with the source line, or `program: error: ...`."""
    text = str(error) if error.diagnostic is None else render(error.diagnostic, sources)
    place = _PLACE.match(text)
    if place is None:
        return f"{program}: error: {text.removeprefix('error: ')}"
    if place["error"]:
        return text
    # errors at run time have their place in their text
    line, column = int(place["line"]), int(place["column"])
    return render(Diagnostic("error", text[place.end() :], place["file"], line, column), sources)


def error_text(error: Exception, sources: Sources, program: str) -> str:
    """An error as a command of this name tells it."""
    if isinstance(error, GradirError):
        return _message(error, sources, program)
    if isinstance(error, MemoryError):
        return f"{program}: error: not enough memory"
    return (
        f"{program}: error: internal error: {type(error).__name__}: {error}; "
        "--traceback shows where"
    )
