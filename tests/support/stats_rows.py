"""The functions of gradir.scipy.stats with their meanings in mpmath, and points of their supports.

Points are beside the ends of the support, beside and far from the centre, tiny and huge.
Derivatives are by the place, and of discrete distributions by the last parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mpmath import mp
from scipy_rows import HUGE, LARGE, MIDDLE, PROBABILITIES, SMALL, TINY, TO_ONE, Number, Row, signed
from special_rows import normal_quantile

from gradir.scipy import stats

Meaning = Callable[..., Number]
_MANY = 700
_LEAST = -(mp.mpf(10) ** 400)
"""The logarithm of 0, as a number beyond all floats: differences of infinities are none."""


@dataclass(frozen=True)
class _Law:
    """A distribution on numbers: its meaning as functions of a place and shapes, and places.

    `below` and `above`, the shares on both sides of a place, have all their digits where they are
    small.
    """

    name: str
    log_density: Meaning
    points: Sequence[float]
    shapes: Sequence[tuple[float, ...]] = ((),)
    below: Meaning | None = None
    above: Meaning | None = None
    quantile: Meaning | None = None
    ends: tuple[float, ...] = ()

    def rows(self) -> Iterator[Row]:
        made = getattr(stats, self.name)
        for kind, meaning in self.meanings().items():
            if hasattr(made, kind):
                yield self._row(kind, getattr(made, kind), meaning)

    def meanings(self) -> dict[str, Meaning]:
        below, above = self.below, self.above
        found: dict[str, Meaning] = {
            "logpdf": self.log_density,
            "pdf": lambda *place: mp.exp(self.log_density(*place)),
        }
        if below is not None and above is not None:
            found |= {
                "cdf": lambda *place: _share(below, above, *place),
                "sf": lambda *place: _share(above, below, *place),
                "logcdf": lambda *place: _log_share(below, above, *place),
                "logsf": lambda *place: _log_share(above, below, *place),
            }
        if self.quantile is not None:
            quantile = self.quantile
            found |= {"ppf": quantile, "isf": lambda *place: -quantile(*place)}
        return found

    def _row(self, kind: str, function: Callable[..., Any], meaning: Meaning) -> Row:
        is_quantile = kind in ("ppf", "isf")
        return Row(
            f"{self.name}.{kind}",
            lambda *place: function(place[-1], *place[:-1]),
            lambda *place: meaning(place[-1], *place[:-1]),
            PROBABILITIES if is_quantile else self.points,
            self.shapes,
            digits=90 if is_quantile else _MANY,
            ends=(1.0,) if is_quantile else self.ends,
        )


def _share(one: Meaning, other: Meaning, *place: Number) -> Number:
    found = one(*place)
    return found if found < 0.5 else 1 - other(*place)


def _log_share(one: Meaning, other: Meaning, *place: Number) -> Number:
    found = one(*place)
    if found == 0:
        return _LEAST
    return mp.log(found) if found < 0.5 else mp.log1p(-other(*place))


@dataclass(frozen=True)
class _Counts:
    """A distribution on integers: its probabilities, as a function of the integer and parameters,
    and places, which are integers and parameters but the last one, by which derivatives are."""

    name: str
    probability: Meaning
    places: Sequence[tuple[float, ...]]
    points: Sequence[float]
    first: int = 0
    ends: tuple[float, ...] = (1.0,)
    below: Meaning | None = None
    above: Meaning | None = None
    """Sums of probabilities, up to an integer and beyond it, with all digits where they are small;
    where they are not given, of sums term by term."""

    def rows(self) -> Iterator[Row]:
        made = getattr(stats, self.name)
        for kind, meaning in self.meanings().items():
            if hasattr(made, kind):
                yield Row(f"{self.name}.{kind}", getattr(made, kind), meaning, self.points,
                          self.places, digits=_MANY, ends=self.ends)  # fmt: skip

    def meanings(self) -> dict[str, Meaning]:
        def at(k: Number, *parameters: Number) -> Number:
            return self.probability(mp.nint(k), *parameters)

        def sum_to(k: Number, *parameters: Number) -> Number:
            counts = range(self.first, int(mp.nint(k)) + 1)
            return mp.fsum(self.probability(mp.mpf(j), *parameters) for j in counts)

        below = self.below or sum_to
        above = self.above or (lambda *place: 1 - below(*place))
        return {
            "logpmf": lambda *place: mp.log(at(*place)),
            "pmf": at,
            "cdf": lambda *place: _share(below, above, *place),
            "sf": lambda *place: _share(above, below, *place),
            "logcdf": lambda *place: _log_share(below, above, *place),
            "logsf": lambda *place: _log_share(above, below, *place),
        }


def _binomial(k: Number, n: Number, p: Number) -> Number:
    count = mp.nint(n)
    return mp.binomial(count, k) * p**k * (1 - p) ** (count - k)


def _binomial_above(k: Number, n: Number, p: Number) -> Number:
    k, n = mp.nint(k), mp.nint(n)
    return _beta_below(p, k + 1, n - k) if k < n else mp.mpf(0)


def _beta_below(x: Number, a: Number, b: Number) -> Number:
    return mp.betainc(a, b, 0, x, regularized=True)


def _log_root(number: Number) -> Number:
    """log(sqrt(2 pi number))."""
    return mp.log(2 * mp.pi * number) / 2


def _norm_below(x: Number) -> Number:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _logistic_below(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def _log_gamma_density(x: Number, a: Number) -> Number:
    return (a - 1) * mp.log(x) - x - mp.loggamma(a)


def _gamma_below(x: Number, a: Number) -> Number:
    return mp.gammainc(a, 0, x, regularized=True)


def _gamma_above(x: Number, a: Number) -> Number:
    if x > 1000:
        return mp.gammainc(a, x, mp.inf, regularized=True)
    # faster, with as many digits more as 1 has zeros before the result
    with mp.extradps(30 + int(x / 2)):
        return 1 - _gamma_below(x, a)


def _log_beta(a: Number, b: Number) -> Number:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _t_tail(x: Number, df: Number) -> Number:
    """The share on the far side of x, of which |x| counts."""
    square = x * x / df
    if square < 1:
        factor = mp.exp(-_log_beta(df / 2, mp.mpf(0.5))) / mp.sqrt(df)
        half = mp.mpf(1) / 2
        return half - abs(x) * factor * mp.hyp2f1(half, (df + 1) / 2, 3 * half, -square)
    return _beta_below(1 / (1 + square), df / 2, mp.mpf(0.5)) / 2


def _cauchy_below(x: Number) -> Number:
    return mp.atan2(1, -x) / mp.pi


def _laplace_below(x: Number) -> Number:
    return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2


def _beside(meaning: Meaning) -> Meaning:
    """The share on the other side of the centre."""
    return lambda x, *shapes: meaning(-x, *shapes)


_POSITIVE = (*TINY, *SMALL, *MIDDLE, *LARGE)
_SHAPES = ((0.5,), (1.0,), (3.0,), (30.0,), (1000.0,))
_CENTRE = signed(TINY, SMALL, (5.0, 10.0, 20.0, 37.0, 100.0, 700.0))
_FAR = [*_CENTRE, *signed((1e4,), HUGE)]
_STEEP = [*_CENTRE, 1e4]

_LAWS = (
    _Law("norm", lambda x: -x * x / 2 - _log_root(1), [*_CENTRE, *signed((1e4, 1e8))], ((),),
         _norm_below, _beside(_norm_below), normal_quantile),
    _Law("uniform", lambda x: mp.mpf(0), TO_ONE, ((),), lambda x: x, lambda x: 1 - x, lambda q: q,
         (1.0,)),
    _Law("expon", lambda x: -x, _POSITIVE, ((),), lambda x: -mp.expm1(-x), lambda x: mp.exp(-x),
         lambda q: -mp.log1p(-q)),
    _Law("laplace", lambda x: -abs(x) - mp.log(2), [*_CENTRE, *signed((1e4, 1e8))], ((),),
         _laplace_below, _beside(_laplace_below)),
    _Law("cauchy", lambda x: -mp.log(mp.pi) - mp.log1p(x * x), [*_FAR, 1e200], ((),),
         _cauchy_below, _beside(_cauchy_below), lambda q: -mp.cot(mp.pi * q)),
    _Law("logistic", lambda x: -x - 2 * mp.log1p(mp.exp(-x)), [*_CENTRE, *signed((1e4,))], ((),),
         _logistic_below, _beside(_logistic_below), lambda q: mp.log(q) - mp.log1p(-q)),
    _Law("gumbel_r", lambda x: -x - mp.exp(-x), _STEEP, ((),), lambda x: mp.exp(-mp.exp(-x)),
         lambda x: -mp.expm1(-mp.exp(-x)), lambda q: -mp.log(-mp.log(q))),
    _Law("gumbel_l", lambda x: x - mp.exp(x), [-x for x in _STEEP], ((),),
         lambda x: -mp.expm1(-mp.exp(x)), lambda x: mp.exp(-mp.exp(x))),
    _Law("halfnorm", lambda x: mp.log(2) - x * x / 2 - _log_root(1), _POSITIVE, ((),),
         lambda x: mp.erf(x / mp.sqrt(2)), lambda x: mp.erfc(x / mp.sqrt(2))),
    _Law("lognorm", lambda x, s: -mp.log(x) - (mp.log(x) / s) ** 2 / 2 - mp.log(s) - _log_root(1),
         [*_POSITIVE, *HUGE], ((0.5,), (1.0,), (3.0,)), lambda x, s: _norm_below(mp.log(x) / s),
         lambda x, s: _norm_below(-mp.log(x) / s), lambda q, s: mp.exp(s * normal_quantile(q))),
    _Law("gamma", _log_gamma_density, (*_POSITIVE, 1000.0), _SHAPES, _gamma_below, _gamma_above),
    _Law("invgamma", lambda x, a: -(a + 1) * mp.log(x) - mp.loggamma(a) - 1 / x,
         [*_POSITIVE, *HUGE, 0.001], _SHAPES, lambda x, a: _gamma_above(1 / x, a),
         lambda x, a: _gamma_below(1 / x, a)),
    _Law("chi2", lambda x, df: _log_gamma_density(x / 2, df / 2) - mp.log(2),
         (*_POSITIVE, 1000.0), _SHAPES[1:], lambda x, df: _gamma_below(x / 2, df / 2),
         lambda x, df: _gamma_above(x / 2, df / 2)),
    _Law("beta", lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - _log_beta(a, b),
         (*TO_ONE, 0.588), ((0.5, 0.5), (1.0, 3.0), (2.5, 4.0), (30.0, 12.0), (1000.0, 700.0)),
         _beta_below, lambda x, a, b: _beta_below(1 - x, b, a), ends=(1.0,)),
    _Law("t", lambda x, df: -_log_beta(df / 2, mp.mpf(0.5)) - mp.log(df) / 2
         - (df + 1) / 2 * mp.log1p(x * x / df), [*_FAR, 1e200], _SHAPES,
         lambda x, df: _t_tail(x, df) if x < 0 else 1 - _t_tail(x, df),
         lambda x, df: _t_tail(x, df) if x > 0 else 1 - _t_tail(x, df)),
    _Law("pareto", lambda x, b: mp.log(b) - (b + 1) * mp.log(x),
         [1 + 2.0**-30, 1.0001, *SMALL[5:], *MIDDLE, *LARGE, *HUGE], ((0.5,), (3.0,), (30.0,)),
         lambda x, b: -mp.powm1(x, -b), lambda x, b: x**-b,
         lambda q, b: mp.exp(-mp.log1p(-q) / b), (1.0,)),
    _Law("weibull_min", lambda x, c: mp.log(c) + (c - 1) * mp.log(x) - x**c, _POSITIVE,
         ((0.5,), (1.0,), (3.0,), (30.0,)), lambda x, c: -mp.expm1(-(x**c)),
         lambda x, c: mp.exp(-(x**c)), lambda q, c: (-mp.log1p(-q)) ** (1 / c)),
    _Law("gennorm", lambda x, b: mp.log(b / 2) - mp.loggamma(1 / b) - abs(x) ** b,
         signed(TINY, SMALL, (5.0, 10.0, 100.0)), ((0.5,), (1.0,), (2.0,), (3.0,), (8.0,))),
    _Law("vonmises", lambda x, k: k * mp.cos(x) - mp.log(2 * mp.pi * mp.besseli(0, k)),
         signed(TINY, (0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 3.14)), ((0.5,), (3.0,), (30.0,), (700.0,))),
)  # fmt: skip

_COUNTS = (
    _Counts("bernoulli", lambda k, p: p if k == 1 else 1 - p, ((0,), (1,)), PROBABILITIES,
            above=lambda k, p: p if k == 0 else mp.mpf(0)),
    _Counts("poisson", lambda k, mu: mu**k * mp.exp(-mu) / mp.factorial(k),
            ((0,), (1,), (3,), (30,), (300,)), (*_POSITIVE, 300.0), ends=(),
            above=lambda k, mu: _gamma_below(mu, mp.nint(k) + 1)),
    _Counts("binom", _binomial,
            ((0, 5), (2, 5), (5, 5), (30, 40), (300, 1000)), (*PROBABILITIES, 0.3),
            above=_binomial_above),
    _Counts("nbinom", lambda k, n, p: mp.binomial(n + k - 1, k) * p**n * (1 - p) ** k,
            ((0, 3), (2, 3), (7, 0.5), (30, 12), (300, 200)), (*PROBABILITIES, 0.4),
            above=lambda k, n, p: _beta_below(1 - p, mp.nint(k) + 1, n)),
    _Counts("geom", lambda k, p: p * (1 - p) ** (k - 1), ((1,), (2,), (10,), (1000,)),
            PROBABILITIES, 1, (1.0,), lambda k, p: -mp.powm1(1 - p, mp.nint(k)),
            lambda k, p: (1 - p) ** mp.nint(k)),
)  # fmt: skip

ROWS: tuple[Row, ...] = tuple(row for law in (*_LAWS, *_COUNTS) for row in law.rows())

REASONS = dict.fromkeys(("multivariate_normal", "dirichlet"), "a function of several numbers")
