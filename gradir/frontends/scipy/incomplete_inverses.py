"""Inverses of incomplete gamma and beta functions.

They are found by Newton's steps within a bracket that halves where a step leaves it, and are
differentiated as implicit functions, by the derivatives of the functions that they invert.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.scipy.calls import anywhere, in_float64
from gradir.frontends.scipy.entropies import expit
from gradir.frontends.scipy.gammas import betaln, gammaln
from gradir.frontends.scipy.incomplete import (
    both_betas,
    gammainc,
    gammaincc,
    log_beta_density,
    log_density,
)
from gradir.frontends.transforms.custom_derivatives import custom_jvp
from gradir.frontends.transforms.derivatives import jvp
from gradir.frontends.transforms.flow import while_loop

_MOST_STEPS = 200


def _root(slope: Callable[[Any], tuple[Any, Any]], low: Any, high: Any, start: Any) -> Any:
    """s with f(s) = 0 between low and high, for a rising f; `slope` returns f and its slope."""

    def is_moving(state: Any) -> Any:
        s, before, _, _, count = state
        far = gnp.abs(s - before) > 1e-14 * (1 + gnp.abs(s))
        return gnp.logical_and(gnp.any(far), count < _MOST_STEPS)

    def step(state: Any) -> Any:
        s, _, low, high, count = state
        value, rise = slope(s)
        is_below = value < 0
        low, high = gnp.where(is_below, s, low), gnp.where(is_below, high, s)
        newton = s - value / rise
        is_inside = gnp.logical_and(newton > low, newton < high)
        following = gnp.where(is_inside, newton, (low + high) / 2)
        return gnp.where(value == 0, s, following), s, low, high, count + 1

    init = start, start + 1, low + 0 * start, high + 0 * start, 0
    return while_loop(is_moving, step, init)[0]


def _apart(part: Any, wanted: Any) -> Any:
    """log(part / wanted), -inf for a part of 0."""
    is_none = part <= 0
    return gnp.where(is_none, -1e3, gnp.log(gnp.where(is_none, 1.0, part) / wanted))


def _inverse_gamma(a: Any, p: Any, q: Any) -> Any:
    """x with gammainc(a, x) = p and gammaincc(a, x) = q; the smaller one counts."""
    is_low = p < q

    def slope(s: Any) -> tuple[Any, Any]:
        x = gnp.exp(s)
        part = gnp.where(is_low, gammainc(a, x), gammaincc(a, x))
        apart = _apart(part, gnp.where(is_low, p, q))
        density = a * gnp.exp(log_density(a, x)) / gnp.where(part > 0, part, 1.0)
        return gnp.where(is_low, apart, -apart), density

    low = (gnp.log(p) + gammaln(a + 1)) / a
    top = gnp.log(a + 40 * gnp.sqrt(a) + 750)
    s = _root(slope, gnp.minimum(low, top) - 1, top, gnp.clip(low, -740.0, gnp.log(a + 1)))
    x = gnp.exp(s)
    # a last step in x, whose logarithm has lost some bits
    part = gnp.where(is_low, gammainc(a, x) - p, q - gammaincc(a, x))
    density = a / gnp.where(x > 0, x, 1.0) * gnp.exp(log_density(a, gnp.where(x > 0, x, 1.0)))
    moved = x - part / density
    return gnp.where(gnp.logical_and(gnp.abs(moved - x) < 1e-8 * x, moved > 0), moved, x)


def _by_tail(a: Any, given: Any, is_upper: bool) -> Any:
    is_inside = gnp.logical_and(a > 0, gnp.logical_and(given > 0, given < 1))
    shape, part = gnp.where(is_inside, a, 1.0), gnp.where(is_inside, given, 0.5)
    p, q = (1 - part, part) if is_upper else (part, 1 - part)
    made = _inverse_gamma(shape, p, q)
    ends = (np.inf, 0.0) if is_upper else (0.0, np.inf)
    is_end = gnp.logical_and(a > 0, gnp.logical_or(given == 0, given == 1))
    at_end = gnp.where(given == 0, *ends)
    return gnp.where(is_inside, made, gnp.where(is_end, at_end, np.nan))


@custom_jvp
def _gammaincinv(a: Any, p: Any) -> Any:
    return _by_tail(a, p, False)


@custom_jvp
def _gammainccinv(a: Any, q: Any) -> Any:
    return _by_tail(a, q, True)


def _density(a: Any, x: Any) -> Any:
    """x**(a - 1) * exp(-x) / gamma(a), for x = 0 and infinity too."""
    is_zero, is_far = x == 0, x == np.inf
    at_zero = gnp.where(is_zero, x, 1.0) ** (a - 1) * gnp.exp(-gammaln(a))
    place = gnp.where(gnp.logical_or(is_zero, is_far), 1.0, x)
    usual = a / place * gnp.exp(log_density(a, place))
    return gnp.where(is_zero, at_zero, gnp.where(is_far, 0.0, usual))


def _by_shape(function: Callable[..., Any], a: Any, x: Any) -> Any:
    """The derivative by a of the share on one side of x, over the density; 0 for x = 0 and inf."""
    is_end = gnp.logical_or(x == 0, x == np.inf)
    place = gnp.where(is_end, 1.0, x)
    slope = jvp(lambda a: function(a, place), (a,), (a * 0 + 1,))[1]
    return gnp.where(is_end, 0.0, slope / _density(a, place))


_gammaincinv.defjvps(
    lambda t, x, a, _: -t * _by_shape(gammainc, a, x),
    lambda t, x, a, _: t / _density(a, x),
)
_gammainccinv.defjvps(
    lambda t, x, a, _: t * _by_shape(gammaincc, a, x),
    lambda t, x, a, _: -t / _density(a, x),
)


@custom_jvp
def _betaincinv(a: Any, b: Any, y: Any) -> Any:
    """x and 1 - x, each to its bits."""
    is_ok = gnp.logical_and(a > 0, b > 0)
    is_inside = gnp.logical_and(is_ok, gnp.logical_and(y > 0, y < 1))
    p, q = gnp.where(is_inside, a, 1.0), gnp.where(is_inside, b, 1.0)
    part = gnp.where(is_inside, y, 0.5)
    is_low = part < 0.5
    wanted = gnp.where(is_low, part, 1 - part)

    def slope(s: Any) -> tuple[Any, Any]:
        x, rest = expit(s), expit(-s)
        found = gnp.where(is_low, *both_betas(p, q, x, rest))
        apart = _apart(found, wanted)
        density = gnp.exp(log_beta_density(p, q, x, rest)) / gnp.where(found > 0, found, 1.0)
        return gnp.where(is_low, apart, -apart), density

    s = _root(slope, -_LAST, _LAST, gnp.clip(gnp.log(p / q), -30.0, 30.0))
    x, rest = expit(s), expit(-s)
    # a last step, whose logarithm has lost some bits
    apart = gnp.where(is_low, *both_betas(p, q, x, rest)) - wanted
    density = gnp.exp(log_beta_density(p, q, x, rest))
    moved = gnp.where(is_low, -apart, apart) / gnp.where(density > 0, density, np.inf)
    moved = gnp.where(gnp.abs(moved) < 1e-8, moved, 0.0)
    x, rest = x * (1 + moved * rest), rest * (1 - moved * x)
    is_end = gnp.logical_and(is_ok, gnp.logical_or(y == 0, y == 1))
    return tuple(
        gnp.where(is_inside, made, gnp.where(is_end, end, np.nan))
        for made, end in ((x, y), (rest, 1 - y))
    )


_LAST = 744.0
"""exp(-744) is nearly the least number above 0."""


def _betaincinv_jvp(primals: Any, tangents: Any) -> Any:
    (a, b, y), (a_t, b_t, y_t) = primals, tangents
    x, rest = _betaincinv(a, b, y)
    # of s = log(x / rest): dx is x * rest * ds, and 0 where one of both is below all numbers
    is_there = gnp.logical_and(x > 0, rest > 0)
    is_end = gnp.logical_or(y == 0, y == 1)
    one, other = (gnp.where(is_there, each, 0.5) for each in (x, rest))
    is_low = y < 0.5
    density = gnp.exp(log_beta_density(a, b, one, other))

    def part(a: Any, b: Any) -> Any:
        low, high = both_betas(a, b, one, other)
        return gnp.where(is_low, low, -high)

    by_shapes = jvp(part, (a, b), (a_t, b_t))[1]
    x_t = (y_t - by_shapes) / density * one * other
    # an end is one for all shapes
    first, last = (gnp.where(is_end, each, 0.5) for each in (x, rest))
    at_end = first ** (a - 1) * last ** (b - 1) * gnp.exp(-betaln(a, b))
    end_t = y_t / gnp.where(is_end, at_end, 1.0)
    least = gnp.where(gnp.isnan(x), np.nan, 0.0)
    # linear in the tangents, so that reverse mode has the nan too
    x_t = gnp.where(is_there, x_t, gnp.where(is_end, end_t, least * (a_t + b_t + y_t)))
    return (x, rest), (x_t, -x_t)


_betaincinv.defjvp(_betaincinv_jvp)


def gammaincinv(a: Any, y: Any) -> Any:
    """x with gammainc(a, x) = y, for a > 0 and y in [0, 1]; else nan."""
    return in_float64(_gammaincinv)(a, y)


def gammainccinv(a: Any, y: Any) -> Any:
    """x with gammaincc(a, x) = y, for a > 0 and y in [0, 1]; else nan."""
    return in_float64(_gammainccinv)(a, y)


def betaincinv(a: Any, b: Any, y: Any) -> Any:
    """x with betainc(a, b, x) = y, for a, b > 0 and y in [0, 1]; else nan."""
    return in_float64(lambda *given: _betaincinv(*given)[0])(a, b, y)


COMPILED = {
    f.__name__: anywhere(f, "gradir.scipy.special") for f in (gammaincinv, gammainccinv, betaincinv)
}
