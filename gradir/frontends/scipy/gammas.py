"""The gamma function and its relatives, beta functions, Hurwitz's zeta function."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, log, nan, pi
from typing import Any

import numpy as np

from gradir.dialects.array.gamma import BERNOULLI, LAST_ORDER, PolygammaOp
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer

# From here on Stirling's series is used.
LARGE = 10.0
_STIRLING = [c / (2 * j * (2 * j - 1)) for j, c in enumerate(BERNOULLI, 1)]


def gammaln(x: Any) -> Tracer:
    """log |gamma(x)|; inf at 0, -1, -2, ..."""
    return op.lgamma(floating(x))


def gammasgn(x: Any) -> Tracer:
    """The sign of gamma(x); 0 at -1, -2, ..., and that of x at 0."""
    value: Any = floating(x)
    low = op.floor(value)
    is_odd = op.not_equal(op.remainder(low, 2), 0)
    below = where(op.equal(low, value), 0.0, where(is_odd, -1.0, 1.0))
    made = where(op.less(value, 0), below, op.copysign(1.0, value))
    return where(op.isnan(value), value, made)


def gamma(x: Any) -> Tracer:
    """The gamma function; nan at -1, -2, ..., inf with the sign of x at 0."""
    value: Any = floating(x)
    sign: Any = gammasgn(value)
    made = sign * op.exp(op.lgamma(value))
    return where(op.logical_or(op.equal(sign, 0), op.equal(value, -inf)), nan, made)


def factorial_(n: Any, exact: bool = False) -> Tracer:
    """gamma(n + 1), 0 below 0, as a float."""
    if exact:
        raise refusal("factorial: exact integers of any length are not there; exact must be False")
    value: Any = floating(n)
    is_there = op.logical_not(op.less(value, 0))
    return where(is_there, gamma(where(is_there, value, 0.0) + 1), 0.0)


factorial_.__name__ = "factorial"


def digamma(x: Any) -> Tracer:
    """The derivative of gammaln."""
    return apply(PolygammaOp, {"x": floating(x), "order": 0})


def polygamma(n: int, x: Any) -> Tracer:
    """The n-th derivative of digamma."""
    order = number(n, "polygamma: n")
    if not 0 <= order <= LAST_ORDER:
        raise refusal(f"polygamma: n must be in [0, {LAST_ORDER}], got {n}")
    return apply(PolygammaOp, {"x": floating(x), "order": order})


def poch(z: Any, m: Any) -> Tracer:
    """gamma(z + m) / gamma(z)."""
    first, more = floats(z, m)
    sign: Any = gammasgn(first + more)
    return sign * gammasgn(first) * op.exp(op.lgamma(first + more) - op.lgamma(first))


def multigammaln(a: Any, d: int) -> Tracer:
    """The logarithm of the multivariate gamma function of dimension d."""
    count = number(d, "multigammaln: d")
    value: Any = floating(a)
    total: Any = count * (count - 1) / 4 * log(pi)
    for k in range(count):
        total = total + op.lgamma(value - k / 2)
    return total


def correction(z: Any) -> Any:
    """gammaln(z) - ((z - 1/2) log z - z + log(2 pi) / 2) for z >= 10."""
    return polynomial(1 / (z * z), _STIRLING) / z


def betaln(a: Any, b: Any) -> Tracer:
    """log |beta(a, b)|; of large arguments without cancellation."""
    x, y = floats(a, b)
    # no minimum: its derivative at a tie is halved, and the second one would be wrong
    is_less = op.less(x, y)
    small, large = where(is_less, x, y), where(is_less, y, x)
    is_large: Any = op.logical_and(op.greater_equal(large, LARGE), op.greater(small, 0))
    low, high = where(is_large, small, 1.0), where(is_large, large, LARGE)
    step = correction(high) - correction(low + high)
    by_series = (op.lgamma(low) + step - low * op.log(high) + low
                 - (low + high - 0.5) * op.log1p(low / high))  # fmt: skip
    x, y = where(is_large, 1.0, x), where(is_large, 1.0, y)
    return where(is_large, by_series, op.lgamma(x) + op.lgamma(y) - op.lgamma(x + y))


def beta(a: Any, b: Any) -> Tracer:
    """gamma(a) gamma(b) / gamma(a + b)."""
    x, y = floats(a, b)
    sign: Any = gammasgn(x)
    return sign * gammasgn(y) * gammasgn(x + y) * op.exp(betaln(x, y))


def binom(n: Any, k: Any) -> Tracer:
    """gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); 0 for negative integers k.

    For n - k < 0 by the reflection of the last gamma (DLMF 5.5.3), which is smooth at its poles.
    """
    x, y = floats(n, k)
    is_zero = op.logical_and(op.equal(op.floor(y), y), op.less(y, 0))
    is_below = op.less(x, y)
    is_above = op.logical_not(op.logical_or(is_zero, is_below))
    top, low = where(is_above, x, 1.0), where(is_above, y, 1.0)
    above = 1 / ((top + 1) * beta(top - low + 1, low + 1))
    top, low = where(is_below, x, 0.0), where(is_below, y, 1.0)
    nearest: Any = op.round(top - low)
    sign = 2 * op.remainder(nearest, 2) - 1
    below = sign * op.sin(np.pi * (top - low - nearest)) / np.pi * beta(top + 1, low - top)
    return where(is_zero, 0.0, where(is_below, below, above))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tracer:
    """The number of ways to choose k of N things, as a float; 0 outside of 0 <= k <= N."""
    if exact:
        raise refusal("comb: exact integers of any length are not there; exact must be False")
    x, y = floats(N, k)
    x = x + y - 1 if repetition else x
    is_there = op.logical_and(op.less_equal(y, x), op.greater_equal(y, 0))
    return where(is_there, binom(where(is_there, x, 1.0), where(is_there, y, 1.0)), 0.0)


def zeta(x: Any, q: Any = 1.0) -> Tracer:
    """Hurwitz's zeta function, the sum of (q + k) ** -x, for x > 1 and q > 0; else nan.

    By Euler and Maclaurin's formula from the 12th term on.
    """
    s, start = floats(x, q)
    is_there = op.logical_and(op.greater(s, 1), op.greater(start, 0))
    s, start = where(is_there, s, 2.0), where(is_there, start, 1.0)
    total: Any = 0.0
    for k in range(12):
        total = total + op.exp(-s * op.log(start + k))
    last = start + 12
    power = op.exp(-s * op.log(last))
    total = total + power * last / (s - 1) + power / 2
    rising: Any = s
    factor = power / last
    for j, c in enumerate((*BERNOULLI, 43867 / 798, -174611 / 330), 1):
        total = total + c / factorial(2 * j) * rising * factor
        rising = rising * (s + (2 * j - 1)) * (s + 2 * j)
        factor = factor / (last * last)
    return where(is_there, total, where(op.equal(floating(x), 1), inf, nan))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    gammaln, gammasgn, gamma, factorial_, digamma, polygamma, poch, multigammaln, betaln, beta,
    binom, comb, zeta,
)  # fmt: skip
