"""Distributions of integers. No derivative flows through them.

Poisson's and the binomial distribution search from 0 up to a mean of 10, and use Hörmann's
transformed rejection above it ("The transformed rejection method for generating Poisson random
variables", Insurance: Mathematics and Economics 12, 1993; "The generation of binomial random
variates", J. Statist. Comput. Simulation 46, 1993). All is computed in float64. Counts beyond a
dtype are its largest number. Where a parameter is out of its range the result is -1, in dtypes
without a sign the largest number too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.promotion import converted
from gradir.frontends.random.draws import (
    finished,
    integer_kind,
    integer_range,
    key_of,
    parameters,
    result_shape,
    unit,
)
from gradir.frontends.random.gammas import gammas
from gradir.frontends.random.keys import derived
from gradir.frontends.random.rejection import first_accepted
from gradir.frontends.scipy.incomplete import log_beta_density, log_density
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.transforms.flow import scan, while_loop

# Above a mean of _SEARCHED no search from 0; the search of a mean below it ends before _LAST, with
# a probability of more than 1 - 1e-100. _MOST is the largest float64 below 2**63.
_SEARCHED, _LAST, _MOST = 10.0, 200, 2.0**63 - 1024


def _counted(is_valid: Any, count: Any, kind: Attribute) -> Tracer:
    """Counts in float64 as integers, the largest of the type for greater ones."""
    whole: Any = gnp.minimum(count, min(_MOST, integer_range(kind)[1])).astype("int64")
    return finished(gnp.where(is_valid, whole, -1), kind)


def _searched(u: Any, first: Any, ratio: Callable[[Any], Any], is_wanted: Any) -> Any:
    """The least k with u < p(0) + ... + p(k), for p(0) = first and p(k) = p(k - 1) * ratio(k)."""

    def is_open(state: Any) -> Any:
        k, _, total = state
        return gnp.logical_and(is_wanted, gnp.logical_and(u >= total, k < _LAST))

    def step(state: Any) -> Any:
        k, p, total = state
        is_on = is_open(state)
        after = gnp.where(is_on, k + 1, k)
        p = gnp.where(is_on, p * ratio(after), p)
        return after, p, gnp.where(is_on, total + p, total)

    def goes_on(state: Any) -> Any:
        return gnp.any(is_open(state))

    return while_loop(goes_on, step, (gnp.zeros_like(u), first, first))[0]


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Counts of rare events: k with probability lam**k * exp(-lam) / k!, for finite lam >= 0.

    int64 without a dtype.
    """
    kind = integer_kind("poisson", dtype)
    [lam] = parameters("poisson", shape, f64, lam)
    return _counted(*_poisson(key_of(key), lam), kind)


def _poisson(key: Any, lam: Any) -> tuple[Any, Any]:
    """Which means are valid, and the counts."""
    is_valid = gnp.logical_and(lam >= 0, lam < _MOST)
    is_small = gnp.logical_and(is_valid, lam < _SEARCHED)
    is_large = gnp.logical_and(is_valid, lam >= _SEARCHED)
    low, high = gnp.where(is_small, lam, 1.0), gnp.where(is_large, lam, _SEARCHED)
    u = unit(key, 0, lam.shape)
    near = _searched(u, gnp.exp(-low), lambda k: low / gnp.maximum(k, 1.0), is_small)
    return is_valid, gnp.where(is_small, near, _poisson_accepted(key, high, is_large))


def _poisson_accepted(key: Any, lam: Any, is_wanted: Any) -> Any:
    """Hörmann's PTRS for lam >= 10."""
    b = 0.931 + 2.53 * gnp.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse = gnp.log(1.1239 + 1.1328 / (b - 3.4))
    good = 0.9277 - 3.6224 / (b - 2)

    def propose(number: Any) -> tuple[Any, Any]:
        u, v, space = _proposed(key, number, lam.shape)
        k = gnp.floor((2 * a / space + b) * u + lam + 0.43)
        is_there = gnp.logical_and(k >= 0, gnp.logical_or(space >= 0.013, v <= space))
        place = gnp.where(is_there, k, 0.0)
        height = gnp.log(v) + inverse - gnp.log(a / (space * space) + b)
        is_below = gnp.logical_and(is_there, height <= log_density(place, lam))
        is_quick = gnp.logical_and(space >= 0.07, v <= good)
        return place, gnp.logical_or(is_quick, is_below)

    return first_accepted(propose, is_wanted)


def _proposed(key: Any, number: Any, shape: Any) -> tuple[Any, Any, Any]:
    """u in (-1/2, 1/2), v in (0, 1], and the distance of u from the ends."""
    u = gnp.maximum(unit(key, 2 * number + 1, shape), 2.0**-54) - 0.5
    v = 1 - unit(key, 2 * number + 2, shape)
    return u, v, 0.5 - gnp.abs(u)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Counts of successes of probability p in n trials, for whole n >= 0 and p in [0, 1].

    int64 without a dtype.
    """
    kind = integer_kind("binomial", dtype)
    n, p = parameters("binomial", shape, f64, n, p)
    return _counted(*_binomial(key_of(key), n, p), kind)


def _binomial(key: Any, n: Any, p: Any) -> tuple[Any, Any]:
    is_valid = gnp.logical_and(gnp.logical_and(n >= 0, n == gnp.floor(n)), n < _MOST)
    is_valid = gnp.logical_and(is_valid, gnp.logical_and(p >= 0, p <= 1))
    q = gnp.minimum(p, 1 - p)
    is_small = gnp.logical_and(is_valid, n * q < _SEARCHED)
    is_large = gnp.logical_and(is_valid, n * q >= _SEARCHED)
    count, share = gnp.where(is_small, n, 1.0), gnp.where(is_small, q, 0.25)
    odds = share / (1 - share)
    first = gnp.exp(count * gnp.log1p(-share))
    u = unit(key, 0, n.shape)
    near = _searched(
        u, first, lambda k: odds * gnp.maximum(count - k + 1, 0.0) / gnp.maximum(k, 1.0), is_small
    )
    count, share = gnp.where(is_large, n, 100.0), gnp.where(is_large, q, 0.25)
    found = gnp.where(is_small, near, _binomial_accepted(key, count, share, is_large))
    return is_valid, gnp.where(p > 0.5, n - found, found)


def _binomial_accepted(key: Any, n: Any, p: Any, is_wanted: Any) -> Any:
    """Hörmann's BTRS for p <= 1/2 and n * p >= 10."""
    spread = gnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = gnp.log((2.83 + 5.1 / b) * spread)
    good = 0.92 - 4.2 / b
    most = _log_count(gnp.floor((n + 1) * p), n, p)

    def propose(number: Any) -> tuple[Any, Any]:
        u, v, space = _proposed(key, number, n.shape)
        k = gnp.floor((2 * a / space + b) * u + n * p + 0.5)
        is_there = gnp.logical_and(k >= 0, k <= n)
        place = gnp.where(is_there, k, 0.0)
        height = gnp.log(v) + alpha - gnp.log(a / (space * space) + b)
        is_below = height <= _log_count(place, n, p) - most
        is_quick = gnp.logical_and(space >= 0.07, v <= good)
        return place, gnp.logical_and(is_there, gnp.logical_or(is_quick, is_below))

    return first_accepted(propose, is_wanted)


def _log_count(k: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of k, and a number that is the same for all k."""
    return log_beta_density(k + 1, n - k + 1, p, 1 - p)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of trials up to the first success, for p in (0, 1]; int64 without a dtype."""
    kind = integer_kind("geometric", dtype)
    [p] = parameters("geometric", shape, f64, p)
    is_valid = gnp.logical_and(p > 0, p <= 1)
    is_random = gnp.logical_and(is_valid, p < 1)
    share = gnp.where(is_random, p, 0.5)
    trials = gnp.ceil(gnp.log1p(-unit(key_of(key), 0, p.shape)) / gnp.log1p(-share))
    return _counted(is_valid, gnp.where(is_random, gnp.maximum(trials, 1.0), 1.0), kind)


def negative_binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Counts of failures before n successes of probability p, for n > 0 and p in (0, 1].

    Poisson's of a gamma number's mean, so that n need not be whole. int64 without a dtype.
    """
    kind = integer_kind("negative_binomial", dtype)
    n, p = parameters("negative_binomial", shape, f64, n, p)
    is_valid = gnp.logical_and(n > 0, gnp.logical_and(p > 0, p <= 1))
    size, share = gnp.where(is_valid, n, 1.0), gnp.where(is_valid, p, 1.0)
    one, two = derived(key_of(key), 2)
    is_there, found = _poisson(two, gammas(one, size) * ((1 - share) / share))
    return _counted(gnp.logical_and(is_valid, is_there), found, kind)


def multinomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Counts of each of k kinds among n draws, [shape.., k] for probabilities p [.., k].

    n [..] is whole and >= 0. p is divided by its sum. int64 without a dtype.
    """
    kind = integer_kind("multinomial", dtype)
    shares = _axis_of("multinomial", p)
    total = lifted(n, what="multinomial: ")
    extents = result_shape("multinomial", shape, total.shape, shares.shape[:-1])
    left: Any = gnp.broadcast_to(converted(total, f64), extents)
    shares = gnp.moveaxis(gnp.broadcast_to(shares, (*extents, shares.shape[-1])), -1, 0)
    rest = gnp.flip(gnp.cumulative_sum(gnp.flip(shares, axis=0), axis=0), axis=0)
    ratios = gnp.where(rest > 0, shares / gnp.where(rest > 0, rest, 1.0), 0.0)
    keys = gnp.stack(derived(key_of(key), shares.shape[0]))

    def one_kind(state: Any, row: Any) -> Any:
        is_valid, left = state
        fits, found = _binomial(row[0], left, row[1])
        found = gnp.where(fits, found, 0.0)
        return (gnp.logical_and(is_valid, fits), left - found), found

    start = left >= 0, left
    (is_valid, _), found = scan(one_kind, start, (keys, gnp.minimum(ratios, 1.0)))
    return _counted(gnp.expand_dims(is_valid, -1), gnp.moveaxis(found, 0, -1), kind)


def _axis_of(name: str, p: Any) -> Any:
    """Probabilities [.., k] in float64."""
    given: Any = converted(lifted(p, what=f"{name}: "), f64)
    if given.ndim < 1 or not given.shape[-1]:
        raise refusal(f"{name}: p must have an axis of probabilities, got {type_text(given.type)}")
    return given


def hypergeometric(
    key: Any, ngood: Any, nbad: Any, nsample: Any, shape: Any = None, dtype: Any = None
) -> Tracer:
    """Counts of good things among nsample that are drawn, without replacement, of ngood and nbad.

    All are whole and >= 0, and nsample <= ngood + nbad. int64 without a dtype. One thing is drawn
    after the other: the time grows with the smaller one of the drawn and the remaining things.
    """
    kind = integer_kind("hypergeometric", dtype)
    good, bad, count = parameters("hypergeometric", shape, f64, ngood, nbad, nsample)
    everything = good + bad
    is_valid = gnp.logical_and(count <= everything, everything < 2.0**53)
    for each in (good, bad, count):
        is_valid = gnp.logical_and(is_valid, gnp.logical_and(each >= 0, each == gnp.floor(each)))
    is_most = 2 * count > everything
    drawn = gnp.where(is_valid, gnp.where(is_most, everything - count, count), 0.0)
    found = _drawn_one_by_one(key_of(key), good, everything, drawn)
    return _counted(is_valid, gnp.where(is_most, good - found, found), kind)


def _drawn_one_by_one(key: Any, good: Any, everything: Any, count: Any) -> Any:
    """How many of `count` draws are good."""

    def draw(state: Any) -> Any:
        k, found = state
        u = unit(key, k, good.shape)
        is_good = u * (everything - k) < good - found
        return k + 1, found + gnp.where(gnp.logical_and(k < count, is_good), 1.0, 0.0)

    def goes_on(state: Any) -> Any:
        return gnp.any(state[0] < count)

    return while_loop(goes_on, draw, (0, gnp.zeros_like(good)))[1]


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    poisson, binomial, geometric, negative_binomial, multinomial, hypergeometric,
)  # fmt: skip
