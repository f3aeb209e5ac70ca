"""The continuous distributions of one variable of gradir.scipy.stats."""

from __future__ import annotations

from math import inf, log, pi, sqrt
from typing import Any

from gradir.dialects.building.slopes import AtanSlopeOp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.bessel import i0, i0e
from gradir.frontends.functions.op_functions import apply
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
    with_gamma_digits,
)
from gradir.frontends.scipy.edges import with_digits, with_slopes
from gradir.frontends.scipy.entropies import expit, expit_slope, log_expit, xlogy
from gradir.frontends.scipy.error_functions import log_ndtr, ndtr, ndtri
from gradir.frontends.scipy.gammas import regular_betaln
from gradir.frontends.scipy.incomplete import (
    betainc,
    betaincc,
    gammainc,
    gammaincc,
    halves,
    log_beta,
    log_gamma,
    log_halves,
)
from gradir.frontends.scipy.quotients import expm1_over

_ROOT = log(2 * pi) / 2


def _positive(*shapes: Any) -> Any:
    made: Any = True
    for shape in shapes:
        made = op.logical_and(made, op.greater(shape, 0))
    return made


def _norm_logpdf(y: Any) -> Any:
    return -y * y / 2 - _ROOT


def _halfnorm_logsf(y: Any) -> Any:
    is_low = op.less(y, 1)
    near = op.log1p(-op.erf(where(is_low, y, 0.0) / sqrt(2)))
    return where(is_low, near, log(2) + log_ndtr(-where(is_low, 1.0, y)))


def _t_logpdf(y: Any, df: Any) -> Any:
    ratio = y / op.sqrt(df)
    is_near = op.less(op.abs(ratio), 1)
    near = where(is_near, ratio, 0.0)
    # squares of far ratios may be above all numbers
    length = with_digits(op.log(op.hypot(ratio, 1.0)), is_near, op.log1p(near * near) / 2)
    return -regular_betaln(df / 2, 0.5) - op.log(df) / 2 - (df + 1) * length


def _of_angle(function: Any) -> Any:
    """A function of the sine and cosine of atan(y / sqrt(df)), and of df / 2."""

    def of_angle(y: Any, df: Any) -> Any:
        root = op.sqrt(df)
        length = op.hypot(y, root)
        return function(y / length, root / length, df / 2)

    return of_angle


_t_cdf, _t_logcdf = _of_angle(halves), _of_angle(log_halves)


def _laplace_cdf(y: Any) -> Any:
    is_low, is_high = op.less(y, 0), op.greater(y, 0)
    low, high = op.exp(where(is_low, y, 0.0)) / 2, 1 - op.exp(-where(is_high, y, 0.0)) / 2
    # at 0 with the slopes of the density, 1/2 and by convention 0
    return where(is_low, low, where(is_high, high, 0.5 + y / 2))


def _laplace_logcdf(y: Any) -> Any:
    is_low, is_high = op.less(y, 0), op.greater(y, 0)
    high = op.log1p(-op.exp(-where(is_high, y, 1.0)) / 2)
    # at 0 with the slopes of log(cdf)
    middle = op.log1p(where(op.logical_or(is_low, is_high), 0.0, y)) - log(2)
    return where(is_low, y - log(2), where(is_high, high, middle))


def _cauchy_ppf(q: Any) -> Any:
    is_middle = op.less(op.abs(q - 0.5), 0.25)
    middle = op.tan(where(is_middle, q - 0.5, 0.0) * pi)
    is_low = op.less(q, 0.5)
    beside = where(is_low, -1.0, 1.0) / op.tan(where(is_low, q, 1 - q) * pi)
    return where(is_middle, middle, beside)


def _logistic_logpdf(y: Any) -> Any:
    # its slope is a difference of shares, which cancels beside 0; in the tails that of tanh does
    slope = with_slopes(-op.tanh(y / 2), (y, -2 * expit_slope(y)))
    return with_slopes(log_expit(y) + log_expit(-y), (y, slope))


def _log1mexp(rate: Any, logarithm: Any) -> Any:
    """log(1 - exp(-rate)) of a rate > 0, and of its logarithm where it is small."""
    is_low = op.less(rate, 0.5)
    low = where(is_low, logarithm, 0.0) + op.log(expm1_over(-where(is_low, rate, 0.0)))
    return where(is_low, low, op.log1p(-op.exp(-where(is_low, 1.0, rate))))


def _gumbel_place(y: Any) -> Any:
    """y, or -10, below which there is nothing of the distribution."""
    return op.maximum(y, -10.0)


def _gumbel_logpdf(y: Any) -> Any:
    # exp(1000) is infinite
    place = op.maximum(y, -1000.0)
    return with_slopes(-place - op.exp(-place), (y, op.expm1(-y)))


def _gumbel_pdf(y: Any) -> Any:
    return op.exp(_gumbel_logpdf(_gumbel_place(y)))


def _gumbel_cdf(y: Any) -> Any:
    return with_slopes(op.exp(-op.exp(-_gumbel_place(y))), (y, _gumbel_pdf(y)))


def _gumbel_sf(y: Any) -> Any:
    return with_slopes(-op.expm1(-op.exp(-_gumbel_place(y))), (y, -_gumbel_pdf(y)))


def _gumbel_logsf(y: Any) -> Any:
    return _log1mexp(op.exp(-_gumbel_place(y)), -y)


def _gumbel_ppf(q: Any) -> Any:
    # at both ends infinite with an infinite slope, as the logarithm; -log(1) is a zero below 0
    is_first, is_last = op.equal(q, 0), op.equal(q, 1)
    inside = -op.log(-op.log(where(op.logical_or(is_first, is_last), 0.5, q)))
    return where(is_first, op.log(q), where(is_last, -op.log1p(-q), inside))


def _lognorm_logpdf(y: Any, s: Any) -> Any:
    place = op.log(y)
    return -place * (place / (2 * s * s) + 1) - op.log(s) - _ROOT


def _flat_at_zero(function: Any, value: float = 0.0) -> Any:
    """A function of y >= 0 that has a value at 0, and no slope of any order."""

    def flat(y: Any, *shapes: Any) -> Any:
        is_end = op.equal(y, 0)
        return where(is_end, value, function(where(is_end, 1.0, y), *shapes))

    return flat


def _lognorm_logcdf(y: Any, s: Any) -> Any:
    # at 0 infinite with an infinite slope, as the logarithm
    is_end, place = op.equal(y, 0), op.log(y)
    return where(is_end, place, log_ndtr(where(is_end, 0.0, place) / s))


def _lognorm_ppf(q: Any, s: Any) -> Any:
    # at 0 it is 0 with an infinite slope, as the root
    is_end = op.equal(q, 0)
    return where(is_end, op.sqrt(q), op.exp(s * ndtri(where(is_end, 0.5, q))))


def _beta_parts(y: Any, a: Any, b: Any) -> tuple[Any, ...]:
    return y, a - 1, b - 1, -regular_betaln(a, b), lambda m, n: (m + n) * (m + n + 1) / (m * n)


def _gamma_logpdf(y: Any, a: Any) -> Any:
    return log_gamma_density(y, a - 1)


def _gamma_pdf(y: Any, a: Any) -> Any:
    return gamma_density(y, a - 1)


def _invgamma_logpdf(y: Any, a: Any) -> Any:
    # at 0 its last term is all that counts
    is_end = op.equal(y, 0)
    place = where(is_end, 1.0, y)
    rest = -a * op.log(place) - op.lgamma(a + 1) - 1 / place
    rest = with_gamma_digits(rest, 1 / place, a) + op.log(a / place)
    return where(is_end, -1 / y, rest)


def _invgamma_logcdf(y: Any, a: Any) -> Any:
    is_end = op.equal(y, 0)
    return where(is_end, -1 / y, log_gamma(a, 1 / where(is_end, 1.0, y), True))


def _invgamma_place(y: Any, a: Any) -> Any:
    """y, or the place below which there is nothing of the distribution."""
    return op.maximum(y, 1e-3 / (a + 10))


def _weibull_place(y: Any, c: Any) -> tuple[Any, Any]:
    """y, or 1 where y**c is as good as infinity; and y**c, or 2e4 there."""
    is_far = op.greater(c * op.log(y), 10)
    place = where(is_far, 1.0, y)
    return place, where(is_far, 2e4, pow(place, c))


def _weibull_pdf(y: Any, c: Any) -> Any:
    place, power = _weibull_place(y, c)
    return c * pow(place, c - 1) * op.exp(-power)


def _weibull_logcdf(y: Any, c: Any) -> Any:
    # at 0 infinite with an infinite slope, as the logarithm
    is_end = op.equal(y, 0)
    _, power = _weibull_place(where(is_end, 1.0, y), c)
    return where(is_end, op.log(y), _log1mexp(power, c * op.log(where(is_end, 1.0, y))))


def _weibull_ppf(q: Any, c: Any) -> Any:
    # at 1 infinite with an infinite slope, as the logarithm
    is_end, logarithm = op.equal(q, 1), -op.log1p(-q)
    return where(is_end, logarithm, pow(where(is_end, 1.0, logarithm), 1 / c))


def _gennorm_logpdf(y: Any, beta: Any) -> Any:
    # at 0 smooth for even beta; else its derivatives there are 0, by convention for small ones
    is_zero, half = op.equal(y, 0), beta / 2
    is_even = op.equal(op.floor(half), half)
    at_zero = where(is_even, pow(where(is_zero, y * y, 1.0), where(is_even, half, 1.0)), 0.0)
    size = where(is_zero, at_zero, pow(op.abs(where(is_zero, 1.0, y)), beta))
    return op.log(half) - op.lgamma(1 / beta) - size


def _vonmises_logpdf(y: Any, kappa: Any) -> Any:
    # near 0 without exp(-abs(kappa)), which has no derivative at 0
    is_small, half = op.less(kappa, 1), op.sin(y / 2)
    small = kappa - op.log(i0(where(is_small, kappa, 0.0)))
    large = -op.log(i0e(where(is_small, 1.0, kappa)))
    return -2 * kappa * half * half - log(2 * pi) + where(is_small, small, large)


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
        "sf": lambda y: _laplace_cdf(-y), "logcdf": _laplace_logcdf,
        "logsf": lambda y: _laplace_logcdf(-y),
    }),
    distribution("cauchy", "", {
        "logpdf": lambda y: -log(pi) - 2 * op.log(op.hypot(y, 1.0)),
        "pdf": lambda y: apply(AtanSlopeOp, {"x": y}) / pi,
        "cdf": lambda y: op.atan2(1.0, -y) / pi, "sf": lambda y: op.atan2(1.0, y) / pi,
        "ppf": _cauchy_ppf,
    }),
    distribution("logistic", "", {
        "logpdf": _logistic_logpdf, "pdf": expit_slope, "cdf": expit,
        "sf": lambda y: expit(-y), "logcdf": log_expit, "logsf": lambda y: log_expit(-y),
        "ppf": lambda q: op.log(q) - op.log1p(-q),
    }),
    distribution("gumbel_r", "", {
        "logpdf": _gumbel_logpdf, "pdf": _gumbel_pdf, "cdf": _gumbel_cdf, "sf": _gumbel_sf,
        "logcdf": lambda y: -op.exp(-y), "logsf": _gumbel_logsf, "ppf": _gumbel_ppf,
    }),
    distribution("gumbel_l", "", {
        "logpdf": lambda y: _gumbel_logpdf(-y), "pdf": lambda y: _gumbel_pdf(-y),
        "cdf": lambda y: _gumbel_sf(-y), "sf": lambda y: _gumbel_cdf(-y),
        "logcdf": lambda y: _gumbel_logsf(-y), "logsf": lambda y: -op.exp(y),
    }),
    distribution("halfnorm", "", {
        "logpdf": lambda y: log(2) + _norm_logpdf(y), "cdf": lambda y: op.erf(y / sqrt(2)),
        "sf": lambda y: op.erfc(y / sqrt(2)), "logsf": _halfnorm_logsf,
    }, _zero_up),
    distribution("lognorm", "s", {
        "logpdf": _lognorm_logpdf, "cdf": _flat_at_zero(lambda y, s: ndtr(op.log(y) / s)),
        "pdf": _flat_at_zero(lambda y, s: op.exp(_lognorm_logpdf(y, s))),
        "sf": _flat_at_zero(lambda y, s: ndtr(-op.log(y) / s), 1.0),
        "logcdf": _lognorm_logcdf,
        "logsf": _flat_at_zero(lambda y, s: log_ndtr(-op.log(y) / s)),
        "ppf": _lognorm_ppf,
    }, _zero_up, valid=_positive),
    distribution("gamma", "a", {
        "logpdf": _gamma_logpdf, "pdf": _gamma_pdf, "cdf": lambda y, a: gammainc(a, y),
        "sf": lambda y, a: gammaincc(a, y), "logcdf": lambda y, a: log_gamma(a, y, False),
        "logsf": lambda y, a: log_gamma(a, y, True),
    }, _zero_up, valid=_positive),
    distribution("invgamma", "a", {
        "logpdf": _invgamma_logpdf,
        "pdf": lambda y, a: op.exp(_invgamma_logpdf(_invgamma_place(y, a), a)),
        "cdf": lambda y, a: gammaincc(a, 1 / _invgamma_place(y, a)),
        "sf": lambda y, a: gammainc(a, 1 / _invgamma_place(y, a)),
        "logcdf": _invgamma_logcdf,
        "logsf": lambda y, a: log_gamma(a, 1 / _invgamma_place(y, a), False),
    }, _zero_up, valid=_positive),
    distribution("chi2", "df", {
        "logpdf": lambda y, df: _gamma_logpdf(y / 2, df / 2) - log(2),
        "pdf": lambda y, df: _gamma_pdf(y / 2, df / 2) / 2,
        "cdf": lambda y, df: gammainc(df / 2, y / 2), "sf": lambda y, df: gammaincc(df / 2, y / 2),
        "logcdf": lambda y, df: log_gamma(df / 2, y / 2, False),
        "logsf": lambda y, df: log_gamma(df / 2, y / 2, True),
    }, _zero_up, valid=_positive),
    distribution("beta", "a b", {
        "logpdf": lambda y, a, b: log_beta_density(*_beta_parts(y, a, b)),
        "pdf": lambda y, a, b: beta_density(*_beta_parts(y, a, b)),
        "cdf": lambda y, a, b: betainc(a, b, y),
        "sf": lambda y, a, b: betaincc(a, b, y),
        "logcdf": lambda y, a, b: log_beta(a, b, y, 1 - y, False),
        "logsf": lambda y, a, b: log_beta(a, b, y, 1 - y, True),
    }, _unit, valid=_positive),
    distribution("t", "df", {
        "logpdf": _t_logpdf, "cdf": _t_cdf, "sf": lambda y, df: _t_cdf(-y, df),
        "logcdf": _t_logcdf, "logsf": lambda y, df: _t_logcdf(-y, df),
    }, valid=_positive),
    distribution("pareto", "b", {
        "logpdf": lambda y, b: op.log(b) - (b + 1) * op.log(y),
        "pdf": lambda y, b: b * pow(y, -(b + 1)),
        "cdf": lambda y, b: -op.expm1(-b * op.log(y)), "sf": lambda y, b: pow(y, -b),
        "logsf": lambda y, b: -b * op.log(y),
        "ppf": lambda q, b: op.exp(-op.log1p(-q) / b),
    }, lambda b: (1.0, inf), 2.0, valid=_positive),
    distribution("weibull_min", "c", {
        "logpdf": lambda y, c: op.log(c) + xlogy(c - 1, y) - pow(y, c), "pdf": _weibull_pdf,
        "cdf": lambda y, c: -op.expm1(-_weibull_place(y, c)[1]),
        "sf": lambda y, c: op.exp(-_weibull_place(y, c)[1]), "logcdf": _weibull_logcdf,
        "logsf": lambda y, c: -pow(y, c),
        "ppf": _weibull_ppf,
    }, _zero_up, valid=_positive),
    distribution("gennorm", "beta", {"logpdf": _gennorm_logpdf}, valid=_positive),
    distribution("vonmises", "kappa", {"logpdf": _vonmises_logpdf},
                 valid=lambda kappa: op.greater_equal(kappa, 0)),
]  # fmt: skip
DISTRIBUTIONS = {each.name: each for each in _ALL}
