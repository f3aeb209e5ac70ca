"""Integrals of smooth functions by Gauss and Legendre's rule: a sum of terms, one reduction.

The terms are differentiated by all values that the function reads, to any order.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.views import expand_dims
from gradir.frontends.tracing.tracing import lifted

DEPTH = 39.0
"""exp(-DEPTH) is nothing beside 1: where an integrand may be cut off."""
_NODES = 64


@cache
def rule() -> tuple[Any, Any]:
    """Places in [0, 1] and weights: NumPy's, after Newton's steps in 30 digits, as numbers near
    the ends lack some."""
    found: list[tuple[float, float]] = []
    with localcontext() as context:
        context.prec = 30
        for start in np.polynomial.legendre.leggauss(_NODES)[0].tolist():
            x = Decimal(start)
            for _ in range(3):
                value, slope = _legendre(x)
                x -= value / slope
            _, slope = _legendre(x)
            found.append((float((x + 1) / 2), float(1 / ((1 - x * x) * slope * slope))))
    places, weights = zip(*found, strict=True)
    return np.array(places), np.array(weights)


def _legendre(x: Decimal) -> tuple[Decimal, Decimal]:
    """The last polynomial of Legendre at x, and its derivative (DLMF 18.9.1, 18.9.17)."""
    low, high = Decimal(1), x
    for k in range(1, _NODES):
        low, high = high, ((2 * k + 1) * x * high - k * low) / (k + 1)
    return high, _NODES * (low - x * high) / (1 - x * x)


def integral(width: Any, function: Callable[[Any, Callable[[Any], Any]], Any]) -> Any:
    """The integral of function(u, wide) from 0 to a width; `wide` adds the axis of u to a value."""

    def wide(x: Any) -> Any:
        return expand_dims(x, x.ndim)

    places, weights = (lifted(each).astype(width.dtype) for each in rule())
    return width * op.sum(function(wide(width) * places, wide) * weights, axis=-1)
