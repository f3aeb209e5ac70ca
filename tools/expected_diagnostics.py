"""`// expected-error @+1 {{text}}` comments, and their match with diagnostics.

The syntax is MLIR's: `expected-error` or `expected-note`; `@+N`, `@-N`, `@above`, `@below`, or
nothing for the comment's own line, `@unknown` for a diagnostic without place; the text in braces
must occur in the message. Each comment matches one diagnostic, each diagnostic one comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradir.diagnostics import Diagnostic

_COMMENT = re.compile(
    r"expected-(?P<severity>error|note|warning|remark)\s*"
    r"(?P<place>@[^\s{]*\s*)?\{\{(?P<text>.*?)\}\}",
    re.DOTALL,
)
_PLACE = re.compile(r"@(?:[+-]\d+|above|below|unknown)")
_MALFORMED = re.compile(r"//.*?expected-(?:error|note|warning|remark)(?!\w)")

UNKNOWN_LINE = 0


@dataclass(frozen=True)
class Expectation:
    """One comment: the expected text and line, and the comment's own place."""

    severity: str
    text: str
    line: int
    comment_line: int
    comment_column: int


def expectations(text: str, file: str) -> tuple[list[Expectation], list[Diagnostic]]:
    """The comments of `text`, and an error for each one that is malformed."""
    lines = text.split("\n")
    found: list[Expectation] = []
    errors: list[Diagnostic] = []
    for number, line in enumerate(lines, 1):
        if "expected-" not in line or _MALFORMED.search(line) is None:
            continue
        matches = list(_COMMENT.finditer(line))
        if not matches:
            message = "malformed comment; write expected-error @+1 {{text}}"
            errors.append(Diagnostic("error", message, file, number, line.find("expected-") + 1))
        for match in matches:
            place = (match["place"] or "@+0").strip()
            if _PLACE.fullmatch(place) is None:
                message = f"unknown place {place!r}; write @+N, @-N, @above, @below or @unknown"
                errors.append(Diagnostic("error", message, file, number, match.start() + 1))
                continue
            target = _line_of(place, number, lines)
            column = match.start() + 1
            found.append(Expectation(match["severity"], match["text"], target, number, column))
    return found, errors


def _line_of(place: str, number: int, lines: list[str]) -> int:
    """The line meant by a comment on line `number`. `@above` and `@below` pass over comments."""
    match place[1:]:
        case "unknown":
            return UNKNOWN_LINE
        case "above":
            return _first_program_line(lines, range(number - 1, 0, -1), number)
        case "below":
            return _first_program_line(lines, range(number + 1, len(lines) + 1), number)
        case offset:
            return number + int(offset)


def _first_program_line(lines: list[str], candidates: range, number: int) -> int:
    for candidate in candidates:
        if "expected-" not in lines[candidate - 1]:
            return candidate
    return number


def compare(wanted: list[Expectation], got: list[Diagnostic], file: str) -> list[Diagnostic]:
    """An error for each unexpected diagnostic and each unmatched comment."""
    left = list(wanted)
    errors: list[Diagnostic] = []
    for diagnostic in _flat(got):
        # a place in another file has no line for a comment here
        line = diagnostic.line if diagnostic.file == file else UNKNOWN_LINE
        expected = next(
            (
                each
                for each in left
                if each.severity == diagnostic.severity
                and each.line == line
                and each.text in diagnostic.message
            ),
            None,
        )
        if expected is None:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            place = (diagnostic.file, diagnostic.line, diagnostic.column)
            errors.append(Diagnostic("error", message, *place))
        else:
            left.remove(expected)
    for each in left:
        message = f'expected {each.severity} "{each.text}" was not produced'
        errors.append(Diagnostic("error", message, file, each.comment_line, each.comment_column))
    return errors


def _flat(diagnostics: list[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(list(diagnostic.notes))
