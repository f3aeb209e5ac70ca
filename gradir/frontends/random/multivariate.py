"""Vectors and matrices: normal ones with a covariance, orthogonal ones, points of balls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f64

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import number, one_of
from gradir.frontends.functions.promotion import converted
from gradir.frontends.random.choices import rademacher
from gradir.frontends.random.draws import (
    bell,
    finished,
    float_kind,
    key_of,
    parameters,
    result_shape,
    standard_exponential,
    valid_or_nan,
    working,
)
from gradir.frontends.random.gammas import log_gammas
from gradir.frontends.random.keys import derived
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted


@in_own_precision
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky"
) -> Tracer:
    """mean [.., n] + F z of standard normal z, with F F^T = cov [.., n, n]: [shape.., n].

    `method`: F by "cholesky" of a positive definite cov, or by "eigh" or "svd", which need it
    positive semidefinite; derivatives go through the factors.
    """
    kind = float_kind("multivariate_normal", dtype)
    one_of(method, "multivariate_normal: method", ("cholesky", "eigh", "svd"))
    center: Any = converted(lifted(mean), working(kind))
    square: Any = converted(lifted(cov), working(kind))
    size = center.shape[-1:]
    if not size or square.shape[-2:] != (*size, *size):
        raise refusal(
            "multivariate_normal: mean must be [.., n] and cov [.., n, n], got "
            f"{list(center.shape)} and {list(square.shape)}"
        )
    extents = result_shape("multivariate_normal", shape, center.shape[:-1], square.shape[:-2])
    z = bell(key_of(key), 0, (*extents, *size), working(kind))
    moved = gnp.matmul(_factor(square, method), gnp.expand_dims(z, -1))
    return finished(center + gnp.squeeze(moved, axis=-1), kind)


def _factor(square: Any, method: str) -> Any:
    if method == "cholesky":
        return gnp.linalg.cholesky(square)
    if method == "eigh":
        values, vectors = gnp.linalg.eigh(square)
        return vectors * gnp.expand_dims(gnp.sqrt(gnp.maximum(values, 0.0)), -2)
    u, values, _ = gnp.linalg.svd(square)
    return u * gnp.expand_dims(gnp.sqrt(values), -2)


def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: Any = None) -> Tracer:
    """Orthogonal matrices [shape.., n, n], each as likely as any other turned one.

    With m: [shape.., n, m], of orthonormal columns or, for m > n, rows.
    """
    kind = float_kind("orthogonal", dtype)
    rows = number(n, "orthogonal: n")
    columns = rows if m is None else number(m, "orthogonal: m")
    if min(rows, columns) < 0:
        raise refusal(f"orthogonal: n and m must not be negative, got {rows} and {columns}")
    extents = (*as_shape(shape), max(rows, columns), min(rows, columns))
    q, r = gnp.linalg.qr(bell(key_of(key), 0, extents, working(kind)))
    # with a positive diagonal of r the factors are unique, and q has no preferred direction
    signs = gnp.where(gnp.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    q = q * gnp.expand_dims(signs, -2)
    return finished(gnp.matrix_transpose(q) if rows < columns else q, kind)


def generalized_normal(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tracer:
    """Numbers of density proportional to exp(-abs(x)**p), for p > 0; else nan."""
    kind = float_kind("generalized_normal", dtype)
    [p] = parameters("generalized_normal", shape, f64, p)
    return finished(_generalized(key_of(key), p), kind)


def _generalized(key: Any, p: Any) -> Any:
    one, two = derived(key, 2)
    power = gnp.where(p > 0, p, 1.0)
    length = gnp.exp(log_gammas(one, 1 / power) / power)
    return valid_or_nan(p > 0, length * rademacher(two, p.shape, "float64"))


def ball(key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None) -> Tracer:
    """Points [shape.., d], evenly spread over the unit ball of the p-norm, for p > 0; else nan.

    g / (sum(abs(g)**p) + e)**(1 / p) of generalized normal numbers g and an exponential one
    (Barthe, Guédon, Mendelson, Naor, "A probabilistic approach to the geometry of the l_p^n-ball",
    Annals of Probability 33, 2005).
    """
    kind = float_kind("ball", dtype)
    count = number(d, "ball: d")
    if count < 0:
        raise refusal(f"ball: d must not be negative, got {count}")
    [p] = parameters("ball", shape, f64, p)
    one, two = derived(key_of(key), 2)
    power = gnp.expand_dims(gnp.where(p > 0, p, 1.0), -1)
    g = _generalized(one, gnp.broadcast_to(power, (*p.shape, count)))
    e = gnp.expand_dims(standard_exponential(two, 0, p.shape), -1)
    total = gnp.sum(gnp.abs(g) ** power, axis=-1, keepdims=True) + e
    return finished(valid_or_nan(gnp.expand_dims(p > 0, -1), g / total ** (1 / power)), kind)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    multivariate_normal, orthogonal, generalized_normal, ball,
)  # fmt: skip
