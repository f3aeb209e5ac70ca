"""The error functions, Dawson's integral, the normal distribution, and inverses."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import growing, polynomial
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.calls import anywhere, in_float64
from gradir.frontends.scipy.edges import sign_of, vertical, with_slopes
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.transforms.custom_derivatives import custom_jvp

# Wichura's rational functions, algorithm AS 241 (Applied Statistics 37, 1988): numerators and
# denominators for the middle, for tails, and for tails below exp(-25).
_MIDDLE = (
    [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3],
    [1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3],
)  # fmt: skip
_TAIL = (
    [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4],
    [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9],
)  # fmt: skip
_FAR = (
    [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7],
    [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15],
)  # fmt: skip


def _ratio(x: Any, pair: tuple[list[float], list[float]]) -> Any:
    return polynomial(x, pair[0]) / polynomial(x, pair[1])


def _quantile(middle: Any, tail: Any) -> Any:
    """ndtri(p) of p - 1/2 and of the smaller one of p and 1 - p."""
    is_middle = op.less_equal(op.abs(middle), 0.425)
    inside = where(is_middle, middle, 0.0)
    near = inside * _ratio(0.180625 - inside * inside, _MIDDLE)
    near = with_slopes(near, (inside, sqrt(2 * pi) * op.exp(near * near / 2)))
    is_end = op.equal(tail, 0)
    # nan of a tail below 0
    r = op.sqrt(-op.log(where(op.logical_or(is_middle, is_end), 0.1, tail)))
    is_far = op.greater(r, 5)
    close, far = where(is_far, 2.0, r), where(is_far, r, 6.0)
    size = where(is_far, _ratio(far - 5, _FAR), _ratio(close - 1.6, _TAIL))
    size = vertical(size, is_end, inf, -1.0, tail)
    return where(is_middle, near, where(op.less(middle, 0), -size, size))


def ndtri(y: Any) -> Tracer:
    """x with ndtr(x) = y; -inf at 0, inf at 1.   vjp: ct * sqrt(2 pi) * exp(x * x / 2)"""
    p: Any = floating(y)
    return _quantile(p - 0.5, op.minimum(p, 1 - p))


def erfinv(y: Any) -> Tracer:
    """x with erf(x) = y."""
    x: Any = floating(y)
    return _quantile(x / 2, (1 - op.abs(x)) / 2) / sqrt(2)


def erfcinv(y: Any) -> Tracer:
    """x with erfc(x) = y."""
    x: Any = floating(y)
    return _quantile((1 - x) / 2, op.minimum(x / 2, 1 - x / 2)) / sqrt(2)


def erf(z: Any) -> Tracer:
    """The error function."""
    return op.erf(floating(z))


def erfc(x: Any) -> Tracer:
    """1 - erf(x)."""
    return op.erfc(floating(x))


def ndtr(x: Any) -> Tracer:
    """The probability that a standard normal variable is at most x."""
    return op.erfc(floating(x) / -sqrt(2)) / 2


def log_ndtr(x: Any) -> Tracer:
    """log(ndtr(x)), exact in both tails."""
    value: Any = floating(x)
    is_low, is_high = op.less_equal(value, -10), op.greater(value, 0)
    low: Any = where(is_low, value, -30.0)
    # of (10 / x)**2, so that no coefficient is beyond float32
    terms = [1.0]
    for k in range(1, 25):
        terms.append(terms[-1] * -(2 * k - 1) / 100)
    series = polynomial(100 / (low * low), terms)
    far = -low * low / 2 - op.log(-low) - 0.5 * log(2 * pi) + op.log(series)
    high = op.log1p(-op.erfc(where(is_high, value, 1.0) / sqrt(2)) / 2)
    middle = op.log(op.erfc(where(op.logical_or(is_low, is_high), -1.0, value) / -sqrt(2)) / 2)
    return where(is_low, far, where(is_high, high, middle))


def exp_square(x: Any) -> Any:
    """exp(x * x), with the square to more than its bits."""
    high = op.round(op.clip(x, min=-100.0, max=100.0) * 64) / 64
    made = op.exp(high * high) * op.exp((x - high) * (x + high))
    return growing(made, op.exp(x * x))


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
    return where(is_below, 2 * exp_square(low) - above, above)


_LIMIT = 7.0
_STEP = 0.25


@custom_jvp
def _near(x: Any) -> Any:
    """By exp(-(x - n h)**2) (1 - exp(-4 n h x)) / n of odd n (Rybicki, "Dawson's integral and the
    sampling theorem", Computers in Physics 3, 1989); |x| <= 7. All terms have the sign of x."""
    n = np.arange(1, 56, 2.0)
    wide = gnp.abs(x)[..., None]
    apart = wide - n * _STEP
    terms = gnp.exp(-apart * apart) * -gnp.expm1(-4 * _STEP * n * wide) / n
    return gnp.where(x < 0, -1.0, 1.0) * gnp.sum(terms, -1) / sqrt(pi)


_near.defjvps(lambda t, y, x: t * (1 - 2 * x * y))


def _dawson(x: Any) -> Any:
    is_near = gnp.abs(x) < _LIMIT
    near, far = gnp.where(is_near, x, 0.0), gnp.where(is_near, 2 * _LIMIT, x)
    # the asymptotic series (DLMF 7.12.1 along the imaginary axis)
    coefficients = [1.0]
    for k in range(1, 40):
        coefficients.append(coefficients[-1] * (2 * k - 1) / 2)
    inverse = 1 / far
    high = inverse / 2 * polynomial(inverse * inverse, coefficients)
    return gnp.where(is_near, _near(near), high)


def dawsn(x: Any) -> Any:
    """Dawson's integral: exp(-x * x) times the integral of exp(t * t) from 0 to x."""
    return in_float64(_dawson)(x)


@custom_jvp
def _erfi(x: Any) -> Any:
    size = gnp.minimum(gnp.abs(x), 30.0)
    made = 2 / sqrt(pi) * exp_square(size) * _dawson(size)
    return gnp.where(gnp.isnan(x), x, gnp.where(x < 0, -made, made))


_erfi.defjvps(lambda t, _, x: t * (2 / sqrt(pi) * gnp.exp(x * x)))


def erfi(z: Any) -> Any:
    """The imaginary error function, 2 / sqrt(pi) times the integral of exp(t * t) from 0 to z."""
    return in_float64(_erfi)(z)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    erf, erfc, erfcx, erfinv, erfcinv, ndtr, ndtri, log_ndtr,
)  # fmt: skip
COMPILED = {f.__name__: anywhere(f, "gradir.scipy.special") for f in (dawsn, erfi)}
