"""Modified Bessel functions: I of real orders >= 0 (and of negative integers), K of integer orders.

I: its power series, all of whose terms are positive; Hankel's asymptotic series for large x, and
Debye's uniform one for orders from 50 on (DLMF 10.25.2, 10.40.1, 10.41.3). K: its power series up
to 2, the trapezoidal rule on an integral that converges faster than exponentially beyond, and the
recurrence upwards (DLMF 10.31.1-2, 10.32.9, 10.29.1). Derivatives: DLMF 10.29.1-2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial, pi
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.scipy.calls import of_order, ordered
from gradir.frontends.scipy.edges import constant, undefined, vertical
from gradir.frontends.scipy.shifted_orders import OfOrder, by_orders
from gradir.frontends.transforms.custom_derivatives import custom_jvp
from gradir.frontends.transforms.flow import fori_loop, while_loop

_EULER = 0.5772156649015329
_LARGE_ORDER = 50.0
_DEBYE_TERMS = 13


def _series(v: Any, x: Any) -> Any:
    """exp(-x) I_v(x) by the power series; the sum ends when no term adds to it."""
    square = x * x / 4

    def is_growing(state: Any) -> Any:
        _, term, total = state
        return gnp.any(term > 1e-17 * total)

    def step(state: Any) -> Any:
        k, term, total = state
        term = term * (square / (k * (k + v)))
        return k + 1, term, total + term

    _, _, total = while_loop(is_growing, step, (np.float64(1), x * 0 + 1, x * 0 + 1))
    half = gnp.where(x == 0, 1.0, x / 2)
    power = gnp.exp(v * gnp.log(half) - op.lgamma(v + 1) - x + gnp.log(total))
    return gnp.where(x == 0, gnp.where(v == 0, 1.0, 0.0), power)


def _hankel(v: Any, x: Any) -> Any:
    """exp(-x) I_v(x) for x much larger than v * v."""
    term, total = x * 0 + 1, x * 0 + 1
    for k in range(1, 40):
        term = term * -((2 * v) ** 2 - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return total / gnp.sqrt(2 * pi * x)


@cache
def _debye_polynomials() -> list[list[float]]:
    """U_k(p) / p**k in powers of p * p (DLMF 10.41.9)."""
    u, made = [Fraction(1)], list[list[float]]()
    for k in range(_DEBYE_TERMS):
        made.append([float(c) for c in u[k::2]])
        following = [Fraction(0)] * (len(u) + 3)
        for n, c in enumerate(u):
            # p**2 (1 - p**2) U' / 2, and the integral of (1 - 5 p**2) U / 8
            following[n + 1] += c * n / 2 + c / (8 * (n + 1))
            following[n + 3] -= c * n / 2 + 5 * c / (8 * (n + 3))
        u = following
    return made


def _debye(v: Any, x: Any) -> Any:
    """exp(-x) I_v(x) for large v."""
    z = x / v
    root = gnp.hypot(z, 1.0)
    p = 1 / root
    total = x * 0
    for k, coefficients in enumerate(_debye_polynomials()):
        total = total + polynomial(p * p, coefficients) * (p / v) ** k
    # v (root - z) without cancellation, and log(z / (1 + root))
    exponent = v / (root + z) + v * gnp.log(gnp.where(z == 0, 1.0, z) / (1 + root))
    made = gnp.exp(exponent) / gnp.sqrt(2 * pi * v * root) * total
    return gnp.where(z == 0, 0.0, made)


def _scaled_i(v: Any, x: Any) -> Any:
    """exp(-x) I_v(x) for v, x >= 0."""
    is_large = v >= _LARGE_ORDER
    is_far = gnp.logical_and(gnp.logical_not(is_large), x > gnp.maximum(30.0, v * v / 4))
    is_near = gnp.logical_not(gnp.logical_or(is_large, is_far))
    is_end = gnp.isinf(x)
    near = _series(gnp.where(is_near, v, 0.0), gnp.where(is_near, x, 1.0))
    is_far_inside = gnp.logical_and(is_far, gnp.logical_not(is_end))
    far = _hankel(gnp.where(is_far, v, 0.0), gnp.where(is_far_inside, x, 40.0))
    is_large_inside = gnp.logical_and(is_large, gnp.logical_not(is_end))
    large = _debye(gnp.where(is_large, v, _LARGE_ORDER), gnp.where(is_large_inside, x, 1.0))
    made = gnp.where(is_near, near, gnp.where(is_large, large, far))
    return gnp.where(is_end, 0.0, made)


@custom_jvp
def scaled_bessel_i(order: Any, x: Any) -> Any:
    """exp(-|x|) I_order(x); nan for negative orders, and for x < 0, that are not integers."""
    is_integer = gnp.floor(order) == order
    is_bad = gnp.logical_or(gnp.isnan(x), gnp.isnan(order))
    is_outside = gnp.logical_and(gnp.logical_or(order < 0, x < 0), gnp.logical_not(is_integer))
    is_bad = gnp.logical_or(is_bad, is_outside)
    v = gnp.where(is_bad, 0.0, gnp.abs(order))
    made = _scaled_i(v, gnp.where(is_bad, 1.0, gnp.abs(x)))
    is_odd = gnp.remainder(order, 2) == 1
    made = gnp.where(gnp.logical_and(is_odd, x < 0), -made, made)
    return gnp.where(is_bad, np.nan, made)


@custom_jvp
def bessel_i(order: Any, x: Any) -> Any:
    """I of real orders; nan where `scaled_bessel_i` is."""
    return scaled_bessel_i(order, x) * gnp.exp(gnp.abs(x))


def _slope(function: Any, order: Any, x: Any) -> Any:
    """(I_{v-1} + I_{v+1}) / 2, or I_{v+1} + v / x I_v, which needs no order below 0."""
    above = function(order + 1, x)
    is_plain = gnp.logical_or(order >= 1, gnp.floor(order) == order)
    below = function(gnp.where(is_plain, order - 1, 1.0), x)
    here = function(order, x)
    ratio = gnp.where(is_plain, 0.0, order) / gnp.where(is_plain, 1.0, x)
    return gnp.where(is_plain, (below + above) / 2, above + ratio * here)


bessel_i.defjvps(None, lambda t, _, n, x: t * _slope(bessel_i, n, x))
scaled_bessel_i.defjvps(
    None,
    lambda t, y, n, x: t * (_slope(scaled_bessel_i, n, x) - gnp.sign(x) * y),
)


def _k_series(x: Any) -> tuple[Any, Any]:
    """K0 and K1 of 0 < x <= 2."""
    square, logarithm = x * x / 4, gnp.log(x / 2) + _EULER
    harmonic = [sum(1 / j for j in range(1, k + 1)) for k in range(22)]
    even = [1 / factorial(k) ** 2 for k in range(20)]
    odd = [1 / (factorial(k) * factorial(k + 1)) for k in range(20)]
    k0 = -logarithm * polynomial(square, even)
    k0 = k0 + polynomial(square, [h * c for h, c in zip(harmonic, even, strict=False)])
    rest = [(harmonic[k] + harmonic[k + 1]) * c for k, c in enumerate(odd)]
    k1 = 1 / x + x / 2 * (logarithm * polynomial(square, odd) - polynomial(square, rest) / 2)
    return k0, k1


def _k_integral(x: Any) -> tuple[Any, Any]:
    """exp(x) times K0 and K1 of x >= 2: of exp(-x (cosh t - 1)) cosh(n t) from 0 on."""
    count = 32
    wide, places = x[..., None], np.arange(0.0, count)
    # no derivative flows through the places, so that those of the terms have one sign
    step = constant(gnp.arccosh(1 + 42 / wide) / count)
    t = step * places
    weights = step * np.where(places == 0, 0.5, 1.0)
    terms = gnp.exp(-2 * wide * gnp.sinh(t / 2) ** 2) * weights
    return gnp.sum(terms, -1), gnp.sum(terms * gnp.cosh(t), -1)


def _upwards(n: Any, x: Any, first: Any, second: Any) -> Any:
    """K of an order >= 0 from K of orders 0 and 1."""

    def step(k: Any, pair: Any) -> Any:
        low, high = pair
        following = low + 2 * k.astype("float64") / x * high
        return gnp.where(k < n, high, low), gnp.where(k < n, following, high)

    _, last = fori_loop(1, gnp.max(n), step, (first, second))
    return gnp.where(n == 0, first, last)


def _bessel_k(order: Any, x: Any) -> Any:
    """K of integer orders; inf at 0, nan below."""
    n = gnp.abs(order)
    is_near, is_end = x <= 2, x == np.inf
    is_bad = gnp.logical_or(x < 0, gnp.isnan(x))
    near = gnp.where(gnp.logical_and(is_near, x > 0), x, 1.0)
    far = gnp.where(gnp.logical_or(gnp.logical_or(is_near, is_end), is_bad), 3.0, x)
    starts = [
        gnp.where(is_near, low, high * gnp.exp(-far))
        for low, high in zip(_k_series(near), _k_integral(far), strict=True)
    ]
    made = _upwards(n, gnp.where(is_near, near, far), *starts)
    made = gnp.where(x == 0, np.inf, gnp.where(is_end, 0.0, made))
    return gnp.where(is_bad, np.nan, made)


def _scaled_bessel_k(order: int) -> OfOrder:
    """exp(x) K of order 0 or 1; inf at 0, nan below. It is differentiated as it stands."""

    def scaled(_: Any, x: Any) -> Any:
        is_near, is_end = x <= 2, x == np.inf
        near = gnp.where(gnp.logical_and(is_near, x > 0), x, 1.0)
        far = gnp.where(gnp.logical_or(is_near, is_end), 3.0, x)
        made = gnp.where(is_near, gnp.exp(near) * _k_series(near)[order], _k_integral(far)[order])
        made = vertical(gnp.where(is_end, 0.0, made), x == 0, np.inf, -1.0, x)
        return undefined(made, x < 0, x)

    return scaled


bessel_k = by_orders(_bessel_k, -0.5, 1.0)

_I = "The modified Bessel function of the first kind and a real order >= 0 or an integer"
_K = "The modified Bessel function of the second kind and {}; inf at 0, nan below."

COMPILED = {
    "iv": ordered("iv", bessel_i, f"{_I}.", False),
    "ive": ordered("ive", scaled_bessel_i, f"{_I}, times exp(-|x|).", False),
    "kn": ordered("kn", bessel_k, _K.format("integer order")),
    **{
        f"k{n}{end}": of_order(f"k{n}{end}", function, n, _K.format(f"order {n}{times}"))
        for n in (0, 1)
        for end, function, times in (
            ("", bessel_k, ""),
            ("e", _scaled_bessel_k(n), ", times exp(x)"),
        )
    },
}
"""gradir.scipy.special's."""
