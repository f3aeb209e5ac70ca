"""PyTorch's linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import spread
from gradir.frontends.imported.torch_rules.arguments import AtenRules, kinds, typed
from gradir.frontends.imported.torch_rules.elementwise import set_data
from gradir.frontends.scipy import linalg as scipy_linalg
from gradir.frontends.scipy import lu_factors, matrix_exponential
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.markers import no_grad

RULES = AtenRules()
la: Any = gnp.linalg


def _turned(x: Any) -> Any:
    return gnp.matrix_transpose(x)


def _info(call: Any, x: Any) -> Any:
    """What functions that do not check say as well: 0, no error."""
    return spread(0, x.shape[:-2], kinds(call)[-1])


@RULES.aten("linalg_cholesky", "cholesky", note="of the lower triangle, which has the derivative")
def _cholesky(call: Any, x: Any, upper: bool = False) -> Any:
    return la.cholesky(x, upper=upper)


@RULES.aten("linalg_cholesky_ex")
def _cholesky_ex(call: Any, x: Any, upper: bool = False, check_errors: bool = False) -> Any:
    return la.cholesky(x, upper=upper), _info(call, x) if 1 in call["used"] else None


def _gram(factor: Any, upper: bool) -> Any:
    return gnp.matmul(_turned(factor), factor) if upper else gnp.matmul(factor, _turned(factor))


@RULES.aten("cholesky_solve")
def _cholesky_solve(call: Any, x: Any, input2: Any, upper: bool = False) -> Any:
    return la.solve(_gram(input2, upper), x)


@RULES.aten("cholesky_inverse")
def _cholesky_inverse(call: Any, x: Any, upper: bool = False) -> Any:
    return la.inv(_gram(x, upper))


def _solved_triangle(a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    if not left:
        return _turned(_solved_triangle(_turned(a), _turned(b), not upper, True, unit))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (gnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return scipy_linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unit)


@RULES.aten("linalg_solve_triangular")
def _solve_triangular(
    call: Any, x: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    return _solved_triangle(x, B, upper, left, unitriangular)


@RULES.aten("triangular_solve", note="its first result")
def _old_solve_triangular(
    call: Any, x: Any, A: Any, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    given = _turned(A) if transpose else A
    return _solved_triangle(given, x, upper != transpose, True, unitriangular), A


def _solved(a: Any, b: Any, left: bool) -> Any:
    if b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1]):
        return gnp.squeeze(la.solve(a, gnp.expand_dims(b, -1)), -1)
    return la.solve(a, b) if left else _turned(la.solve(_turned(a), _turned(b)))


@RULES.aten("linalg_solve")
def _solve(call: Any, x: Any, B: Any, left: bool = True) -> Any:
    return _solved(x, B, left)


@RULES.aten("linalg_solve_ex", "_linalg_solve_ex", note="its result, and no error")
def _solve_ex(call: Any, x: Any, B: Any, left: bool = True, check_errors: bool = False) -> Any:
    info = (
        _info(call, x) if max(call["used"]) == (1 if call.op == "linalg_solve_ex" else 3) else None
    )
    unread = [] if call.op == "linalg_solve_ex" else [None, None]
    return _solved(x, B, left), *unread, info


@RULES.aten("linalg_inv", "inverse")
def _inverse(call: Any, x: Any) -> Any:
    return la.inv(x)


@RULES.aten("linalg_inv_ex")
def _inverse_ex(call: Any, x: Any, check_errors: bool = False) -> Any:
    return la.inv(x), _info(call, x) if 1 in call["used"] else None


@RULES.aten("linalg_det", "det")
def _det(call: Any, x: Any) -> Any:
    return la.det(x)


@RULES.aten("_linalg_det", note="its first result")
def _det_parts(call: Any, x: Any) -> Any:
    return la.det(x), None, None


@RULES.aten("linalg_slogdet", "slogdet", "_linalg_slogdet", note="its first two results")
def _slogdet(call: Any, x: Any) -> Any:
    return (*la.slogdet(x), None, None)


@RULES.aten("logdet")
def _logdet(call: Any, x: Any) -> Any:
    sign, size = la.slogdet(x)
    return gnp.where(op.greater(sign, 0), size, np.nan).astype(x.dtype)


@RULES.aten("linalg_matrix_power", "matrix_power")
def _matrix_power(call: Any, x: Any, n: int) -> Any:
    return la.matrix_power(x, n)


@RULES.aten("linalg_matrix_exp", "matrix_exp")
def _matrix_exp(call: Any, x: Any) -> Any:
    return matrix_exponential.expm(x)


@RULES.aten("linalg_qr", "qr")
def _qr(call: Any, x: Any, mode: str = "reduced", some: bool = True) -> Any:
    chosen = mode if some else "complete"
    if chosen == "r":
        return spread(0, (0,), element(x)), la.qr(x, "r")
    return list(la.qr(x, chosen))


_ROWS = "the order of rows is a constant to derivatives"
_SIGNS = "vectors may have other signs than PyTorch's"


@RULES.aten("linalg_svd", "_linalg_svd", note=_SIGNS)
def _svd(
    call: Any,
    x: Any,
    full_matrices: bool | None = None,
    compute_uv: bool = True,
    driver: Any = None,
) -> Any:
    full = full_matrices if full_matrices is not None else call.op == "linalg_svd"
    if not compute_uv or call["used"] == (1,):
        return None, la.svdvals(x), None
    return list(la.svd(x, full_matrices=full))


@RULES.aten("svd", note=_SIGNS)
def _old_svd(call: Any, x: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return None, la.svdvals(x), None
    u, s, vh = la.svd(x, full_matrices=not some)
    return u, s, _turned(vh)


@RULES.aten("linalg_svdvals")
def _svdvals(call: Any, x: Any, driver: Any = None) -> Any:
    return la.svdvals(x)


def _symmetric(x: Any, triangle: str = "L") -> Any:
    """The matrix of one triangle, with the derivative of (x + x.T) / 2, as in PyTorch."""
    still = no_grad(x)
    part = gnp.triu(still) if triangle.upper() == "U" else gnp.tril(still)
    rest = gnp.triu(still, 1) if triangle.upper() == "U" else gnp.tril(still, -1)
    return set_data(op.multiply(op.add(x, _turned(x)), 0.5), op.add(part, _turned(rest)))


@RULES.aten("linalg_eigh", "_linalg_eigh", note=f"of one triangle; {_SIGNS}")
def _eigh(call: Any, x: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    given = _symmetric(x, UPLO)
    return list(la.eigh(given)) if compute_v else (la.eigvalsh(given), None)


@RULES.aten("linalg_eigvalsh")
def _eigvalsh(call: Any, x: Any, UPLO: str = "L") -> Any:
    return la.eigvalsh(_symmetric(x, UPLO))


@RULES.aten("linalg_pinv", "pinverse", note="tolerances must be known numbers")
def _pinv(
    call: Any, x: Any, rcond: Any = None, hermitian: bool = False, atol: Any = None,
    rtol: Any = None,
) -> Any:  # fmt: skip
    share = rcond if rtol is None else rtol
    if not isinstance(share, float | None) or atol not in (None, 0.0):
        raise refusal("linalg_pinv: tolerances must be known, and relative ones")
    return la.pinv(_symmetric(x) if hermitian else x, rtol=share, hermitian=hermitian)


@RULES.aten("linalg_norm", "linalg_matrix_norm", "nuclear_norm", "frobenius_norm")
def _norm(call: Any, x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    [x] = typed(call, x)
    axes = list(dim) if isinstance(dim, (list, tuple)) else dim
    if call.op == "linalg_matrix_norm":
        axes, ord = ([-2, -1] if dim is None else axes), "fro" if ord is None else ord
    ord = {"nuclear_norm": "nuc", "frobenius_norm": "fro"}.get(call.op, ord)
    if ord is None and call.op == "linalg_norm":
        whole = None if not axes else tuple(axes) if isinstance(axes, list) else axes
        return la.vector_norm(x, axis=whole, keepdims=keepdim)
    if isinstance(axes, list):
        axes = tuple(axes) if len(axes) > 1 else axes[0] if axes else None
    return la.norm(x, ord=ord, axis=axes, keepdims=keepdim)


@RULES.aten("linalg_vander")
def _vander(call: Any, x: Any, N: int | None = None) -> Any:
    count = x.shape[-1] if N is None else N
    rows = [op.pow(x, k) if k else gnp.ones_like(x) for k in range(count)]
    return gnp.reshape(op.stack(rows, axis=x.ndim), call.type.shape)


@RULES.aten("linalg_tensorinv")
def _tensorinv(call: Any, x: Any, ind: int = 2) -> Any:
    return la.tensorinv(x, ind)


@RULES.aten("linalg_tensorsolve")
def _tensorsolve(call: Any, x: Any, other: Any, dims: Sequence[int] | None = None) -> Any:
    return la.tensorsolve(x, other, None if dims is None else list(dims))


@RULES.aten("linalg_lstsq", note="its first result, of matrices of full rank")
def _lstsq(call: Any, x: Any, b: Any, rcond: Any = None, driver: Any = None) -> Any:
    return gnp.matmul(la.pinv(x), b), *[None] * 3


# LU factors.


@RULES.aten("linalg_lu_factor", "linalg_lu_factor_ex", "_lu_with_info", note=_ROWS)
def _lu_factor(call: Any, x: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    _require_pivots(call, pivot)
    both, rows = lu_factors.packed(x)
    pivots = lu_factors.exchanges(rows, min(x.shape[-2:])) + 1
    info = _info(call, x) if max(call["used"]) == 2 else None
    return both, gnp.astype(pivots, "int32"), info


@RULES.aten("linalg_lu", note=_ROWS)
def _lu(call: Any, x: Any, pivot: bool = True) -> Any:
    _require_pivots(call, pivot)
    return lu_factors.lu(x)


def _require_pivots(call: Any, pivot: bool) -> None:
    if not pivot:
        raise refusal(f"{call.op}: factors without pivots are not there, as in PyTorch on a CPU")


@RULES.aten("lu_unpack")
def _lu_unpack(
    call: Any, x: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    m, n = x.shape[-2:]
    count, none = min(m, n), gnp.zeros((0,), x.dtype)
    made = [none, none, none]
    if unpack_pivots:
        made[0] = lu_factors.permutation(lu_factors.order_of(LU_pivots - 1, m), x.dtype)
    if unpack_data:
        unit = gnp.eye(m, count, dtype=x.dtype)
        made[1:] = gnp.tril(x[..., :count], -1) + unit, gnp.triu(x[..., :count, :])
    return made


@RULES.aten("linalg_lu_solve")
def _solved_by_factors(
    call: Any, x: Any, pivots: Any, B: Any, left: bool = True, adjoint: bool = False
) -> Any:
    if not left:
        return _turned(_solved_by_factors(call, x, pivots, _turned(B), True, not adjoint))
    batch = np.broadcast_shapes(x.shape[:-2], B.shape[:-2])
    x, B = (gnp.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, B))
    pivots = gnp.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return lu_factors.lu_solve((x, pivots - 1), B, trans=int(adjoint))


@RULES.aten("lu_solve")
def _old_solved_by_factors(call: Any, x: Any, LU_data: Any, LU_pivots: Any) -> Any:
    return _solved_by_factors(call, LU_data, LU_pivots, x)


RULES.refuse(
    "there is no factorization of this kind", "linalg_ldl_solve", "linalg_householder_product"
)
