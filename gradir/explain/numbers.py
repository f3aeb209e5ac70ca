"""Numbers that are not finite: which values have them, at which elements, and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradir.runtime.row_slices import RowSlices

Array = np.ndarray[Any, np.dtype[Any]]
Index = tuple[int, ...]


def floats_of(value: Any) -> Array | None:
    """The floating elements of a value of a program, also of row slices; None without."""
    array = value.values if isinstance(value, RowSlices) else value
    if not isinstance(array, np.ndarray | np.generic):
        return None
    found = np.asarray(array)
    # bfloat16 is no float for NumPy
    return None if found.dtype.kind in "iubOSU" else found


def is_finite(value: Any) -> bool:
    """Whether no element of a value is nan or infinite."""
    array = floats_of(value)
    return array is None or bool(np.isfinite(array).all())


def bad_places(array: Array) -> Array:
    """The numbers of the elements that are not finite, in the order of memory."""
    return np.flatnonzero(~np.isfinite(array))


def first_bad(array: Array) -> Index:
    """The index of the first nan, or of the first infinite element where there is none."""
    wrong = np.isnan(array) if np.isnan(array).any() else ~np.isfinite(array)
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def number_text(number: Any) -> str:
    """A number as Python writes it, of any floating type."""
    if isinstance(number, np.generic | np.ndarray) and np.asarray(number).dtype.kind in "iub":
        return str(np.asarray(number).item())
    short = np.float32(number) if np.asarray(number).dtype.itemsize < 8 else np.float64(number)
    return "nan" if np.isnan(short) else str(short)


def place_text(index: Index) -> str:
    """An index as text, with a blank before it; nothing for a number."""
    return f" at {list(index)}" if index else ""
