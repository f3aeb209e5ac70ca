"""Dawson's integral and the imaginary error function."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.formulas.calls import anywhere, in_float64
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.scipy.integrals import exp_square
from gradir.frontends.transforms.custom_derivatives import custom_jvp

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
    """Dawson's integral, exp(-x * x) times that of exp(t * t) from 0 to x."""
    return in_float64(_dawson)(x)


@custom_jvp
def _erfi(x: Any) -> Any:
    size = gnp.minimum(gnp.abs(x), 30.0)
    made = 2 / sqrt(pi) * exp_square(size, 0.0) * _dawson(size)
    return gnp.where(gnp.isnan(x), x, gnp.where(x < 0, -made, made))


_erfi.defjvps(lambda t, _, x: t * (2 / sqrt(pi) * gnp.exp(x * x)))


def erfi(z: Any) -> Any:
    """The imaginary error function, 2 / sqrt(pi) times the integral of exp(t * t) from 0 to z."""
    return in_float64(_erfi)(z)


FUNCTIONS = {f.__name__: anywhere(f, "gradir.scipy.special") for f in (dawsn, erfi)}
