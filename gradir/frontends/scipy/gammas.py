"""The gamma function and its relatives, beta functions, Hurwitz's zeta function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, inf, log, pi
from typing import Any

from gradir.dialects.array.gamma import BERNOULLI, LAST_ORDER, PolygammaOp
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.functions.descriptions import finfo
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.edges import constant, sloped, undefined
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
    """The sign of gamma(x); 0 at -1, -2, ..., and the sign of x at 0.   vjp: zero"""
    value: Any = constant(floating(x))
    low = op.floor(value)
    is_odd = op.not_equal(op.remainder(low, 2), 0)
    below = where(op.equal(low, value), 0.0, where(is_odd, -1.0, 1.0))
    made = where(op.less(value, 0), below, op.copysign(1.0, value))
    return where(op.isnan(value), value, made)


def gamma(x: Any) -> Tracer:
    """The gamma function; nan at -1, -2, ..., inf with the sign of x at 0."""
    value: Any = floating(x)
    sign: Any = gammasgn(value)
    is_pole = op.logical_or(op.equal(sign, 0), op.equal(value, -inf))
    made = sign * op.exp(op.lgamma(where(is_pole, 1.0, value)))
    return undefined(made, is_pole, value)


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


def _is_pole(x: Any) -> Any:
    """Of the gamma function: 0, -1, -2, ..."""
    return op.logical_and(op.less_equal(x, 0), op.equal(op.floor(x), x))


def _sine(x: Any, is_low: Any) -> Any:
    """sin(pi x) / pi where x is low, else 1."""
    low = where(is_low, x, 0.5)
    nearest = op.round(low)
    sine = op.sin((low - nearest) * pi) / pi
    return where(is_low, sine * _parity(nearest), 1.0)


def _parity(x: Any) -> Any:
    """1 of even integers, -1 of others."""
    return where(op.equal(op.remainder(constant(x), 2), 0), 1.0, -1.0).astype(x.dtype)


def _jumping(made: Any, is_jump: Any, x: Any) -> Any:
    """`made`; where it jumps in x, all its derivatives by x are nan."""
    return sloped(made, x, undefined(constant(x) * 0, is_jump, x))


def _jumping_in_larger(made: Any, is_jump: Any, x: Any, y: Any) -> Any:
    for larger, other in ((x, y), (y, x)):
        made = _jumping(made, op.logical_and(is_jump, op.greater(larger, other)), larger)
    return made


def poch(z: Any, m: Any) -> Tracer:
    """gamma(z + m) / gamma(z); where both are infinite the limit in z, as m jumps there.

    The gamma functions of numbers <= 0 are reflected (DLMF 5.5.3).
    """
    first, more = floats(z, m)
    last = first + more
    is_low, is_last_low = op.less_equal(first, 0), op.less_equal(last, 0)
    logarithms = [
        where(low, -1.0, 1.0) * op.lgamma(where(low, 1 - x, x))
        for x, low in ((last, is_last_low), (first, is_low))
    ]
    factor, divisor = _sine(first, is_low), _sine(last, is_last_low)
    is_both = op.logical_and(op.equal(factor, 0), op.equal(divisor, 0))
    part = op.exp(logarithms[0] - logarithms[1]) * where(is_both, _parity(more), factor)
    return _jumping(_over_sine(part, where(is_both, 1.0, divisor)), is_both, more)


def _over_sine(x: Any, sine: Any) -> Any:
    """x / sine; where it is infinite, only the divisor has derivatives."""
    return where(op.equal(sine, 0), constant(x), x) / sine


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


def _sorted(x: Any, y: Any) -> tuple[Any, Any]:
    """The smaller and the larger one: of equal ones without the kink of minimum and maximum."""
    is_swapped = op.less(y, x)
    return where(is_swapped, y, x), where(is_swapped, x, y)


def regular_betaln(x: Any, y: Any) -> Any:
    """log |beta(x, y)| where none of the three gamma functions is infinite."""
    small, large = _sorted(x, y)
    is_large: Any = op.logical_and(op.greater_equal(large, LARGE), op.greater(small, 0))
    low, high = where(is_large, small, 1.0), where(is_large, large, LARGE)
    step = correction(high) - correction(low + high)
    by_series = (op.lgamma(low) + step - low * op.log(high) + low
                 - (low + high - 0.5) * op.log1p(low / high))  # fmt: skip
    x, y = where(is_large, 1.0, x), where(is_large, 1.0, y)
    return where(is_large, by_series, op.lgamma(x) + op.lgamma(y) - op.lgamma(x + y))


def betaln(a: Any, b: Any) -> Tracer:
    """log |beta(a, b)|; of large arguments without cancellation; at poles as `beta`."""
    x, y = floats(a, b)
    low, high = _sorted(x, y)
    is_both = op.logical_and(_is_pole(low), _is_pole(low + high))
    is_infinite = op.logical_and(is_both, _is_pole(high))
    is_limit = op.logical_and(is_both, op.logical_not(is_infinite))
    # by the reflection of both infinite gamma functions; of three of them one is enough
    first = where(is_limit, 1 - low - high, low)
    made = regular_betaln(first, where(is_infinite, high + 0.5, high))
    return _jumping_in_larger(made, is_limit, x, y)


@dataclass(frozen=True)
class _Beta:
    """beta(low, high) as exp(sign * logarithm) * factor / (weight * divisor): of a beta function of
    positive numbers, and sines where gamma functions are reflected (DLMF 5.5.3)."""

    logarithm: Any
    sign: Any
    weight: Any
    factor: Any
    divisor: Any


def _reflected(low: Any, high: Any) -> _Beta:
    total = low + high
    is_low, is_high, is_total = (op.less_equal(x, 0) for x in (low, high, total))
    # low and total are reflected; of one of them, or of all, beta gets into the divisor
    is_pair = op.logical_and(is_total, op.logical_not(is_high))
    is_flipped = op.logical_and(is_low, op.logical_not(is_pair))
    first = where(is_low, where(is_pair, 1 - total, 1 - low), low)
    second = where(is_high, 1 - high, where(is_flipped, total, high))
    weight = where(is_flipped, where(is_high, 1 - total, high), 1.0)
    return _Beta(
        regular_betaln(first, second),
        where(is_flipped, -1.0, 1.0),
        weight,
        _sine(total, is_total),
        _sine(low, is_low) * _sine(high, is_high),
    )


def beta(a: Any, b: Any) -> Tracer:
    """gamma(a) gamma(b) / gamma(a + b); of two infinite ones with 1 / 0 the limit in the one."""
    x, y = floats(a, b)
    low, high = _sorted(x, y)
    made = _reflected(low, high)
    is_pole = op.equal(made.divisor, 0)
    is_both = op.logical_and(op.equal(made.factor, 0), is_pole)
    is_limit = op.logical_and(is_both, op.greater(high, 0))
    factor = where(is_both, _parity(high), made.factor) / made.weight
    part = op.exp(made.sign * made.logarithm) * factor
    value = _over_sine(part, where(is_limit, 1.0, made.divisor))
    return _jumping_in_larger(value, is_pole, x, y)


def binom(n: Any, k: Any) -> Tracer:
    """gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); nan for n = -1, -2, ..."""
    x, y = floats(n, k)
    made = _reflected(*_sorted(x - y + 1, y + 1))
    ratio = made.weight * made.divisor / ((x + 1) * made.factor)
    return undefined(op.exp(-made.sign * made.logarithm) * ratio, _is_pole(x + 1), x, y)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tracer:
    """The number of ways to choose k of N things, as a float; 0 outside of 0 <= k <= N."""
    if exact:
        raise refusal("comb: exact integers of any length are not there; exact must be False")
    x, y = floats(N, k)
    x = x + y - 1 if repetition else x
    is_there = op.logical_and(op.less_equal(y, x), op.greater_equal(y, 0))
    return where(is_there, binom(where(is_there, x, 1.0), where(is_there, y, 1.0)), 0.0)


def zeta(x: Any, q: Any = 1.0) -> Tracer:
    """Hurwitz's zeta function, the sum of (q + k) ** -x, for x >= 1 and q > 0; else nan.

    By Euler and Maclaurin's formula from the 12th term on.
    """
    s, start = floats(x, q)
    is_outside = op.logical_or(op.less(s, 1), op.less_equal(start, 0))
    s, start = where(is_outside, 2.0, s), where(is_outside, 1.0, start)
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
    return undefined(total, is_outside, *floats(x, q))


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
    # gamma(1 - low) as two factors: a small sine may leave a finite product. Its logarithm is cut
    # where the product is infinite for every sine but 0
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
    gammaln, gammasgn, gamma, factorial_, digamma, polygamma, poch, multigammaln, betaln, beta,
    binom, comb, zeta, rgamma, loggamma,
)  # fmt: skip
