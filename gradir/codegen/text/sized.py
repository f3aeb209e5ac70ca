"""Functions whose sizes are values: `%size.3` in a text is loaded where a function begins.

Code generation writes a traced size as that name wherever a number may stand. The functions of
kernels get the address of all sizes as a further parameter, their callers hand it on, and the
functions that have the table load it from there.
"""

from __future__ import annotations

import re

from gradir.dialects.base.traced_sizes import NAME, UnsizedError

SIZES = "%sizes"

_FUNCTION = re.compile(
    r"^define ([^@\n]*)@([\w.$-]+)\(([^)\n]*)\)([^\n]*\{)\nentry:\n(.*?)^\}$", re.M | re.S
)
# constants of LLVM, in which no value can stand
_CONSTANT = re.compile(r"(<[^>\n]*%size\.|splat \([^)\n]*%size\.|\[%size\.)")


class SizedFunctions:
    """Gives functions their sizes; `word` of the table has the address of all."""

    def __init__(self, word: int):
        self.word = word
        self._symbols: set[str] = set()

    def of_kernel(self, text: str) -> str:
        """The text of a kernel, whose functions take the address of the sizes."""
        functions = _FUNCTION.findall(text)
        # functions of vector math, which give something, know of no size
        self._symbols.update(symbol for head, symbol, *_ in functions if head.endswith("void "))
        return self.of_driver(text)

    def of_driver(self, text: str) -> str:
        """Text that calls the functions of kernels."""
        if found := _CONSTANT.search(text):
            raise UnsizedError(f"a constant of LLVM: {found.group()}")
        return _FUNCTION.sub(self._function, text)

    def _function(self, found: re.Match[str]) -> str:
        linkage, symbol, parameters, rest, body = found.groups()
        body = re.sub(r"call void @([\w.$-]+)\((.*)\)", self._call, body)
        loads: list[str] = []
        numbers = sorted(set(map(int, NAME.findall(body))))
        if symbol in self._symbols:
            parameters = f"{parameters}, ptr noalias readonly {SIZES}"
        elif numbers or f"ptr {SIZES}" in body:
            place = f"getelementptr i64, ptr %table, i64 {self.word}"
            loads = [f"  {SIZES}.word = {place}", f"  {SIZES} = load ptr, ptr {SIZES}.word"]
        for number in numbers:
            loads += [
                f"  %size.at.{number} = getelementptr i64, ptr {SIZES}, i64 {number}",
                f"  %size.{number} = load i64, ptr %size.at.{number}",
            ]
        start = "".join(f"{line}\n" for line in loads)
        return f"define {linkage}@{symbol}({parameters}){rest}\nentry:\n{start}{body}}}"

    def _call(self, found: re.Match[str]) -> str:
        symbol, arguments = found.groups()
        handed_on = f"{arguments}, ptr {SIZES}" if symbol in self._symbols else arguments
        return f"call void @{symbol}({handed_on})"
