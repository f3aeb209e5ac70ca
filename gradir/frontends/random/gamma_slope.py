"""The derivative by the shape of the gamma distribution's quantiles.

With P the distribution function and p the density, a quantile z of a fixed probability has
d log(z) / d a = -(dP / d a) / (z p(z)). Both of the integrals of t**(a - 1) * exp(-t) * (log(t) -
digamma(a)), up to z and from z on, are -+ (dP / d a) * gamma(a). With t = z * exp(q):

    d log(z) / d a = integral of (r + log(a) - digamma(a) + q) * exp(a q - z (exp(q) - 1)) dq

over q > 0, or the negative of that over q < 0, where r = log(z / a). One is taken above the
median, one below, both by Gauss and Legendre's rule. Near a = 0 the latter falls slowly: there it
is a power series of z. In float64, and differentiable again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.gamma import BERNOULLI
from gradir.frontends.functions.bessel import polynomial
from gradir.frontends.scipy import special
from gradir.frontends.scipy.quadrature import DEPTH, rule
from gradir.frontends.transforms.markers import no_grad

# The series is for shapes below _SMALL, so z < _SMALL + 1.
_SMALL, _TERMS = 4.0, 44
# From here on log(a) - digamma(a) is a series in 1 / a.
_LARGE = 10.0
_SERIES = [number / (2 * j) for j, number in enumerate(BERNOULLI, 1)]


def quantile_slope(a: Any, r: Any) -> Any:
    """d log(z) / d a for a > 0 and z = a * exp(r), arrays of float64 of one shape."""
    z = a * gnp.exp(r)
    is_high = z > gnp.maximum(a, 1.0) + 1
    is_series = gnp.logical_and(a < _SMALL, gnp.logical_not(is_high))
    shape, ratio = gnp.where(is_series, 1.0, a), gnp.where(is_series, 2.0, r)
    by_rule = _by_rule(shape, ratio, gnp.logical_or(is_high, is_series))
    shape, ratio = gnp.where(is_series, a, 1.0), gnp.where(is_series, r, 0.0)
    return gnp.where(is_series, _by_series(shape, ratio), by_rule)


def _by_rule(a: Any, r: Any, is_high: Any) -> Any:
    """The integral over q > 0 where `is_high`, else over q < 0, for a >= _SMALL there."""
    sign = gnp.where(is_high, 1.0, -1.0)
    apart = a * gnp.expm1(r)
    places, weights = rule()
    q = wide(no_grad(sign * _width(a, apart, is_high))) * places
    grown = gnp.expm1(q)
    height = gnp.exp(wide(a) * (q - grown) - wide(apart) * grown)
    factor = wide(r + _log_less_digamma(a)) + q
    # q has the sign of dq
    return gnp.sum(factor * height * weights, axis=-1) * q[..., -1] / places[-1]


def _width(a: Any, apart: Any, is_high: Any) -> Any:
    """abs(q) at which exp(a q - z (exp(q) - 1)) is below exp(-DEPTH), for z = a + apart.

    By exp(q) - 1 >= q + q * q / 2 for q > 0, and 1 - exp(-q) <= q - q * q / 3 for q < 1.
    """
    z = a + apart
    slope, curve = gnp.where(is_high, apart, -apart), gnp.where(is_high, z / 2, z / 3)
    near = 2 * DEPTH / (slope + gnp.sqrt(slope * slope + 4 * curve * DEPTH))
    return gnp.where(gnp.logical_or(is_high, near < 1), near, (DEPTH + z) / a)


def _log_less_digamma(a: Any) -> Any:
    """log(a) - digamma(a) for a > 0."""
    is_large = a >= _LARGE
    large, small = gnp.where(is_large, a, _LARGE), gnp.where(is_large, 1.0, a)
    square = 1 / (large * large)
    far = 0.5 / large + square * polynomial(square, _SERIES)
    return gnp.where(is_large, far, gnp.log(small) - special.digamma(small))


def _by_series(a: Any, r: Any) -> Any:
    """For z <= _SMALL + 1: with the terms c[k] = z**k / ((a + 1) ... (a + k)), minus
    sum(c[k] * (log(z) - digamma(a + 1) - 1 / (a + 1) - ... - 1 / (a + k))) / a.
    """
    z = wide(a * gnp.exp(r))
    below = wide(a) + np.arange(1.0, _TERMS)
    terms = gnp.cumulative_prod(z / below, axis=-1)
    harmonic = gnp.cumulative_sum(1 / below, axis=-1)
    start = r + gnp.log(a) - special.digamma(a + 1)
    total = start * (1 + gnp.sum(terms, axis=-1)) - gnp.sum(terms * harmonic, axis=-1)
    return -total / a


def wide(x: Any) -> Any:
    """x with an axis for the places."""
    return gnp.expand_dims(x, x.ndim)
