"""gradir.numpy: sorts, searches in sorted arrays, counts in bins."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f64, i64

from gradir.frontends.functions.arguments import axis_of, floating, known, number, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, result_element
from gradir.frontends.functions.reductions import max, min, sum
from gradir.frontends.functions.sugar import (
    take_along_axis,
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    reshape,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import value_of


def _sorting(name: str) -> Callable[..., Any]:
    def sorting(
        a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None,
        descending: bool | None = None,
    ) -> Tracer:  # fmt: skip
        x = lifted(a)
        if order is not None:
            raise refusal(f"{name}: order names fields of records, and arrays here have none")
        if axis is None:
            x, axis = reshape(x, -1), -1
        return getattr(op, name)(x, axis=axis_of(x, axis), descending=descending)

    sorting.__name__ = name
    sorting.__doc__ = f"{getattr(op, name).__doc__}\n\nFlattened where axis is None; stable always."
    return sorting


sort, argsort = _sorting("sort"), _sorting("argsort")


def partition(a: Any, kth: Any, axis: int | None = -1) -> Tracer:
    """Sorted, which is one of the orders that NumPy allows."""
    _check_places(a, kth, axis, "partition")
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Tracer:
    """The indices of `partition`."""
    _check_places(a, kth, axis, "argpartition")
    return argsort(a, axis)


def _check_places(a: Any, kth: Any, axis: int | None, name: str) -> None:
    x = lifted(a)
    extent = x.size if axis is None else x.shape[axis_of(x, axis)]
    places = known(kth, f"{name}: kth")
    if ((places < -extent) | (places >= extent)).any():
        raise refusal(f"{name}: kth must be in [{-extent}, {extent}), got {kth!r}")


def lexsort(keys: Any, axis: int = -1) -> Tracer:
    """The indices that sort by several keys, the last one first."""
    listed = [lifted(k) for k in keys]
    if not listed:
        raise refusal("lexsort: expected at least one key")
    at = axis_of(listed[0], axis)
    places = op.argsort(listed[0], axis=at)
    for key in listed[1:]:
        by_key = op.argsort(take_along_axis(key, places, at), axis=at)
        places = take_along_axis(places, by_key, at)
    return places


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tracer:
    """The places (int64) at which v keep the order of the sorted vector a; nan is the largest.

    side: "left" is before equal elements, "right" behind them.
    """
    one_of(side, "searchsorted: side", ("left", "right"))
    kind = result_element([lifted(a), lifted(v)])[0]
    xs: Any = lifted(a)
    if xs.ndim != 1:
        raise refusal(f"searchsorted: a must be a vector, got {xs!r}")
    xs = xs if sorter is None else xs[lifted(sorter)]
    return op.searchsorted(converted(xs, kind), converted(lifted(v), kind), side=side)


def digitize(x: Any, bins: Any, right: bool = False) -> Tracer:
    """The number of the bin of each element: bins[i - 1] <= x < bins[i]; < and <= with `right`.

    Of descending bins bins[i - 1] > x >= bins[i]; >= and > with `right`.
    """
    edges: Any = lifted(bins)
    side = "left" if right else "right"
    up: Any = searchsorted(edges, x, side)
    if not edges.size:
        return up
    down = edges.size - searchsorted(op.flip(edges), x, side)
    return where(edges[0] <= edges[-1], up, down)


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Tracer:
    """How often each integer occurs, or the sums of its weights.

    length: the extent of the result, which a traced x without values needs; a number beyond it is
    an error.
    """
    if length is None:
        array = value_of(x) if isinstance(x, Tracer) else np.asarray(x)
        if array is None:
            raise refusal("bincount: length must be given for a traced array, since the shape "
                          "must not depend on values")  # fmt: skip
        length = int(array.max(initial=-1)) + 1
        if array.size and array.min() < 0:
            raise refusal("bincount: numbers must not be negative")
    length = length if length > minlength else minlength
    places = lifted(x)
    values: Any = lifted(1) if weights is None else lifted(weights)
    values = converted(values, i64) if weights is None else floating(values)
    if weights is not None and not isinstance(weights, Tracer):
        values = converted(values, f64)
    zeros = broadcast_to(converted(0, element(values)), [length])
    return op.scatter_add(zeros, places, broadcast_to(values, places.shape), axis=0)


# Histograms.


def _range(x: Tracer, given: Any) -> tuple[Any, Any]:
    if given is not None:
        low, high = (floating(each) for each in given)
    elif x.size:
        low, high = floating(min(x)), floating(max(x))
    else:
        low, high = floating(0.0), floating(1.0)
    is_one: Any = op.equal(low, high)
    return where(is_one, low - 0.5, low), where(is_one, high + 0.5, high)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tracer:
    """The edges of bins: the given ones, or the edges of a number of equal bins."""
    if isinstance(bins, str):
        raise refusal("histogram: the number of bins must be known while tracing, and that of "
                      f"{bins!r} depends on values")  # fmt: skip
    if not isinstance(bins, Tracer) and not np.ndim(bins):
        low, high = _range(lifted(a), range)
        count = number(bins, "histogram: bins")
        if count < 1:
            raise refusal(f"histogram: there must be at least one bin, got {bins}")
        kind = element(floating(a))
        low, high = (wide(converted(each, kind)) for each in (low, high))
        steps: Any = lifted(np.arange(count + 1)).astype(low.dtype)
        made: Any = low + steps * ((high - low) / count)
        return converted(where(lifted(np.arange(count + 1) == count), high, made), kind)
    return lifted(bins)


def _counted(samples: Sequence[Any], edges: Sequence[Any], weights: Any) -> Any:
    """The counts in a grid of bins; the last edge belongs to its bin."""
    extents = [e.shape[0] - 1 for e in edges]
    place, inside = lifted(0), lifted(True)
    for x, e, n in zip(samples, edges, extents, strict=True):
        at: Any = searchsorted(e, x, "right")
        at = where(op.equal(x, e[-1]), n, at) - 1
        inside = op.logical_and(inside, op.logical_and(at >= 0, at < n))
        place = place * n + at
    total = prod(extents)
    values = converted(1, i64) if weights is None else reshape(lifted(weights), -1)
    values = where(inside, values, 0)
    zeros = broadcast_to(converted(0, element(values)), [total])
    return reshape(op.scatter_add(zeros, where(inside, place, 0), values, axis=0), extents)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tracer, Tracer]:
    """The counts in bins, or the sums of weights, and the edges of the bins."""
    edges: Any = histogram_bin_edges(a, bins, range)
    counts = _counted([reshape(lifted(a), -1)], [edges], weights)
    if density:
        kind = result_element([counts, edges])[0]
        long = wide(edges)
        counts = converted(wide(counts) / (long[1:] - long[:-1]) / sum(wide(counts)), kind)
    return counts, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tracer, list[Tracer]]:
    """The counts of points, the rows of a sample, in a grid of bins, and its edges."""
    if isinstance(sample, (list, tuple)):
        columns: list[Any] = [lifted(each) for each in cast(Any, sample)]
    else:
        points: Any = lifted(sample)
        points = points if points.ndim > 1 else reshape(points, (-1, 1))
        columns = [points[:, k] for k in builtins.range(points.shape[1])]
    given: list[Any] = (
        list(cast(Any, bins)) if isinstance(bins, (list, tuple)) else [bins] * len(columns)
    )
    ranges = [None] * len(columns) if range is None else list(range)
    edges: list[Any] = [
        histogram_bin_edges(x, b, r) for x, b, r in zip(columns, given, ranges, strict=True)
    ]
    counts: Any = floating(_counted(columns, edges, weights)).astype("float64")
    if density:
        total = sum(counts)
        for k, e in enumerate(edges):
            shape = [-1 if d == k else 1 for d in builtins.range(len(edges))]
            counts = counts / reshape(e[1:] - e[:-1], shape)
        counts = counts / total
    return counts, edges


def _count(items: Any) -> int:
    return len(items)


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tracer, Tracer, Tracer]:
    """The counts of points (x, y) in a grid of bins, and the edges along both axes."""
    if np.ndim(bins) == 1 and not (isinstance(bins, (list, tuple)) and _count(bins) == 2):
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Any:  # fmt: skip
    """Whether each element is one of some elements."""
    del assume_unique, kind
    x, tests = lifted(element), reshape(lifted(test_elements), -1)
    found = op.any(op.equal(expand_dims(x, x.ndim), tests), axis=-1)
    return op.logical_not(found) if invert else found


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    sort, argsort, partition, argpartition, lexsort, searchsorted, digitize, bincount, histogram,
    histogram_bin_edges, histogram2d, histogramdd, isin,
)  # fmt: skip
