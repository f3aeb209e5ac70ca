"""Wald's distribution, the inverse Gaussian one: when a motion with drift arrives.

Numbers by the transformation of Michael, Schucany and Haas ("Generating random variates using
transformations with multiple roots", American Statistician 30, 1976). That picks one of two roots,
so its own derivative says nothing of the distribution: numbers have the quantile's derivative, at
every order. In float64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from xdsl.dialects.builtin import f64

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.random.draws import (
    bell,
    finished,
    float_kind,
    key_of,
    parameters,
    unit,
    valid_or_nan,
)
from gradir.frontends.scipy import special
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.transforms.custom_derivatives import custom_jvp

_FAR = 20.0
_ODD = [1.0]
for _k in range(1, 13):
    _ODD.append(-_ODD[-1] * (2 * _k - 1))


def wald_arrival(key: Any, mean: Any, scale: Any) -> Any:
    normal = bell(key, 0, mean.shape)
    half = mean * normal * normal / (2 * scale)
    # the smaller one of two roots, whose product is 1
    root = 1 / (1 + half + gnp.sqrt(half * (2 + half)))
    is_first = unit(key, 1, mean.shape) * (1 + root) < 1
    return mean * gnp.where(is_first, root, 1 / root)


_drawn = custom_jvp(wald_arrival)


def _pushed(primals: Any, tangents: Any) -> Any:
    key, mean, scale = primals
    x = _drawn(key, mean, scale)
    slope = _slope(x, mean, scale)
    # twice the mean and the scale are twice the numbers
    return x, slope * tangents[1] + (x - mean * slope) / scale * tangents[2]


_drawn.defjvp(_pushed)


def _slope(x: Any, mean: Any, scale: Any) -> Any:
    """d x / d mean of the quantile: -(dF / d mean) / density = 2 scale / mean**2 * sqrt(x**3 /
    scale) * (1 - ndtr(b)) / density of a normal number at b = sqrt(scale / x) * (x / mean + 1).
    """
    b = gnp.sqrt(scale / x) * (x / mean + 1)
    return 2 * gnp.sqrt(scale * x) * x / (mean * mean) * _mills(b)


def _mills(b: Any) -> Any:
    """The tail of the normal distribution from b > 0 on, divided by the density there."""
    is_far = b > _FAR
    near, far = gnp.where(is_far, 1.0, b), gnp.where(is_far, b, _FAR)
    close = special.erfc(near / sqrt(2)) * gnp.exp(near * near / 2) * sqrt(pi / 2)
    return gnp.where(is_far, polynomial(1 / (far * far), _ODD) / far, close)


def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, scale: Any = 1.0) -> Tracer:
    """Numbers of density sqrt(scale / (2 pi x**3)) * exp(-scale * (x - mean)**2 / (2 mean**2 x)).

    mean and scale are > 0 and finite; else nan.
    """
    kind = float_kind("wald", dtype)
    mean, scale = parameters("wald", shape, f64, mean, scale)
    is_valid = gnp.logical_and(mean > 0, scale > 0)
    is_valid = gnp.logical_and(is_valid, gnp.isfinite(mean + scale))
    m, s = gnp.where(is_valid, mean, 1.0), gnp.where(is_valid, scale, 1.0)
    return finished(valid_or_nan(is_valid, _drawn(key_of(key), m, s)), kind)


FUNCTIONS: tuple[Callable[..., Any], ...] = (wald,)
