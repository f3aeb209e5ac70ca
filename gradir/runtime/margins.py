"""Arrays between margins of a pattern, that tell whether native code wrote beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_BYTES = 64
_PATTERN = 0x5A


def between_margins(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array with any contents."""
    size = prod(shape) * dtype.itemsize
    memory = np.full(size + 2 * _BYTES, _PATTERN, np.uint8)
    return np.ndarray(shape, dtype, memory, _BYTES)


def margins_written(array: Array) -> bool:
    """Whether a margin of an array has changed."""
    memory: Any = array.base
    ends = memory[:_BYTES], memory[_BYTES + array.nbytes :]
    return any((end != _PATTERN).any() for end in ends)
