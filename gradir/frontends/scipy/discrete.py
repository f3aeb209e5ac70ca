"""The discrete distributions of gradir.scipy.stats: logpmf, pmf, cdf and sf."""

from __future__ import annotations

from math import inf
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.distributions import beta_density, distribution, gamma_density
from gradir.frontends.scipy.entropies import xlog1py, xlogy
from gradir.frontends.scipy.gammas import betaln
from gradir.frontends.scipy.incomplete import (
    betainc,
    betaincc,
    gammainc,
    gammaincc,
    log_beta,
    log_gamma,
)


def _is_share(p: Any) -> Any:
    return op.logical_and(op.greater_equal(p, 0), op.less_equal(p, 1))


def _poisson_logpmf(k: Any, mu: Any) -> Any:
    return xlogy(k, mu) - op.lgamma(k + 1) - mu


def _choices(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return -op.log1p(n) - betaln(n - k + 1, k + 1)


def _binom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return _choices(n, k) + xlogy(k, p) + xlog1py(n - k, -p)


def _binom_tail(function: Any, whole: float) -> Any:
    """A function of (k + 1, n - k, p), which is `whole` for all of k >= n."""

    def tail(k: Any, n: Any, p: Any) -> Any:
        low = op.floor(k)
        is_last = op.greater_equal(low, n)
        return where(is_last, whole, function(low + 1, where(is_last, 1.0, n - low), p))

    return tail


_binom_cdf = _binom_tail(betaincc, 1.0)
_binom_logcdf = _binom_tail(lambda a, b, p: log_beta(a, b, p, 1 - p, True), 0.0)


def _waits(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n + k - 1."""
    return op.lgamma(n + k) - op.lgamma(k + 1) - op.lgamma(n)


def _nbinom_logpmf(k: Any, n: Any, p: Any) -> Any:
    return _waits(n, k) + n * op.log(p) + xlog1py(k, -p)


def _geom_cdf(k: Any, p: Any) -> Any:
    count, is_high = op.floor(k), op.greater(p, 0.5)
    high = 1 - pow(where(is_high, 1 - p, 0.5), count)
    return where(is_high, high, -op.expm1(op.log1p(-where(is_high, 0.5, p)) * count))


_ALL = [
    distribution("bernoulli", "p", {
        "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
        "pmf": lambda k, p: where(op.less(k, 1), 1 - p, p),
        "cdf": lambda k, p: where(op.less(k, 1), 1 - p, 1.0),
    }, lambda p: (0.0, 1.0), 0.0, True, _is_share),
    distribution("poisson", "mu", {
        "logpmf": _poisson_logpmf,
        "pmf": lambda k, mu: gamma_density(mu, k, -op.lgamma(k + 1)),
        "cdf": lambda k, mu: gammaincc(op.floor(k) + 1, mu),
        "sf": lambda k, mu: gammainc(op.floor(k) + 1, mu),
        "logcdf": lambda k, mu: log_gamma(op.floor(k) + 1, mu, True),
        "logsf": lambda k, mu: log_gamma(op.floor(k) + 1, mu, False),
    }, lambda mu: (0.0, inf), 0.0, True, lambda mu: op.greater_equal(mu, 0)),
    distribution("binom", "n p", {
        "logpmf": _binom_logpmf,
        "pmf": lambda k, n, p: beta_density(p, k, n - k, _choices(n, k)),
        "cdf": _binom_cdf, "logcdf": _binom_logcdf,
    }, lambda n, p: (0.0, n), 0.0, True, lambda n, p: _is_share(p)),
    distribution("nbinom", "n p", {
        "logpmf": _nbinom_logpmf,
        "pmf": lambda k, n, p: beta_density(p, n, k, _waits(n, k)),
        "cdf": lambda k, n, p: betainc(n, op.floor(k) + 1, p),
        "logcdf": lambda k, n, p: log_beta(n, op.floor(k) + 1, p, 1 - p, False),
    }, lambda n, p: (0.0, inf), 0.0, True, lambda n, p: _is_share(p)),
    distribution("geom", "p", {
        "logpmf": lambda k, p: xlog1py(k - 1, -p) + op.log(p),
        "pmf": lambda k, p: beta_density(p, 1.0 + 0 * k, k - 1, 0.0), "cdf": _geom_cdf,
    }, lambda p: (1.0, inf), 1.0, True, _is_share),
]  # fmt: skip
DISTRIBUTIONS = {each.name: each for each in _ALL}
