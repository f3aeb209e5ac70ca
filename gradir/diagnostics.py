"""Diagnostics as text: `file:line:col: error: message`, the source line, a caret; notes likewise.

Every error becomes a `Diagnostic` before it is printed or matched by a test; `Sources` has the text
of the files in locations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import LocationAttr
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError
from xdsl.utils.lexer import Span

from gradir.dialects.base.diagnostics import LocatedError, file_location

MAX_LINE_SHOWN = 160
"""Longer source lines (hexadecimal constants) are cut to this many characters round the caret."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Diagnostic:
    """One error or note. `file` is None and `line` 0 where the place is unknown."""

    severity: Literal["error", "note"]
    message: str
    file: str | None = None
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    def head(self) -> str:
        """`file:line:col: error: message`, without source line."""
        place = "" if self.file is None else f"{self.file}:{self.line}:{self.column}: "
        return f"{place}{self.severity}: {self.message}"


class Sources:
    """The text of source files by name. No other file is opened: a location in untrusted text may
    name any file, and its author may see the message."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})
        self._lines: dict[str, list[str]] = {}

    def add(self, file: str, text: str) -> None:
        """Remember `text` as the contents of `file`."""
        self._texts[file] = text
        self._lines.pop(file, None)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(self._texts)

    def beside(self, other: Sources) -> Sources:
        """The files of both; of one name, the file of the other."""
        return Sources(self._texts | other._texts)

    def line(self, file: str, number: int) -> str | None:
        """Line `number` (from 1) of `file`, without its end; None if unknown."""
        if file not in self._lines:
            if file not in self._texts:
                return None
            # not splitlines: only "\n" ends a line for the parser's line numbers
            self._lines[file] = self._texts[file].split("\n")
        lines = self._lines[file]
        return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else None


def render(diagnostic: Diagnostic, sources: Sources) -> str:
    """`diagnostic` and its notes as text, each with its source line and a caret; no end of line."""
    parts = [printable(diagnostic.head())]
    if diagnostic.file is not None:
        line = sources.line(diagnostic.file, diagnostic.line)
        if line is not None and line.strip():
            parts += _line_and_caret(printable(line), diagnostic.column)
    parts += [render(note, sources) for note in diagnostic.notes]
    return "\n".join(parts)


def printable(text: str) -> str:
    """Text without control characters of terminals, which comments of a file may contain."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _line_and_caret(line: str, column: int) -> tuple[str, str]:
    """The source line, cut round `column` if it is long, and the line with the caret."""
    column = min(max(column - 1, 0), len(line))
    if len(line) > MAX_LINE_SHOWN:
        begin = max(0, min(column - MAX_LINE_SHOWN // 2, len(line) - MAX_LINE_SHOWN))
        end = begin + MAX_LINE_SHOWN
        before, after = "..." if begin else "", "..." if end < len(line) else ""
        line = before + line[begin:end] + after
        column += len(before) - begin
    # tabs are kept, so that the caret stays under its character whatever a tab's width
    blank = "".join("\t" if character == "\t" else " " for character in line[:column])
    return line, blank + "^"


def diagnostic_of(error: Exception) -> Diagnostic:
    """Any exception as a diagnostic; located if it carries a span or a location."""
    if isinstance(error, MultipleSpansParseError):
        notes = [
            _at_span(span, "note", text or error.ref_text or "see here")
            for span, text in error.refs
        ]
        return _at_span(error.span, "error", error.msg, tuple(notes))
    if isinstance(error, ParseError):
        return _at_span(error.span, "error", error.msg)
    if isinstance(error, LocatedError):
        notes = [_at_location(location, "note", text) for text, location in error.notes]
        return _at_location(error.location, "error", error.message, tuple(notes))
    return Diagnostic("error", str(error).strip() or type(error).__name__)


def _at_location(
    location: LocationAttr,
    severity: Literal["error", "note"],
    message: str,
    notes: tuple[Diagnostic, ...] = (),
) -> Diagnostic:
    place = file_location(location)
    if place is None:
        return Diagnostic(severity, message, notes=notes)
    file, line, column = place.filename.data, place.line.data, place.column.data
    return Diagnostic(severity, message, file, line, column, notes)


def _at_span(
    span: Span[str] | Span[bytes],
    severity: Literal["error", "note"],
    message: str,
    notes: tuple[Diagnostic, ...] = (),
) -> Diagnostic:
    content = span.input.content
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    start = min(span.start, len(text))
    if not text[start:].strip():
        # the end of the file: point behind the last thing written, not at an empty line
        start = len(text.rstrip()) or start
    line = text.count("\n", 0, start) + 1 + span.line_offset
    column = start - text.rfind("\n", 0, start)
    return Diagnostic(severity, message.strip(), span.input.name, line, column, notes)
