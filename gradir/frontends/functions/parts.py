"""gradir.numpy: parts and conjugates of complex numbers, and what NumPy says of real ones there."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

from gradir.dialects.base.shapes import is_complex, is_float
from gradir.dialects.grad.grad import NoGradOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.sugar import where
from gradir.frontends.functions.views import broadcast_to
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted


def is_complex_array(x: Any) -> bool:
    """Whether a traced array has complex elements."""
    return is_complex(element(x))


def real(val: Any) -> Tracer:
    """The real parts; real numbers as they are.   vjp: ct"""
    x = lifted(val)
    return op.real(x) if is_complex_array(x) else x


def imag(val: Any) -> Tracer:
    """The imaginary parts; zeros of real numbers.   vjp: -i * ct"""
    x = lifted(val)
    return op.imag(x) if is_complex_array(x) else broadcast_to(converted(0, element(x)), x.shape)


def conjugate(x: Any) -> Tracer:
    """The complex conjugate; real numbers as they are.   vjp: conj(ct)"""
    value = lifted(x)
    return op.conj(value) if is_complex_array(value) else value


def angle(z: Any, deg: bool = False) -> Tracer:
    """The angle of complex numbers in (-pi, pi], or in degrees.

    vjp: that of atan2(imag, real). Of real numbers it is 0 or pi, without a derivative.
    """
    x: Any = floating(z)
    if is_complex_array(x):
        turned: Any = op.atan2(op.imag(x), op.real(x))
        return turned * (180 / pi) if deg else turned
    x = emit_one(NoGradOp, x)
    is_left = op.copysign(1.0, x) < 0
    return where(is_left, 180.0 if deg else pi, where(op.isnan(x), x, 0.0))


def isreal(x: Any) -> Tracer:
    """The imaginary part is 0."""
    value = lifted(x)
    if is_complex_array(value):
        return op.equal(op.imag(value), 0)
    return broadcast_to(True, value.shape)


def iscomplex(x: Any) -> Tracer:
    """The imaginary part is not 0."""
    value = lifted(x)
    if is_complex_array(value):
        return op.not_equal(op.imag(value), 0)
    return broadcast_to(False, value.shape)


def real_if_close(a: Any, tol: float = 100) -> Tracer:
    """x: whether the imaginary parts are close to 0 is not known while tracing."""
    return lifted(a)


def squared_length(x: Any) -> Tracer:
    """x * x of real numbers, the square of the absolute value of complex ones."""
    if not is_complex_array(x):
        return op.square(x)
    squares: Any = op.square(op.real(x))
    return squares + op.square(op.imag(x))


def of_parts(function: Callable[[Tracer], Tracer], x: Tracer) -> Tracer:
    """A function of real numbers on both parts of complex ones."""
    if not is_complex_array(x):
        return function(x)
    return op.complex(function(op.real(x)), function(op.imag(x)))


def is_real_float(x: Tracer) -> bool:
    """Whether a traced array has floating elements."""
    return is_float(element(x))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    real, imag, conjugate, angle, isreal, iscomplex, real_if_close,
)  # fmt: skip
