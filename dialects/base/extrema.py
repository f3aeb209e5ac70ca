"""Maximum, minimum, sorting and sums in NumPy, with native code's signs of zeros.

-0 is below 0 and nan wins, as in IEEE 754 and MLIR; NumPy's own maximum and minimum of 0 and -0
depend on its vector instructions. A sum of -0 alone is -0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradir.dialects.base.lazy_numpy import np


def maximum(x: Any, y: Any) -> Any:
    """The larger of two; 0 of 0 and -0, nan where one is nan."""
    # zeros are added: the sum is -0 only where both are
    return _by_signs(np.maximum, np.add, x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two; -0 of 0 and -0, nan where one is nan."""
    return _by_signs(np.minimum, _lower_zero, x, y)


def maximum_of_numbers(x: Any, y: Any) -> Any:
    """`maximum`, but of a number and a nan the number."""
    return maximum(*_without_nan(x, y))


def minimum_of_numbers(x: Any, y: Any) -> Any:
    """`minimum`, but of a number and a nan the number."""
    return minimum(*_without_nan(x, y))


def largest(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """The maximum of all elements along some axes."""
    found = np.maximum.reduce(x, axis=tuple(axis), keepdims=keepdims)
    if x.dtype.kind != "f" or not (found == 0).any():
        return found
    # of zeros 0 if one is: the sum of zeros is -0 only where all are
    positive = np.any((x == 0) & ~np.signbit(x), axis=tuple(axis), keepdims=keepdims)
    zero: Any = np.where(positive, 0.0, -0.0)
    where: Any = np.where
    return where(found == 0, zero.astype(x.dtype), found)


def smallest(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """The minimum of all elements along some axes."""
    if x.dtype.kind != "f":
        return np.min(x, axis=tuple(axis), keepdims=keepdims)
    return -largest(-x, axis, keepdims)


def ascending(x: Any, axis: int) -> Any:
    """The elements along an axis in order, -0 before 0 and nan last."""
    if x.dtype.kind != "f":
        return np.sort(x, axis=axis)
    order = np.lexsort((~np.signbit(x), x), axis=axis)
    return np.take_along_axis(x, order, axis=axis)


def total(x: Any, axis: Sequence[int], keepdims: bool) -> Any:
    """The sum along some axes: 0 of no elements, -0 where all are."""
    if x.dtype.kind not in "fc" or (x.size == 0 and 0 in [x.shape[d] for d in axis]):
        return np.add.reduce(x, axis=tuple(axis), keepdims=keepdims)
    start = -0.0 if x.dtype.kind == "f" else complex(-0.0, -0.0)
    return np.add.reduce(x, axis=tuple(axis), keepdims=keepdims, initial=start)


def _lower_zero(x: Any, y: Any) -> Any:
    """-0 where one of two zeros is -0: the negated sum of the negated zeros."""
    return -(-x - y)


def _by_signs(pick: Callable[..., Any], of_zeros: Callable[..., Any], x: Any, y: Any) -> Any:
    """`pick`, but `of_zeros` where both are 0."""
    found = pick(x, y)
    if found.dtype.kind != "f":
        return found
    where: Any = np.where
    return where((x == 0) & (y == 0), of_zeros(x, y), found)


def _without_nan(x: Any, y: Any) -> tuple[Any, Any]:
    """Both, each replaced by the other one where it is nan."""
    where: Any = np.where
    return where(x == x, x, y), where(y == y, y, x)
