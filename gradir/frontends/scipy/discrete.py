"""The discrete distributions of gradir.scipy.stats: logpmf, pmf, cdf and sf."""

from __future__ import annotations

from math import inf
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.distributions import distribution
from gradir.frontends.scipy.entropies import xlog1py, xlogy
from gradir.frontends.scipy.gammas import betaln
from gradir.frontends.scipy.incomplete import betainc, gammainc, gammaincc


def _is_share(p: Any) -> Any:
    return op.logical_and(op.greater_equal(p, 0), op.less_equal(p, 1))


def _choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return -op.log1p(n) - betaln(n - k + 1, k + 1)


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    low = op.floor(k)
    is_last = op.greater_equal(low, n)
    left = where(is_last, 1.0, n - low)
    return where(is_last, 1.0, betainc(left, low + 1, 1 - p))


_ALL = [
    distribution("bernoulli", "p", {
        "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
        "cdf": lambda k, p: where(op.less(k, 1), 1 - p, 1.0),
    }, lambda p: (0.0, 1.0), 0.0, True, _is_share),
    distribution("poisson", "mu", {
        "logpmf": lambda k, mu: xlogy(k, mu) - op.lgamma(k + 1) - mu,
        "cdf": lambda k, mu: gammaincc(op.floor(k) + 1, mu),
        "sf": lambda k, mu: gammainc(op.floor(k) + 1, mu),
    }, lambda mu: (0.0, inf), 0.0, True, lambda mu: op.greater_equal(mu, 0)),
    distribution("binom", "n p", {
        "logpmf": lambda k, n, p: _choices(n, k) + xlogy(k, p) + xlog1py(n - k, -p),
        "cdf": _binom_cdf,
    }, lambda n, p: (0.0, n), 0.0, True, lambda n, p: _is_share(p)),
    distribution("nbinom", "n p", {
        "logpmf": lambda k, n, p: op.lgamma(n + k) - op.lgamma(k + 1) - op.lgamma(n)
        + n * op.log(p) + xlog1py(k, -p),
        "cdf": lambda k, n, p: betainc(n, op.floor(k) + 1, p),
    }, lambda n, p: (0.0, inf), 0.0, True, lambda n, p: _is_share(p)),
    distribution("geom", "p", {
        "logpmf": lambda k, p: xlog1py(k - 1, -p) + op.log(p),
        "cdf": lambda k, p: -op.expm1(op.log1p(-p) * op.floor(k)),
    }, lambda p: (1.0, inf), 1.0, True, _is_share),
]  # fmt: skip
DISTRIBUTIONS = {each.name: each for each in _ALL}
