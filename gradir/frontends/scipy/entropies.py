"""Logistic functions, sums of exponentials, and the functions x log y of information theory."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

from gradir.dialects.base.shapes import is_complex, real_element
from gradir.dialects.building.slopes import SigmoidSlopeOp, SoftplusSlopeOp
from gradir.frontends.functions.arguments import axes_of, floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.elementwise import sign
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import real
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import logsumexp as logsumexp_of
from gradir.frontends.functions.reductions import max, sum
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.functions.views import (
    expand_dims,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.scipy.edges import sloped, undefined, vertical, with_slopes
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.scipy.quotients import expm1_over, log1p_over
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element


def expit(x: Any) -> Tracer:
    """1 / (1 + exp(-x))."""
    # not nn.sigmoid, whose derivative y * (1 - y) has no digits where y is nearly 1
    return apply(SoftplusSlopeOp, {"x": floating(x)})


def expit_slope(x: Any) -> Tracer:
    """expit(x) * expit(-x)."""
    return apply(SigmoidSlopeOp, {"x": floating(x)})


def log_expit(x: Any) -> Tracer:
    """log(expit(x))."""
    return -op.logaddexp(0.0, -floating(x))


def logit(x: Any) -> Tracer:
    """log(x / (1 - x)); infinite at 0 and 1."""
    p: Any = floating(x)
    is_near = op.less(op.abs(p - 0.5), 0.2)
    near = where(is_near, p, 0.5)
    far = where(is_near, 0.25, p)
    return where(is_near, op.log1p((2 * near - 1) / (1 - near)), op.log(far) - op.log1p(-far))


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b * exp(a))) without overflow; nan of a negative sum, or its size and its sign.

    Of complex numbers the logarithm is complex, and so is the sign. A number is a vector of one, as
    for SciPy, where an axis is given.
    """
    x: Any = floating(a)
    x = x if x.ndim or axis is None else expand_dims(x, 0)
    if b is None and not return_sign:
        return logsumexp_of(x, list(axes_of(x, axis)), keepdims)
    x, factors = floats(x, 1.0 if b is None else b)
    kind = element(x)
    x, factors = wide(x), wide(factors)
    x = where(op.equal(factors, 0), -inf, x)
    top = max(real(x), axis, None, True, **({"initial": -inf} if not x.size else {}))
    top = where(op.isfinite(top), top, 0.0)
    total: Any = sum(factors * op.exp(x - top), axis, None, None, True)
    if is_complex(kind) and not return_sign:
        made, phase = op.log(total) + top, total
    else:
        made, phase = converted(op.log(op.abs(total)) + top, real_element(kind)), sign(total)
        made = made if return_sign else where(op.less(total, 0), nan, made)
    if not keepdims:
        axes = list(axes_of(x, axis))
        made, phase = op.squeeze(made, axis=axes), op.squeeze(phase, axis=axes)
    return (made, converted(phase, kind)) if return_sign else made


def log_softmax(x: Any, axis: Any = None) -> Tracer:
    """x - logsumexp(x)."""
    value: Any = floating(x)
    return value - op.logsumexp(value, axis=list(axes_of(value, axis)), keepdims=True)


def softmax(x: Any, axis: Any = None) -> Tracer:
    """exp(x) / sum(exp(x))."""
    return op.exp(log_softmax(x, axis))


def xlogy(x: Any, y: Any) -> Tracer:
    """x * log(y); 0 where x is 0 and y is not nan."""
    first, second = floats(x, y)
    is_usual = op.logical_and(op.greater(second, 0), op.less(second, inf))
    is_zero = op.logical_and(op.equal(first, 0), op.logical_not(op.isnan(second)))
    return _times_log(first, second, op.logical_and(is_zero, op.logical_not(is_usual)), op.log, 1.0)


def _times_log(x: Any, y: Any, is_end: Any, logarithm: Any, one: float) -> Any:
    """x * logarithm(y); at an end, where x is 0, 0 with the slope by x that the logarithm is."""
    made = x * logarithm(where(is_end, one, y))
    return sloped(made, x, logarithm(where(is_end, y, one)))


def xlog1py(x: Any, y: Any) -> Tracer:
    """x * log1p(y); 0 where x is 0 and y is not nan."""
    first, second = floats(x, y)
    is_usual = op.logical_and(op.greater(second, -1), op.less(second, inf))
    is_zero = op.logical_and(op.equal(first, 0), op.logical_not(op.isnan(second)))
    is_end = op.logical_and(is_zero, op.logical_not(is_usual))
    return _times_log(first, second, is_end, op.log1p, 0.0)


def entr(x: Any) -> Tracer:
    """-x * log(x); 0 at 0, -inf below."""
    value: Any = floating(x)
    inside = where(op.less_equal(value, 0), 1.0, value)
    made = where(op.less(value, 0), -inf, -inside * op.log(inside))
    return vertical(made, op.equal(value, 0), 0.0, 1.0, value)


def rel_entr(x: Any, y: Any) -> Tracer:
    """x * log(x / y); 0 at x = 0 <= y, else inf outside."""
    p, q = floats(x, y)
    is_zero = op.logical_and(op.equal(p, 0), op.greater_equal(q, 0))
    # nan where one is nan
    is_outside = op.less_equal(op.minimum(p, q), 0)
    s, t = where(is_outside, 1.0, p), where(is_outside, 1.0, q)
    made = where(is_outside, inf, s * op.log(s / t))
    is_wall = op.logical_and(op.equal(q, 0), op.greater(p, 0))
    made = vertical(made, is_wall, where(is_wall, p, 1.0) * inf, -1.0, q)
    is_usual = op.logical_and(is_zero, op.greater(q, 0))
    at_zero = -where(is_usual, p, 0.0) * op.log(where(is_usual, q, 1.0))
    return vertical(made, is_zero, at_zero, where(is_usual, -1.0, 1.0), p)


def kl_div(x: Any, y: Any) -> Tracer:
    """x * log(x / y) - x + y; y at x = 0 <= y, else inf outside."""
    p, q = floats(x, y)
    made: Any = rel_entr(p, q)
    is_there = op.less(made, inf)
    return where(is_there, made - where(is_there, p, 0.0) + where(is_there, q, 0.0), made)


def huber(delta: Any, r: Any) -> Tracer:
    """r * r / 2 where |r| <= delta, else delta * (|r| - delta / 2); inf for delta < 0."""
    d, x = floats(delta, r)
    size = op.abs(x)
    made = where(op.less_equal(size, d), x * x / 2, d * (size - d / 2))
    return where(op.less(d, 0), inf, made)


def pseudo_huber(delta: Any, r: Any) -> Tracer:
    """delta**2 * (sqrt(1 + (r / delta)**2) - 1); 0 for delta or r of 0."""
    d, x = floats(delta, r)
    is_none = op.logical_and(op.equal(d, 0), op.equal(x, 0))
    length = op.hypot(where(is_none, 1.0, d), x)
    # the sine and cosine of an angle, whose slopes would cancel as those of quotients
    share = d / length
    sine = with_slopes(
        x / length, (x, share * (share / length)), (d, -share * (x / length / length))
    )
    rest = x * (x / (length + d))
    made = with_slopes(d * rest, (x, d * sine), (d, rest * (rest / length)))
    return where(op.less(d, 0), inf, made)


def boxcox(x: Any, lmbda: Any) -> Tracer:
    """(x**lmbda - 1) / lmbda, log(x) for lmbda = 0."""
    value, power = floats(x, lmbda)
    is_end = op.logical_or(op.equal(value, 0), op.equal(value, inf))
    logarithm = op.log(where(is_end, 1.0, value))
    exponent = power * logarithm
    is_near = op.logical_and(op.less(op.abs(exponent), 0.5), op.logical_not(is_end))
    near = where(is_near, logarithm, 1.0) * expm1_over(where(is_near, exponent, 0.0))
    is_corner = op.logical_and(is_end, op.equal(power, 0))
    divisor = where(op.logical_or(is_near, is_corner), 1.0, power)
    far = (pow(where(is_near, 2.0, value), divisor) - 1) / divisor
    made = undefined(where(is_near, near, far), op.less(value, 0), value, power)
    return vertical(made, is_corner, op.log(where(is_corner, value, 1.0)), 1.0, power)


def inv_boxcox(y: Any, lmbda: Any) -> Tracer:
    """x with boxcox(x, lmbda) = y."""
    value, power = floats(y, lmbda)
    is_zero = op.equal(power, 0)
    step = where(op.logical_and(is_zero, op.isinf(value)), 0.0, power * value)
    is_near = op.less(op.abs(step), 0.25)
    low = where(is_near, value, 0.0)
    near = op.exp(low * log1p_over(where(is_near, step, 0.0)))
    # above all numbers terms of derivatives would be infinite with both signs
    growing = op.exp(2 * low - where(is_near, power, 0.0))
    near = where(op.isinf(near), growing, near)
    is_outside = op.less(step, -1)
    is_far = op.logical_not(op.logical_or(is_near, is_outside))
    far = pow(1 + where(is_far, step, 0.0), 1 / where(is_far, power, 1.0))
    return undefined(where(is_near, near, far), is_outside, value, power)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    expit, log_expit, logit, log_softmax, softmax, xlogy, xlog1py, entr, rel_entr,
    kl_div, huber, pseudo_huber, boxcox, inv_boxcox,
)  # fmt: skip
