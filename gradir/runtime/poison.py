"""What is in memory that a Python function is to write: a sign of what it has not written.

Floats are NaN, with bits that arithmetic does not make but keeps; other numbers are 0, or in debug
mode a pattern.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_NAN = {2: 0x7FFB, 4: 0x7FDBDBDB, 8: 0x7FFBDBDBDBDBDBDB}
_NUMBER = {1: 0xA5, 2: 0xA5A5, 4: 0xA5A5A5A5, 8: 0xA5A5A5A5A5A5A5A5}


@cache
def poison(dtype: np.dtype[Any]) -> Any:
    """The element to fill memory with."""
    return _element(_NAN, dtype) if is_floating(dtype) else np.zeros((), dtype)[()]


@cache
def debug_poison(dtype: np.dtype[Any]) -> Any:
    """The element to fill memory with in debug mode."""
    return _element(_NAN if is_floating(dtype) else _NUMBER, dtype)


def _element(bits: dict[int, int], dtype: np.dtype[Any]) -> Any:
    size = dtype.itemsize
    return np.array(bits[size], f"u{size}").view(dtype)


def unwritten(array: Array) -> int:
    """The number of elements, if they all still are poison: of floats only."""
    if array.size == 0 or array.item(0) == array.item(0) or not is_floating(array.dtype):
        return 0
    count = debug_unwritten(array)
    return count if count == array.size else 0


def debug_unwritten(array: Array) -> int:
    """The number of elements that still are poison.

    Small integers may equal the pattern: they count only if all do.
    """
    size, is_float = array.dtype.itemsize, is_floating(array.dtype)
    pattern = (_NAN if is_float else _NUMBER)[size]
    count = int(np.count_nonzero(array.view(f"u{size}") == pattern))
    is_sure = is_float or size >= 4 or array.dtype == np.bool_
    return count if is_sure or (count == array.size and array.nbytes >= 8) else 0


def is_floating(dtype: np.dtype[Any]) -> bool:
    # bfloat16 is of kind V
    return dtype.kind in "fV"
