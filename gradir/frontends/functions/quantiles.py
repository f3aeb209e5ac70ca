"""gradir.numpy: medians, quantiles and percentiles, also of the elements that are not nan.

The elements are sorted, and a quantile is read between two of them: its cotangent goes to these.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i64

from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.arguments import axes_of, floating, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import sum
from gradir.frontends.functions.sugar import (
    take_along_axis,
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    reshape,
    transpose,
)
from gradir.frontends.functions.wide import wide, wide_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted, note_read_of_elements

# alpha and beta of Hyndman and Fan's continuous methods.
_CONTINUOUS = {
    "linear": (1, 1), "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
# The largest number up to which float32 has all integers.
_F32_COUNTS = 2**24
_METHODS = (
    *_CONTINUOUS, "lower", "higher", "nearest", "midpoint", "inverted_cdf",
    "averaged_inverted_cdf", "closest_observation",
)  # fmt: skip


def _lines(x: Any, axis: Any) -> tuple[Any, list[int], list[int]]:
    """x with the axes as one, the last; the shape of the result with and without them."""
    axes = axes_of(x, axis)
    others = [d for d in range(x.ndim) if d not in axes]
    flat = transpose(x, [*others, *axes])
    rest = [x.shape[d] for d in others]
    kept = [1 if d in axes else n for d, n in enumerate(x.shape)]
    return reshape(flat, [*rest, prod(x.shape[d] for d in axes)]), rest, kept


def _places(q: Any, n: Any, method: str) -> tuple[Any, Any, Any]:
    """The two places of a quantile among n sorted elements, and the weight of the second."""
    last = n - 1
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        at = q * last if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method in ("lower", "higher", "nearest", "midpoint"):
        at = q * last
    else:
        at = n * q - (1.5 if method == "closest_observation" else 1)
    at = op.minimum(op.maximum(at, 0), last)
    low: Any = op.floor(at)
    high: Any = op.minimum(low + 1, last)
    share: Any = at - low
    match method:
        case "lower":
            share = share * 0
        case "higher" | "inverted_cdf":
            share = where(share > 0, 1.0, share * 0)
        case "nearest":
            share = op.round(at) - low
        case "midpoint":
            share = where(share > 0, 0.5, share * 0)
        case "averaged_inverted_cdf":
            share = where(share > 0, 1.0, where(n * q - 1 == at, 0.5, share * 0))
        case "closest_observation":
            is_odd = op.remainder(low, 2) == 1
            share = where(share > 0, 1.0, where(is_odd, 1.0, share * 0))
            share = where(n * q - 1.5 < 0, share * 0, share)
        case _:
            pass
    return low, high, share


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: bool, skip: bool, name: str
) -> Tracer:
    one_of(method, f"{name}: method", _METHODS)
    x, rest, kept = _lines(floating(a), axis)
    n = x.shape[-1]
    share: Any = floating(q)
    if not isinstance(q, Tracer) and not (
        np.all(np.asarray(q) >= 0) and np.all(np.asarray(q) <= 1)
    ):
        raise refusal(f"{name}: quantiles must be in [0, 1], got {q!r}")
    if n == 0:
        raise refusal(f"{name}: there must be elements, got {a!r}")
    x = op.sort(x, axis=-1)
    # places are numbers up to n, whatever the elements are
    kind = wide_element(element(share)) if n <= _F32_COUNTS else f64
    flat: Any = converted(reshape(share, [-1, *[1] * len(rest)]), kind)
    missing: Any = op.isnan(x)
    count: Any = converted(n - sum(missing, -1), kind) if skip else n
    low, high, weight = (broadcast_to(each, [flat.shape[0], *rest])
                         for each in _places(flat, count, method))  # fmt: skip
    below, above = (wide(_at(x, where(op.isnan(at), 0, at))) for at in (low, high))
    weight: Any = converted(weight, element(below))
    if method == "midpoint":
        made: Any = (below + above) * 0.5
    else:
        made = where(weight >= 0.5, above - (above - below) * (1 - weight),
                     below + (above - below) * weight)  # fmt: skip
    made = where(weight == 0, below, where(weight == 1, above, made))
    is_bad = (count == 0) if skip else missing[..., -1]
    made = converted(where(is_bad, float("nan"), made), element(x))
    return reshape(made, [*share.shape, *(kept if keepdims else rest)])


def _at(x: Any, places: Any) -> Any:
    """The elements of sorted lines at places, whose first axis counts the quantiles."""
    lines = broadcast_to(x, [places.shape[0], *x.shape])
    indices = expand_dims(converted(places, i64), places.ndim)
    return reshape(take_along_axis(lines, indices, -1), places.shape)


def _quantiles(name: str, scale: float, skip: bool) -> Callable[..., Any]:
    def quantiles(
        a: Any, q: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: bool = False, *, weights: None = None,
    ) -> Tracer:  # fmt: skip
        if weights is not None:
            raise refusal(f"{name}: weights are not there; repeat elements by their weights")
        share: Any = q if scale == 1 else (
            floating(q) / scale if isinstance(q, Tracer) else np.true_divide(q, scale)
        )  # fmt: skip
        if isinstance(q, np.ndarray):
            note_read_of_elements()
        if not isinstance(q, Tracer):
            share = np.asarray(share)
            return _quantile(a, share if share.ndim else float(share), axis, method, keepdims, skip,
                             name)  # fmt: skip
        return _quantile(a, share, axis, method, keepdims, skip, name)

    quantiles.__name__ = name
    left = " of the elements that are not nan" if skip else ""
    quantiles.__doc__ = (
        f"The numbers below which a share q in [0, {scale}] of the elements lies{left}.\n\n"
        "The result begins with the axes of q. vjp: ct to the two elements beside, by their weights"
    )
    return quantiles


quantile, nanquantile = _quantiles("quantile", 1, False), _quantiles("nanquantile", 1, True)
percentile = _quantiles("percentile", 100, False)
nanpercentile = _quantiles("nanpercentile", 100, True)


def median(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tracer:  # fmt: skip
    """The middle element in order, the mean of two; nan where one is nan."""
    return _quantile(a, 0.5, axis, "midpoint", keepdims, False, "median")


def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tracer:  # fmt: skip
    """The median of the elements that are not nan; nan where all are."""
    return _quantile(a, 0.5, axis, "midpoint", keepdims, is_float(element(lifted(a))), "nanmedian")


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    quantile, nanquantile, percentile, nanpercentile, median, nanmedian,
)  # fmt: skip
