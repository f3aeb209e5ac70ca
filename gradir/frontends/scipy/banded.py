"""gradir.scipy.linalg of banded matrices, by the whole matrix, in O(n^3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.factors import adjoint
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer


def _whole(bands: Any, above: int) -> Any:
    """The matrix whose diagonal number `above - k` is row k of the bands; corners are not read."""
    rows, n = bands.shape
    i, j = np.arange(n)[:, None], np.arange(n)
    row = above + i - j
    is_there = (row >= 0) & (row < rows)
    return gnp.where(is_there, bands[np.where(is_there, row, 0), j + 0 * i], 0.0)


def _bands(name: str, ab: Any) -> Any:
    x = floating(ab)
    if x.ndim != 2:
        raise refusal(f"{name}: expected bands, the rows of a matrix, got {x!r}")
    return x


def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Tracer:
    """x with a x = b, of the bands of a: ab[u + i - j, j] = a[i, j], for b [n] or [n, m].

    l_and_u: how many diagonals are below and above the main one.
    """
    below, above = (number(k, "solve_banded: l_and_u") for k in l_and_u)
    bands = _bands("solve_banded", ab)
    if bands.shape[0] != below + above + 1:
        raise refusal(f"solve_banded: expected {below + above + 1} bands, got {bands!r}")
    return op.solve(_whole(bands, above), floating(b))


def _symmetric(name: str, ab: Any, lower: bool) -> Any:
    """The whole symmetric or Hermitian matrix of the bands of its lower or upper triangle."""
    bands = _bands(name, ab)
    half = _whole(bands, 0 if lower else bands.shape[0] - 1)
    return half + adjoint(gnp.tril(half, -1) if lower else gnp.triu(half, 1))


def solveh_banded(ab: Any, b: Any, lower: bool = False) -> Tracer:
    """x with a x = b, of the bands of one triangle of a symmetric or Hermitian a, which is positive
    definite."""
    factor = op.cholesky(_symmetric("solveh_banded", ab, lower))
    inner = op.triangular_solve(factor, floating(b), lower=True)
    return op.triangular_solve(gnp.conj(factor), inner, lower=True, transpose=True)


def cholesky_banded(ab: Any, lower: bool = False) -> Tracer:
    """The bands of the Cholesky factor of the matrix that `solveh_banded` solves with."""
    whole = _symmetric("cholesky_banded", ab, lower)
    factor = op.cholesky(whole)
    factor = factor if lower else adjoint(factor)
    rows, n = floating(ab).shape
    k, j = np.arange(rows)[:, None], np.arange(n)
    i = k + j - (0 if lower else rows - 1)
    is_there = (i >= 0) & (i < n)
    return gnp.where(is_there, factor[np.where(is_there, i, 0), j + 0 * k], 0.0)


def cho_solve_banded(cb_and_lower: tuple[Any, bool], b: Any) -> Tracer:
    """x with a x = b, from (cholesky_banded(ab, lower), lower)."""
    bands, lower = cb_and_lower
    bands = _bands("cho_solve_banded", bands)
    factor = _whole(bands, 0 if lower else bands.shape[0] - 1)
    turned = gnp.conj(factor)
    if lower:
        inner = op.triangular_solve(factor, floating(b), lower=True)
        return op.triangular_solve(turned, inner, lower=True, transpose=True)
    inner = op.triangular_solve(turned, floating(b), lower=False, transpose=True)
    return op.triangular_solve(factor, inner, lower=False)


def eigvals_banded(a_band: Any, lower: bool = False) -> Tracer:
    """The eigenvalues, ascending, of a matrix that is given as in `solveh_banded`."""
    return op.eigh(_symmetric("eigvals_banded", a_band, lower))[0]


def eig_banded(a_band: Any, lower: bool = False, eigvals_only: bool = False) -> Any:
    """Eigenvalues, ascending, and eigenvectors, of a matrix given as in `solveh_banded`."""
    values, vectors = op.eigh(_symmetric("eig_banded", a_band, lower))
    return values if eigvals_only else (values, vectors)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    solve_banded, solveh_banded, cholesky_banded, cho_solve_banded, eigvals_banded, eig_banded,
)  # fmt: skip
