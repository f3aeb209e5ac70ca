"""Assembly formats of ops that are read at their first use, not when their class is made.

xDSL reads the format of each op when the class is made, a sixth of the time of its import; most
programs print or parse few of them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from xdsl.irdl import OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram

_read = FormatProgram.from_str


class _LazyFormat:
    """A format for `parse` and `print` of an op."""

    def __init__(self, text: str, op_def: OpDef):
        self._text, self._op_def = text, op_def

    @cached_property
    def _format(self) -> FormatProgram:
        return _read(self._text, self._op_def)

    def parse(self, *args: Any) -> Any:
        return self._format.parse(*args)

    def print(self, *args: Any) -> None:
        self._format.print(*args)


@contextmanager
def lazy_formats() -> Generator[None]:
    """A context in which classes of ops are made without reading their formats."""
    program: Any = FormatProgram
    program.from_str = staticmethod(_LazyFormat)
    try:
        yield
    finally:
        program.from_str = staticmethod(_read)
