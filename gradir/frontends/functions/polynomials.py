"""gradir.numpy: polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import floating, known, number
from gradir.frontends.functions.differences import convolve
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.shapes import atleast_1d, concatenate, stack
from gradir.frontends.functions.views import (
    broadcast_to,
    reshape,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def polyval(p: Any, x: Any) -> Tracer:
    """The value at x, by Horner's rule."""
    coefficients: Any = lifted(p)
    value: Any = lifted(x)
    made: Any = value * 0
    for k in range(coefficients.shape[0]):
        made = made * value + coefficients[k]
    return made


def _padded(a1: Any, a2: Any) -> list[Any]:
    x, y = atleast_1d(a1), atleast_1d(a2)
    count = x.size if x.size > y.size else y.size
    return [
        concatenate([broadcast_to(converted(0, element(p)), [count - p.size]), p]) for p in (x, y)
    ]


def polyadd(a1: Any, a2: Any) -> Tracer:
    """The sum."""
    x, y = _padded(a1, a2)
    return x + y


def polysub(a1: Any, a2: Any) -> Tracer:
    """The difference."""
    x, y = _padded(a1, a2)
    return x - y


def polymul(a1: Any, a2: Any) -> Tracer:
    """The product; leading zeros stay."""
    return convolve(atleast_1d(a1), atleast_1d(a2))


def polyder(p: Any, m: int = 1) -> Tracer:
    """The m-th derivative."""
    x: Any = lifted(p)
    for _ in range(number(m, "polyder: m")):
        n: int = x.shape[0] - 1
        factors: Any = np.arange(n, 0, -1)
        x = x[:-1] * factors if n > 0 else x[:0]
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Tracer:
    """The m-th antiderivative, with constants k."""
    x: Any = floating(p)
    count = number(m, "polyint: m")
    constants = broadcast_to(atleast_1d(0.0 if k is None else k), [count])
    for step in range(count):
        factors = cast(Any, np).arange(x.shape[0], 0, -1)
        x = x / factors.astype(x.dtype)
        x = concatenate([x, reshape(constants[step], 1).astype(x.dtype)])
    return x


def poly(seq_of_zeros: Any) -> Tracer:
    """The coefficients of the polynomial with these zeros."""
    zeros: Any = atleast_1d(floating(seq_of_zeros))
    if zeros.ndim != 1:
        raise refusal("poly: expected a vector of zeros; eigenvalues of a matrix are not there")
    made: Any = broadcast_to(converted(1, element(zeros)), [1])
    for k in range(zeros.shape[0]):
        made = concatenate([made, made[:1] * 0]) - concatenate([made[:1] * 0, made * zeros[k]])
    return made


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tracer:
    """The powers of a vector as columns, the highest first."""
    value: Any = lifted(x)
    if value.ndim != 1:
        raise refusal(f"vander: expected a vector, got {value!r}")
    count = value.size if N is None else int(known(N, "vander: N"))
    powers: list[Any] = [broadcast_to(converted(1, element(value)), value.shape)]
    for _ in range(count - 1):
        powers.append(powers[-1] * value)
    if not count:
        return reshape(value[:0], (value.size, 0)) if not value.size else (
            broadcast_to(reshape(value[:0], (1, 0)), (value.size, 0))
        )  # fmt: skip
    return stack(powers if increasing else powers[::-1], 1)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    polyval, polyadd, polysub, polymul, polyder, polyint, poly, vander,
)  # fmt: skip
