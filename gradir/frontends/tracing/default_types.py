"""The element types that Python's numbers have where no array beside them says.

The default floating type is float64, NumPy's; `gradir.default_dtype` sets another.
"""

from __future__ import annotations

from threading import local

from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import complex_element


class _Floats:
    """The default floating type: by this thread's innermost context, else by the process."""

    def __init__(self) -> None:
        self.process: Attribute = f64
        self.thread = _Contexts()


class _Contexts(local):
    def __init__(self) -> None:
        self.entered: list[Attribute] = []


FLOATS = _Floats()


def default_element(kind: type) -> Attribute:
    """The default element type of a Python number of a kind: bool, int, float or complex."""
    if kind is complex:
        return complex_element(default_element(float))
    if kind is float:
        entered = FLOATS.thread.entered
        return entered[-1] if entered else FLOATS.process
    return i1 if kind is bool else i64


def default_of(number: object) -> Attribute:
    """The default element type of a Python number."""
    return default_element(type(number))
