"""NetDefs in protobuf's text format: read without trust, and written."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, NamedTuple

from gradir.frontends.caffe2.errors import NetDefError
from gradir.frontends.caffe2.netdef_schema import (
    BY_NAME,
    MAX_DEPTH,
    OTHER_NAMES,
    SCHEMA,
    Field,
    Message,
)

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fF]?))
    |(?P<word>-?[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>[{}<>\[\]:,;./])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_WORDS = {"true": 1, "t": 1, "false": 0, "f": 0, "CPU": 0, "CUDA": 1}
_FLOATS = {"inf": "inf", "infinity": "inf", "nan": "nan"}
_CLOSING = {"{": "}", "<": ">"}
_LONGEST_NUMBER = 400


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def read_text(text: str, source: str) -> Message:
    """The NetDef in a text; NetDefError, with line and column, for other texts."""
    reader = _Reader(text, source)
    try:
        return reader.message("NetDef", reader.token, "", 0)
    except UnicodeEncodeError:
        at = next(k for k, letter in enumerate(text) if not _is_encodable(letter))
        raise reader.error(f"unexpected {text[at]!r}", at) from None


def _is_encodable(letter: str) -> bool:
    """Whether a letter is one of UTF-8, or stands for a byte that is none of it."""
    return not "\ud800" <= letter <= "\udfff" or "\udc80" <= letter <= "\udcff"


class _Reader:
    """A reader of tokens; `token` is the next."""

    def __init__(self, text: str, source: str):
        self.text = text
        self.source = source
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self.end = 0
        self.token = _Token("", "", 0)
        self.advance()

    def position(self, at: int) -> tuple[str, int, int]:
        line = bisect_right(self.lines, at)
        return self.source, line, at - self.lines[line - 1] + 1

    def error(self, what: str, at: int | None = None) -> NetDefError:
        source, line, column = self.position(self.token.at if at is None else at)
        return NetDefError(f"{source}:{line}:{column}: error: {what}")

    def advance(self) -> _Token:
        """The next token, behind which the reader is then."""
        before = self.token
        while True:
            found = _TOKEN.match(self.text, self.end)
            if found is None:
                if self.end < len(self.text):
                    raise self.error(f"unexpected {self.text[self.end]!r}", self.end)
                self.token = _Token("end", "", self.end)
                return before
            start, self.end = self.end, found.end()
            if found.lastgroup != "space":
                self.token = _Token(str(found.lastgroup), found[0], start)
                return before

    def accept(self, mark: str) -> bool:
        if self.token.kind != "mark" or self.token.text != mark:
            return False
        self.advance()
        return True

    def message(self, kind: str, start: _Token, closing: str, depth: int) -> Message:
        """The fields up to the closing bracket. A kind without fields is ignored."""
        if depth > MAX_DEPTH:
            raise self.error(f"messages nest more than {MAX_DEPTH} deep", start.at)
        line = self.position(start.at)
        made = Message(kind, ":".join(map(str, line)), line)
        while not (self.token.kind == "end" and not closing) and not (
            closing and self.accept(closing)
        ):
            if self.token.kind == "end":
                raise self.error(f"{closing} expected, the text ends")
            name = self.name()
            known = BY_NAME.get(kind, {}).get(OTHER_NAMES.get(name, name))
            values = self.field(name, known, depth)
            if known is not None:
                made.fields.setdefault(known.name, []).extend(values)
            if not self.accept(","):
                self.accept(";")
        return made

    def name(self) -> str:
        """The name of a field; of an extension, in brackets, one that is ignored."""
        if self.accept("["):
            while not self.accept("]"):
                if self.token.kind not in ("word", "mark", "number"):
                    raise self.error("the name of an extension expected")
                self.advance()
            return "[]"
        if self.token.kind != "word" or self.token.text.startswith("-"):
            raise self.error(f"the name of a field expected, got {self.token.text[:40]!r}")
        return self.advance().text

    def field(self, name: str, known: Field | None, depth: int) -> list[Any]:
        """The values of a field: one, or several in brackets."""
        has_colon = self.accept(":")
        if not self.accept("["):
            return [self.value(name, known, has_colon, depth)]
        found: list[Any] = []
        while not self.accept("]"):
            found.append(self.value(name, known, True, depth))
            if not self.accept(",") and self.token.text != "]":
                raise self.error("] expected")
        if known is not None and not known.repeated:
            raise self.error(f"{name}: one value expected, got a list")
        return found

    def value(self, name: str, known: Field | None, has_colon: bool, depth: int) -> Any:
        start = self.token
        if start.kind == "mark" and start.text in _CLOSING:
            self.advance()
            kind = "" if known is None else known.kind
            if known is not None and kind not in SCHEMA:
                raise self.error(f"{name}: a {kind} expected, got a message", start.at)
            return self.message(kind, start, _CLOSING[start.text], depth + 1)
        if not has_colon:
            raise self.error(f"{name}: : or {{ expected, got {start.text[:40]!r}")
        if known is not None and known.kind in SCHEMA:
            raise self.error(f"{name}: {{ expected, got {start.text[:40]!r}")
        if start.kind == "string":
            return self.strings(name, known)
        if start.kind not in ("number", "word"):
            raise self.error(f"{name}: a value expected, got {start.text[:40]!r}")
        self.advance()
        return None if known is None else self.number(name, known, start)

    def strings(self, name: str, known: Field | None) -> str:
        """Strings one behind the other are one."""
        if known is not None and known.kind != "string":
            raise self.error(f"{name}: a {known.kind} expected, got a string")
        made: list[bytes] = []
        while self.token.kind == "string":
            made.append(_unescaped(self.advance().text[1:-1]))
        return b"".join(made).decode("utf-8", "surrogateescape")

    def number(self, name: str, known: Field, token: _Token) -> Any:
        text = token.text
        refused = self.error(f"{name}: a {known.kind} expected, got {text[:40]!r}", token.at)
        if known.kind == "string" or len(text) > _LONGEST_NUMBER:
            raise refused
        if known.kind in ("float", "double"):
            return _float(token, refused)
        value = _WORDS.get(text) if token.kind == "word" else _integer(text)
        if value is None or not -(2**63) <= value < 2**63:
            raise refused
        return bool(value) if known.kind == "bool" else value


def _integer(text: str) -> int | None:
    try:
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.lstrip("+"))
        is_octal = len(digits) > 1 and digits.startswith("0") and digits.isdigit()
        return sign * (int(digits, 8) if is_octal else int(digits, 0))
    except ValueError:
        return None


def _float(token: _Token, refused: NetDefError) -> float:
    text = token.text
    if token.kind == "word":
        sign, word = ("-", text[1:]) if text.startswith("-") else ("", text)
        if word.lower() not in _FLOATS:
            raise refused
        return float(sign + _FLOATS[word.lower()])
    try:
        return float(int(text, 16)) if "x" in text.lower() else float(text.rstrip("fF"))
    except (ValueError, OverflowError):
        raise refused from None


def _unescaped(text: str) -> bytes:
    """The bytes that a string in quotes stands for."""
    made, at = bytearray(), 0
    for found in _ESCAPE.finditer(text):
        made += text[at : found.start()].encode("utf-8", "surrogateescape")
        octal, hexadecimal, letter = found.groups()
        if octal or hexadecimal:
            made.append((int(octal, 8) if octal else int(hexadecimal, 16)) & 255)
        else:
            made += _LETTERS.get(letter, letter).encode("utf-8", "surrogateescape")
        at = found.end()
    return bytes(made + text[at:].encode("utf-8", "surrogateescape"))


# Writing.


def text_of(message: Message, indent: str = "") -> str:
    """A message as text."""
    made: list[str] = []
    for known in SCHEMA[message.kind].values():
        for value in message.all(known.name):
            if known.kind in SCHEMA:
                inner = text_of(value, indent + "  ")
                made.append(f"{indent}{known.name} {{\n{inner}{indent}}}\n")
            else:
                made.append(f"{indent}{known.name}: {_written(known.kind, value)}\n")
    return "".join(made)


def _written(kind: str, value: Any) -> str:
    if kind == "string":
        return f'"{"".join(map(_escaped, value))}"'
    if kind == "bool":
        return "true" if value else "false"
    return repr(value)


def _escaped(letter: str) -> str:
    """A letter in a string; a byte that was no UTF-8 as an octal number."""
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    try:
        return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise NetDefError(f"{letter!r} cannot be written as UTF-8") from None
