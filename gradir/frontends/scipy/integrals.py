"""Exponential integrals, scaled error functions, elliptic integrals, the dilogarithm, 1 / gamma.

Each is a sum of smooth terms, a series or an integral by `quadrature`, so that derivatives, of any
order, are those of the terms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, log, nan, pi, sqrt
from typing import Any

from gradir.dialects.array.gamma import BERNOULLI
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.functions.descriptions import finfo
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer

_EULER = 0.5772156649015329
_TERMS = 26


def expn(n: int, x: Any) -> Tracer:
    """The integral of exp(-x t) / t**n from 1 on, for an integer n >= 0 and x >= 0; else nan.

    Up to 1.5 its power series (DLMF 8.19.8), beyond an integral (DLMF 8.19.3, t = 1 + u).
    """
    order = number(n, "expn: n")
    if order < 0:
        raise refusal(f"expn: n must not be negative, got {n}")
    value: Any = floating(x)
    if order == 0:
        return where(op.less(value, 0), nan, op.exp(-value) / value)
    is_near, is_end = op.less_equal(value, 1.5), op.equal(value, 0)
    is_inside = op.logical_and(op.greater(value, 0), op.less(value, inf))
    near = where(op.logical_and(is_near, is_inside), value, 0.5)
    far = where(op.logical_or(is_near, op.logical_not(is_inside)), 2.0, value)
    made = where(is_near, _expn_series(order, near), op.exp(-far) * _expn_scaled(order, far))
    made = where(is_end, inf if order == 1 else 1 / (order - 1), made)
    return where(is_inside, made, where(is_end, made, where(op.equal(value, inf), 0.0, nan)))


def _expn_series(n: int, x: Any) -> Any:
    terms = [
        -((-1) ** k) / ((k - n + 1) * factorial(k)) if k != n - 1 else 0.0 for k in range(_TERMS)
    ]
    digamma = -_EULER + sum(1 / k for k in range(1, n))
    power = 1.0 if n == 1 else pow(-x, n - 1) / float(factorial(n - 1)) if n < 150 else 0.0
    return polynomial(x, terms) + power * (digamma - op.log(x))


def _expn_scaled(n: int, x: Any) -> Any:
    # x u + n u / (1 + u) = depth, which x u + n log(1 + u) exceeds
    linear = x + (n - DEPTH)
    root = op.sqrt(linear * linear + 4 * DEPTH * x)
    is_low = op.greater(linear, 0)
    width = where(is_low, 2 * DEPTH / (root + op.abs(linear)), (root - linear) / (2 * x))
    return integral(width, lambda u, wide: op.exp(-n * op.log1p(u) - wide(x) * u))


def exp1(x: Any) -> Tracer:
    """The integral of exp(-t) / t from x > 0 on; inf at 0, nan below."""
    return expn(1, x)


def exp_square(x: Any, y: Any) -> Any:
    """exp(x * x + y), with the square to more than its bits."""
    high = op.round(x * 64) / 64
    return op.exp(high * high) * op.exp((x - high) * (x + high) + y)


def erfcx(x: Any) -> Tracer:
    """exp(x * x) * erfc(x), by an integral (DLMF 7.7.1) where x >= 0."""
    value: Any = floating(x)
    size = op.abs(value)
    is_below = op.less(value, 0)
    inside = where(op.less(size, inf), size, 1.0)
    # u * u + 2 x u = depth
    width = DEPTH / (inside + op.sqrt(inside * inside + DEPTH))
    above = 2 / sqrt(pi) * integral(width, lambda u, wide: op.exp(-u * (u + 2 * wide(inside))))
    above = where(op.less(size, inf), above, 0.0)
    low = where(is_below, op.maximum(value, -30.0), 0.0)
    made = where(is_below, 2 * exp_square(low, 0.0) - above, above)
    return where(op.isnan(value), value, made)


def _landen(m: Any) -> tuple[Any, Any]:
    """The arithmetic-geometric mean of 1 and sqrt(1 - m), and what E lacks of K, over K."""
    a, b = m * 0 + 1, op.sqrt(1 - m)
    lack, weight = m / 2, 1.0
    for _ in range(10):
        half = (a - b) / 2
        a, b = (a + b) / 2, op.sqrt(a * b)
        lack = lack + weight * half * half
        weight *= 2
    return a, lack


def ellipk(m: Any) -> Tracer:
    """The complete elliptic integral of the first kind, of a parameter m <= 1; inf at 1.

    By the arithmetic-geometric mean (DLMF 19.8.5).
    """
    value: Any = floating(m)
    is_inside = op.less(value, 1)
    mean, _ = _landen(where(is_inside, value, 0.0))
    return where(is_inside, pi / 2 / mean, where(op.equal(value, 1), inf, nan))


def ellipe(m: Any) -> Tracer:
    """The complete elliptic integral of the second kind, of a parameter m <= 1 (DLMF 19.8.6)."""
    value: Any = floating(m)
    is_inside = op.less(value, 1)
    mean, lack = _landen(where(is_inside, value, 0.0))
    made = pi / 2 / mean * (1 - lack)
    return where(is_inside, made, where(op.equal(value, 1), 1.0, nan))


_DILOGARITHM = [c / factorial(2 * k + 1) for k, c in enumerate(BERNOULLI, 1)]


def spence(z: Any) -> Tracer:
    """The dilogarithm of 1 - z, for z >= 0: the integral of log(t) / (1 - t) from 1 to z.

    By Bernoulli's series in log(z) within [1/2, 2] (DLMF 25.12.3-4 outside).
    """
    value: Any = floating(z)
    is_bad = op.logical_not(op.greater_equal(value, 0))
    is_far = op.greater(value, 2)
    inside = where(op.logical_or(is_bad, is_far), 1.0, value)
    folded = where(is_far, 1 / where(is_far, value, 3.0), inside)
    is_low = op.less(folded, 0.5)
    near = where(is_low, 1 - folded, folded)
    # 1 - near is exact, and so is u where near is close to 1
    u = -op.log1p(-where(is_low, folded, 1 - near))
    series = u - u * u / 4 + u * u * u * polynomial(u * u, _DILOGARITHM)
    low = where(op.logical_and(is_low, op.greater(folded, 0)), folded, 0.5)
    mirrored = pi * pi / 6 - op.log(low) * op.log1p(-low) - series
    made = where(is_low, where(op.equal(folded, 0), pi * pi / 6, mirrored), series)
    logarithm = op.log(where(is_far, value, 1.0))
    made = where(is_far, -logarithm * logarithm / 2 - made, made)
    return where(is_bad, nan, made)


def rgamma(z: Any) -> Tracer:
    """1 / gamma(z), which is 0 at 0, -1, -2, ..., and smooth there; 0 at both infinities.

    The slope at -n is n! with a sign, and infinite where no float is as large.
    """
    value: Any = floating(z)
    is_low = op.logical_and(op.less(value, 0.5), op.greater(value, -inf))
    low, high = where(is_low, value, 0.5), where(is_low, 1.0, value)
    nearest = op.round(low)
    sine = op.sin((low - nearest) * pi)
    is_odd = op.not_equal(op.remainder(nearest, 2), 0)
    # gamma(1 - low) as a product, of which the sine may be small enough to leave a finite number;
    # the logarithm of the largest one is enough for that of all numbers beside integers
    largest = 1.95 * log(float(finfo(value.dtype).max))
    root = op.exp(op.minimum(op.lgamma(1 - low), largest) / 2)
    below = where(is_odd, -sine, sine) / pi * root * root
    is_end = op.isinf(value)
    above = op.exp(-op.lgamma(where(is_end, 1.0, high)))
    return where(is_low, below, where(is_end, 0.0, above))


def loggamma(z: Any) -> Tracer:
    """log(gamma(z)) of z >= 0; nan below, where it is complex."""
    value: Any = floating(z)
    return where(op.less(value, 0), nan, op.lgamma(value))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    expn, exp1, erfcx, ellipk, ellipe, spence, rgamma, loggamma,
)  # fmt: skip
