"""How two runs compare: the same bits, or the same numbers up to rounding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradir.runtime.row_slices import RowSlices

Array = np.ndarray[Any, np.dtype[Any]]

BITS = "the same bits"
ROUNDING = "the same up to rounding"

TOLERANCE = {8: 1e-11, 4: 2e-4, 2: 6e-2}
"""What ROUNDING allows, by the bytes of an element, relative to the largest number of all results:
sums in another order, and functions of some ulp."""


def first_difference(
    before: Sequence[Any], after: Sequence[Any], promise: str, slack: float = 1
) -> str | None:
    """Where results break a promise, as text; None where they keep it. One nan is like another."""
    if len(before) != len(after):
        return f"{len(before)} results before, {len(after)} after"
    scale = _scale(before)
    for k, (one, other) in enumerate(zip(before, after, strict=True)):
        for a, b in zip(_arrays(one), _arrays(other), strict=True):
            found = _difference(a, b, promise, scale, slack)
            if found is not None:
                return f"result {k}{found}"
    return None


def with_defined(results: Sequence[Any], one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The results, with the elements of `one` where runs with other undefined values differ."""
    found: list[Any] = []
    for result, a, b in zip(results, one, other, strict=True):
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            unlike = _unlike_bits(a, b)
            result = np.where(unlike, a, result) if unlike.any() else result
        found.append(result)
    return found


def _arrays(value: Any) -> Iterator[Array]:
    if isinstance(value, RowSlices):
        yield from (np.asarray(value.indices), np.asarray(value.values))
    elif isinstance(value, np.ndarray | np.generic):  # a tape is read by its backward half alone
        yield np.asarray(value)


def _scale(values: Sequence[Any]) -> float:
    """The largest finite number of all, at least 1."""
    largest = 1.0
    for array in (a for value in values for a in _arrays(value) if a.dtype.kind not in "iub"):
        wide = np.abs(array.astype(np.float64))
        largest = max(largest, float(np.max(wide, initial=0, where=np.isfinite(wide))))
    return largest


def _difference(a: Array, b: Array, promise: str, scale: float, slack: float) -> str | None:
    if a.dtype != b.dtype or a.shape != b.shape:
        return f" is {a.dtype}{list(a.shape)} before, {b.dtype}{list(b.shape)} after"
    wrong = _unlike_bits(a, b)
    if promise == ROUNDING and wrong.any() and a.dtype.kind not in "iub":
        tolerance = TOLERANCE[a.dtype.itemsize] * slack
        wide, other = a.astype(np.float64), b.astype(np.float64)
        near = np.isclose(wide, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        wrong = ~near
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f" at {list(index)}" if index else ""
    return f"{place} is {a[index]!s} before, {b[index]!s} after"


def _unlike_bits(a: Array, b: Array) -> Array:
    """The elements whose bits differ, nan aside."""
    if a.dtype.kind in "iub":
        return np.asarray(a != b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    one, other = (np.ascontiguousarray(x).view(bits).reshape(x.shape) for x in (a, b))
    return np.asarray((one != other) & ~(np.isnan(a) & np.isnan(b)))
