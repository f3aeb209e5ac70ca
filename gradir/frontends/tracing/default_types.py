"""What holds where nothing beside it says: types of Python's numbers, the precision of products.

The default floating type is float64, NumPy's; `gradir.default_dtype` sets another. Products have
the precision of their types; `gradir.default_matmul_precision` sets another.
"""

from __future__ import annotations

from threading import local
from typing import Generic, TypeVar

from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import complex_element

ValueT = TypeVar("ValueT")


class Entered(local, Generic[ValueT]):
    """The defaults of the blocks that a thread is in, the innermost last."""

    def __init__(self) -> None:
        self.values: list[ValueT] = []


class _Floats:
    """The default floating type: by this thread's innermost block, else by the process."""

    def __init__(self) -> None:
        self.process: Attribute = f64
        self.thread = Entered[Attribute]()


FLOATS = _Floats()
PRECISIONS = Entered[str | None]()


def default_precision() -> str | None:
    """The precision of products of float32 that are given none; None for that of their types."""
    entered = PRECISIONS.values
    return entered[-1] if entered else None


Defaults = tuple[Attribute, str | None]
"""The default floating type, and the default precision of products."""


def defaults() -> Defaults:
    """What programs depend on besides their arguments."""
    return default_element(float), default_precision()


# The defaults that native calls know of.
FIRST_DEFAULTS: Defaults = (f64, None)


def default_element(kind: type) -> Attribute:
    """The default element type of a Python number of a kind: bool, int, float or complex."""
    if kind is complex:
        return complex_element(default_element(float))
    if kind is float:
        entered = FLOATS.thread.values
        return entered[-1] if entered else FLOATS.process
    return i1 if kind is bool else i64


def default_of(number: object) -> Attribute:
    """The default element type of a Python number."""
    return default_element(type(number))
