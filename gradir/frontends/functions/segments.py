"""gradir.numpy: reductions of the rows of an array by the number of their segment, as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from gradir.dialects.array.creation import IotaOp, numpy_dtype
from gradir.dialects.base.shapes import is_float, tensor
from gradir.dialects.grad.grad import AddSlopeOp, NoGradOp
from gradir.frontends.functions.arguments import known
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import max, min, prod
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    reshape,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted


def _segments(data: Any, ids: Any, count: Any, name: str) -> tuple[Any, Any, int]:
    x, places = lifted(data), lifted(ids)
    if places.ndim != 1 or x.ndim < 1 or x.shape[0] != places.shape[0]:
        raise refusal(f"{name}: a segment for each row expected, got {places!r} for {x!r}")
    if count is None:
        if isinstance(ids, Tracer):
            raise refusal(f"{name}: num_segments must be given for traced segments")
        count = int(np.asarray(ids).max(initial=-1)) + 1
    return x, converted(places, i64), int(known(count, f"{name}: num_segments"))


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tracer:
    """The sum of the rows of each segment; 0 of none.   vjp: ct of each row's segment"""
    x, places, count = _segments(data, segment_ids, num_segments, "segment_sum")
    zeros = broadcast_to(converted(0, element(x)), [count, *x.shape[1:]])
    return op.scatter_add(zeros, places, x, axis=0)


def _by_mask(name: str, reduction: Callable[..., Any], start: Callable[[Any], Any]) -> Any:
    """Each segment's rows, and the start's value for the others, reduced."""

    def segment(data: Any, segment_ids: Any, num_segments: int | None = None) -> Tracer:
        x, places, count = _segments(data, segment_ids, num_segments, name)
        numbers = reshape(lifted(np.arange(count)), (count, 1))
        inside = op.equal(numbers, expand_dims(places, 0))
        inside = reshape(inside, [count, x.shape[0], *[1] * (x.ndim - 1)])
        return _chosen(x, inside, reduction, start)

    segment.__name__ = name
    segment.__doc__ = f"The {name[8:]} of the rows of each segment, which `num_segments` counts."
    return segment


def _chosen(x: Tracer, inside: Any, reduction: Callable[..., Any], start: Any) -> Any:
    rows = where(inside, expand_dims(x, 0), converted(start(x), element(x)))
    return reduction(rows, 1, **({"initial": start(x)} if not x.shape[0] else {}))


def _least(x: Tracer) -> Any:
    return -inf if is_float(element(x)) else int(np.iinfo(numpy_dtype(element(x))).min)


def _greatest(x: Tracer) -> Any:
    return inf if is_float(element(x)) else int(np.iinfo(numpy_dtype(element(x))).max)


def _product(x: Any, axis: int, **options: Any) -> Any:
    return prod(x, axis, x.dtype, **options)


_STARTS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "prod": (_product, lambda _: 1), "max": (max, _least), "min": (min, _greatest),
}  # fmt: skip


def products(values: Tracer, places: Tracer) -> Any:
    """For each of values [n], the product of all values of its place [n]. Time is n * n."""
    same = op.equal(expand_dims(places, 1), expand_dims(places, 0))
    return _chosen(values, same, *_STARTS["prod"])


def extremes(is_max: bool, x: Tracer, places: Tracer, values: Tracer) -> Any:
    """x [m] with the maximum, or minimum, of each element and all values [n] of its place [n].

    Equal ones share the gradient. Time is that of sorting m + n numbers.
    """
    own = emit_one(IotaOp, type=tensor(x.shape, i64), axis=0)
    at = op.concat([own, places], axis=0)
    every = op.concat([x, values], axis=0)
    known = emit_one(NoGradOp, every)
    if is_max or not is_float(element(x)):
        order = op.argsort(known, axis=0, descending=None if is_max else True)
    else:
        order = op.argsort(op.negative(known), axis=0)  # nan is last, and stays
    # of the values of one place the last is kept
    start = emit_one(NoGradOp, x)
    sorted_ = op.take(known, order, axis=0)
    found = op.index_update(start, op.take(at, order, axis=0), sorted_, axis=0)
    return _shared(found, every, at) if is_float(element(x)) else found


def _shared(found: Tracer, every: Tracer, at: Tracer) -> Any:
    """The numbers found [m], as the mean of those of every [n] that are equal to them."""
    known, there = emit_one(NoGradOp, every), op.take(found, at, axis=0)
    is_equal = op.logical_or(
        op.equal(known, there), op.logical_and(op.isnan(known), op.isnan(there))
    )
    zeros, ones = (broadcast_to(converted(k, element(found)), found.shape) for k in (0, 1))
    counts = op.scatter_add(zeros, at, converted(is_equal, element(found)), axis=0)
    shares = op.divide(every, op.take(counts, at, axis=0))
    mean = op.scatter_add(zeros, at, where(is_equal, shares, 0), axis=0)
    # the numbers found: a sum of thirds is not exact
    return emit_one(AddSlopeOp, found, mean, ones)


segment_prod = _by_mask("segment_prod", *_STARTS["prod"])
segment_max = _by_mask("segment_max", *_STARTS["max"])
segment_min = _by_mask("segment_min", *_STARTS["min"])

FUNCTIONS: tuple[Callable[..., Any], ...] = (segment_sum, segment_prod, segment_max, segment_min)
