"""Points at which functions are compared with their meaning, and errors in ulp."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, nan
from typing import Any

import numpy as np
from mpmath import mp

Array = np.ndarray[Any, np.dtype[Any]]

# Sizes of numbers: tiny, ordinary with ties and ends of exponents, huge.
_TINY = (0.0, 1e-320, 3e-310, 1e-300, 1e-160, 1e-42, 1e-39, 1e-30, 1e-19, 1e-16, 1e-11, 1e-8, 3e-5)
_ORDINARY = (
    *(1e-3, 0.05, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.75, 4.5, 6.0, 7.5, 9.25, 10.0),
    *(12.0, 15.0, 17.5, 20.0, 27.0, 33.0, 40.0, 60.25, 87.0, 88.5, 90.0, 104.0, 127.5, 149.25),
    *(350.0, 600.75, 709.5, 710.0, 745.5, 1000.0, 1074.5),
)
_HUGE = (12345.6, 1e6 + 0.5, 2.0**24 + 1, 1e10, 2.0**53 + 1, 1e19, 1e25, 1e38, 1e100, 1e200, 1e308)


def unary_points(dtype: Any, near: Iterable[float] = ()) -> Array:
    """Ends, ties, tails, nan and infinities of both signs, and numbers next to some points."""
    info = np.finfo(dtype)
    ends = (info.smallest_subnormal, info.tiny, info.eps, info.eps / 4, info.max)
    sizes = np.array([*_TINY, *_ORDINARY, *_HUGE, *map(float, ends)])
    with np.errstate(over="ignore", under="ignore"):
        rounded = sizes.astype(dtype)
        close = [_neighbours(dtype(p)) for p in near]
    finite = rounded[np.isfinite(rounded)]
    found = np.concatenate([finite, -finite, *close])
    distinct = np.unique(found.view(f"u{found.itemsize}")).view(dtype)
    return np.array([*distinct, inf, -inf, nan], dtype)


def _neighbours(point: Any) -> Array:
    """A point, the numbers next to it, and some at small distances."""
    kind = type(point)
    steps = (1e-12, -1e-12, 1e-5, -1e-5, 1e-2, -1e-2, 0.125, -0.125)
    beside = (np.nextafter(point, kind(to)) for to in (inf, -inf))
    return np.array([point, *beside, *(point + kind(s) for s in steps)], kind)


def pairs(first: Sequence[float], second: Sequence[float], dtype: Any) -> tuple[Array, Array]:
    """All pairs of numbers of two lists, as columns."""
    x, y = np.meshgrid(np.array(first, dtype), np.array(second, dtype))
    return np.ascontiguousarray(x.ravel()), np.ascontiguousarray(y.ravel())


def error_in_ulp(got: Any, right: Any, scale: Any = 0) -> float:
    """The distance of a float from a number of mpmath, in units of its last place, or of `scale`'s.

    A nan for a number, or a number for a nan, is infinitely far; an infinity counts as the next
    power of 2 after the largest number.
    """
    info = np.finfo(got)
    if mp.isnan(right) or np.isnan(got):
        return 0.0 if mp.isnan(right) and np.isnan(got) else inf
    if got == right:
        return 0.0
    end = mp.mpf(2) ** int(info.maxexp)
    limited = min(max(right, -end), end)
    distance = abs(min(max(mp.mpf(float(got)), -end), end) - limited)
    return float(distance / _last_place(max(abs(limited), abs(scale)), info))


def _last_place(size: Any, info: Any) -> Any:
    """The distance of neighbouring floats at a size; the subnormal distance below normal ones."""
    exponent = min(mp.frexp(size)[1] - 1, int(info.maxexp) - 1) if size else int(info.minexp)
    return mp.mpf(2) ** (max(exponent, int(info.minexp)) - int(info.nmant))
