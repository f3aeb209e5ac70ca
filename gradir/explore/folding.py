"""Texts of bounded size: long ones without their middle, and long lines without their end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradir.explore.recorded_text import Snapshot, SourceLine

MOST_CHARACTERS = 1_000
"""The characters of a line that are shown."""


@dataclass(frozen=True)
class LineFold:
    """The lines [begin, end) of a text are left out."""

    begin: int
    end: int

    @classmethod
    def of(cls, count: int, most: int) -> LineFold:
        """The fold of so many lines that leaves at most `most`, three quarters before it."""
        head = most * 3 // 4
        return cls(count, count) if count <= most else cls(head, count - (most - head))

    def shown(self, line: int) -> int | None:
        """The number of a line among the ones left; None for those left out."""
        if line < self.begin:
            return line
        return None if line < self.end else line - (self.end - self.begin)


def cut(line: str) -> str:
    """A line of at most so many characters."""
    if len(line) <= MOST_CHARACTERS:
        return line
    return f"{line[:MOST_CHARACTERS]}... ({len(line) - MOST_CHARACTERS} more characters)"


def folded_lines(lines: Sequence[str], most: int) -> dict[str, Any]:
    """Lines as values of JSON: those left, behind how many of them some are left out, and how
    many."""
    fold = LineFold.of(len(lines), most)
    left = [*lines[: fold.begin], *lines[fold.end :]]
    return {"lines": [*map(cut, left)], "fold": [fold.begin, fold.end - fold.begin]}


class FoldedSnapshot:
    """A snapshot with the lines and values that are shown.

    `numbers` are the shown values by their number in the snapshot.
    """

    def __init__(self, of: Snapshot, most: int):
        self._of, self._most = of, most
        self.fold = LineFold.of(len(of.lines), most)
        self.numbers: dict[int, int] = {}
        self._tokens = [*self._shown_tokens()]

    def _shown_tokens(self) -> Iterator[int]:
        """Line, column, length and number of each value in turn."""
        for token in self._of.tokens:
            line = self.fold.shown(token.line)
            if line is not None and token.column + token.length <= MOST_CHARACTERS:
                number = self.numbers.setdefault(token.value, len(self.numbers))
                yield from (line, token.column, token.length, number)

    def said(self, files: dict[str, int]) -> dict[str, Any]:
        """The text as values of JSON; `files` numbers the source files."""
        sources = [
            [shown, *self._places(lines, files)]
            for line, lines in enumerate(self._of.sources)
            if lines and (shown := self.fold.shown(line)) is not None
        ]
        text = folded_lines(self._of.lines, self._most)
        return text | {"tokens": self._tokens, "sources": sources}

    def _places(self, lines: Sequence[SourceLine], files: dict[str, int]) -> list[int]:
        return [n for file, line in lines[:8] if file in files for n in (files[file], line)]

    def links_to(self, after: FoldedSnapshot, links: Sequence[Sequence[int]]) -> list[list[int]]:
        """Links of shown values to shown ones."""
        return [
            [after.numbers[n] for n in links[value] if n in after.numbers] for value in self.numbers
        ]
