"""Complete elliptic integrals, by the arithmetic-geometric mean."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi
from typing import Any

from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import where
from gradir.frontends.scipy.edges import constant, sloped, undefined, vertical
from gradir.frontends.tracing.tracer import Tracer


def _landen(m: Any) -> tuple[Any, Any]:
    """K of m < 1, and (K - E) / (m K), by the arithmetic-geometric mean (DLMF 19.8.5-6)."""
    b = op.sqrt(1 - m)
    # half the difference of both numbers, and it over m; each next one without cancellation
    share = 1 / (2 * (1 + b))
    half = m * share
    a, b = (1 + b) / 2, op.sqrt(b)
    lack, weight = 0.5 + half * share, 2.0
    for _ in range(9):
        a, b = (a + b) / 2, op.sqrt(a * b)
        share, half = half * share / (4 * a), half * half / (4 * a)
        lack = lack + weight * half * share
        weight *= 2
    return pi / 2 / a, lack


def _elliptic(m: Any) -> tuple[Any, Any, Any]:
    """m as a float, K of m <= 1, and (K - E) / (m K)."""
    value: Any = floating(m)
    is_end = op.equal(value, 1)
    first, lack = _landen(where(op.greater_equal(value, 1), 0.0, value))
    first = vertical(first, is_end, inf, -1.0, 1 - value)
    return value, first, vertical(lack, is_end, 1.0, -1.0, 1 - value)


def ellipk(m: Any) -> Tracer:
    """The complete elliptic integral of the first kind, of a parameter m <= 1; inf at 1."""
    value, first, _ = _elliptic(m)
    return undefined(first, op.greater(value, 1), value)


def ellipe(m: Any) -> Tracer:
    """The complete elliptic integral of the second kind, of a parameter m <= 1.

    Its derivative is (E - K) / (2 m) (DLMF 19.4.2).
    """
    value, first, lack = _elliptic(m)
    made = where(op.equal(value, 1), 1.0, first * (1 - value * lack))
    made = sloped(constant(made), value, first * lack / -2)
    return undefined(made, op.greater(value, 1), value)


FUNCTIONS: tuple[Callable[..., Any], ...] = (ellipk, ellipe)
