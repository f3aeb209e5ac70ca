"""gradir.numpy: elementwise functions made of a few ops, with NumPy's names and meanings."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, nan, pi
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f64, i8

from gradir.dialects.base.shapes import c128, is_bool, is_inexact
from gradir.frontends.functions import parts
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, operand, result_element
from gradir.frontends.functions.reductions import all as _all
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def _is_floating(x: Any) -> bool:
    return is_inexact(element(lifted(x)))


# Rounding.


def _rounding(name: str) -> Callable[..., Any]:
    def rounding(x: Any) -> Tracer:
        value = lifted(x)
        if _is_floating(value):
            return getattr(op, name)(value)
        return value

    rounding.__name__, rounding.__doc__ = name, f"{getattr(op, name).__doc__}\n\nIntegers stay."
    return rounding


floor, ceil, trunc = _rounding("floor"), _rounding("ceil"), _rounding("trunc")


def rint(x: Any) -> Tracer:
    """Nearest integer as a float, the even one of two equally near.   vjp: zero"""
    return parts.of_parts(op.round, floating(x))


def round(a: Any, decimals: int = 0, out: None = None) -> Tracer:
    """x to a number of decimals, the even one of two equally near; tens for -1.   vjp: zero"""
    x: Any = lifted(a)
    places = number(decimals, "round: decimals")
    if parts.is_complex_array(x):
        return parts.of_parts(lambda part: round(part, places), x)
    if not _is_floating(x):
        if places >= 0:
            return x
        return converted(round(converted(x, f64), places), element(x))
    if not places:
        return op.round(x)
    scale = 10.0 ** abs(places)
    return op.round(x * scale) / scale if places > 0 else op.round(x / scale) * scale


def modf(x: Any) -> tuple[Tracer, Tracer]:
    """The fraction and the whole part, both with the sign of x.   vjp: ct of the fraction"""
    value: Any = floating(x)
    whole = op.trunc(value)
    return where(op.isinf(value), 0, value - where(op.isinf(value), 0, whole)), whole


def divmod(x1: Any, x2: Any) -> tuple[Tracer, Tracer]:
    """floor_divide and remainder."""
    return op.floor_divide(x1, x2), op.remainder(x1, x2)


def fmod(x1: Any, x2: Any) -> Tracer:
    """The remainder with the sign of x1.   vjp: ct, -ct * trunc(x1 / x2)"""
    kind = result_element([operand(x1), operand(x2)])[0]
    if is_bool(kind):  # numbers, as NumPy's remainders of bools are
        x1 = converted(lifted(x1), i8)
    if not any(map(_is_floating, (x1, x2))):
        rest: Any = op.remainder(x1, x2)
        is_of_x2 = op.logical_and(op.not_equal(rest, 0), op.less(rest, 0) ^ op.less(x1, 0))
        return where(is_of_x2, rest - x2, rest)
    x: Any = converted(operand(x1), kind)
    size = op.abs(x2)
    return where(op.less(x, 0), -op.remainder(-x, size), op.remainder(x, size))


# Signs and special numbers.


def fabs(x: Any) -> Tracer:
    """|x| as a float."""
    return op.abs(floating(x))


def signbit(x: Any) -> Tracer:
    """x has a minus sign, also -0 and -nan."""
    value: Any = lifted(x)
    return op.copysign(1.0, value) < 0 if _is_floating(value) else op.less(value, 0)


def sign(x: Any) -> Tracer:
    """-1, 0 or 1; of complex numbers x / |x|, 0 at 0. nan of nan.   vjp: zero of real numbers"""
    value = lifted(x)
    if not parts.is_complex_array(value):
        return op.sign(value)
    is_zero = op.equal(value, 0)
    size: Any = op.abs(where(is_zero, 1, value))
    return where(is_zero, 0, value / size)


def _require_real(name: str, x: Any) -> Tracer:
    value = lifted(x)
    if parts.is_complex_array(value):
        raise refusal(f"{name}: complex numbers have no sign; take x.real or x.imag")
    return value


def isposinf(x: Any, out: None = None) -> Tracer:
    """x is inf."""
    return op.equal(_require_real("isposinf", x), inf)


def isneginf(x: Any, out: None = None) -> Tracer:
    """x is -inf."""
    return op.equal(_require_real("isneginf", x), -inf)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tracer:
    """x with other numbers for nan and for the infinities: 0, and the largest there are."""
    value: Any = lifted(x)
    if parts.is_complex_array(value):
        return parts.of_parts(lambda part: nan_to_num(part, copy, nan, posinf, neginf), value)
    if not _is_floating(value):
        return value
    low, high = bounds(value)
    made = where(op.isnan(value), nan, value)
    made = where(isposinf(value), high if posinf is None else posinf, made)
    return where(isneginf(value), low if neginf is None else neginf, made).astype(value.dtype)


def bounds(x: Tracer) -> tuple[float, float]:
    """The smallest and the largest finite number of a float dtype."""
    found: Any = cast(Any, ml_dtypes.finfo)(x.dtype)
    return float(found.min), float(found.max)


def heaviside(x1: Any, x2: Any) -> Tracer:
    """0 below 0, 1 above it, x2 at 0.   vjp: ct for x2 where x1 is 0"""
    (x, y) = (floating(x1), floating(x2))
    made = where(op.less(x, 0), 0.0, where(op.greater(x, 0), 1.0, where(op.isnan(x), nan, y)))
    return converted(made, result_element([x, y])[0])


# Powers, logarithms, angles.


def cbrt(x: Any) -> Tracer:
    """The real cube root.   vjp: ct / (3 * y * y), so inf at 0"""
    return op.cbrt(floating(x))


def float_power(x1: Any, x2: Any) -> Tracer:
    """x1 ** x2 in float64, or in complex128."""
    x, y = lifted(x1), lifted(x2)
    kind = c128 if parts.is_complex_array(x) or parts.is_complex_array(y) else f64
    return pow(converted(x, kind), converted(y, kind))


def logaddexp2(x1: Any, x2: Any) -> Tracer:
    """log2(2 ** x1 + 2 ** x2) without overflow."""
    x, y = floating(x1), floating(x2)
    return op.logaddexp(x * log(2), y * log(2)) / log(2)


def ldexp(x1: Any, x2: Any) -> Tracer:
    """x1 * 2 ** x2 for integers x2.   vjp: ct * 2 ** x2"""
    x: Any = floating(x1)
    half: Any = op.floor_divide(lifted(x2), 2)
    rest = lifted(x2) - half
    return x * op.exp2(half.astype(x.dtype)) * op.exp2(rest.astype(x.dtype))


def _scaling(name: str, factor: float) -> Callable[..., Any]:
    def scaled(x: Any) -> Tracer:
        return floating(x) * factor

    scaled.__name__ = name
    scaled.__doc__ = f"x * {factor:.15g}."
    return scaled


deg2rad, rad2deg = _scaling("deg2rad", pi / 180), _scaling("rad2deg", 180 / pi)


def sinc(x: Any) -> Tracer:
    """sin(pi x) / (pi x), 1 at 0, with all its derivatives."""
    value: Any = floating(x) * pi
    is_small = op.abs(value) < 0.5
    square = value * value
    series: Any = 1.0
    for k in range(9, 0, -1):
        series = 1 - series * square / (2 * k * (2 * k + 1))
    large = where(is_small, 1.0, value)
    return where(is_small, series, op.sin(large) / large)


# The larger and the smaller beside nan; comparisons.


def _beside_nan(name: str, best: str) -> Callable[..., Any]:
    def chosen(x1: Any, x2: Any) -> Tracer:
        if not any(map(_is_floating, (x1, x2))):
            return getattr(op, best)(x1, x2)
        x, y = lifted(x1), lifted(x2)
        made = getattr(op, best)(x, y)
        kind = result_element([x, y])[0]
        x, y = converted(x, kind), converted(y, kind)
        return where(op.isnan(x), y, where(op.isnan(y), x, made))

    chosen.__name__, chosen.__doc__ = name, f"`{best}` of the numbers that are not nan."
    return chosen


fmax, fmin = _beside_nan("fmax", "maximum"), _beside_nan("fmin", "minimum")


def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tracer:
    """|a - b| <= atol + rtol * |b|; infinities are close to themselves."""
    x, y = floating(a), floating(b)
    near = op.less_equal(op.abs(x - y), atol + rtol * op.abs(y))
    made = op.logical_or(op.logical_and(near, op.isfinite(y)), op.equal(x, y))
    if equal_nan:
        made = op.logical_or(made, op.logical_and(op.isnan(x), op.isnan(y)))
    return made


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tracer:
    """`isclose` everywhere."""
    return _all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Of one shape and equal everywhere."""
    x, y = lifted(a1), lifted(a2)
    if x.shape != y.shape:
        return lifted(np.False_)
    same = op.equal(x, y)
    if equal_nan and _is_floating(x) and _is_floating(y):
        same = op.logical_or(same, op.logical_and(op.isnan(x), op.isnan(y)))
    return _all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Equal everywhere after broadcasting; false where the shapes do not broadcast."""
    x, y = lifted(a1), lifted(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return lifted(np.False_)
    return _all(op.equal(x, y))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    floor, ceil, trunc, rint, round, modf, divmod, fmod, fabs, signbit, sign, isposinf, isneginf,
    nan_to_num, heaviside, cbrt, float_power, logaddexp2, ldexp, deg2rad, rad2deg, sinc, fmax,
    fmin, isclose, allclose, array_equal, array_equiv, *parts.FUNCTIONS,
)  # fmt: skip
