"""The integer types, and numbers at the ends of their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
UNSIGNED = TYPES[4:]


def ends(name: str) -> list[int]:
    """Numbers around 0 and both ends of a type, and around its width."""
    limits = np.iinfo(name)
    low, high, bits = int(limits.min), int(limits.max), limits.bits
    found = {low, low + 1, -2, -1, 0, 1, 2, 3, bits - 1, bits, bits + 1, high // 2, high - 1, high}
    return sorted(n for n in found if low <= n <= high)


def pairs(name: str) -> list[Array]:
    """All pairs of them, as two arrays."""
    numbers = np.array(ends(name), name)
    return [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(numbers, numbers)]
