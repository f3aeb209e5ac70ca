"""A distribution: its functions from those of the standard one, moved and scaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from math import inf, nan
from types import SimpleNamespace
from typing import Any

from gradir.frontends.functions.arguments import unknown_argument
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal

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
    densities are those of numbers, without a scale.
    """
    names = shapes.split()
    log = "logpmf" if integers else "logpdf"
    functions: dict[str, Formula] = {}
    for kind, formula in formulas.items():
        functions[kind] = _moved(kind, formula, len(names), (support, safe, valid), integers)
    functions.setdefault(log[3:], lambda *args: op.exp(functions[log](*args)))
    for kind in {"cdf", "sf"} & set(functions):
        functions.setdefault(f"log{kind}", _logarithm(functions[kind]))
    ends = ["loc"] if integers else ["loc", "scale"]
    made = {kind: _public(name, kind, f, names, ends) for kind, f in functions.items()}
    return Distribution(name=name, **made)


def _logarithm(function: Formula) -> Formula:
    return lambda *args: op.log(function(*args))


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


def _moved(
    kind: str, formula: Formula, count: int, facts: tuple[Any, float, Any], integers: bool
) -> Formula:
    """The formula of (x - loc) / scale; by the support where x is outside of it."""
    support, safe, valid = facts

    def function(x: Any, *parameters: Any) -> Any:
        x, *values = floats(x, *parameters)
        shapes, loc = values[:count], values[count]
        scale = 1.0 if integers else values[count + 1]
        is_ok = valid(*shapes)
        is_ok = op.logical_and(is_ok, op.greater(scale, 0))
        if kind in ("ppf", "isf"):
            is_there = op.logical_and(op.greater_equal(x, 0), op.less_equal(x, 1))
            made = formula(where(is_there, x, 0.5), *shapes) * scale + loc
            return where(op.logical_and(is_ok, is_there), made, nan)
        y = (x - loc) / scale
        low, high = support(*shapes)
        is_below, is_above = op.less(y, low), op.greater(y, high)
        is_out = op.logical_or(is_below, is_above)
        if integers and kind == "logpmf":
            is_out = op.logical_or(is_out, op.not_equal(op.floor(y), y))
        made = formula(where(is_out, safe, y), *shapes)
        if kind == "logpdf":
            made = made - op.log(scale)
        below, above = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-inf, 0.0),
                        "logsf": (0.0, -inf)}.get(kind, (-inf, -inf))  # fmt: skip
        made = where(is_below, below, where(is_above, above, where(is_out, below, made)))
        return where(op.logical_and(is_ok, op.equal(y, y)), made, nan)

    return function
