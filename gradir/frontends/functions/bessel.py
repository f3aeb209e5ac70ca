"""Modified Bessel functions of the first kind, of order 0 and 1.

Up to 20 their power series, whose terms are all positive; beyond, Hankel's asymptotic series, whose
terms fall below 1e-16. Both are differentiated term by term, so derivatives have any order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, pi
from typing import Any

from gradir.dialects.array.polynomial import PolynomialOp, floats
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.tracing.tracer import Tracer

_SERIES = [[1 / (factorial(k) * factorial(k + n)) for k in range(46)] for n in (0, 1)]
_LIMIT = 20.0


def polynomial(x: Any, coefficients: list[float]) -> Any:
    """c0 + c1 x + ..., by Horner's rule: one op, so that derivatives do not multiply its terms."""
    if len(coefficients) > 2:
        return apply(PolynomialOp, {"x": x, "coefficients": floats(coefficients)})
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def asymptotic(n: int) -> list[float]:
    """The coefficients of 1 / x**k in sqrt(2 pi x) exp(-x) I_n(x)."""
    found = [1.0]
    for k in range(1, 30):
        found.append(-found[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
    return found


def _scaled(value: Any, n: int, is_small: Any) -> tuple[Any, Any]:
    """I_n of |x|: the series, and the asymptotic one times exp(-x); each where the other is not."""
    near, far = where(is_small, value, 1.0), where(is_small, 2 * _LIMIT, value)
    square = near * near / 4
    series = polynomial(square, _SERIES[n]) * (near / 2 if n else 1)
    return series, polynomial(1 / far, asymptotic(n)) / op.sqrt(2 * pi * far)


def _bessel(name: str, n: int, scaled: bool) -> Callable[..., Any]:
    def bessel(x: Any) -> Tracer:
        given: Any = floating(x)
        is_small = op.less(op.abs(given), _LIMIT)
        # an even function of x, or an odd one, without the kink of |x| at 0
        sign = where(op.less(given, 0), -1.0, 1.0).astype(given.dtype)
        value = given * sign
        near, far = _scaled(value, n, is_small)
        if scaled:
            near = near * op.exp(-where(is_small, value, 0.0))
        else:
            far = far * op.exp(where(is_small, 0.0, value))
        made = where(is_small, near, far)
        return made * sign if n else made

    bessel.__name__ = name
    bessel.__doc__ = f"The modified Bessel function of the first kind and order {n}" + (
        ", times exp(-|x|)." if scaled else "."
    )
    return bessel


i0, i0e = _bessel("i0", 0, False), _bessel("i0e", 0, True)
i1, i1e = _bessel("i1", 1, False), _bessel("i1e", 1, True)

FUNCTIONS: tuple[Callable[..., Any], ...] = (i0,)
"""NumPy's; gradir.scipy.special has the others too."""
