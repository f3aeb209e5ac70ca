"""gradir.numpy.linalg by factors: svd, eigh, qr, pinv, lstsq, and what singular values tell."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.array.polar import PolarOp
from gradir.dialects.grad.grad import AddSlopeOp, NoGradOp
from gradir.frontends.functions.arguments import axes_of, floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import conjugate, is_complex_array
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import max, min
from gradir.frontends.functions.sugar import (
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
)
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, is_number, lifted


class SVDResult(NamedTuple):
    """u diag(S) Vh."""

    U: Tracer
    S: Tracer
    Vh: Tracer


class EighResult(NamedTuple):
    """The eigenvalues, ascending, and the eigenvectors, columns."""

    eigenvalues: Tracer
    eigenvectors: Tracer


class EigResult(NamedTuple):
    """The eigenvalues, in LAPACK's order, and the eigenvectors, columns."""

    eigenvalues: Tracer
    eigenvectors: Tracer


class QRResult(NamedTuple):
    """Orthonormal columns, and the upper triangular factor."""

    Q: Tracer
    R: Tracer


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The singular value factors (U, S, Vh) of matrices; S alone without `compute_uv`.

    hermitian: of the symmetric matrices whose lower triangles are given.
    full_matrices: U and Vh are square: further columns of U, or rows of Vh, complete the others by
    the reflections of their QR factors, NumPy's by others of the same space. Else both have
    min(rows, columns) vectors.
    The derivative of a vector is nan where its singular value is there twice, but for rounding.
    """
    x = floating(a)
    require_matrices("svd", x)
    if hermitian:
        x = _mirrored("svd", x, "L")
    if not compute_uv:
        return svdvals(x)
    u, s, vh = op.svd(x)
    if full_matrices and x.shape[-2] > x.shape[-1]:
        u = _beside(u)
    if full_matrices and x.shape[-1] > x.shape[-2]:
        vh = matrix_transpose(_beside(matrix_transpose(vh)))
    return SVDResult(u, s, vh)


def _beside(u: Any) -> Any:
    """Orthonormal columns, and others that make them a square matrix."""
    count = u.shape[-1]
    return op.concat([u, _completed(u, op.qr(u)[0])[..., count:]], axis=-1)


def svdvals(x: Any) -> Tracer:
    """The singular values, descending."""
    value = floating(x)
    require_matrices("svdvals", value)
    return op.svd(value)[1]


def eigh(a: Any, UPLO: str | None = None) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of symmetric or Hermitian matrices.

    UPLO: the triangle that is read, "L" or "U"; by default the symmetric (Hermitian) part of a.
    The derivative of a vector is nan where its eigenvalue is there twice, but for rounding; sums
    over the vectors, as v f(w) v^T, have one there too.
    """
    return EighResult(*op.eigh(_mirrored("eigh", a, UPLO)))


def eigvalsh(a: Any, UPLO: str | None = None) -> Tracer:
    """The eigenvalues of symmetric matrices, ascending; UPLO as in eigh."""
    return op.eigh(_mirrored("eigvalsh", a, UPLO))[0]


def eig(a: Any) -> EigResult:
    """Eigenvalues, in LAPACK's order, and eigenvectors, columns, of square matrices.

    They are complex numbers, of real matrices too. The vectors have length 1, and phases that
    nothing determines: derivatives are right of what does not depend on them. That of a vector is
    nan where its eigenvalue is there twice, but for rounding, and that of an eigenvalue where the
    matrix has too few eigenvectors.
    """
    return EigResult(*op.eig(_square("eig", a)))


def eigvals(a: Any) -> Tracer:
    """The eigenvalues of square matrices, complex numbers in LAPACK's order; see eig."""
    return op.eig(_square("eigvals", a))[0]


def _square(what: str, a: Any, kind: str = "matrices") -> Any:
    x = floating(a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise refusal(f"{what}: {kind} must be square, got {x!r}")
    return x


def _mirrored(what: str, a: Any, triangle: str | None) -> Any:
    x = floating(a)
    if triangle is None:
        return x
    if triangle not in ("L", "U", "l", "u"):
        raise refusal(f'{what}: UPLO must be "L" or "U", got {triangle!r}')
    _square(what, x, "symmetric matrices")
    part, k = (op.tril, -1) if triangle in ("L", "l") else (op.triu, 1)
    if is_complex_array(x):
        # the imaginary parts of the diagonal are not read
        half = (part(x) + part(x, k=k)) * 0.5
        return half + adjoint(half)
    return op.add(part(x), adjoint(part(x, k=k)))


def adjoint(x: Any) -> Any:
    """The conjugate transposes of matrices."""
    return conjugate(matrix_transpose(x))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Orthonormal columns Q and an upper triangular R with Q R = a; R alone with mode "r".

    mode: "reduced", "r", or "complete", with a square Q. The further columns of Q of a matrix
    taller than wide are LAPACK's, and so is their derivative; it is nan where a column
    of a has zeros alone below the diagonal when its turn comes, as there they are not continuous.
    """
    x = floating(a)
    require_matrices("qr", x)
    if mode not in ("reduced", "complete", "r"):
        raise refusal(f'qr: mode must be "reduced", "complete" or "r", got {mode!r}')
    q, r = op.qr(x)
    if mode == "r":
        return r
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        below = _zeros(x, x.shape[-2] - x.shape[-1], x.shape[-1])
        return QRResult(_completed(x, q), op.concat([r, below], axis=-2))
    return QRResult(q, r)


def _zeros(like: Any, rows: int, columns: int) -> Any:
    return broadcast_to(converted(0, element(like)), [*like.shape[:-2], rows, columns])


@in_own_precision
def _completed(a: Any, q: Any) -> Any:
    """q, the columns of LAPACK's reflections for a tall matrix, and those that they put after it.

    They are I - (q - I) m^-1 (q^H - I) in those columns, m the upper square of q - I: the product
    of the reflections is I - v t v^H, and its first columns are q (Schreiber & Van Loan, "A
    storage-efficient WY representation for products of Householder transformations", 1989).
    """
    m, n = a.shape[-2:]
    unit = np.eye(m, dtype=str(a.dtype))
    apart = q - unit[:, :n]
    turned = adjoint(apart[..., :n, :])
    inner = op.solve(turned, adjoint(q[..., n:, :]))
    made = op.matmul(apart, inner) + unit[:, n:]
    # a reflection that is the identity makes m singular: then LAPACK's columns, by zeros beside a
    wide = op.concat([apply(NoGradOp, {"x": a}), _zeros(a, m, m - n)], axis=-1)
    is_there = op.all(op.isfinite(made), axis=[a.ndim - 2, a.ndim - 1], keepdims=True)
    made = where(is_there, made, _without_slope(op.qr(wide)[0][..., n:], a))
    return op.concat([q, made], axis=-1)


def _without_slope(made: Any, a: Any) -> Any:
    """Matrices whose derivative by others is nan."""
    number = op.sum(a, axis=[a.ndim - 2, a.ndim - 1], keepdims=True)
    repeated = broadcast_to(number, made.shape)
    nans = broadcast_to(converted(np.nan, element(a)), made.shape)
    return emit_one(AddSlopeOp, made, repeated, nans)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tracer:
    """The pseudoinverse; singular values up to rcond times the largest count as 0.

    hermitian: of the symmetric matrices whose lower triangles are given.
    Its derivative holds among matrices of the same rank.
    """
    x = floating(a)
    require_matrices("pinv", x)
    if hermitian:
        x = _mirrored("pinv", x, "L")
    if rcond is not None and rtol is not None:
        raise refusal("pinv: give rcond or rtol, not both")
    limit = rtol if rcond is None else rcond
    if limit is None:
        return op.pinv(x)
    if isinstance(limit, np.generic | np.ndarray) and limit.ndim == 0:
        limit = cast(Any, limit).item()
    if not isinstance(limit, int | float):
        raise refusal(f"pinv: rcond must be a Python number, got {limit!r}")
    return op.pinv(x, rcond=float(limit))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tracer:
    """The number of singular values above tol, by default the largest times rtol.

    hermitian: of the symmetric matrices whose lower triangles are given.
    """
    x = floating(A)
    if hermitian and x.ndim > 1:
        x = _mirrored("matrix_rank", x, "L")
    if x.ndim < 2:
        return converted(op.any(op.not_equal(x, 0)), default_element(int))
    s = svdvals(x)
    if tol is None:
        rtol = _epsilon(x) * builtins.max(x.shape[-2:]) if rtol is None else rtol
        limits = rtol if is_number(rtol) else expand_dims(lifted(rtol), -1)
        tol = max(s, -1, None, True) * limits if s.shape[-1] else 0
    else:
        tol = expand_dims(lifted(tol), -1)
    return op.sum(converted(op.greater(s, tol), default_element(int)), axis=[s.ndim - 1])


@in_own_precision
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """(x, residuals, rank, s): x of the least norm among those that minimize |a x - b|.

    residuals: the squares |a x - b|**2 of each column where a has more rows than columns, whatever
    its rank (NumPy has none where the rank is not full); else empty.
    """
    x, y = floating(a), floating(b)
    if x.ndim != 2 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise refusal(
            f"lstsq: expected a matrix and a right side of as many rows, got {x!r}, {y!r}"
        )
    limit = _epsilon(x) * builtins.max(x.shape) if rcond is None else rcond
    found = op.matmul(pinv(x, None if rcond in (None, -1) else rcond), y)
    rest = y - op.matmul(x, found)
    squares = op.sum(op.square(op.abs(rest)), axis=[0])
    residuals = reshape(squares, (-1,)) if x.shape[0] > x.shape[1] else reshape(squares, (-1,))[:0]
    s = svdvals(x)
    return found, residuals, matrix_rank(x, rtol=limit), s


def orthogonal_factor(x: Any) -> Tracer:
    """u of x = u p, with orthonormal columns, or rows where x has more columns than rows."""
    if x.shape[-2] >= x.shape[-1]:
        return apply(PolarOp, {"a": x})[0]
    return adjoint(apply(PolarOp, {"a": adjoint(x)})[0])


def singular_norm(x: Any, axes: Any, ord: Any, keepdims: bool) -> Any:
    """A norm of matrices by singular values: 2, -2 or "nuc"."""
    places = axes_of(x, axes)
    a = moveaxis(x, places, (-2, -1))
    if ord == "nuc":
        tall = a if a.shape[-2] >= a.shape[-1] else matrix_transpose(a)
        made = apply(PolarOp, {"a": tall})[1]
    else:
        made = (max if ord == 2 else min)(svdvals(a), -1, None, False)
    for axis in sorted(places) if keepdims else ():
        made = expand_dims(made, axis)
    return made


def require_matrices(what: str, x: Any) -> None:
    """TraceError unless x has rank 2 or more."""
    if x.ndim < 2:
        raise refusal(f"{what}: expected matrices, got {x!r}")


def _epsilon(x: Any) -> float:
    return float(np.finfo(numpy_dtype(element(x))).eps)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    svd, svdvals, eigh, eigvalsh, eig, eigvals, qr, pinv, matrix_rank, lstsq,
)  # fmt: skip
