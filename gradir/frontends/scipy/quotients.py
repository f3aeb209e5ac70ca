"""Quotients that are smooth where both parts are 0, near there, by series of all derivatives."""

from __future__ import annotations

from math import factorial
from typing import Any

from gradir.frontends.functions.bessel import polynomial

_EXPM1 = [1 / factorial(k + 1) for k in range(15)]
_ATANH = [1 / (2 * k + 1) for k in range(11)]


def expm1_over(x: Any) -> Any:
    """expm1(x) / x for |x| <= 1/2."""
    return polynomial(x, _EXPM1)


def log1p_over(x: Any) -> Any:
    """log1p(x) / x for |x| <= 1/4, as 2 atanh(x / (2 + x)) / x (DLMF 4.6.4)."""
    divisor = 2 + x
    part = x / divisor
    return 2 / divisor * polynomial(part * part, _ATANH)
