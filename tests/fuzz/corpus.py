"""The golden files, in the pieces that mutants are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LARGEST = 6_000
"""Characters of a program: larger ones take longer and have no more to find."""

_PASSES = re.compile(r"""^// RUN:.* -p (?:"([^"]*)"|'([^']*)')""", re.MULTILINE)
_SEPARATOR = re.compile(r"^// -----$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n", re.MULTILINE)
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[A-Za-z_0-9$.]+|\s+|->|::|.', re.DOTALL)
_CLASSES = (
    ("op", re.compile(r"[a-z]+\.[a-z_0-9]+$")),
    ("value", re.compile(r"%\w+$")),
    ("symbol", re.compile(r"@\w+$")),
    ("number", re.compile(r"\d[\d.]*$")),
    ("shape", re.compile(r"(\d+x)+\w+$|x\w+$")),
    ("element", re.compile(r"[fi]\d+$|bf16$|index$")),
    ("string", re.compile(r'"')),
    ("word", re.compile(r"\w+$")),
    ("bracket", re.compile(r"[()\[\]{}<>]$")),
)


@dataclass(frozen=True)
class Piece:
    """One program of a file, and the pipelines of the file's RUN lines."""

    name: str
    text: str
    pipelines: tuple[str, ...]


def tokens(text: str) -> list[str]:
    """The words of a text; joined they are the text."""
    return _TOKEN.findall(text)


def kind_of(token: str) -> str:
    """The class of words that may stand for each other."""
    return next((name for name, pattern in _CLASSES if pattern.match(token)), "other")


@cache
def pieces() -> tuple[Piece, ...]:
    """Every program of tests/filecheck and examples that is not too large, in a fixed order."""
    found: list[Piece] = []
    for folder in (ROOT / "tests" / "filecheck", ROOT / "examples"):
        for path in sorted(folder.rglob("*.mlir")):
            text = path.read_text(encoding="utf-8")
            pipelines = tuple(dict.fromkeys(a or b for a, b in _PASSES.findall(text)))
            for k, chunk in enumerate(_SEPARATOR.split(text)):
                program = _COMMENT.sub("", chunk).strip() + "\n"
                if 1 < len(program) <= LARGEST:
                    name = f"{path.relative_to(ROOT)}#{k}"
                    found.append(Piece(name, program, pipelines))
    return tuple(found)


@cache
def accepted() -> tuple[Piece, ...]:
    """Those of files that show what works."""
    return tuple(piece for piece in pieces() if not _is_refused(piece))


@cache
def refused() -> tuple[Piece, ...]:
    """Those of files that show errors."""
    return tuple(piece for piece in pieces() if _is_refused(piece))


def _is_refused(piece: Piece) -> bool:
    return "_invalid" in piece.name or "/verify/" in piece.name


@cache
def words() -> dict[str, tuple[str, ...]]:
    """All words of the corpus by class."""
    by_kind: dict[str, set[str]] = {}
    for piece in pieces():
        for token in tokens(piece.text):
            by_kind.setdefault(kind_of(token), set()).add(token)
    return {kind: tuple(sorted(each)) for kind, each in by_kind.items()}


@cache
def lines() -> tuple[str, ...]:
    """All lines of the corpus."""
    return tuple(sorted({line for piece in pieces() for line in piece.text.splitlines()}))
