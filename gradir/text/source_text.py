"""Checks of program text before it is parsed: encoding, characters, strings, nesting.

One linear scan that bounds the input of the recursive parser. It also protects the lexer, whose
pattern for strings takes exponential time on an unclosed string.
"""

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from gradir.passes.analysis.regions import MAX_REGION_DEPTH

MAX_BRACKET_DEPTH = 64
"""How many `(`, `[` and `<` may be open at once since the last open `{`."""

_OPENER = {")": "(", "]": "[", ">": "<"}

_SCAN = re.compile(
    r"""(?P<skip>"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"|//[^\n]*+|->|[<>]=)
      |(?P<open>[\[(<{])
      |(?P<close>[\])>}])
      |(?P<bad>"|[^\t\n\v\f\r\ -~])""",
    re.VERBOSE,
)


def decode(data: bytes, filename: str) -> str:
    """Program text from the bytes of a file; a ParseError at the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        begin = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        before = data[begin : begin + error.start].decode("utf-8")
        shown = before + data[begin + error.start :].decode("utf-8", "replace")
        byte = data[begin + error.start]
        message = f"expected UTF-8 text, got byte 0x{byte:02x}; is this a binary file?"
        _refuse(shown, filename, len(before), message)


def check(text: str, filename: str) -> None:
    """Raise a ParseError for a character, a string or nesting that the parser must not see."""
    if (position := text.find("\0")) >= 0:
        message = "expected program text, got a NUL character; is this a binary file?"
        _refuse(text, filename, position, message)
    if not text.isascii():
        _check_encodable(text, filename)
    # for each open brace, the other brackets opened since
    levels: list[list[str]] = [[]]
    for match in _SCAN.finditer(text):
        kind = match.lastgroup
        if kind == "open":
            _open(levels, match[0], text, filename, match.start())
        elif kind == "close":
            _close(levels, match[0])
        elif kind == "bad":
            _refuse(text, filename, match.start(), _bad_character(match[0]))


def _open(levels: list[list[str]], bracket: str, text: str, filename: str, position: int) -> None:
    if bracket == "{":
        levels.append([])
        if len(levels) > MAX_REGION_DEPTH + 1:
            message = f"regions are nested too deeply; the limit is {MAX_REGION_DEPTH}"
            _refuse(text, filename, position, message)
        return
    levels[-1].append(bracket)
    if len(levels[-1]) > MAX_BRACKET_DEPTH:
        message = f"brackets are nested too deeply; the limit is {MAX_BRACKET_DEPTH}"
        _refuse(text, filename, position, message)


def _close(levels: list[list[str]], bracket: str) -> None:
    """Close `bracket`. Brackets that do not match are the parser's to report."""
    if bracket == "}":
        if len(levels) > 1:
            levels.pop()
        return
    stack = levels[-1]
    if bracket == ">":
        if stack and stack[-1] == "<":
            stack.pop()
        return
    # a `<` left open was a comparison
    while stack and stack.pop() != _OPENER[bracket]:
        pass


def _bad_character(character: str) -> str:
    if character == '"':
        return (
            'expected a string that ends on its line and escapes only \\n \\t \\\\ \\" '
            "and two hexadecimal digits"
        )
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return f"unexpected character {shown}; outside strings and comments only ASCII is allowed"


def _check_encodable(text: str, filename: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        message = f"unexpected character U+{code:04X}, which is not valid Unicode text"
        _refuse(text, filename, error.start, message)


def _refuse(text: str, filename: str, position: int, message: str) -> NoReturn:
    raise ParseError(Span(position, position + 1, Input(text, filename)), message)
