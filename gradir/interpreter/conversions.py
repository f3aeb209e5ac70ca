"""Conversions between types of numbers, as native code has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute

from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, np.dtype[Any]]


def as_elements(value: Any, element: Attribute) -> Array:
    """Numbers as an array of the given element type.

    Floats are rounded once; floats to integers go towards 0 and saturate, nan to 0.
    """
    return as_dtype(value, dtype_of(element))


def as_dtype(value: Any, dtype: np.dtype[Any]) -> Array:
    """As `as_elements`, of the type that holds the elements."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and dtype.kind in "iu":
        return _saturated(array, dtype)
    if array.dtype.itemsize == 8 and dtype.itemsize == 2 and dtype.name == "bfloat16":
        return _rounded_to_odd(array).astype(dtype)
    return array.astype(dtype, copy=False)


def _saturated(array: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    # 2**63 is a float, the largest i64 is not: values from it on are replaced behind the cast
    above, below = array >= float(limits.max), array <= float(limits.min)
    inside = np.where(above | below | np.isnan(array), 0, array).astype(dtype)
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(dtype)


def _rounded_to_odd(array: Array) -> Array:
    """f64 or i64 as f32, rounded to odd: a second rounding to bf16 equals a direct one."""
    exact = array.astype(np.float64)
    single = exact.astype(np.float32)
    back = single.astype(np.float64)
    inexact = (back != exact) & np.isfinite(exact)
    bits = single.view(np.int32) - (np.abs(back) > np.abs(exact))
    return np.where(inexact, bits | 1, bits).astype(np.int32).view(np.float32)
