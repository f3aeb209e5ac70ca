"""Functions of jax.numpy whose results have a number of elements that the caller gives: `size=`.

Without it the shape would depend on values. Places behind the found ones have a `fill_value`.
"""

from __future__ import annotations

from math import prod
from typing import Any

import gradir.numpy as gnp
from gradir.compat.jax.arrays import giving_arrays
from gradir.errors import ArgumentError
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import lifted


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of elements that are not 0, by axis; `size` of them, then `fill_value`, or 0."""
    return tuple(gnp.nonzero(a)) if size is None else tuple(_places(a, size, fill_value))


def where(
    condition: Any, x: Any = None, y: Any = None, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """x where the condition holds, else y; nonzero of the condition alone."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise refusal("where: size and fill_value are for a condition alone", ArgumentError)
    return gnp.where(condition, x, y)


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of elements that are not 0, a row each."""
    if size is None:
        return gnp.argwhere(a)
    return gnp.stack(_places(a, size, fill_value), axis=-1)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of elements that are not 0 in the array as one axis."""
    return nonzero(gnp.ravel(a), size=size, fill_value=fill_value)[0]


@eager
def _places(a: Any, size: int, fill_value: Any) -> list[Any]:
    x = gnp.atleast_1d(lifted(a)) != 0
    fill = 0 if fill_value is None else fill_value
    fills = fill if isinstance(fill, tuple) else [fill] * len(x.shape)
    flat, count = x.reshape(-1), prod(x.shape)
    # stable, so that places that are found come first, in their order
    order = gnp.argsort(~flat, stable=True)[: min(size, count)]
    order = gnp.pad(order, (0, size - min(size, count)))
    places = gnp.unravel_index(order, [max(n, 1) for n in x.shape])
    is_found = gnp.arange(size) < gnp.sum(flat)
    return [gnp.where(is_found, *pair) for pair in zip(places, fills, strict=True)]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """The different elements, sorted: `size` of them, then `fill_value`, or the least of them.

    With `size` of a whole array; indices of fills are 0's, or the first place, and counts 0.
    nans are one element, unless `equal_nan` is False.
    """
    if size is None:
        return gnp.unique(
            ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan
        )
    if axis is not None:
        raise NotImplementedError("unique: size= is for whole arrays, without axis=")
    found = _unique(ar, size, fill_value, equal_nan)
    wanted = [True, return_index, return_inverse, return_counts]
    chosen = tuple(each for each, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return chosen if len(chosen) > 1 else chosen[0]


@eager
def _unique(ar: Any, size: int, fill_value: Any, equal_nan: bool) -> tuple[Any, Any, Any, Any]:
    x = lifted(ar)
    flat = x.reshape(-1)
    order = gnp.argsort(flat, stable=True)
    rows = flat[order]
    differs = rows[1:] != rows[:-1]
    if equal_nan:  # nans are sorted to the end, and alone differ from themselves
        differs = differs & (rows[:-1] == rows[:-1])
    starts = gnp.concatenate([gnp.ones(1, bool), differs])
    group = gnp.cumsum(starts) - 1
    count = rows.shape[0]
    (ends,) = _places(starts, size + 1, count)
    first, is_found = ends[:-1], gnp.arange(size) < gnp.sum(starts)
    firsts = gnp.minimum(first, count - 1)
    fill = rows[0] if fill_value is None else gnp.astype(lifted(fill_value), x.dtype)
    values = gnp.where(is_found, rows[firsts], fill)
    counts = gnp.where(is_found, ends[1:] - first, 0)
    inverse = gnp.zeros_like(group).at[order].set(group).reshape(x.shape)
    index = gnp.where(is_found, order[firsts], order[0])
    return values, index, inverse, counts


SIZED = {
    each.__name__: giving_arrays(each) for each in (nonzero, where, argwhere, flatnonzero, unique)
}
