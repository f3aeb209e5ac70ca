"""Incomplete gamma and beta functions.

Both are a prefactor times the integral of a smooth function that falls from 1 to below 1e-16, by
Gauss and Legendre's rule: the terms of the sum are one reduction, and derivatives by all arguments,
of any order, are those of the terms. Small exponents are raised by the recurrence first, so that
the function is smooth at its end too.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.gammas import LARGE, betaln, correction
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.tracing.tracer import Tracer

# Steps of the recurrence.
_STEPS = 20


def _width(slope: Any, curve: Any) -> Any:
    """u > 0 with slope * u + curve * u * u / 2 = DEPTH, for slope and curve >= 0 not both 0."""
    return 2 * DEPTH / (slope + op.sqrt(slope * slope + 2 * curve * DEPTH))


def _lower_gamma(a: Any, x: Any) -> Any:
    """P(a, x) * gamma(a + 1) / (x**a * exp(-x)) for 0 <= x <= max(a, 1) + 1."""
    top = a + _STEPS
    # the integral of (1 - u)**(top - 1) exp(x u) from 0 to 1
    width = op.minimum(_width(top - 1 - x, top - 1), 1.0)
    total = top * integral(
        width, lambda u, wide: op.exp(wide(top - 1) * op.log1p(-u) + wide(x) * u)
    )
    for k in range(_STEPS, 0, -1):
        total = 1 + x / (a + k) * total
    return total


def _upper_gamma(a: Any, x: Any) -> Any:
    """Q(a, x) * gamma(a) / (x**a * exp(-x)) for x > max(a, 1) + 1."""
    curve = op.maximum(a - 1, 0)
    slope = x - curve
    # (slope + curve / 2) v**2 + (slope - depth) v = depth
    square, linear = slope + curve / 2, slope - DEPTH
    root = op.sqrt(linear * linear + 4 * square * DEPTH)
    width = where(
        op.greater(linear, 0), 2 * DEPTH / (linear + root), (root - linear) / (2 * square)
    )
    return integral(width, lambda v, wide: op.exp(wide(a - 1) * op.log1p(v) - wide(x) * v))


def log_density(a: Any, x: Any) -> Any:
    """log(x**a * exp(-x) / gamma(a + 1)), of a large a by Stirling's series."""
    is_large = op.greater_equal(a, LARGE)
    b, y = where(is_large, a, LARGE), where(is_large, x, LARGE)
    share = (y - b) / b
    by_series = -b * (share - _log_ratio(share, y / b)) - op.log(b * (2 * pi)) / 2 - correction(b)
    b, y = where(is_large, 1.0, a), where(is_large, 1.0, x)
    return where(is_large, by_series, b * op.log(y) - y - op.lgamma(b + 1))


def _log_ratio(apart: Any, ratio: Any) -> Any:
    """log(ratio), and log1p(apart), which is the same, where the ratio is near 1."""
    is_near = op.less(op.abs(apart), 0.5)
    near, far = op.log1p(where(is_near, apart, 0.0)), op.log(where(is_near, 1.0, ratio))
    return where(is_near, near, far)


def _both_gammas(a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q."""
    a, x = floats(a, x)
    is_ok = op.logical_and(op.greater(a, 0), op.greater_equal(x, 0))
    is_end = op.logical_or(op.equal(x, 0), op.isinf(x))
    is_inside = op.logical_and(is_ok, op.logical_not(is_end))
    b, y = where(is_inside, a, 1.0), where(is_inside, x, 1.0)
    is_low = op.less_equal(y, op.maximum(b, 1.0) + 1)
    small = where(is_low, y, 1.0), where(is_low, b, 1.0)
    large = where(is_low, 4.0, y), where(is_low, 1.0, b)
    lower = op.exp(log_density(small[1], small[0])) * _lower_gamma(small[1], small[0])
    upper = op.exp(log_density(large[1], large[0])) * large[1] * _upper_gamma(large[1], large[0])
    p, q = where(is_low, lower, 1 - upper), where(is_low, 1 - lower, upper)
    at_end: Any = where(op.equal(x, 0), 0.0, 1.0)
    bad = float("nan")
    return (where(is_inside, p, where(is_ok, at_end, bad)),
            where(is_inside, q, where(is_ok, 1 - at_end, bad)))  # fmt: skip


def gammainc(a: Any, x: Any) -> Tracer:
    """The regularized lower incomplete gamma function, for a > 0 and x >= 0; else nan."""
    return _both_gammas(a, x)[0]


def gammaincc(a: Any, x: Any) -> Tracer:
    """1 - gammainc(a, x)."""
    return _both_gammas(a, x)[1]


def _beta_part(a: Any, b: Any, x: Any, y: Any) -> Any:
    """I_x(a, b) for x <= (a + 1) / (a + b + 2), and y = 1 - x."""
    top = a + _STEPS
    ratio = x / y
    slope = op.maximum(top - 1 - op.maximum(b - 1, 0) * ratio, 0)
    width = op.minimum(_width(slope, top - 1), 1.0)
    total = top / y * integral(
        width,
        lambda u, wide: op.exp(
            wide(top - 1) * op.log1p(-u) + wide(b - 1) * op.log1p(wide(ratio) * u)
        ),
    )  # fmt: skip
    for k in range(_STEPS, 0, -1):
        total = 1 + (a + b + (k - 1)) * x / (a + k) * total
    return op.exp(log_beta_density(a, b, x, y)) * total / a


def log_beta_density(a: Any, b: Any, x: Any, y: Any) -> Any:
    """log(x**a * y**b / beta(a, b)), of large a and b by Stirling's series."""
    is_large = op.greater_equal(op.minimum(a, b), LARGE)
    p, q = where(is_large, a, LARGE), where(is_large, b, LARGE)
    s, t = where(is_large, x, 0.5), where(is_large, y, 0.5)
    apart = p * t - q * s
    distance = p * _log_ratio(-apart / p, s * ((p + q) / p))
    distance = distance + q * _log_ratio(apart / q, t * ((p + q) / q))
    factor = op.log(p * q / ((p + q) * (2 * pi))) / 2
    by_series = distance + factor + correction(p + q) - correction(p) - correction(q)
    p, q = where(is_large, 1.0, a), where(is_large, 1.0, b)
    s, t = where(is_large, 0.5, x), where(is_large, 0.5, y)
    logarithms = p * _log_ratio(-t, s) + q * _log_ratio(-s, t)
    return where(is_large, by_series, logarithms - betaln(p, q))


def betainc(a: Any, b: Any, x: Any) -> Tracer:
    """The regularized incomplete beta function, for a, b > 0 and x in [0, 1]; else nan."""
    a, b, x = floats(a, b, x)
    is_ok = op.logical_and(op.greater(a, 0), op.greater(b, 0))
    is_ok = op.logical_and(is_ok, op.logical_and(op.greater_equal(x, 0), op.less_equal(x, 1)))
    is_inside = op.logical_and(is_ok, op.logical_and(op.greater(x, 0), op.less(x, 1)))
    a, b = where(is_inside, a, 1.0), where(is_inside, b, 1.0)
    place = where(is_inside, x, 0.5)
    made, _ = both_betas(a, b, place, 1 - place)
    return where(is_inside, made, where(is_ok, x, float("nan")))


def both_betas(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """betainc(a, b, x) and 1 less that, of a, b > 0 and x in (0, 1), with y = 1 - x to its bits."""
    is_low = op.less_equal(x, (a + 1) / (a + b + 2))
    first, second = where(is_low, a, b), where(is_low, b, a)
    part = _beta_part(first, second, where(is_low, x, y), where(is_low, y, x))
    return where(is_low, part, 1 - part), where(is_low, 1 - part, part)


def betaincc(a: Any, b: Any, x: Any) -> Tracer:
    """1 - betainc(a, b, x)."""
    a, b, x = floats(a, b, x)
    return betainc(b, a, 1 - x)


FUNCTIONS: tuple[Callable[..., Any], ...] = (gammainc, gammaincc, betainc, betaincc)
