"""Von Mises' distribution of angles.

Angles by Best and Fisher's method ("Efficient simulation of the von Mises distribution", Applied
Statistics 28, 1979). Their derivative by kappa is the quantile's, at every order: for an
angle x >= 0 from the mean, with A = I1(kappa) / I0(kappa),

    d x / d kappa = -integral of (cos(t) - A) * exp(kappa * (cos(t) - cos(x))) dt from 0 to x,

which is the integral from x to pi too. Where cos(x) > A the first one has terms of one sign, else
the second: by Gauss and Legendre's rule. In float64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from xdsl.dialects.builtin import f64

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.bessel import i0e, i1e, polynomial
from gradir.frontends.random.draws import (
    finished,
    float_kind,
    key_of,
    parameters,
    unit,
    valid_or_nan,
    words,
)
from gradir.frontends.random.gamma_slope import wide
from gradir.frontends.random.rejection import first_accepted
from gradir.frontends.scipy.quadrature import DEPTH, rule
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.transforms.custom_derivatives import custom_jvp
from gradir.frontends.transforms.markers import no_grad

_LARGE = 20.0


def _asymptotic(n: int) -> list[float]:
    """The coefficients of 1 / x**k in sqrt(2 pi x) exp(-x) I_n(x) (DLMF 10.40.1)."""
    found = [1.0]
    for k in range(1, 30):
        found.append(-found[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
    return found


_DIFFERENCE = [p - q for p, q in zip(_asymptotic(0), _asymptotic(1), strict=True)]


def vonmises_angle(key: Any, kappa: Any) -> Any:
    """Angles in (-pi, pi) around 0, for finite kappa >= 0."""
    grown = gnp.sqrt(1 + 4 * kappa * kappa) + 1
    root = gnp.sqrt(grown)
    share = grown * (root + sqrt(2)) / (4 * root)  # kappa / (2 rho)
    rho = kappa / (2 * share)
    near = (1 - rho) * (1 - rho)

    def propose(number: Any) -> tuple[Any, Any]:
        turn = gnp.sin(pi / 2 * unit(key, 2 * number + 1, kappa.shape))
        v = 1 - unit(key, 2 * number + 2, kappa.shape)
        rise = 2 * turn * turn  # 1 - cos
        apart = near * rise / ((1 + rho) * (1 + rho) - 2 * rho * rise)
        y = share * near + kappa * apart
        is_accepted = gnp.logical_or(y * (2 - y) >= v, gnp.log(y / v) + 1 - y >= 0)
        return 2 * gnp.asin(gnp.sqrt(apart / 2)), is_accepted

    angle = first_accepted(propose, gnp.ones(kappa.shape, "bool"))
    return gnp.where(words(key, 0, kappa.shape) < 0, -angle, angle)


_drawn = custom_jvp(vonmises_angle)


def _pushed(primals: Any, tangents: Any) -> Any:
    key, kappa = primals
    angle = _drawn(key, kappa)
    sign = gnp.where(angle < 0, -1.0, 1.0)
    return angle, sign * quantile_slope(sign * angle, kappa) * tangents[1]


_drawn.defjvp(_pushed)


def quantile_slope(x: Any, kappa: Any) -> Any:
    """d x / d kappa for angles x in [0, pi], arrays of float64 of one shape."""
    places, weights = rule()
    less = _one_less_ratio(kappa)
    is_low = _rise(x) < less
    end = gnp.where(is_low, 0.0, _end(x, kappa))
    # from x towards 0, or towards pi
    way = end - x
    t = wide(x) + wide(way) * places
    fall = -2 * gnp.sin((t + wide(x)) / 2) * gnp.sin((t - wide(x)) / 2)
    terms = (wide(less) - _rise(t)) * gnp.exp(wide(kappa) * fall)
    return gnp.sum(terms * weights, axis=-1) * way


def _rise(x: Any) -> Any:
    """1 - cos(x)."""
    half = gnp.sin(x / 2)
    return 2 * half * half


def _end(x: Any, kappa: Any) -> Any:
    """pi, or the angle from which on exp(kappa * (cos(t) - cos(x))) is nothing."""
    square = _rise(x) / 2 + DEPTH / (2 * gnp.maximum(kappa, 1.0))
    is_cut = no_grad(square) < 1
    return gnp.where(is_cut, 2 * gnp.asin(gnp.sqrt(gnp.where(is_cut, square, 0.25))), pi)


def _one_less_ratio(kappa: Any) -> Any:
    """1 - I1(kappa) / I0(kappa)."""
    is_large = kappa >= _LARGE
    large, small = gnp.where(is_large, kappa, _LARGE), gnp.where(is_large, 1.0, kappa)
    far = polynomial(1 / large, _DIFFERENCE) / polynomial(1 / large, _asymptotic(0))
    return gnp.where(is_large, far, 1 - i1e(small) / i0e(small))


def vonmises(key: Any, mu: Any, kappa: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Angles in [-pi, pi] of density proportional to exp(kappa * cos(x - mu)), for kappa >= 0.

    nan where kappa is negative or infinite.
    """
    kind = float_kind("vonmises", dtype)
    mu, kappa = parameters("vonmises", shape, f64, mu, kappa)
    is_valid = gnp.logical_and(kappa >= 0, gnp.isfinite(kappa))
    angle = _drawn(key_of(key), gnp.where(is_valid, kappa, 1.0)) + mu
    turns = no_grad(gnp.floor((angle + pi) / (2 * pi)))
    return finished(valid_or_nan(is_valid, angle - 2 * pi * turns), kind)


FUNCTIONS: tuple[Callable[..., Any], ...] = (vonmises,)
