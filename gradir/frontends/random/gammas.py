"""The gamma distribution, and those made of it: beta, Dirichlet's, chi squared, t and F.

Numbers by Marsaglia and Tsang's method ("A simple method for generating gamma variables", ACM TOMS
26, 2000), as logarithms, which shapes near 0 need. Their derivative by the shape is the one of the
inverse distribution function at the number drawn, -(dP/da) / density (Figurnov, Mohamed, Mnih,
"Implicit reparameterization gradients", NeurIPS 2018), at every order. All is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from xdsl.dialects.builtin import f64

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.random.draws import (
    bell,
    finished,
    float_kind,
    key_of,
    parameters,
    result_shape,
    standard_exponential,
    unit,
    valid_or_nan,
)
from gradir.frontends.random.gamma_slope import quantile_slope
from gradir.frontends.random.keys import derived
from gradir.frontends.random.rejection import first_accepted
from gradir.frontends.scipy import special
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.transforms.custom_derivatives import custom_jvp

_LEAST = 2.0**-1022


def gamma_log_ratio(key: Any, a: Any) -> Any:
    """log(z / a) of gamma numbers z of finite shapes a > 0."""
    is_small = a < 1
    shape = gnp.where(is_small, a + 1, a)
    c = 1 / gnp.sqrt(9 * shape - 3)

    def propose(number: Any) -> tuple[Any, Any]:
        x = bell(key, 2 * number + 1, a.shape)
        u = unit(key, 2 * number + 2, a.shape)
        t = c * x
        is_there = t > -1
        t = gnp.where(is_there, t, 0.0)
        # log v = 3 log(1 + t), and 1 - v + log v without cancellation
        bound = x * x / 2 + (shape - 1 / 3) * (3 * (gnp.log1p(t) - t) - t * t * (3 + t))
        is_accepted = gnp.logical_and(is_there, gnp.log1p(-u) < bound)
        return 3 * gnp.log1p(t), is_accepted

    found = first_accepted(propose, gnp.ones(a.shape, "bool")) + gnp.log1p(-1 / (3 * shape))
    # a number of shape a is one of shape a + 1, times u ** (1 / a)
    less = standard_exponential(key, 0, a.shape) / a
    return found + gnp.where(is_small, gnp.log1p(1 / a) - less, 0.0)


_log_ratio = custom_jvp(gamma_log_ratio)


def _pushed(primals: Any, tangents: Any) -> Any:
    key, a = primals
    r = _log_ratio(key, a)
    return r, (quantile_slope(a, r) - 1 / a) * tangents[1]


_log_ratio.defjvp(_pushed)


def _is_none(a: Any) -> Any:
    """Whether the shape is 0, or so near that 1 / a overflows."""
    return gnp.logical_and(a >= 0, a < _LEAST)


def log_gammas(key: Any, a: Any) -> Any:
    """log(z) of gamma numbers z: -inf for a = 0, nan for a < 0 and inf."""
    is_inside = gnp.logical_and(a >= _LEAST, gnp.isfinite(a))
    shape = gnp.where(is_inside, a, 1.0)
    drawn = _log_ratio(key, shape) + gnp.log(shape)
    return gnp.where(is_inside, drawn, gnp.where(_is_none(a), -inf, float("nan")))


def gammas(key: Any, a: Any) -> Any:
    """Gamma numbers: 0 for a = 0, nan for a < 0 and inf."""
    is_inside = gnp.logical_and(a >= _LEAST, gnp.isfinite(a))
    shape = gnp.where(is_inside, a, 1.0)
    drawn = gnp.exp(_log_ratio(key, shape)) * shape
    return gnp.where(is_inside, drawn, gnp.where(_is_none(a), 0.0, float("nan")))


def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """The logarithm of what `gamma` draws, which is finite for shapes a near 0 too."""
    kind = float_kind("loggamma", dtype)
    [a] = parameters("loggamma", shape, f64, a)
    return finished(log_gammas(key_of(key), a), kind)


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of density x**(a - 1) * exp(-x) / gamma(a), for finite a >= 0, 0 for a = 0; else nan.

    vjp: ct * -(d gammainc(a, x) / d a) / density for a
    """
    kind = float_kind("gamma", dtype)
    [a] = parameters("gamma", shape, f64, a)
    return finished(gammas(key_of(key), a), kind)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Sums of squares of df standard normal numbers, for df > 0; twice gamma of df / 2."""
    kind = float_kind("chisquare", dtype)
    [df] = parameters("chisquare", shape, f64, df)
    return finished(2 * gammas(key_of(key), df / 2), kind)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of density proportional to x**(a - 1) * (1 - x)**(b - 1), for a, b > 0; else nan.

    x = g / (g + h) of gamma numbers g and h of shapes a and b, which have the derivatives.
    """
    kind = float_kind("beta", dtype)
    a, b = parameters("beta", shape, f64, a, b)
    one, two = derived(key_of(key), 2)
    first, second = log_gammas(one, a), log_gammas(two, b)
    is_valid = gnp.logical_and(a > 0, b > 0)
    return finished(valid_or_nan(is_valid, special.expit(first - second)), kind)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Points of positive numbers that sum to 1, [shape.., n] for alpha [.., n], all > 0.

    Each is gamma numbers of shapes alpha, divided by their sum.
    """
    kind = float_kind("dirichlet", dtype)
    given: Any = lifted(alpha, what="dirichlet: ").astype("float64")
    if given.ndim < 1:
        raise refusal(f"dirichlet: alpha must have an axis of numbers, got {type_text(given.type)}")
    extents = result_shape("dirichlet", shape, given.shape[:-1])
    given = gnp.broadcast_to(given, (*extents, given.shape[-1]))
    drawn = log_gammas(key_of(key), gnp.where(given > 0, given, float("nan")))
    largest = gnp.max(drawn, axis=-1, keepdims=True) if given.shape[-1] else 0.0
    parts = gnp.exp(drawn - largest)
    return finished(parts / gnp.sum(parts, axis=-1, keepdims=True), kind)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Student's t of df > 0 degrees of freedom: a standard normal number over the root of
    chisquare(df) / df; else nan.
    """
    kind = float_kind("t", dtype)
    [df] = parameters("t", shape, f64, df)
    one, two = derived(key_of(key), 2)
    half = gnp.where(df > 0, df, float("nan")) / 2
    drawn = bell(one, 0, df.shape) * gnp.exp((gnp.log(half) - log_gammas(two, half)) / 2)
    return finished(drawn, kind)


def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Ratios of chisquare(dfnum) / dfnum and chisquare(dfden) / dfden, for both > 0; else nan."""
    kind = float_kind("f", dtype)
    top, low = parameters("f", shape, f64, dfnum, dfden)
    one, two = derived(key_of(key), 2)
    ratio = gnp.exp(log_gammas(one, top / 2) - log_gammas(two, low / 2))
    is_valid = gnp.logical_and(top > 0, low > 0)
    return finished(valid_or_nan(is_valid, ratio * low / top), kind)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    loggamma, gamma, chisquare, beta, dirichlet, t, f,
)  # fmt: skip
