"""The discrete distributions of gradir.scipy.stats: logpmf, pmf, cdf and sf."""

from __future__ import annotations

from math import inf
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.distributions import (
    beta_density,
    distribution,
    gamma_density,
    log_beta_density,
    log_gamma_density,
)
from gradir.frontends.scipy.edges import with_slopes
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


def _binom_parts(k: Any, n: Any, p: Any) -> tuple[Any, ...]:
    # the number of ways to choose k of n
    choices = -op.log1p(n) - betaln(n - k + 1, k + 1)
    return p, k, n - k, choices, lambda i, j: (i + j) / (i * j)


def _binom_tail(function: Any, whole: float) -> Any:
    """A function of (k + 1, n - k, p), which is `whole` for all of k >= n."""

    def tail(k: Any, n: Any, p: Any) -> Any:
        low = op.floor(k)
        is_last = op.greater_equal(low, n)
        return where(is_last, whole, function(low + 1, where(is_last, 1.0, n - low), p))

    return tail


_binom_cdf = _binom_tail(betaincc, 1.0)
_binom_sf = _binom_tail(betainc, 0.0)
_binom_logcdf = _binom_tail(lambda a, b, p: log_beta(a, b, p, 1 - p, True), 0.0)
_binom_logsf = _binom_tail(lambda a, b, p: log_beta(a, b, p, 1 - p, False), -inf)


def _nbinom_parts(k: Any, n: Any, p: Any) -> tuple[Any, ...]:
    # the number of ways to choose k of n + k - 1
    waits = op.lgamma(n + k) - op.lgamma(k + 1) - op.lgamma(n)
    return p, n, k, waits, lambda _, j: 1 / j


def _geom(k: Any, p: Any, far: Any, near: Any, sign: float) -> Any:
    """A function whose slope by p is sign * k * (1 - p)**(k - 1), and so 0 of higher orders at 1.

    `far`, of (1 - p)**k, is it for large p, and `near`, of the logarithm of that, for small p.
    """
    count, is_high = op.floor(k), op.greater(p, 0.5)
    low = where(is_high, 0.5, p)
    logarithm = op.log1p(-low)
    slope = sign * count * op.exp(logarithm * (count - 1))
    power = pow(where(is_high, 1 - p, 0.5), count)
    return where(is_high, far(power), with_slopes(near(logarithm * count), (low, slope)))


def _geom_cdf(k: Any, p: Any) -> Any:
    return _geom(k, p, lambda power: 1 - power, lambda logarithm: -op.expm1(logarithm), 1.0)


def _geom_sf(k: Any, p: Any) -> Any:
    return _geom(k, p, lambda power: power, op.exp, -1.0)


_ALL = [
    distribution("bernoulli", "p", {
        "logpmf": lambda k, p: xlogy(k, p) + xlog1py(1 - k, -p),
        "pmf": lambda k, p: where(op.less(k, 1), 1 - p, p),
        "cdf": lambda k, p: where(op.less(k, 1), 1 - p, 1.0),
        "sf": lambda k, p: where(op.less(k, 1), p, 0.0),
    }, lambda p: (0.0, 1.0), 0.0, True, _is_share),
    distribution("poisson", "mu", {
        "logpmf": lambda k, mu: log_gamma_density(mu, k), "pmf": lambda k, mu: gamma_density(mu, k),
        "cdf": lambda k, mu: gammaincc(op.floor(k) + 1, mu),
        "sf": lambda k, mu: gammainc(op.floor(k) + 1, mu),
        "logcdf": lambda k, mu: log_gamma(op.floor(k) + 1, mu, True),
        "logsf": lambda k, mu: log_gamma(op.floor(k) + 1, mu, False),
    }, lambda mu: (0.0, inf), 0.0, True, lambda mu: op.greater_equal(mu, 0)),
    distribution("binom", "n p", {
        "logpmf": lambda k, n, p: log_beta_density(*_binom_parts(k, n, p)),
        "pmf": lambda k, n, p: beta_density(*_binom_parts(k, n, p)),
        "cdf": _binom_cdf, "sf": _binom_sf, "logcdf": _binom_logcdf, "logsf": _binom_logsf,
    }, lambda n, p: (0.0, n), 0.0, True, lambda n, p: _is_share(p)),
    distribution("nbinom", "n p", {
        "logpmf": lambda k, n, p: log_beta_density(*_nbinom_parts(k, n, p)),
        "pmf": lambda k, n, p: beta_density(*_nbinom_parts(k, n, p)),
        "cdf": lambda k, n, p: betainc(n, op.floor(k) + 1, p),
        "sf": lambda k, n, p: betaincc(n, op.floor(k) + 1, p),
        "logcdf": lambda k, n, p: log_beta(n, op.floor(k) + 1, p, 1 - p, False),
        "logsf": lambda k, n, p: log_beta(n, op.floor(k) + 1, p, 1 - p, True),
    }, lambda n, p: (0.0, inf), 0.0, True, lambda n, p: _is_share(p)),
    distribution("geom", "p", {
        "logpmf": lambda k, p: xlog1py(k - 1, -p) + op.log(p),
        "pmf": lambda k, p: p * _geom_sf(k - 1, p),
        "cdf": _geom_cdf, "sf": _geom_sf,
        "logsf": lambda k, p: xlog1py(op.floor(k), -p),
    }, lambda p: (1.0, inf), 1.0, True, _is_share),
]  # fmt: skip
DISTRIBUTIONS = {each.name: each for each in _ALL}
