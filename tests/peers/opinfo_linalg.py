"""Torch's linear algebra and reductions under masks, as functions of ours.

A row is a function of ours, or a pair of it and one of torch's, where both have something to be
made equal first: the signs of singular vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from opinfo_bind import Function, plain, torch
from opinfo_elements import nan_median

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.frontends.tracing.tracer import Tracer
from gradir.scipy import linalg as scipy_linalg
from gradir.scipy import special

la: Any = gnp.linalg


def transposed(x: Any) -> Any:
    return gnp.matrix_transpose(x)


def adjoint(x: Any) -> Any:
    return gnp.conj(gnp.matrix_transpose(x))


def cholesky(x: Any, upper: bool = False) -> Any:
    return la.cholesky(x, upper=upper)


def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    # torch's derivative by the factor comes from the product, zeros of the triangle included
    return la.solve(adjoint(factor) @ factor if upper else factor @ adjoint(factor), b)


def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return la.inv(adjoint(factor) @ factor if upper else factor @ adjoint(factor))


def solve_triangular(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not left:
        return transposed(
            solve_triangular(
                transposed(a), transposed(b), upper=not upper, unitriangular=unitriangular
            )
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (gnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    return scipy_linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unitriangular)


def triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    given = transposed(a) if transpose else a
    y = solve_triangular(given, b, upper=upper != transpose, unitriangular=unitriangular)
    return y, a + 0 * y.sum()


def solve(a: Any, b: Any, left: bool = True) -> Any:
    is_vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if is_vector:
        return gnp.squeeze(la.solve(a, gnp.expand_dims(b, -1)), -1)
    return la.solve(a, b) if left else transposed(la.solve(transposed(a), transposed(b)))


def with_info(function: Function) -> Function:
    """What torch's functions that do not check say as well: 0, no error."""

    def wrapper(x: Any, *args: Any, check_errors: bool = False, **kwargs: Any) -> Any:
        return function(x, *args, **kwargs), gnp.zeros(x.shape[:-2], dtype="int32")

    return wrapper


def norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = x if dtype is None else gnp.astype(x, plain(dtype))
    axis = None if dim is None else dim if isinstance(dim, int) else tuple(dim)
    if ord is None:
        return la.vector_norm(x, axis=axis, keepdims=keepdim)
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    return la.norm(x, ord=ord, axis=axis, keepdims=keepdim)


def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    x = x if dtype is None else gnp.astype(x, plain(dtype))
    axis = (
        None if dim in (None, (), []) or not x.ndim else dim if isinstance(dim, int) else tuple(dim)
    )
    return la.vector_norm(x, ord=ord, axis=axis, keepdims=keepdim)


def matrix_norm(
    x: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Any:
    return la.norm(
        x if dtype is None else gnp.astype(x, plain(dtype)),
        ord=ord,
        axis=tuple(dim),
        keepdims=keepdim,
    )


def old_norm(
    x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    if p == "nuc":
        return matrix_norm(x, "nuc", (0, 1) if dim is None else dim, keepdim)
    return vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim, dtype)


def _spans(u: Any, s: Any, v: Any) -> Any:
    """What is unique of singular vectors: sizes of numbers, and the projectors on all others.

    The derivative of these is not torch's, which takes them for constants.
    """
    parts = [s]
    for vectors in (u, v):
        count = s.shape[-1]
        parts.append(abs(vectors[..., :count]))
        if vectors.shape[-1] > count:
            rest = vectors[..., count:]
            still = gradir.no_grad if isinstance(rest, Tracer | np.ndarray) else torch.detach
            parts.append(still(rest @ rest.mT.conj()))
    return parts


def svd(x: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        return la.svdvals(x)
    u, s, vh = la.svd(x, full_matrices=not some)
    return _spans(u, s, transposed(vh))


def torch_svd(x: Any, full_matrices: bool = True) -> Any:
    u, s, vh = torch.linalg.svd(x, full_matrices)
    return _spans(u, s, vh.mT)


def eigh(x: Any, UPLO: str = "L") -> Any:
    values, vectors = la.eigh(x, UPLO)
    return values, gnp.abs(vectors)


def mirrored(x: Any, triangle: str = "L") -> Any:
    """The matrix of a triangle: torch's derivatives by symmetric matrices are symmetric, ours by
    the triangle that is read."""
    part = x.tril() if triangle == "L" else x.triu()
    diagonal = x.diagonal(dim1=-2, dim2=-1)
    return part + part.mH - torch.diag_embed(diagonal.real.to(x.dtype))


def hermitian(x: Any) -> Any:
    """torch's derivatives of factors of complex matrices are not all Hermitian."""
    return (x + x.mH) / 2


def torch_cholesky(x: Any, upper: bool = False) -> Any:
    return torch.linalg.cholesky(hermitian(x), upper=upper)


def torch_eigh(x: Any, triangle: str) -> Any:
    values, vectors = torch.linalg.eigh(mirrored(x, triangle), triangle)
    return values, abs(vectors)


def qr(x: Any, some: bool = True) -> Any:
    return la.qr(x, "reduced" if some else "complete")


def pinv(x: Any, *args: Any, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    if np.ndim(rtol) or atol is not None:
        raise NotImplementedError("absolute tolerances, and those of each matrix")
    rtol = None if rtol is None else float(rtol)
    return la.pinv(x, rtol=rtol, hermitian=hermitian)


def matrix_rank(
    x: Any, *args: Any, tol: Any = None, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Any:
    if args and not isinstance(args[0], bool):
        tol = args[0]
    if rtol is not None and (tol is not None or atol is not None):
        raise NotImplementedError("two tolerances")
    return la.matrix_rank(x, tol=tol if atol is None else atol, rtol=rtol, hermitian=hermitian)


def lstsq(a: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    return la.pinv(a) @ b


def cross(a: Any, b: Any, dim: int = -1) -> Any:
    a, b = gnp.broadcast_arrays(a, b)
    return gnp.cross(a, b, axis=dim)


def logdet(x: Any) -> Any:
    sign, size = la.slogdet(x)
    if np.dtype(str(x.dtype)).kind == "c":
        return size + gnp.log(sign)
    return gnp.where(sign > 0, size, gnp.nan)


def slogdet(x: Any) -> Any:
    return tuple(la.slogdet(x))


# Under masks.


def under(function: Function, start: Any) -> Function:
    """A reduction of the elements that a mask lets through."""

    def wrapper(
        x: Any,
        *args: Any,
        dim: Any = None,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Any = None,
        **more: Any,
    ) -> Any:
        x = x if dtype is None else gnp.astype(x, plain(dtype))
        x = x if mask is None else gnp.where(mask, x, start)
        axis = dim if dim is None or isinstance(dim, int) else tuple(dim)
        if axis == ():
            axis = None
        return function(x, *args, axis=axis if x.ndim else None, keepdims=keepdim, **more)

    return wrapper


def counted(function: Function) -> Function:
    """mean, var and std under a mask."""

    def wrapper(
        x: Any,
        *,
        dim: Any = None,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Any = None,
        unbiased: Any = None,
        correction: Any = None,
    ) -> Any:
        axis = dim if dim is None or isinstance(dim, int) else tuple(dim)
        more: dict[str, Any] = {}
        if function is not gnp.mean:
            more["correction"] = int(unbiased is not False) if correction is None else correction
        where = None if mask is None else gnp.broadcast_to(mask, x.shape)
        return function(
            x, axis=axis if x.ndim and axis != () else None, keepdims=keepdim, where=where, **more
        )

    return wrapper


def along(function: Function, start: Any) -> Function:
    """A function along an axis, under a mask."""

    def wrapper(x: Any, dim: int, dtype: Any = None, mask: Any = None) -> Any:
        x = x if dtype is None else gnp.astype(x, plain(dtype))
        x = x if mask is None else gnp.where(mask, x, start)
        return (
            function(x, axis=dim)
            if x.ndim
            else gnp.reshape(function(gnp.reshape(x, (1,)), axis=0), ())
        )

    return wrapper


def masked_norm(
    x: Any, ord: float, dim: Any = None, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    start = {np.inf: -np.inf, -np.inf: np.inf}.get(ord, np.inf if ord < 0 else 0.0)
    given = x if mask is None else gnp.where(mask, x, start if ord != np.inf else 0.0)
    return vector_norm(given, ord, dim, keepdim, dtype)


LINALG: dict[str, Function | tuple[Function, Function]] = {
    "linalg.cholesky": (cholesky, torch_cholesky),
    "cholesky": (cholesky, torch_cholesky),
    "linalg.cholesky_ex": (
        with_info(cholesky),
        lambda x, upper=False, check_errors=False: torch.linalg.cholesky_ex(
            hermitian(x), upper=upper, check_errors=check_errors
        ),
    ),
    "cholesky_solve": cholesky_solve,
    "cholesky_inverse": cholesky_inverse,
    "linalg.solve_triangular": solve_triangular,
    "triangular_solve": triangular_solve,
    "linalg.solve": solve,
    "linalg.inv": la.inv,
    "linalg.inv_ex": with_info(la.inv),
    "linalg.solve_ex": lambda a, b, left=True, check_errors=False: (
        solve(a, b, left),
        gnp.zeros(a.shape[:-2], dtype="int32"),
    ),
    "linalg.det": la.det,
    "logdet": logdet,
    "linalg.slogdet": slogdet,
    "linalg.matrix_power": lambda x, n: la.matrix_power(x, n),
    "linalg.multi_dot": lambda xs: la.multi_dot(list(xs)),
    "linalg.cross": cross,
    "cross": lambda a, b, dim=None: cross(
        a, b, next(d for d, n in enumerate(a.shape) if n == 3) if dim is None else dim
    ),
    "linalg.vecdot": lambda a, b, dim=-1: la.vecdot(a, b, axis=dim),
    "linalg.cond": la.cond,
    "linalg.norm": norm,
    "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": matrix_norm,
    "norm": old_norm,
    "linalg.qr": lambda x, mode="reduced": (
        tuple(la.qr(x, mode)) if mode != "r" else (gnp.zeros(0), la.qr(x, "r"))
    ),
    "qr": lambda x, some=True: tuple(qr(x, some)),
    "linalg.svdvals": la.svdvals,
    "linalg.svd": (
        lambda x, full_matrices=True: svd(x, not full_matrices),
        lambda x, full_matrices=True: torch_svd(x, full_matrices),
    ),
    "svd": (
        lambda x, some=True, compute_uv=True: svd(x, some, compute_uv),
        lambda x, some=True, compute_uv=True: (
            torch_svd(x, not some) if compute_uv else torch.linalg.svdvals(x)
        ),
    ),
    "linalg.eigh": (eigh, lambda x, UPLO="L": torch_eigh(x, UPLO)),
    "linalg.eigvalsh": (
        lambda x, UPLO="L": la.eigvalsh(x, UPLO),
        lambda x, UPLO="L": torch.linalg.eigvalsh(mirrored(x, UPLO), UPLO),
    ),
    "linalg.pinv": pinv,
    "linalg.pinv[hermitian]": (
        pinv,
        lambda x, *a, hermitian=True, **k: torch.linalg.pinv(mirrored(x), *a, hermitian=True, **k),
    ),
    "linalg.pinv[singular]": lambda a, b: la.pinv(a @ transposed(b)),
    "pinverse": lambda x, rcond=1e-15: la.pinv(x, rtol=rcond),
    "linalg.matrix_rank": matrix_rank,
    "linalg.lstsq": (
        lstsq,
        lambda a, b, rcond=None, *, driver=None: torch.linalg.lstsq(a, b, rcond, driver=driver)[0],
    ),
    "linalg.tensorinv": lambda x, ind=2: la.tensorinv(x, ind),
    "linalg.tensorsolve": lambda a, b, dims=None: la.tensorsolve(a, b, dims),
    "linalg.vander": lambda x, N=None: gnp.stack(
        [gnp.atleast_1d(x) ** k for k in range(N or x.shape[-1])], axis=-1
    ),
    "matrix_exp": scipy_linalg.expm,
    "masked.sum": under(gnp.sum, 0.0),
    "masked.prod": under(gnp.prod, 1.0),
    "masked.amax": under(gnp.max, -np.inf),
    "masked.amin": under(gnp.min, np.inf),
    "masked.argmax": under(gnp.argmax, -np.inf),
    "masked.argmin": under(gnp.argmin, np.inf),
    "masked.logsumexp": under(special.logsumexp, -np.inf),
    "masked.median": lambda x, dim, keepdim=False, mask=None: nan_median(
        x if mask is None else gnp.where(mask, x, np.nan), dim, keepdim
    )[0],
    "masked.mean": counted(gnp.mean),
    "masked.var": (counted(gnp.var), lambda *a, **k: torch.masked.var(*a, **k).real),
    "masked.std": (counted(gnp.std), lambda *a, **k: torch.masked.std(*a, **k).real),
    "masked.cumsum": along(gnp.cumsum, 0.0),
    "masked.cumprod": along(gnp.cumprod, 1.0),
    "masked.softmax": along(nn.softmax, -np.inf),
    "masked.log_softmax": along(nn.log_softmax, -np.inf),
    "masked.softmin": along(nn.softmin, np.inf),
    "masked.norm": masked_norm,
    "masked.normalize": lambda x, ord, dim, eps=1e-12, dtype=None, mask=None: (
        nn.normalize(x if mask is None else gnp.where(mask, x, 0.0), ord, dim, eps)
        if x.ndim
        else _normal(x, ord, eps)
    ),
    "masked.logaddexp": lambda x, y, input_mask=None, other_mask=None, dtype=None: gnp.logaddexp(
        x if input_mask is None else gnp.where(input_mask, x, -np.inf),
        y if other_mask is None else gnp.where(other_mask, y, -np.inf),
    ),
}


def _normal(x: Any, ord: float, eps: float) -> Any:
    return gnp.reshape(nn.normalize(gnp.reshape(x, (1,)), ord, 0, eps), ())
