"""Exponential integrals, scaled error functions, elliptic integrals, the dilogarithm, 1 / gamma.

Each is a sum of smooth terms, a series or an integral by `quadrature`, so that derivatives, of any
order, are those of the terms; or it is given its slope. The ends of domains are those of `edges`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, log, pi, sqrt
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
from gradir.frontends.scipy.edges import constant, sign_of, sloped, undefined, vertical
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.scipy.quotients import log1p_over
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
    is_below = op.less(value, 0)
    if order == 0:
        return undefined(op.exp(-value) / where(is_below, 1.0, value), is_below, value)
    is_near, is_infinite = op.less_equal(value, 1.5), op.equal(value, inf)
    near = where(op.logical_and(is_near, op.logical_not(is_below)), value, 0.5)
    far = where(op.logical_or(is_near, is_infinite), 2.0, value)
    made = where(is_near, _expn_series(order, near), op.exp(-far) * _expn_scaled(order, far))
    return undefined(where(is_infinite, 0.0, made), is_below, value)


def _expn_series(n: int, x: Any) -> Any:
    terms = [
        -((-1) ** k) / ((k - n + 1) * factorial(k)) if k != n - 1 else 0.0 for k in range(_TERMS)
    ]
    if n >= 150:
        return polynomial(x, terms)
    digamma = -_EULER + sum(1 / k for k in range(1, n))
    power = 1.0 if n == 1 else pow(-x, n - 1) / float(factorial(n - 1))
    is_end = op.equal(x, 0)
    # x**(n-1) log(x) has its first n - 2 derivatives at 0, and others infinite; so has the power
    at_end = (-1.0) ** (n - 1) * pow(where(is_end, x, 1.0), n - 1.5)
    rest = power * (digamma - op.log(where(is_end, 1.0, x)))
    return polynomial(x, terms) + where(is_end, at_end, rest)


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
    high = op.round(op.clip(x, min=-100.0, max=100.0) * 64) / 64
    return op.exp(high * high) * op.exp((x - high) * (x + high) + y)


def erfcx(x: Any) -> Tracer:
    """exp(x * x) * erfc(x), by an integral (DLMF 7.7.1) where x >= 0."""
    value: Any = floating(x)
    is_below = op.less(value, 0)
    size = value * sign_of(value)
    is_infinite = op.equal(size, inf)
    inside = where(is_infinite, 1.0, size)
    # u * u + 2 x u = depth
    width = DEPTH / (inside + op.sqrt(inside * inside + DEPTH))
    above = 2 / sqrt(pi) * integral(width, lambda u, wide: op.exp(-u * (u + 2 * wide(inside))))
    above = where(is_infinite, 0.0, above)
    low = where(is_below, value, 0.0)
    return where(is_below, 2 * exp_square(low, 0.0) - above, above)


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


_DILOGARITHM = [c / factorial(2 * k + 1) for k, c in enumerate(BERNOULLI, 1)]


def spence(z: Any) -> Tracer:
    """The dilogarithm of 1 - z, for z >= 0: the integral of log(t) / (1 - t) from 1 to z.

    By Bernoulli's series in log(z) within [1/2, 2] (DLMF 25.12.3-4 outside).
    """
    value: Any = floating(z)
    is_below = op.less(value, 0)
    inside = where(is_below, 1.0, value)
    return undefined(sloped(constant(_spence(inside)), inside, _spence_slope(inside)),
                     is_below, value)  # fmt: skip


def _spence(z: Any) -> Any:
    is_far = op.greater(z, 2)
    folded = where(is_far, 1 / z, z)
    is_low = op.less(folded, 0.5)
    near = where(is_low, 1 - folded, folded)
    # 1 - near is exact, and so is u where near is close to 1
    u = -op.log1p(-where(is_low, folded, 1 - near))
    series = u - u * u / 4 + u * u * u * polynomial(u * u, _DILOGARITHM)
    low = where(op.equal(folded, 0), 1.0, folded)
    mirrored = pi * pi / 6 - op.log(low) * op.log1p(-folded) - series
    made = where(is_low, mirrored, series)
    logarithm = op.log(z)
    return where(is_far, -logarithm * logarithm / 2 - made, made)


def _spence_slope(z: Any) -> Any:
    """log(z) / (1 - z)."""
    is_near = op.less(op.abs(z - 1), 0.25)
    is_end = op.equal(z, 0)
    near = where(is_near, z - 1, 0.0)
    far = where(op.logical_or(is_near, is_end), 2.0, z)
    made = where(is_near, -log1p_over(near), op.log(far) / (1 - far))
    return vertical(made, is_end, -inf, 1.0, z)


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
    is_below = op.less(value, 0)
    return undefined(op.lgamma(where(is_below, 1.0, value)), is_below, value)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    expn, exp1, erfcx, ellipk, ellipe, spence, rgamma, loggamma,
)  # fmt: skip
