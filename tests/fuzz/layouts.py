"""Arrays with the same numbers that lie otherwise in memory."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def odd_layout(array: Any, choose: Random) -> Array:
    """The array strided, backward, transposed, unaligned or read-only."""
    array = np.asarray(array)
    kind = choose.choice(["strided", "backward", "transposed", "unaligned", "read-only", "plain"])
    if kind == "unaligned":
        return unaligned(array)
    if kind == "read-only":
        copy = array.copy()
        copy.flags.writeable = False
        return copy
    if array.ndim == 0 or kind == "plain":
        return array
    if kind == "strided":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        view = wide[..., : 2 * array.shape[-1] : 2]
        view[...] = array
        return view
    if kind == "backward":
        return np.ascontiguousarray(array[::-1])[::-1]
    return np.asfortranarray(array)


def unaligned(array: Array) -> Array:
    """A copy one byte off."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def odd_result(array: Any, choose: Random) -> Array | None:
    """An array for a result to be written to, or None; full of what must not be read."""
    array = np.asarray(array)
    if choose.random() < 0.3:
        return None
    return np.full(array.shape, 77, array.dtype)
