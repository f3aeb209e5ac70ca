"""gradir.default_dtype: the floating dtype where no array says one."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.default_blocks import DefaultBlock
from gradir.frontends.tracing.default_types import FLOATS
from gradir.frontends.tracing.source_locations import named_options
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracing import IN_PYTHON


class default_dtype(DefaultBlock[Attribute]):
    """The floating dtype of what no array gives one: float64 at first, as in NumPy.

    Python floats alone, integers and bools in floating functions, and new arrays have it.
    `gradir.default_dtype("float32")` sets it for the process; `with gradir.default_dtype(...):`
    for the block, in its thread alone. Functions of gradir.jit are compiled for each.
    """

    @named_options
    def __init__(self, dtype: Any):
        element = element_named(dtype)
        if not is_float(element):
            raise ArgumentTypeError(f"default_dtype: expected a floating dtype, got {dtype}")
        super().__init__(FLOATS.thread, element)
        self._before = FLOATS.process
        _set(element)

    def __enter__(self) -> None:
        _set(self._before)
        super().__enter__()


def _set(element: Attribute) -> None:
    """Set the type of the process; native calls know of float64 alone."""
    FLOATS.process = element
    if (element != f64) != (FLOATS in IN_PYTHON):
        (IN_PYTHON.append if element != f64 else IN_PYTHON.remove)(FLOATS)
