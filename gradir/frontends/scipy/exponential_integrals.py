"""Exponential integrals: expn, exp1 and expi.

expn is a sum of smooth terms, a series or an integral by `quadrature`, so that the terms are
differentiated, to any order; expi has its asymptotic series (DLMF 6.12.2) far out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import growing, polynomial
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.calls import anywhere, in_float64
from gradir.frontends.scipy.edges import undefined
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.transforms.custom_derivatives import custom_jvp

EULER = 0.5772156649015329
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
    digamma = -EULER + sum(1 / k for k in range(1, n))
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


def expi_above(x: Any) -> Any:
    """The exponential integral of x > 0: the power series to 40, the asymptotic one beyond."""
    is_near = x <= 40
    near, far = gnp.where(is_near, x, 1.0), gnp.where(is_near, 50.0, x)
    coefficients = [1 / (k * factorial(k)) for k in range(1, 150)]
    low = EULER + gnp.log(near) + near * polynomial(near, coefficients)
    inverse = 1 / far
    high = gnp.exp(far) * inverse * polynomial(inverse, [float(factorial(k)) for k in range(39)])
    return gnp.where(is_near, low, high)


@custom_jvp
def _expi(x: Any) -> Any:
    is_positive, is_negative = x > 0, x < 0
    is_usual = gnp.logical_and(is_positive, x < np.inf)
    above = expi_above(gnp.where(is_usual, x, 1.0))
    above = gnp.where(x == np.inf, np.inf, above)
    below = -exp1(gnp.where(is_negative, -x, 1.0))
    made = gnp.where(is_positive, above, gnp.where(is_negative, below, -np.inf))
    return gnp.where(gnp.isnan(x), x, made)


def _expi_slope(x: Any) -> Any:
    power = gnp.exp(x)
    return growing(power / x, power)


_expi.defjvps(lambda t, _, x: t * _expi_slope(x))


def expi(x: Any) -> Any:
    """The exponential integral Ei, of exp(t) / t from -infinity to x, as a principal value."""
    return in_float64(_expi)(x)


FUNCTIONS: tuple[Callable[..., Any], ...] = (expn, exp1)
COMPILED = {"expi": anywhere(expi, "gradir.scipy.special")}
