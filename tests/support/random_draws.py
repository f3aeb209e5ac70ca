"""Each function of gradir.random with parameters, its distribution, mean and variance.

`cdf` is the distribution function in NumPy, or for counts the probabilities of 0, 1, 2, ...; they
are of gradir.scipy, which has no part in the draws, or closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, exp, gamma, pi, sqrt
from typing import Any

import numpy as np

from gradir import random
from gradir.scipy import special, stats

Array = np.ndarray[Any, Any]
EULER = 0.5772156649015329


@dataclass(frozen=True, eq=False)
class Draw:
    """A function of a key, parameters and a shape. `exact`: interpreter and native code agree in
    all bits, as no function is taken of the words.
    """

    name: str
    parameters: tuple[Any, ...]
    mean: float
    variance: float
    cdf: Callable[[Any], Any] | None = None
    probabilities: Array | None = None
    exact: bool = False
    is_shape_first: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether it is made of gamma numbers, or takes long to compile for other reasons."""
        return self.name not in (
            *("uniform", "normal", "exponential", "gumbel", "logistic", "laplace", "cauchy"),
            *("maxwell", "lognormal", "rayleigh", "pareto", "power", "weibull_min", "triangular"),
            *("double_sided_maxwell", "truncated_normal"),
        )

    def __call__(self, key: Any, shape: Any, *parameters: Any, **named: Any) -> Any:
        given = parameters or self.parameters
        args = (shape, *given) if self.is_shape_first else (*given, shape)
        return getattr(random, self.name)(key, *args, **named)


def _wald(x: Any, mean: float = 1.3) -> Any:
    root = np.sqrt(1 / x)
    return special.ndtr(root * (x / mean - 1)) + np.exp(
        2 / mean + special.log_ndtr(-root * (x / mean + 1))
    )


def _triangular(x: Any) -> Any:
    return np.where(x < 1, x * x / 3, 1 - (3 - x) ** 2 / 6)


def _truncated(x: Any, low: float = 0.5, high: float = 2.0) -> Any:
    first, last = special.ndtr(low), special.ndtr(high)
    return (special.ndtr(x) - first) / (last - first)


def _vonmises(x: Any) -> Any:
    grid = np.linspace(-pi, pi, 100_001)
    heights = np.cumsum(np.exp(2 * (np.cos(grid - 0.5) - 1)))
    return np.interp(x, grid, heights / heights[-1])


def _maxwell(x: Any) -> Any:
    return special.gammainc(1.5, x * x / 2)


def _double_maxwell(x: Any) -> Any:
    return (1 + np.sign(x - 1) * special.gammainc(1.5, ((x - 1) / 2) ** 2 / 2)) / 2


def _generalized(x: Any, p: float = 3.0) -> Any:
    return (1 + np.sign(x) * special.gammainc(1 / p, np.abs(x) ** p)) / 2


def _hypergeometric() -> Array:
    return np.array([comb(10, k) * comb(15, 8 - k) / comb(25, 8) for k in range(9)])


K = np.arange(60)
_PHI = (exp(-0.125) - exp(-2.0)) / sqrt(2 * pi)
_P = float(special.ndtr(2.0) - special.ndtr(0.5))
_TRUNCATED = _PHI / _P
_TRUNCATED_VARIANCE = 1 + (0.5 * exp(-0.125) - 2 * exp(-2.0)) / sqrt(2 * pi) / _P - _TRUNCATED**2

CONTINUOUS: tuple[Draw, ...] = (
    Draw("uniform", (), 0.5, 1 / 12, lambda x: x, exact=True, is_shape_first=True),
    Draw("normal", (), 0, 1, special.ndtr),
    Draw("exponential", (), 1, 1, stats.expon.cdf),
    Draw("gumbel", (), EULER, pi**2 / 6, stats.gumbel_r.cdf),
    Draw("logistic", (), 0, pi**2 / 3, stats.logistic.cdf),
    Draw("laplace", (), 0, 2, stats.laplace.cdf),
    Draw("cauchy", (), np.nan, np.nan, stats.cauchy.cdf),
    Draw("maxwell", (), 2 * sqrt(2 / pi), 3 - 8 / pi, _maxwell),
    Draw("lognormal", (0.5,), exp(0.125), (exp(0.25) - 1) * exp(0.25),
         lambda x: special.ndtr(np.log(x) / 0.5)),
    Draw("rayleigh", (2.0,), 2 * sqrt(pi / 2), (4 - pi) * 2, lambda x: -np.expm1(-x * x / 8)),
    Draw("pareto", (3.5,), 1.4, 3.5 / (2.5**2 * 1.5), lambda x: 1 - x**-3.5),
    Draw("power", (2.5,), 2.5 / 3.5, 2.5 / (3.5**2 * 4.5), lambda x: x**2.5),
    Draw("weibull_min", (2.0, 1.5), 2 * gamma(1 + 1 / 1.5),
         4 * (gamma(1 + 2 / 1.5) - gamma(1 + 1 / 1.5) ** 2),
         lambda x: -np.expm1(-((x / 2) ** 1.5))),
    Draw("triangular", (0.0, 1.0, 3.0), 4 / 3, 7 / 18, _triangular),
    Draw("double_sided_maxwell", (1.0, 2.0), 1, 12, _double_maxwell),
    Draw("truncated_normal", (0.5, 2.0), _TRUNCATED, _TRUNCATED_VARIANCE, _truncated),
    Draw("gamma", (0.3,), 0.3, 0.3, lambda x: special.gammainc(0.3, x)),
    Draw("gamma", (4.5,), 4.5, 4.5, lambda x: special.gammainc(4.5, x)),
    Draw("loggamma", (0.02,), float(special.digamma(0.02)), float(special.polygamma(1, 0.02)),
         lambda x: special.gammainc(0.02, np.exp(x))),
    Draw("chisquare", (3.0,), 3, 6, lambda x: special.gammainc(1.5, x / 2)),
    Draw("beta", (0.6, 2.0), 0.6 / 2.6, 1.2 / (2.6**2 * 3.6),
         lambda x: special.betainc(0.6, 2.0, x)),
    Draw("t", (5.0,), 0, 5 / 3, lambda x: stats.t.cdf(x, 5.0)),
    Draw("f", (3.0, 12.0), 1.2, 2 * 144 * 13 / (3 * 100 * 8),
         lambda x: special.betainc(1.5, 6.0, 3 * x / (3 * x + 12))),
    Draw("wald", (1.3,), 1.3, 1.3**3, _wald),
    Draw("vonmises", (0.5, 2.0), np.nan, np.nan, _vonmises),
    Draw("generalized_normal", (3.0,), 0, gamma(1.0) / gamma(1 / 3), _generalized),
)  # fmt: skip
COUNTS: tuple[Draw, ...] = (
    Draw("randint", (0, 6), 2.5, 35 / 12, probabilities=np.full(6, 1 / 6), exact=True,
         is_shape_first=True),
    Draw("poisson", (3.0,), 3, 3, probabilities=stats.poisson.pmf(K, 3.0)),
    Draw("poisson", (25.0,), 25, 25, probabilities=stats.poisson.pmf(K, 25.0)),
    Draw("binomial", (12, 0.3), 3.6, 2.52, probabilities=stats.binom.pmf(K[:13], 12, 0.3)),
    Draw("binomial", (50, 0.6), 30, 12, probabilities=stats.binom.pmf(K[:51], 50, 0.6)),
    Draw("geometric", (0.3,), 1 / 0.3, 0.7 / 0.09, probabilities=0.3 * 0.7 ** (K - 1.0) * (K > 0)),
    Draw("negative_binomial", (3.0, 0.4), 4.5, 11.25,
         probabilities=stats.nbinom.pmf(K, 3.0, 0.4)),
    Draw("hypergeometric", (10, 15, 8), 3.2, 8 * 0.4 * 0.6 * 17 / 24,
         probabilities=_hypergeometric()),
    Draw("bernoulli", (0.3,), 0.3, 0.21, probabilities=np.array([0.7, 0.3]), exact=True),
)  # fmt: skip
EVERY = (*CONTINUOUS, *COUNTS)


def every(key: Any, shape: Any = (3,)) -> list[Any]:
    """Draws of each function by one key."""
    return [draw(key, shape) for draw in EVERY]
