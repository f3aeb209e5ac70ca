"""Integrals of sines and hyperbolic sines over x, and of sines of squares: sici, shichi, fresnel.

Small x by power series; beyond by the auxiliary functions f and g, integrals of positive functions
(DLMF 6.7.13-14, 7.7.15-16). Derivatives are the integrands.
"""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.bessel import growing, polynomial
from gradir.frontends.scipy.calls import anywhere, in_float64
from gradir.frontends.scipy.exponential_integrals import EULER, exp1, expi_above
from gradir.frontends.scipy.quadrature import DEPTH, integral
from gradir.frontends.transforms.custom_derivatives import custom_jvp


def _alternating(first: int, count: int, sign: int) -> list[float]:
    """The coefficients of the integrals of sin(x) / x and (cos(x) - 1) / x, in x * x; or of sinh
    and cosh without the sign."""
    orders = [first + 2 * k for k in range(count)]
    return [sign**k / (n * factorial(n)) for k, n in enumerate(orders)]


def _split(x: Any, limit: float) -> tuple[Any, Any, Any]:
    """Whether |x| is small, and |x| where it is, where it is not; safe numbers elsewhere."""
    size = gnp.abs(x)
    is_near = size <= limit
    is_unusual = gnp.logical_or(is_near, size == np.inf)
    return is_near, gnp.where(is_near, size, 1.0), gnp.where(is_unusual, 2 * limit, size)


def _sine_integrals(x: Any) -> tuple[Any, Any]:
    """Si and Ci of |x|."""
    is_near, near, far = _split(x, 4.0)
    square = near * near
    low = near * polynomial(square, _alternating(1, 16, -1))
    rest = -square * polynomial(square, _alternating(2, 16, -1))
    low_c = EULER + gnp.log(near) + rest
    width = DEPTH / far
    f = integral(width, lambda u, wide: gnp.exp(-wide(far) * u) / (1 + u * u))
    g = integral(width, lambda u, wide: gnp.exp(-wide(far) * u) * u / (1 + u * u))
    sine, cosine = gnp.sin(far), gnp.cos(far)
    is_end = gnp.isinf(x)
    high = gnp.where(is_end, pi / 2, pi / 2 - f * cosine - g * sine)
    high_c = gnp.where(is_end, 0.0, f * sine - g * cosine)
    return gnp.where(is_near, low, high), gnp.where(is_near, low_c, high_c)


# Each integral has a derivative of its own: one for both would give Ci's at 0, which is infinite,
# to Si too, times 0. Their common parts are computed once after inlining.
@custom_jvp
def _si(x: Any) -> Any:
    made, _ = _sine_integrals(x)
    return gnp.where(x < 0, -made, made)


@custom_jvp
def _ci(x: Any) -> Any:
    return _sine_integrals(x)[1]


def _hyperbolic_integrals(x: Any) -> tuple[Any, Any]:
    """Shi and Chi of |x|."""
    is_near, near, far = _split(x, 2.0)
    square = near * near
    low = near * polynomial(square, _alternating(1, 14, 1))
    low_c = EULER + gnp.log(near) + square * polynomial(square, _alternating(2, 14, 1))
    above, below = expi_above(far), exp1(far)
    is_end = gnp.isinf(x)
    high = gnp.where(is_end, np.inf, (above + below) / 2)
    high_c = gnp.where(is_end, np.inf, (above - below) / 2)
    return gnp.where(is_near, low, high), gnp.where(is_near, low_c, high_c)


@custom_jvp
def _shi(x: Any) -> Any:
    made, _ = _hyperbolic_integrals(x)
    return gnp.where(x < 0, -made, made)


@custom_jvp
def _chi(x: Any) -> Any:
    return _hyperbolic_integrals(x)[1]


def _over_x(x: Any, function: Any, sign: int) -> Any:
    """sin(x) / x or sinh(x) / x, near 0 by the series."""
    is_near = gnp.abs(x) < 1
    near, far = gnp.where(is_near, x, 0.0), gnp.where(is_near, 1.0, x)
    series = polynomial(near * near, [sign**k / factorial(2 * k + 1) for k in range(12)])
    return gnp.where(is_near, series, _share(function(far), far))


def _share(wave: Any, x: Any) -> Any:
    """wave / x, of a sine or a cosine, hyperbolic or not."""
    return growing(wave / x, gnp.where(x < 0, -wave, wave))


def _turns(x: Any) -> Any:
    """pi / 2 x * x up to whole turns, with the square to more than its bits."""
    high = gnp.astype(gnp.astype(x, "float32"), "float64")
    whole = gnp.remainder(high * high, 4.0)
    return pi / 2 * (whole + gnp.remainder((x - high) * (x + high), 4.0))


@custom_jvp
def _sine_of_square(x: Any) -> Any:
    return gnp.sin(_turns(x))


@custom_jvp
def _cosine_of_square(x: Any) -> Any:
    return gnp.cos(_turns(x))


@custom_jvp
def _fresnel(x: Any) -> tuple[Any, Any]:
    is_near, near, far = _split(x, 1.5)
    t = pi / 2 * near * near
    orders = range(24)
    sines = [(-1) ** k / ((4 * k + 3) * factorial(2 * k + 1)) for k in orders]
    cosines = [(-1) ** k / ((4 * k + 1) * factorial(2 * k)) for k in orders]
    low_s = near * t * polynomial(t * t, sines)
    low_c = near * polynomial(t * t, cosines)
    # f and g as integrals of exp(-pi x**2 u**2 / 2) / (1 + u**4) by the trapezoidal rule
    count = 40
    places = np.arange(0.0, count)
    wide = far[..., None]
    step = sqrt(2 * DEPTH / pi) / count / wide
    u = step * places
    weights = step * np.where(places == 0, 0.5, 1.0) * (sqrt(2) / pi)
    terms = gnp.exp(-pi / 2 * (wide * u) ** 2) / (1 + u**4) * weights
    f, g = gnp.sum(terms, -1), gnp.sum(terms * u * u, -1)
    sine, cosine = gnp.sin(_turns(far)), gnp.cos(_turns(far))
    is_end = gnp.isinf(x)
    high_s = gnp.where(is_end, 0.5, 0.5 - f * cosine - g * sine)
    high_c = gnp.where(is_end, 0.5, 0.5 + f * sine - g * cosine)
    s, c = gnp.where(is_near, low_s, high_s), gnp.where(is_near, low_c, high_c)
    sign = gnp.where(x < 0, -1.0, 1.0)
    is_bad = gnp.isnan(x)
    return gnp.where(is_bad, x, sign * s), gnp.where(is_bad, x, sign * c)


_si.defjvps(lambda t, _, x: t * _over_x(x, gnp.sin, -1))
_ci.defjvps(lambda t, _, x: t * (gnp.cos(x) / x))
_shi.defjvps(lambda t, _, x: t * _over_x(x, gnp.sinh, 1))
_chi.defjvps(lambda t, _, x: t * _share(gnp.cosh(x), x))
_sine_of_square.defjvps(lambda t, _, x: t * (pi * x * _cosine_of_square(x)))
_cosine_of_square.defjvps(lambda t, _, x: t * (-pi * x * _sine_of_square(x)))
_fresnel.defjvp(
    lambda ps, ts: (_fresnel(*ps), (ts[0] * _sine_of_square(*ps), ts[0] * _cosine_of_square(*ps)))
)


def sici(x: Any) -> tuple[Any, Any]:
    """The integrals Si of sin(t) / t from 0 to x, and Ci, of cos(t) / t from infinity to |x|."""
    return in_float64(lambda x: (_si(x), _ci(x)))(x)


def shichi(x: Any) -> tuple[Any, Any]:
    """The integrals Shi of sinh(t) / t from 0 to x, and Chi = Ei + Shi of -|x|."""
    return in_float64(lambda x: (_shi(x), _chi(x)))(x)


def fresnel(z: Any) -> tuple[Any, Any]:
    """The integrals S and C of sin(pi t * t / 2) and cos(pi t * t / 2) from 0 to z."""
    return in_float64(_fresnel)(z)


_MODULE = "gradir.scipy.special"
COMPILED = {f.__name__: anywhere(f, _MODULE) for f in (sici, shichi, fresnel)}
