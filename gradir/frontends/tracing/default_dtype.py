"""gradir.default_dtype: the floating dtype where no array says one."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.default_types import FLOATS
from gradir.frontends.tracing.spec import element_named


class default_dtype:
    """The floating dtype of what no array gives one: float64 at first, as in NumPy.

    Python floats alone, integers and bools in floating functions, and new arrays have it.
    `gradir.default_dtype("float32")` sets it for the process; `with gradir.default_dtype(...):`
    for the block, in its thread alone. Functions of gradir.jit are compiled for each.
    """

    def __init__(self, dtype: Any):
        self._element = element_named(dtype)
        if not is_float(self._element):
            raise ArgumentTypeError(f"default_dtype: expected a floating dtype, got {dtype}")
        self._before = FLOATS.process
        FLOATS.process = self._element

    def __enter__(self) -> None:
        FLOATS.process = self._before
        FLOATS.thread.entered.append(self._element)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        FLOATS.thread.entered.pop()
