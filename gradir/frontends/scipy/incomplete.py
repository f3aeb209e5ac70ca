"""Incomplete gamma and beta functions.

Both are a power times the integral of a smooth function that falls from 1 to below 1e-16, by Gauss
and Legendre's rule: the terms of the sum are one reduction, and are differentiated by all
arguments, to any order. Small exponents are raised by the recurrence first, so that
the function is smooth at its end too. No end of a domain is a case of its own: the power is 0 there
and has the derivatives of a power.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan, pi
from typing import Any

from gradir.dialects.grad.grad import NoGradOp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.edges import with_digits
from gradir.frontends.scipy.gammas import LARGE, correction, regular_betaln
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import emit_one

# Steps of the recurrence.
_STEPS = 6
# Below it a ratio is a power's base, as its logarithm has no derivative at 0.
_TINY = 0.1


def valid_or_nan(x: Any, is_valid: Any) -> Any:
    """x where it is valid; else nan, with derivatives of nan."""
    return x * where(is_valid, 1.0, nan)


def _cut(slope: Any, curve: Any) -> Any:
    """u > 0 with slope * u + curve * u * u = DEPTH, for curve >= 0, not both 0.

    No derivative flows through it: an integral's derivative by an end is its integrand, 0 there.
    """
    root = op.sqrt(slope * slope + 4 * DEPTH * curve)
    by_slope, by_curve = 2 * DEPTH / (slope + root), (root - slope) / (2 * curve)
    return emit_one(NoGradOp, where(op.greater(slope, 0), by_slope, by_curve))


def log_ratio(apart: Any, ratio: Any) -> Any:
    """log(ratio), and log1p(apart), which is the same, where the ratio is near 1."""
    is_near = op.less(op.abs(apart), 0.5)
    near, far = op.log1p(where(is_near, apart, 0.0)), op.log(where(is_near, 1.0, ratio))
    return where(is_near, near, far)


def raised(base: Any, exponent: Any, logarithm: Any) -> Any:
    """base**exponent * exp(logarithm); a factor alone may be above or below all numbers.

    With the derivatives of a power at a base of 0.
    """
    most = {8: 1400.0, 4: 170.0}.get(logarithm.dtype.itemsize, 20.0)
    root = op.exp(op.minimum(logarithm, most) / 2)
    return pow(base, exponent) * root * root


def _base(is_power: Any, x: Any, is_large: Any, logarithm: Any) -> tuple[Any, Any]:
    """The base of x**a as a power, and the logarithm that a base of x times a number lacks.

    Where a is large the number is exp(logarithm), so that base**a is not below all numbers. It
    counts as one for derivatives: the base, which may be 0, is moved by x alone.
    """
    known = emit_one(NoGradOp, logarithm)
    base = x * where(is_large, op.exp(known), 1.0)
    return where(is_power, base, 1.0), logarithm - known


def _gamma_factors(a: Any, x: Any) -> tuple[Any, Any]:
    """(base, c) with base**a * exp(c) = x**a * exp(-x) / gamma(a + 1).

    Of a large a by Stirling's series, with a base of 1 but near x = 0.
    """
    is_large = op.greater_equal(a, LARGE)
    b, y = where(is_large, a, LARGE), where(is_large, x, LARGE)
    share, ratio = (y - b) / b, y / b
    is_tiny = op.less(ratio, _TINY)
    is_power = op.logical_or(is_tiny, op.logical_not(is_large))
    base, lacking = _base(is_power, x, is_large, -share - op.log(b))
    distance = where(is_tiny, lacking, log_ratio(share, where(is_tiny, 1.0, ratio)) - share)
    by_series = b * distance - op.log(b * (2 * pi)) / 2 - correction(b)
    return base, where(is_large, by_series, -x - op.lgamma(where(is_large, 1.0, a) + 1))


def log_density(a: Any, x: Any) -> Any:
    """log(x**a * exp(-x) / gamma(a + 1))."""
    base, rest = _gamma_factors(a, x)
    return a * op.log(base) + rest


def _gamma_sum(a: Any, x: Any, is_low: Any) -> Any:
    """P, where `is_low`, else Q of (a, x), times gamma(a + 1) / (x**a * exp(-x)).

    Both are an integral of (1 + u)**(a - 1) * exp(-x u), from -1 to 0, or from 0 on.
    """
    top = where(is_low, a + _STEPS, a)
    curve = where(is_low, top - 1, op.maximum(top - 1, 0))
    slope = where(is_low, curve - x, x - curve - DEPTH)
    width = _cut(slope, curve / 2 + where(is_low, 0.0, slope + DEPTH))
    width = where(is_low, -op.minimum(width, 1.0), width)
    part = integral(width, lambda u, wide: op.exp(wide(top - 1) * op.log1p(u) - wide(x) * u))
    upper, total, place = top * part, -top * part, where(is_low, x, 0.0)
    for k in range(_STEPS, 0, -1):
        total = 1 + place / (a + k) * total
    return where(is_low, total, upper)


def _both_gammas(a: Any, x: Any) -> tuple[Any, Any]:
    """P and Q."""
    a, x = floats(a, x)
    is_ok = op.logical_and(op.greater(a, 0), op.greater_equal(x, 0))
    # beyond it Q is below all numbers
    x = op.minimum(x, emit_one(NoGradOp, 100 * (a + 10)))
    is_low = op.less_equal(x, op.maximum(a, 1.0) + 1)
    base, rest = _gamma_factors(a, x)
    part = valid_or_nan(raised(base, a, rest) * _gamma_sum(a, x, is_low), is_ok)
    return where(is_low, part, 1 - part), where(is_low, 1 - part, part)


def _log_of_one(is_wanted: Any, base: Any, exponent: Any, rest: Any, total: Any) -> Any:
    """log of base**exponent * exp(rest) * total where that is wanted, else log of 1 less it."""
    logarithm = exponent * op.log(where(is_wanted, base, 1.0)) + rest + op.log(total)
    part = raised(where(is_wanted, 1.0, base), exponent, rest) * total
    return where(is_wanted, logarithm, op.log1p(-where(is_wanted, 0.0, part)))


def log_gamma(a: Any, x: Any, is_upper: bool) -> Any:
    """log(P), or log(Q), finite where those are below all numbers, of a > 0 and x >= 0."""
    is_low = op.less_equal(x, op.maximum(a, 1.0) + 1)
    is_wanted = op.logical_not(is_low) if is_upper else is_low
    base, rest = _gamma_factors(a, x)
    return _log_of_one(is_wanted, base, a, rest, _gamma_sum(a, x, is_low))


def gammainc(a: Any, x: Any) -> Tracer:
    """The regularized lower incomplete gamma function, for a > 0 and x >= 0; else nan."""
    return _both_gammas(a, x)[0]


def gammaincc(a: Any, x: Any) -> Tracer:
    """1 - gammainc(a, x)."""
    return _both_gammas(a, x)[1]


def _beta_factors(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(base, c) with base**a * exp(c) = x**a * y**b / beta(a, b), for y > 0.

    Of large a and b by Stirling's series, with a base of 1 but near x = 0; else the base is x.
    """
    is_large = op.greater_equal(op.minimum(a, b), LARGE)
    p, q = where(is_large, a, LARGE), where(is_large, b, LARGE)
    s, t = where(is_large, x, 0.5), where(is_large, y, 0.5)
    apart, ratio = p * t - q * s, s * ((p + q) / p)
    is_tiny = op.less(ratio, _TINY)
    of_y = log_ratio(where(is_large, apart / q, -x), where(is_large, t * ((p + q) / q), y))
    is_power = op.logical_or(is_tiny, op.logical_not(is_large))
    base, lacking = _base(is_power, x, is_large, op.log((p + q) / p) + q / p * of_y)
    distance = p * log_ratio(-apart / p, where(is_tiny, 1.0, ratio)) + q * of_y
    by_series = where(is_tiny, p * lacking, distance) + op.log(p * q / ((p + q) * (2 * pi))) / 2
    by_series = by_series + correction(p + q) - correction(p) - correction(q)
    rest = b * of_y - regular_betaln(where(is_large, 1.0, a), where(is_large, 1.0, b))
    return base, where(is_large, by_series, rest)


def log_beta_density(a: Any, b: Any, x: Any, y: Any) -> Any:
    """log(x**a * y**b / beta(a, b)), for y > 0."""
    base, rest = _beta_factors(a, b, x, y)
    return a * op.log(base) + rest


def _beta_sum(a: Any, b: Any, x: Any, y: Any) -> Any:
    """I_x(a, b) * beta(a, b) / (x**a * y**b) for y >= (b + 1) / (a + b + 2), and y = 1 - x."""
    top = a + _STEPS
    ratio = x / y
    slope = op.maximum(top - 1 - op.maximum(b - 1, 0) * ratio, 0)
    width = op.minimum(_cut(slope, (top - 1) / 2), 1.0)
    total = top / y * integral(
        width,
        lambda u, wide: op.exp(
            wide(top - 1) * op.log1p(-u) + wide(b - 1) * op.log1p(wide(ratio) * u)
        ),
    )  # fmt: skip
    for k in range(_STEPS, 0, -1):
        total = 1 + (a + b + (k - 1)) * x / (a + k) * total
    return total / a


def betainc(a: Any, b: Any, x: Any) -> Tracer:
    """The regularized incomplete beta function, for a, b > 0 and x in [0, 1]; else nan."""
    a, b, x = floats(a, b, x)
    return _betas(a, b, x, 1 - x)[0]


def log_beta(a: Any, b: Any, x: Any, y: Any, is_upper: bool) -> Any:
    """The logarithm of one of `both_betas`, finite where that is below all numbers."""
    is_low = op.greater_equal(y, (b + 1) / (a + b + 2))
    first, second = where(is_low, a, b), where(is_low, b, a)
    place, other = where(is_low, x, y), where(is_low, y, x)
    is_wanted = op.logical_not(is_low) if is_upper else is_low
    base, rest = _beta_factors(first, second, place, other)
    return _log_of_one(is_wanted, base, first, rest, _beta_sum(first, second, place, other))


def _halves(root: Any, cosine: Any, b: Any) -> tuple[Any, Any, Any]:
    """Whether root**2 is low, then (I(root**2; 1/2, b) / root) / 2, else log(1 - I) - log(2)."""
    x, y = root * root, cosine * cosine
    is_low = op.greater_equal(y, (b + 1) / (b + 2.5))
    first, second = where(is_low, 0.5, b), where(is_low, b, 0.5)
    place, rest = where(is_low, x, y), where(is_low, y, x)
    # of `_beta_factors`, for exponents of which one is small
    logarithm = second * log_ratio(-place, rest) - regular_betaln(b, 0.5)
    total = _beta_sum(first, second, place, rest) / 2
    low = op.exp(logarithm) * total
    power = 2 * b * op.log(where(is_low, 1.0, cosine))
    is_near = op.logical_and(op.less(x, 0.5), op.logical_not(is_low))
    power = with_digits(power, is_near, b * op.log1p(-where(is_near, x, 0.0)))
    return is_low, low, power + logarithm + op.log(total)


def halves(root: Any, cosine: Any, b: Any) -> Any:
    """(1 + sign(root) * I(root**2; 1/2, b)) / 2, smooth at 0; root**2 + cosine**2 = 1, b > 0."""
    is_low, low, high = _halves(root, cosine, b)
    tail = op.exp(high)
    return where(is_low, 0.5 + root * low, where(op.less(root, 0), tail, 1 - tail))


def log_halves(root: Any, cosine: Any, b: Any) -> Any:
    """The logarithm of `halves`, finite where that is below all numbers."""
    is_low, low, high = _halves(root, cosine, b)
    middle = op.log(0.5 + where(is_low, root * low, 0.0))
    rest = op.log1p(-op.exp(where(is_low, -1.0, high)))
    return where(is_low, middle, where(op.less(root, 0), high, rest))


def betaincc(a: Any, b: Any, x: Any) -> Tracer:
    """1 - betainc(a, b, x)."""
    a, b, x = floats(a, b, x)
    return _betas(a, b, x, 1 - x)[1]


def _betas(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Both of a, b and x in their domain; else nan."""
    is_ok = op.greater(op.minimum(a, b), 0)
    is_ok = op.logical_and(is_ok, op.greater_equal(op.minimum(x, y), 0))
    low, high = both_betas(a, b, x, y)
    return valid_or_nan(low, is_ok), valid_or_nan(high, is_ok)


def both_betas(a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """betainc(a, b, x) and 1 less that, of a, b > 0 and x in [0, 1], with y = 1 - x to its bits."""
    is_low = op.greater_equal(y, (b + 1) / (a + b + 2))
    first, second = where(is_low, a, b), where(is_low, b, a)
    place, rest = where(is_low, x, y), where(is_low, y, x)
    base, logarithm = _beta_factors(first, second, place, rest)
    part = raised(base, first, logarithm) * _beta_sum(first, second, place, rest)
    return where(is_low, part, 1 - part), where(is_low, 1 - part, part)


FUNCTIONS: tuple[Callable[..., Any], ...] = (gammainc, gammaincc, betainc, betaincc)
