"""A distribution: its functions from the standard distribution's, moved and scaled.

Derivatives at an end of the support come from inside. Outside of it, and where a density, cdf or sf
has its value at infinity, they are 0; of nan, or where there is no value, nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from math import inf, pi
from types import SimpleNamespace
from typing import Any

from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.edges import with_digits
from gradir.frontends.scipy.entropies import xlog1py, xlogy
from gradir.frontends.scipy.gammas import LARGE, correction
from gradir.frontends.scipy.incomplete import log_ratio, raised, valid_or_nan
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.nearest import unknown_argument

Formula = Callable[..., Any]
_EITHER = Parameter.POSITIONAL_OR_KEYWORD


class Distribution(SimpleNamespace):
    """The functions of a distribution: logpdf (or logpmf), pdf, and cdf, sf, ppf if known."""

    def __repr__(self) -> str:
        return f"<distribution {self.name}: {', '.join(k for k in vars(self) if k != 'name')}>"


def distribution(
    name: str,
    shapes: str,
    formulas: Mapping[str, Formula],
    support: Callable[..., tuple[Any, Any]] = lambda *_: (-inf, inf),
    safe: float = 0.5,
    integers: bool = False,
    valid: Callable[..., Any] = lambda *_: True,
) -> Distribution:
    """A distribution.

    `formulas` are of the standard one, of y and the shapes; `support` gives its ends from the
    shapes, `safe` is a place inside of it, and `valid` tells shapes that there are. `integers`: the
    distribution is of integers, without a scale.
    """
    names = shapes.split()
    log = "logpmf" if integers else "logpdf"
    known = {log[3:]: _exponential(formulas[log]), **formulas}
    facts = _Facts(len(names), support, safe, valid, integers)
    for kind in {"cdf", "sf"} & set(formulas):
        known.setdefault(f"log{kind}", _logarithm(kind, formulas, facts))
    ends = ["loc"] if integers else ["loc", "scale"]
    made = {
        kind: _public(name, kind, _moved(kind, formula, facts), names, ends)
        for kind, formula in known.items()
    }
    return Distribution(name=name, **made)


def _exponential(function: Formula) -> Formula:
    return lambda *args: op.exp(function(*args))


def _logarithm(kind: str, formulas: Mapping[str, Formula], facts: _Facts) -> Formula:
    """log(cdf) or log(sf); at an end where those are 0 with the slope of a logarithm."""
    function, rest = formulas[kind], formulas["sf" if kind == "cdf" else "cdf"]

    def inside(y: Any, *shapes: Any) -> Any:
        made = function(y, *shapes)
        is_most = op.greater(made, 0.5)
        most = op.log1p(-where(is_most, rest(y, *shapes), 0.0))
        return where(is_most, most, op.log(where(is_most, 1.0, made)))

    def everywhere(y: Any, *shapes: Any) -> Any:
        low, high = facts.support(*shapes)
        apart = y - low if kind == "cdf" else high - y
        is_end = op.equal(apart, 0)
        at_end = op.log(where(is_end, apart, 1.0))
        return where(is_end, at_end, inside(where(is_end, facts.safe, y), *shapes))

    return inside if facts.integers else everywhere


def with_gamma_digits(made: Any, y: Any, exponent: Any) -> Any:
    """`made`, which is log(y**exponent * exp(-y) / gamma(exponent + 1)), of large exponents by the
    deviance, as its terms cancel."""
    is_large = op.logical_and(op.greater_equal(exponent, LARGE), op.greater(y, 0))
    a, x = where(is_large, exponent, LARGE), where(is_large, y, LARGE)
    share = (x - a) / a
    deviance = a * (share - log_ratio(share, x / a))
    return with_digits(made, is_large, -deviance - op.log(a * (2 * pi)) / 2 - correction(a))


def gamma_density(y: Any, exponent: Any) -> Any:
    """y**exponent * exp(-y) / gamma(exponent + 1), by a power up to y = 1."""
    is_low = op.less_equal(y, 1)
    rest = exponent * op.log(where(is_low, 1.0, y)) - op.lgamma(exponent + 1) - y
    rest = with_gamma_digits(rest, where(is_low, 0.0, y), exponent)
    return raised(where(is_low, y, 1.0), exponent, rest)


def log_gamma_density(y: Any, exponent: Any) -> Any:
    """The logarithm of `gamma_density`."""
    made = xlogy(exponent, y) - y - op.lgamma(exponent + 1)
    return with_gamma_digits(made, y, exponent)


def _with_beta_digits(made: Any, p: Any, first: Any, second: Any, ratio: Any) -> Any:
    """`made`, which is log(p**a * (1 - p)**b * ratio(a, b) / beta(a, b)) of two exponents, of large
    ones by the deviance, as its terms cancel."""
    is_large = op.greater_equal(op.minimum(first, second), LARGE)
    is_large = op.logical_and(is_large, op.greater(p * (1 - p), 0))
    a, b = where(is_large, first, LARGE), where(is_large, second, LARGE)
    x, total = where(is_large, p, 0.5), a + b
    y = 1 - x
    apart = a * y - b * x
    of_x, of_y = log_ratio(-apart / a, x * (total / a)), log_ratio(apart / b, y * (total / b))
    scale = op.log(a * b / (total * (2 * pi))) / 2 + op.log(ratio(a, b))
    rest = correction(total) - correction(a) - correction(b)
    return with_digits(made, is_large, (a * of_x + b * of_y) + (scale + rest))


def beta_density(p: Any, first: Any, second: Any, logarithm: Any, ratio: Any) -> Any:
    """p**first * (1 - p)**second * exp(logarithm), by a small power near p = 0 and 1.

    `ratio` of large exponents is what exp(logarithm) is beside 1 / beta(first, second).
    """
    is_low = op.less(p, 0.5)
    base = where(is_low, p, 1 - p)
    exponent, other = where(is_low, first, second), where(is_low, second, first)
    is_small = op.logical_or(op.less(exponent, LARGE), op.equal(base, 0))
    is_power = op.logical_and(op.less(base, 0.1), is_small)
    rest = exponent * op.log(where(is_power, 1.0, base)) + other * op.log1p(-base)
    rest = _with_beta_digits(logarithm + rest, p, first, second, ratio)
    return raised(where(is_power, base, 1.0), exponent, rest)


def log_beta_density(p: Any, first: Any, second: Any, logarithm: Any, ratio: Any) -> Any:
    """The logarithm of `beta_density`."""
    made = xlogy(first, p) + xlog1py(second, -p) + logarithm
    return _with_beta_digits(made, p, first, second, ratio)


def _public(
    name: str, kind: str, function: Formula, shapes: Sequence[str], ends: Sequence[str]
) -> Formula:
    first = "q" if kind in ("ppf", "isf") else "k" if ends == ["loc"] else "x"
    parameters = [Parameter(p, _EITHER) for p in (first, *shapes)]
    parameters += [Parameter(p, _EITHER, default=int(p == "scale")) for p in ends]
    signature = Signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        wrong = unknown_argument(f"{name}.{kind}", kwargs, list(signature.parameters))
        if wrong:
            raise refusal(wrong)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise refusal(f"{name}.{kind}: {error}") from None
        bound.apply_defaults()
        return function(*bound.arguments.values())

    call.__name__ = f"{name}.{kind}"
    call.__doc__ = f"The {kind} of {name}."
    call.__signature__ = signature  # pyrefly: ignore[missing-attribute]
    call.__module__ = "gradir.scipy.stats"
    return eager(call)


@dataclass(frozen=True)
class _Facts:
    """The arguments of `distribution`, for all its functions; `count` is the number of shapes."""

    count: int
    support: Callable[..., tuple[Any, Any]]
    safe: float
    valid: Callable[..., Any]
    integers: bool


_OUTSIDE = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-inf, 0.0), "logsf": (0.0, -inf),
            "pdf": (0.0, 0.0), "pmf": (0.0, 0.0)}  # fmt: skip
"""Values below and above the support, else -inf."""


def _moved(kind: str, formula: Formula, facts: _Facts) -> Formula:
    """The formula of (x - loc) / scale; by the support where x is outside of it."""
    below, above = _OUTSIDE.get(kind, (-inf, -inf))

    def function(x: Any, *parameters: Any) -> Any:
        x, *values = floats(x, *parameters)
        shapes, loc = values[: facts.count], values[facts.count]
        scale = 1.0 if facts.integers else values[facts.count + 1]
        is_ok = op.logical_and(facts.valid(*shapes), op.greater(scale, 0))
        if kind in ("ppf", "isf"):
            is_there = op.logical_and(op.greater_equal(x, 0), op.less_equal(x, 1))
            made = formula(valid_or_nan(x, op.logical_and(is_ok, is_there)), *shapes)
            return made * scale + loc
        y = valid_or_nan((x - loc) / scale, is_ok)
        is_below, is_above = _outside(kind, y, *facts.support(*shapes))
        made = formula(where(op.logical_or(is_below, is_above), facts.safe, y), *shapes)
        made = made - op.log(scale) if kind == "logpdf" else made
        made = made / scale if kind == "pdf" else made
        made = where(is_below, below, where(is_above, above, made))
        return valid_or_nan(made, op.equal(y, y))

    return function


def _outside(kind: str, y: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Whether y is below the support, or between integers where they are it; and above."""
    is_below, is_above = op.less(y, low), op.greater(y, high)
    if kind in ("pdf", "cdf", "sf"):
        is_below = op.logical_or(is_below, op.equal(y, -inf))
        is_above = op.logical_or(is_above, op.equal(y, inf))
    if kind in ("pmf", "logpmf"):
        is_below = op.logical_or(is_below, op.less(op.floor(y), y))
    return is_below, is_above
