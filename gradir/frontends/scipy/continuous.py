"""The continuous distributions of one variable of gradir.scipy.stats."""

from __future__ import annotations

from math import inf, log, pi, sqrt
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import i0e
from gradir.frontends.functions.sugar import (
    pow,
    where,
)
from gradir.frontends.scipy.distributions import distribution
from gradir.frontends.scipy.entropies import expit, xlog1py, xlogy
from gradir.frontends.scipy.gammas import betaln
from gradir.frontends.scipy.incomplete import betainc, gammainc, gammaincc
from gradir.frontends.scipy.normal import log_ndtr, ndtr, ndtri

_ROOT = log(2 * pi) / 2


def _positive(*shapes: Any) -> Any:
    made: Any = True
    for shape in shapes:
        made = op.logical_and(made, op.greater(shape, 0))
    return made


def _norm_logpdf(y: Any) -> Any:
    return -y * y / 2 - _ROOT


def _t_logpdf(y: Any, df: Any) -> Any:
    return -betaln(df / 2, 0.5) - op.log(df) / 2 - (df + 1) / 2 * op.log1p(y * y / df)


def _t_cdf(y: Any, df: Any) -> Any:
    tail = betainc(df / 2, 0.5, df / (df + y * y)) / 2
    return where(op.less(y, 0), tail, 1 - tail)


def _laplace_cdf(y: Any) -> Any:
    tail = op.exp(-op.abs(y)) / 2
    return where(op.less(y, 0), tail, 1 - tail)


def _lognorm_logpdf(y: Any, s: Any) -> Any:
    place = op.log(y)
    return -(place * place) / (2 * s * s) - op.log(s) - place - _ROOT


def _beta_logpdf(y: Any, a: Any, b: Any) -> Any:
    return xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b)


def _gamma_logpdf(y: Any, a: Any) -> Any:
    return xlogy(a - 1, y) - y - op.lgamma(a)


def _zero_up(*_: Any) -> tuple[float, float]:
    return 0.0, inf


def _unit(*_: Any) -> tuple[float, float]:
    return 0.0, 1.0


_ALL = [
    distribution("norm", "", {
        "logpdf": _norm_logpdf, "cdf": ndtr, "sf": lambda y: ndtr(-y), "logcdf": log_ndtr,
        "logsf": lambda y: log_ndtr(-y), "ppf": ndtri, "isf": lambda q: -ndtri(q),
    }),
    distribution("uniform", "", {
        "logpdf": lambda y: y * 0, "cdf": lambda y: y, "sf": lambda y: 1 - y, "ppf": lambda q: q,
    }, _unit),
    distribution("expon", "", {
        "logpdf": lambda y: -y, "cdf": lambda y: -op.expm1(-y), "sf": lambda y: op.exp(-y),
        "logsf": lambda y: -y, "ppf": lambda q: -op.log1p(-q),
    }, _zero_up),
    distribution("laplace", "", {
        "logpdf": lambda y: -op.abs(y) - log(2), "cdf": _laplace_cdf,
        "sf": lambda y: _laplace_cdf(-y),
    }),
    distribution("cauchy", "", {
        "logpdf": lambda y: -log(pi) - op.log1p(y * y),
        "cdf": lambda y: op.atan2(1.0, -y) / pi, "sf": lambda y: op.atan2(1.0, y) / pi,
        "ppf": lambda q: -1 / op.tan(q * pi),
    }),
    distribution("logistic", "", {
        "logpdf": lambda y: -op.abs(y) - 2 * op.log1p(op.exp(-op.abs(y))), "cdf": expit,
        "sf": lambda y: expit(-y), "ppf": lambda q: op.log(q) - op.log1p(-q),
    }),
    distribution("gumbel_r", "", {
        "logpdf": lambda y: -y - op.exp(-y), "cdf": lambda y: op.exp(-op.exp(-y)),
        "sf": lambda y: -op.expm1(-op.exp(-y)), "ppf": lambda q: -op.log(-op.log(q)),
    }),
    distribution("gumbel_l", "", {
        "logpdf": lambda y: y - op.exp(y), "cdf": lambda y: -op.expm1(-op.exp(y)),
        "sf": lambda y: op.exp(-op.exp(y)),
    }),
    distribution("halfnorm", "", {
        "logpdf": lambda y: log(2) + _norm_logpdf(y), "cdf": lambda y: op.erf(y / sqrt(2)),
        "sf": lambda y: op.erfc(y / sqrt(2)),
    }, _zero_up),
    distribution("lognorm", "s", {
        "logpdf": _lognorm_logpdf, "cdf": lambda y, s: ndtr(op.log(y) / s),
        "sf": lambda y, s: ndtr(-op.log(y) / s), "ppf": lambda q, s: op.exp(s * ndtri(q)),
    }, _zero_up, valid=_positive),
    distribution("gamma", "a", {
        "logpdf": _gamma_logpdf, "cdf": lambda y, a: gammainc(a, y),
        "sf": lambda y, a: gammaincc(a, y),
    }, _zero_up, valid=_positive),
    distribution("invgamma", "a", {
        "logpdf": lambda y, a: -(a + 1) * op.log(y) - op.lgamma(a) - 1 / y,
        "cdf": lambda y, a: gammaincc(a, 1 / y), "sf": lambda y, a: gammainc(a, 1 / y),
    }, _zero_up, valid=_positive),
    distribution("chi2", "df", {
        "logpdf": lambda y, df: _gamma_logpdf(y / 2, df / 2) - log(2),
        "cdf": lambda y, df: gammainc(df / 2, y / 2), "sf": lambda y, df: gammaincc(df / 2, y / 2),
    }, _zero_up, valid=_positive),
    distribution("beta", "a b", {
        "logpdf": _beta_logpdf, "cdf": lambda y, a, b: betainc(a, b, y),
        "sf": lambda y, a, b: betainc(b, a, 1 - y),
    }, _unit, valid=_positive),
    distribution("t", "df", {
        "logpdf": _t_logpdf, "cdf": _t_cdf, "sf": lambda y, df: _t_cdf(-y, df),
    }, valid=_positive),
    distribution("pareto", "b", {
        "logpdf": lambda y, b: op.log(b) - (b + 1) * op.log(y),
        "cdf": lambda y, b: -op.expm1(-b * op.log(y)), "sf": lambda y, b: pow(y, -b),
        "ppf": lambda q, b: op.exp(-op.log1p(-q) / b),
    }, lambda b: (1.0, inf), 2.0, valid=_positive),
    distribution("weibull_min", "c", {
        "logpdf": lambda y, c: op.log(c) + xlogy(c - 1, y) - pow(y, c),
        "cdf": lambda y, c: -op.expm1(-pow(y, c)), "sf": lambda y, c: op.exp(-pow(y, c)),
        "ppf": lambda q, c: pow(-op.log1p(-q), 1 / c),
    }, _zero_up, valid=_positive),
    distribution("gennorm", "beta", {
        "logpdf": lambda y, beta: op.log(beta / 2) - op.lgamma(1 / beta) - pow(op.abs(y), beta),
    }, valid=_positive),
    distribution("vonmises", "kappa", {
        "logpdf": lambda y, kappa: kappa * (op.cos(y) - 1) - log(2 * pi) - op.log(i0e(kappa)),
    }, valid=lambda kappa: op.greater_equal(kappa, 0)),
]  # fmt: skip
DISTRIBUTIONS = {each.name: each for each in _ALL}
