"""The dilogarithm, by Bernoulli's series, with its slope."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, pi
from typing import Any

from gradir.dialects.array.gamma import BERNOULLI
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.functions.sugar import where
from gradir.frontends.scipy.edges import constant, sloped, undefined, vertical
from gradir.frontends.scipy.quotients import log1p_over
from gradir.frontends.tracing.tracer import Tracer

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


FUNCTIONS: tuple[Callable[..., Any], ...] = (spence,)
