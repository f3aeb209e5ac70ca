"""gradir.numpy: polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import floating, known, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.differences import convolve
from gradir.frontends.functions.factors import lstsq
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.shapes import atleast_1d, concatenate, stack
from gradir.frontends.functions.views import (
    broadcast_to,
    reshape,
    transpose,
)
from gradir.frontends.tracing.default_precision import in_own_precision
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


def polydiv(u: Any, v: Any) -> tuple[Tracer, Tracer]:
    """Quotient and remainder of u / v, by the leading coefficient of v, which must not be 0.

    The remainder has as many coefficients as v has, less one: leading zeros stay; where u is the
    shorter one it is u, and the quotient is 0.
    """
    numerator, divisor = atleast_1d(floating(u)), atleast_1d(floating(v))
    if numerator.ndim != 1 or divisor.ndim != 1 or not divisor.size or not numerator.size:
        raise refusal(f"polydiv: expected two vectors with elements, got {u!r} and {v!r}")
    rest: Any = numerator + converted(0, element(divisor))
    count, steps = divisor.size, numerator.size - divisor.size + 1
    if steps < 1:
        return broadcast_to(rest[0] * 0, [1]), rest
    places: list[Any] = []
    for _ in range(steps):
        places.append(rest[0] / divisor[0])
        # the subtraction leaves 0 at the first coefficient
        head = rest[1:count] - places[-1] * divisor[1:]
        rest = concatenate([head, rest[count:]])
    quotient = stack(places)
    return quotient, rest if rest.size else broadcast_to(quotient[0] * 0, [1])


def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None,
    cov: Any = False,
) -> Any:  # fmt: skip
    """The coefficients of the polynomial of a degree that is next to y at x, by least squares.

    y: [m] or [m, k], for k polynomials; w: a weight of each point. Columns of powers are scaled as
    by NumPy, and solved by the pseudoinverse, of singular values above rcond (m * epsilon) times
    the largest. cov: also the covariance of the coefficients, scaled by the residuals unless it is
    "unscaled". full: also the sums of the residuals' squares (NumPy has none where the rank is not
    full), the rank, the singular values of the scaled powers, and rcond.
    """
    places, values = floating(x), floating(y)
    degree = number(deg, "polyfit: deg")
    if degree < 0 or places.ndim != 1 or values.ndim not in (1, 2):
        raise refusal(
            f"polyfit: expected a degree >= 0, a vector, and a vector or a matrix, got {deg}, "
            f"{places!r} and {values!r}"
        )
    if not places.size or values.shape[0] != places.size:
        raise refusal(f"polyfit: expected a row of y for each x, got {places!r} and {values!r}")
    powers: Any = vander(places, degree + 1)
    right: Any = values
    if w is not None:
        weights: Any = floating(w)
        powers = powers * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    scale = op.sqrt(op.sum(powers * powers, axis=[0]))
    epsilon = float(np.finfo(str(powers.dtype)).eps)
    limit = places.size * epsilon if rcond is None else float(rcond)
    found, squares, rank, singular = lstsq(powers / scale, right, limit)
    made = found / (scale[:, None] if found.ndim == 2 else scale)
    if full:
        return made, squares, rank, singular, limit
    if cov is False:
        return made
    return made, _covariance(powers / scale, scale, squares, cov, values.ndim)


@in_own_precision
def _covariance(powers: Any, scale: Any, squares: Any, cov: Any, rank: int) -> Any:
    """The covariance of coefficients; for each of several polynomials along a last axis."""
    m, n = powers.shape
    base = op.inv(op.matmul(transpose(powers), powers))
    base = base / (scale[:, None] * scale)
    if cov == "unscaled":
        return base if rank == 1 else base[:, :, None]
    if m <= n:
        raise refusal(f"polyfit: cov needs more points than coefficients, got {m} and {n}")
    factor = squares / (m - n)
    return base * factor[0] if rank == 1 else base[:, :, None] * factor


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
    polyval, polyadd, polysub, polymul, polydiv, polyfit, polyder, polyint, poly, vander,
)  # fmt: skip
