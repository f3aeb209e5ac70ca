"""Distributions whose numbers are a function of uniform or normal ones and of the parameters.

Their derivatives by parameters go through this function: the numbers move as the distribution
does. Types narrower than float64 are computed in float32, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.functions.promotion import converted
from gradir.frontends.random.draws import (
    bell,
    finished,
    float_kind,
    integer_kind,
    key_of,
    parameters,
    positive_unit,
    standard_exponential,
    unit,
    valid_or_nan,
    words,
    working,
)
from gradir.frontends.random.keys import derived
from gradir.frontends.scipy import special
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracer import Tracer

_EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def bits(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Random bits as integers: each of the dtype is as likely as any other; int64 without one."""
    kind = integer_kind("bits", dtype)
    at, extents, name = key_of(key), as_shape(shape), str(kind)
    if name in ("i32", "i64"):
        return words(at, 0, extents, kind)
    low: Any = gnp.bitwise_and(words(at, 0, extents, i32), 255)
    return finished(low - 128 if name == "i8" else low, kind)


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Tracer:
    """Numbers in [minval, maxval), never maxval itself; minval where that is not below maxval.

    The bounds broadcast to the shape.   vjp: ct * u for maxval, ct * (1 - u) for minval
    """
    kind = float_kind("uniform", dtype)
    low, high = parameters("uniform", shape, kind, minval, maxval)
    u = converted(unit(key_of(key), 0, low.shape, kind), working(kind))
    first, last = (converted(v, working(kind)) for v in (low, high))
    y: Any = converted(u * (last - first) + first, kind)
    # a number rounded to maxval becomes the number before it, or the one before that
    y = gnp.where(y >= high, high - gnp.abs(high) * _EPSILON[str(kind)], y)
    return finished(gnp.where(low < high, gnp.where(y < low, low, y), low), kind)


def normal(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Standard normal numbers; `mean + deviation * normal(key, shape)` for others."""
    kind = float_kind("normal", dtype)
    return finished(bell(key_of(key), 0, as_shape(shape), kind), kind)


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Numbers of density exp(-x) for x >= 0."""
    return _of("exponential", standard_exponential, key, shape, dtype)


def gumbel(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Numbers of distribution function exp(-exp(-x)): the largest of many."""
    return _of("gumbel", standard_gumbel, key, shape, dtype)


def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Numbers of distribution function 1 / (1 + exp(-x))."""
    return _of("logistic", _logistic, key, shape, dtype)


def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Numbers of density exp(-abs(x)) / 2."""
    return _of("laplace", _laplace, key, shape, dtype)


def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Numbers of density 1 / (pi (1 + x * x)); they have no mean."""
    return _of("cauchy", _cauchy, key, shape, dtype)


def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """Lengths of three standard normal numbers."""
    return _of("maxwell", _maxwell, key, shape, dtype)


def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Tracer:
    """exp(sigma * z) of standard normal z, for sigma >= 0; else nan."""
    return _of("lognormal", _lognormal, key, shape, dtype, sigma)


def rayleigh(key: Any, scale: Any = 1.0, shape: Any = None, dtype: Any = None) -> Tracer:
    """scale * length of two standard normal numbers, for scale >= 0; else nan."""
    return _of("rayleigh", _rayleigh, key, shape, dtype, scale)


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of density b / x**(b + 1) for x >= 1, for b > 0; else nan."""
    return _of("pareto", _pareto, key, shape, dtype, b)


def power(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of density a * x**(a - 1) in [0, 1], for a > 0; else nan."""
    return _of("power", _power, key, shape, dtype, a)


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = None
) -> Tracer:
    """scale * e**(1 / concentration) of density exp(-e), for a concentration > 0; else nan."""
    return _of("weibull_min", _weibull, key, shape, dtype, scale, concentration)


def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None
) -> Tracer:
    """Numbers in [left, right] whose density rises to the mode and falls; left where all are equal.

    nan unless left <= mode <= right.
    """
    return _of("triangular", _triangular, key, shape, dtype, left, mode, right)


def double_sided_maxwell(
    key: Any, loc: Any, scale: Any, shape: Any = None, dtype: Any = None
) -> Tracer:
    """loc + scale * m, or loc - scale * m, of m as `maxwell` draws."""
    return _of("double_sided_maxwell", _two_sided, key, shape, dtype, loc, scale)


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None
) -> Tracer:
    """Standard normal numbers in [lower, upper]; nan unless lower <= upper.

    By the inverse of the distribution function, in the lower one of the two tails; by the inverse
    of its logarithm where both bounds are beyond 10 on the same side, as the function itself soon
    has no bits there. Bounds may be infinite; nan where both are the same infinity.
    """
    return _of("truncated_normal", _truncated, key, shape, dtype, lower, upper)


def _of(
    name: str, formula: Callable[..., Any], key: Any, shape: Any, dtype: Any, *values: Any
) -> Tracer:
    """Numbers of formula(key, 0, shape, type, *parameters), rounded to the dtype."""
    kind = float_kind(name, dtype)
    work = working(kind)
    arrays = parameters(name, shape, work, *values)
    extents = arrays[0].shape if arrays else as_shape(shape)
    return finished(formula(key_of(key), 0, extents, work, *arrays), kind)


# The formulas, of a key, a counter, a shape and a type.


def standard_gumbel(*at: Any) -> Any:
    """Numbers of distribution function exp(-exp(-x))."""
    return -gnp.log(-gnp.log1p(-positive_unit(*at)))


def _logistic(*at: Any) -> Any:
    u = positive_unit(*at)
    return gnp.log(u) - gnp.log1p(-u)


def _laplace(*at: Any) -> Any:
    t = 2 * positive_unit(*at) - 1
    return -gnp.sign(t) * gnp.log1p(-gnp.abs(t))


def _cauchy(*at: Any) -> Any:
    return gnp.tan(pi * (unit(*at) - 0.5))


def _maxwell(key: Any, counter: int, shape: Any, kind: Any) -> Any:
    return gnp.norm(bell(key, counter, (*shape, 3), kind), axis=-1)


def _lognormal(key: Any, counter: int, shape: Any, kind: Any, sigma: Any) -> Any:
    return valid_or_nan(sigma >= 0, gnp.exp(sigma * bell(key, counter, shape, kind)))


def _rayleigh(key: Any, counter: int, shape: Any, kind: Any, scale: Any) -> Any:
    length = gnp.sqrt(2 * standard_exponential(key, counter, shape, kind))
    return valid_or_nan(scale >= 0, scale * length)


def _pareto(key: Any, counter: int, shape: Any, kind: Any, b: Any) -> Any:
    return valid_or_nan(b > 0, gnp.exp(standard_exponential(key, counter, shape, kind) / b))


def _power(key: Any, counter: int, shape: Any, kind: Any, a: Any) -> Any:
    return valid_or_nan(a > 0, gnp.exp(-standard_exponential(key, counter, shape, kind) / a))


def _weibull(key: Any, counter: int, shape: Any, kind: Any, scale: Any, concentration: Any) -> Any:
    e = -gnp.log1p(-positive_unit(key, counter, shape, kind))
    return valid_or_nan(concentration > 0, scale * gnp.exp(gnp.log(e) / concentration))


def _triangular(
    key: Any, counter: int, shape: Any, kind: Any, left: Any, mode: Any, right: Any
) -> Any:
    u = unit(key, counter, shape, kind)
    width = right - left
    is_point = width == 0
    share = gnp.where(is_point, 0.5, (mode - left) / gnp.where(is_point, 1.0, width))
    is_low = u < share
    rise, fall = gnp.where(is_low, u * share, 0.25), gnp.where(is_low, 0.25, (1 - u) * (1 - share))
    up, down = left + width * gnp.sqrt(rise), right - width * gnp.sqrt(fall)
    is_valid = gnp.logical_and(left <= mode, mode <= right)
    return valid_or_nan(is_valid, gnp.where(is_low, up, down))


def _two_sided(key: Any, counter: int, shape: Any, kind: Any, loc: Any, scale: Any) -> Any:
    length, sign = derived(key, 2)
    up = unit(sign, counter, shape, kind) < 0.5
    return loc + scale * gnp.where(up, 1.0, -1.0) * _maxwell(length, counter, shape, kind)


def _truncated(key: Any, counter: int, shape: Any, kind: Any, lower: Any, upper: Any) -> Any:
    u = positive_unit(key, counter, shape, kind)
    is_high = lower + upper > 0
    low, high = gnp.where(is_high, -upper, lower), gnp.where(is_high, -lower, upper)
    is_far = high < -_FAR
    is_valid = gnp.logical_and(lower <= upper, high > -np.inf)
    is_near = gnp.logical_and(is_valid, gnp.logical_not(is_far))
    first, last = special.ndtr(low), special.ndtr(gnp.where(is_far, 0.0, high))
    near = special.ndtri(gnp.where(is_near, first + u * (last - first), 0.5))
    is_tail = gnp.logical_and(is_valid, is_far)
    start = gnp.where(is_tail, -high, _FAR)
    width = gnp.where(is_tail, high - low, 1.0)
    drawn = gnp.where(is_far, -(start + _beyond(1 - u, start, width)), near)
    drawn = gnp.where(drawn < low, low, gnp.where(drawn > high, high, drawn))
    return valid_or_nan(is_valid, gnp.where(is_high, -drawn, drawn))


_FAR = 10.0
_MILLS = [(-1.0) ** k * prod(range(1, 2 * k, 2)) for k in range(20)]
"""x times Mills' ratio, the tail beyond x over the density at x, in powers of 1 / x**2."""


def _beyond(share: Any, start: Any, width: Any) -> Any:
    """d such that a share of the normal numbers in [start, start + width] is below start + d.

    For start >= 10. The logarithm of the tail falls by start d + d**2 / 2 and by the logarithm of
    Mills' ratio; Newton's steps find d from the sum.
    """

    def series(d: Any) -> Any:
        inverse = 1 / (start + d)
        return polynomial(inverse * inverse, _MILLS)

    def fall(d: Any) -> Any:
        return start * d + d * d / 2 + gnp.log1p(d / start) - gnp.log(series(d) / series(0.0))

    # nothing is left of the tail behind 50
    wanted = -gnp.log1p(share * gnp.expm1(-fall(gnp.minimum(width, 50.0))))
    d = 2 * wanted / (start + gnp.sqrt(start) * gnp.sqrt(start + 2 * wanted / start))
    for _ in range(4):
        d = d - (fall(d) - wanted) * series(d) / (start + d)
    return d


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    bits, uniform, normal, exponential, gumbel, logistic, laplace, cauchy, maxwell, lognormal,
    rayleigh, pareto, power, weibull_min, triangular, double_sided_maxwell, truncated_normal,
)  # fmt: skip
