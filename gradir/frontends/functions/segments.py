"""gradir.numpy: reductions of the rows of an array by the number of their segment, as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_float
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
from gradir.frontends.tracing.tracing import element, lifted


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


_MERGES: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "prod": (_product, lambda _: 1), "max": (max, _least), "min": (min, _greatest),
}  # fmt: skip


def merged(kind: str, values: Tracer, places: Tracer) -> Any:
    """For each of values [n], the product, maximum or minimum of all values of its place [n].

    Time is n * n.
    """
    same = op.equal(expand_dims(places, 1), expand_dims(places, 0))
    return _chosen(values, same, *_MERGES[kind])


segment_prod = _by_mask("segment_prod", *_MERGES["prod"])
segment_max = _by_mask("segment_max", *_MERGES["max"])
segment_min = _by_mask("segment_min", *_MERGES["min"])

FUNCTIONS: tuple[Callable[..., Any], ...] = (segment_sum, segment_prod, segment_max, segment_min)
