"""gradir.scipy.linalg: functions of matrices with the meaning of SciPy, and derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import factors
from gradir.frontends.functions.arguments import floating, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.factors import adjoint
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.scipy import banded, lu_factors, matrix_exponential, matrix_roots
from gradir.frontends.scipy.names import published
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted


def _square(a: Any, name: str) -> Any:
    x = floating(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise refusal(f"{name}: expected square matrices, got {x!r}")
    return x


def inv(a: Any) -> Tracer:
    """The inverse of matrices [.., n, n]."""
    return gnp.linalg.inv(a)


def det(a: Any) -> Tracer:
    """The determinant of matrices [.., n, n], of their type; SciPy makes 64 bits of 32."""
    return gnp.linalg.det(a)


def solve(a: Any, b: Any) -> Tracer:
    """x with a x = b, for a [n, n] and b [n] or [n, m]."""
    return gnp.linalg.solve(a, b)


def pinv(a: Any, *, rtol: Any = None) -> Tracer:
    """The pseudo-inverse of matrices [.., m, n]; singular values up to rtol * largest are 0."""
    return gnp.linalg.pinv(a, rtol=rtol)


def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """numpy.linalg.norm."""
    return gnp.linalg.norm(a, ord, axis, keepdims)


def svdvals(a: Any) -> Tracer:
    """The singular values, from the largest to the least."""
    return gnp.linalg.svdvals(a)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """u, singular values, vh of matrices [.., m, n]; without `compute_uv` the values alone."""
    return tuple(gnp.linalg.svd(a, full_matrices)) if compute_uv else gnp.linalg.svdvals(a)


def qr(a: Any, *, mode: str = "full") -> Any:
    """q, orthogonal or unitary, and r, upper triangular, of matrices [.., m, n].

    mode "full" has q [m, m], "economic" [m, min(m, n)], and "r" is r alone, in a tuple.
    """
    one_of(mode, "qr: mode", ("full", "economic", "r"))
    if mode == "economic":
        return tuple(gnp.linalg.qr(a))
    q, r = gnp.linalg.qr(a, mode="complete")
    return (r,) if mode == "r" else (q, r)


def eigh(a: Any, lower: bool = True) -> Any:
    """Eigenvalues, ascending, and eigenvectors, columns, of symmetric or Hermitian matrices."""
    return tuple(gnp.linalg.eigh(a, "L" if lower else "U"))


def eigvalsh(a: Any, lower: bool = True) -> Tracer:
    """The eigenvalues of symmetric or Hermitian matrices, ascending."""
    return gnp.linalg.eigvalsh(a, "L" if lower else "U")


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors, columns of length 1, complex, of square matrices; see
    gradir.numpy.linalg.eig."""
    return tuple(gnp.linalg.eig(a))


def eigvals(a: Any) -> Tracer:
    """The eigenvalues of square matrices, complex numbers in LAPACK's order."""
    return gnp.linalg.eigvals(a)


def cholesky(a: Any, lower: bool = False) -> Tracer:
    """The factor u of a = u^H u, upper triangular; or with `lower` l of a = l l^H.

    It is that of the symmetric (Hermitian) part of a. Matrices that are not positive definite give
    nan.
    """
    factor = op.cholesky(_square(a, "cholesky"))
    return factor if lower else adjoint(factor)


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tracer:
    """x with a x = b, for triangular a [n, n], b [n] or [n, m].

    trans: with 1 or "T" a^T x = b, with 2 or "C" a^H x = b.
    The other triangle is not read; a zero on the diagonal gives inf or nan.
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise refusal(f'solve_triangular: trans must be 0, 1, 2, "N", "T" or "C", got {trans!r}')
    x, y = _square(a, "solve_triangular"), floating(b)
    turned = trans not in (0, "N")
    if trans in (2, "C"):
        x = gnp.conj(x)
    return op.triangular_solve(
        x, y, lower=bool(lower), transpose=turned, unit_diagonal=bool(unit_diagonal)
    )


def cho_factor(a: Any, lower: bool = False) -> tuple[Tracer, bool]:
    """`cholesky` and whether it is the lower factor, for `cho_solve`."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Tracer:
    """x with a x = b, from `cho_factor(a)`."""
    factor, lower = c_and_lower
    inner = solve_triangular(factor, b, 0 if lower else 2, lower)
    return solve_triangular(factor, inner, 2 if lower else 0, lower)


def solve_sylvester(a: Any, b: Any, q: Any) -> Tracer:
    """x with a x + x b = q, for a [m, m], b [n, n], q [m, n].

    The m * n equations are solved at once, in O((m n)^3): for small matrices. Where a and -b have
    an eigenvalue in common there is no such x: inf or nan.
    """
    x, y, z = _square(a, "solve_sylvester"), _square(b, "solve_sylvester"), floating(q)
    m, n = x.shape[-1], y.shape[-1]
    if x.ndim > 2 or y.ndim > 2 or z.shape != (m, n):
        raise refusal(f"solve_sylvester: q must be [{m}, {n}], got {z!r}")
    rows = gnp.kron(x, gnp.eye(n, dtype=x.dtype)) + gnp.kron(gnp.eye(m, dtype=y.dtype), y.T)
    return gnp.linalg.solve(rows, z.reshape(-1)).reshape(m, n)


def block_diag(*arrs: Any) -> Tracer:
    """The matrices along a diagonal, zeros around them; vectors are rows."""
    parts = [gnp.atleast_2d(lifted(a)) for a in arrs] or [gnp.zeros((1, 0))]
    made: list[Any] = []
    width, at = sum(p.shape[1] for p in parts), 0
    for each in parts:
        if each.ndim != 2:
            raise refusal(f"block_diag: expected matrices, got {each!r}")
        made.append(gnp.pad(each, ((0, 0), (at, width - at - each.shape[1]))))
        at += each.shape[1]
    return gnp.concatenate(made)


def toeplitz(c: Any, r: Any = None) -> Tracer:
    """The matrix with c as its first column and r as its first row, equal along diagonals.

    r[0] is not read; without r it is the conjugate of c.
    """
    column = gnp.ravel(lifted(c))
    row = gnp.conj(column) if r is None else gnp.ravel(lifted(r))
    every = gnp.concatenate([gnp.flip(column), row[1:]])
    m, n = column.shape[0], row.shape[0]
    return every[(m - 1 - gnp.arange(m))[:, None] + gnp.arange(n)]


def circulant(c: Any) -> Tracer:
    """The matrix whose columns are c, each one place below the one before, around the end."""
    x = lifted(c)
    if x.ndim != 1:
        raise refusal(f"circulant: expected a vector, got {x!r}")
    n = x.shape[0]
    return x[(gnp.arange(n)[:, None] - gnp.arange(n)) % max(n, 1)]


def hankel(c: Any, r: Any = None) -> Tracer:
    """The matrix with c as its first column and r as its last row, equal along antidiagonals.

    r[0] is not read; without r it is zeros.
    """
    column = gnp.ravel(lifted(c))
    row = gnp.zeros_like(column) if r is None else gnp.ravel(lifted(r))
    every = gnp.concatenate([column, row[1:]])
    return every[gnp.arange(column.shape[0])[:, None] + gnp.arange(row.shape[0])]


@in_own_precision
def polar(a: Any, side: str = "right") -> tuple[Tracer, Tracer]:
    """u with orthonormal columns or rows, and p Hermitian, a = u p; or with side "left" a = p u."""
    one_of(side, "polar: side", ("right", "left"))
    x = floating(a)
    factors.require_matrices("polar", x)
    u = factors.orthogonal_factor(x)
    p = adjoint(u) @ x if side == "right" else u @ adjoint(x)
    return u, (p + adjoint(p)) / 2


ABSENT: dict[str, str] = {
    **dict.fromkeys(
        "schur hessenberg qz ordqz rsf2csf cossin".split(),
        "eigenvalues and eigenvectors are there: eigh and eig",
    ),
    **dict.fromkeys(
        "logm funm fractional_matrix_power".split(),
        "it needs the factorization of Schur: expm and sqrtm are there, and functions of matrices "
        "with as many eigenvectors as rows by eigh and eig",
    ),
    **dict.fromkeys(
        "hilbert invhilbert hadamard pascal invpascal helmert dft".split(),
        "a constant: SciPy's own has it",
    ),
    **dict.fromkeys(
        "companion fiedler fiedler_companion leslie convolution_matrix".split(),
        "gradir.numpy.zeros, and assignment to its parts; toeplitz and hankel are there",
    ),
    "eigh_tridiagonal": "eigh of the whole matrix, by gradir.numpy.diag",
    "qr_multiply": "the product with a factor of qr",
    "expm_frechet": "gradir.jvp of expm",
    "signm": "it is a constant near matrices without imaginary eigenvalues: a @ inv(sqrtm(a @ a))",
    "ldl": "its pivots of size 2 depend on values: cholesky, lu and eigh are there",
}
"""SciPy's names that are not here, and why."""

FUNCTIONS = (
    inv, det, solve, pinv, norm, svd, svdvals, qr, eigh, eigvalsh, eig, eigvals, cholesky,
    solve_triangular, cho_factor, cho_solve, solve_sylvester, block_diag, toeplitz, circulant,
    hankel, polar, *banded.FUNCTIONS,
)  # fmt: skip
COMPILED = matrix_exponential.COMPILED | matrix_roots.COMPILED | lu_factors.COMPILED
BY_NAME = published(FUNCTIONS, "gradir.scipy.linalg", takes_complex=True) | COMPILED
globals().update(BY_NAME)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.scipy.linalg", ABSENT)

__all__ = [*BY_NAME]
