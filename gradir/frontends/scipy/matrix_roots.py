"""gradir.scipy.linalg.sqrtm: principal square roots, with derivatives by Sylvester's equation."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.sylvester import SylvesterOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.factors import adjoint
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import is_complex_array
from gradir.frontends.scipy.calls import anywhere
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.transforms.branches import cond
from gradir.frontends.transforms.custom_derivatives import custom_jvp
from gradir.frontends.transforms.flow import while_loop

_MOST = 60


def _apart(m: Any) -> Any:
    """The distance of matrices from the identity."""
    return gnp.max(gnp.abs(m - gnp.eye(m.shape[-1])), axis=(-2, -1))


def _scale(m: Any) -> Any:
    """|det m| to the power -1 / (2 n), one number for each matrix."""
    _, size = op.slogdet(m)
    return gnp.exp(size / (-2 * m.shape[-1]))[..., None, None]


@custom_jvp
def _root(a: Any) -> Any:
    """The roots of matrices; those that come to none are looked at as singular ones."""
    x = _regular_root(a)
    is_lost = gnp.any(gnp.isnan(x), axis=(-2, -1))
    return cond(
        gnp.any(is_lost),
        lambda a, x: gnp.where(is_lost[..., None, None], _singular_root(a), x),
        lambda a, x: x,
        a,
        x,
    )


def _singular_root(a: Any) -> Any:
    """A number stands in place of the eigenvalue 0, whose root is taken off at the end: both act on
    the kernel alone."""
    largest = gnp.max(gnp.abs(a), axis=(-2, -1))
    level = gnp.where(largest > 0, largest, 1.0)[..., None, None]
    kernel = _kernel(a)
    x = _regular_root(a + level * kernel) - gnp.sqrt(level) * kernel
    is_there = gnp.max(gnp.abs(x @ x - a), axis=(-2, -1)) <= 1e-8 * largest
    return gnp.where(is_there[..., None, None], x, np.nan)


def _kernel(a: Any) -> Any:
    """The projections onto the kernels of matrices along their ranges; nan where these meet.

    Of an orthogonal matrix v onto the kernel and u onto the complement of the range, v (u^H v)^-1
    u^H.
    """
    count = a.shape[-1]
    left, sizes, right = op.svd(a)
    is_none = sizes <= sizes[..., :1] * (count * 2.0**-52)
    u, v = (gnp.where(is_none[..., None, :], m, 0.0) for m in (left, adjoint(right)))
    between = adjoint(u) @ v
    rest = gnp.where(is_none[..., None], 0.0, gnp.eye(count))
    return v @ op.inv(between + rest) @ adjoint(u)


def _regular_root(a: Any) -> Any:
    """By the product form of Denman and Beavers' iteration, scaled by determinants (Cheng, Higham,
    Kenney & Laub, "Approximating the logarithm of a matrix to specified accuracy", SIAM J. Matrix
    Anal. Appl. 22, 2001); nan where it does not converge."""
    unit = gnp.eye(a.shape[-1])

    def is_moving(state: Any) -> Any:
        _, m, before, count = state
        apart = _apart(m)
        is_better = gnp.logical_and(apart > 1e-15, gnp.logical_or(apart < before, apart > 1e-2))
        return gnp.logical_and(gnp.any(is_better), count < _MOST)

    def step(state: Any) -> Any:
        x, m, _, count = state
        apart = _apart(m)
        scale = gnp.where(apart[..., None, None] > 1e-2, _scale(m), 1.0)
        inverse = op.inv(m) / (scale * scale)
        after = (unit + (scale * scale * m + inverse) / 2) / 2
        return scale * (x @ (unit + inverse)) / 2, after, apart, count + 1

    far = gnp.full(a.shape[:-2], np.inf)
    x, m, _, _ = while_loop(is_moving, step, (a, a, far, 0))
    is_there = gnp.logical_and(_apart(m) < 1e-8, gnp.all(gnp.isfinite(x), axis=(-2, -1)))
    return gnp.where(is_there[..., None, None], x, np.nan)


def _root_jvp(primals: Any, tangents: Any) -> Any:
    x = _root(*primals)
    return x, apply(SylvesterOp, {"a": x, "q": tangents[0]})


_root.defjvp(_root_jvp)


@in_own_precision
def sqrtm(A: Any) -> Any:
    """The principal square root of matrices [.., n, n] without eigenvalues on the negative axis.

    Matrices with such eigenvalues give nan, as the roots of real ones are complex, and so do
    singular ones that have a Jordan block of the eigenvalue 0, and no root. The derivative y of the
    root x in the direction q solves x y + y x = q; nan where the matrix is singular. Computed in
    float64 or complex128.
    """
    x = floating(A)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise refusal(f"sqrtm: expected square matrices, got {x!r}")
    wide = "complex128" if is_complex_array(x) else "float64"
    return gnp.astype(_root(gnp.astype(x, wide)), x.dtype) if x.size else x


COMPILED = {"sqrtm": anywhere(sqrtm, "gradir.scipy.linalg", takes_complex=True)}
