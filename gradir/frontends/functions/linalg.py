"""gradir.numpy.linalg: NumPy's functions of matrices, which are on the last two axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from gradir.frontends.functions import factors
from gradir.frontends.functions.arguments import axes_of, axis_of, checked, floating, number
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.functions.parts import conjugate, is_complex_array
from gradir.frontends.functions.products import cross as _cross
from gradir.frontends.functions.products import outer
from gradir.frontends.functions.products import trace as _trace
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import max, min, sum
from gradir.frontends.functions.sugar import (
    pow,
    tensordot,
    where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """A vector's norm along one axis, a matrix's along two; without axes the norm of all elements.

    ord: of vectors any number, 2 by default; of matrices "fro" (the default), 1, -1, inf, -inf.
    vjp: of vectors ct * x * |x| ** (ord - 2) / y ** (ord - 1), 0 where y is 0; of "fro" as of 2
    """
    value = _lengths(x)
    if axis is None and ord is None:
        return op.norm(value, axis=list(range(value.ndim)), keepdims=keepdims or None)
    axes = axes_of(value, axis)
    if len(axes) == 1:
        return _vector_norm(value, axes, ord, keepdims)
    if len(axes) == 2:
        if ord in (2, -2, "nuc"):
            return factors.singular_norm(floating(x), axes, ord, keepdims)
        return _matrix_norm(value, axes, ord, keepdims)
    raise refusal(f"norm: one or two axes expected, got {len(axes)}; flatten x for a vector's norm")


def _lengths(x: Any) -> Tracer:
    """x as floats; complex numbers by their absolute values."""
    value = floating(x)
    return op.abs(value) if is_complex_array(value) else value


def _vector_norm(x: Any, axes: Sequence[int], ord: Any, keepdims: bool) -> Any:
    ord = 2 if ord is None else ord
    lines: Any = {"axis": list(axes), "keepdims": keepdims or None}
    match ord:
        case 1 | 2:
            return op.norm(x, ord=int(ord), **lines)
        case _ if ord == inf:
            return op.norm(x, ord="inf", **lines)
        case _ if ord == -inf:
            return min(op.abs(x), axes, None, keepdims)
        case 0:
            return converted(sum(op.not_equal(x, 0), axes, keepdims=keepdims), element(x))
        case int() | float() if ord == ord:
            return converted(_power_norm(wide(x), axes, ord, keepdims), element(x))
        case _:
            raise refusal(f"norm: ord of vectors must be a number, got {ord!r}")


def _power_norm(x: Any, axes: Sequence[int], ord: float, keepdims: bool) -> Any:
    """(sum of |x| ** ord) ** (1 / ord), with derivative 0 where it, or x of an ord < 1, is 0.

    What stands there in its place has that derivative, and a second one of nan if there is none.
    """
    size, zero = op.abs(x), op.equal(x, 0)
    each = pow(where(zero, 1, size), ord) if ord < 1 else pow(size, ord)
    if ord < 0:
        some = op.any(zero, axis=list(axes), keepdims=keepdims or None)
        root = pow(sum(each, axes, keepdims=keepdims), 1 / ord)
        return where(some, min(size, axes, None, keepdims) if x.size else 0, root)
    if ord < 1:
        each = where(zero, op.hypot(x, op.multiply(x, 0)), each)
    total = sum(each, axes, keepdims=keepdims)
    zero = op.equal(total, 0)
    length = op.norm(x, axis=list(axes), keepdims=keepdims or None)
    return where(zero, length, pow(where(zero, 1, total), 1 / ord))


def _matrix_norm(x: Any, axes: Sequence[int], ord: Any, keepdims: bool) -> Any:
    if ord in (None, "fro", "f"):
        return op.norm(x, axis=list(axes), keepdims=keepdims or None)
    if ord not in (1, -1, inf, -inf):
        raise refusal(
            f"norm: ord of matrices must be 'fro', 'nuc', 2, -2, 1, -1, inf or -inf, got {ord!r}"
        )
    rows, columns = axes
    summed, left = (rows, columns) if abs(ord) == 1 else (columns, rows)
    lengths = sum(op.abs(x), summed, keepdims=True)
    made = (max if ord > 0 else min)(lengths, left, None, True)
    return made if keepdims else op.squeeze(made, axis=list(axes))


def cond(x: Any, p: Any = None) -> Tracer:
    """The condition number norm(x) * norm(inv(x)) by the norm p, by default 2."""
    value = floating(x)
    factors.require_matrices("cond", value)
    if p in (None, 2, -2):
        s = factors.svdvals(value)
        most, least = s[..., 0], s[..., -1]
        return least / most if p == -2 else most / least
    return norm(value, p, (-2, -1)) * norm(op.inv(value), p, (-2, -1))


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tracer:
    """The norm of all elements as a vector, or of the vectors along axes."""
    value = _lengths(x)
    return _vector_norm(value, axes_of(value, axis), ord, keepdims)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Tracer:
    """The norm of the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def trace(x: Any, *, offset: int = 0, dtype: Any = None) -> Tracer:
    """The sum of the diagonal of the last two axes."""
    return _trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, *, offset: int = 0) -> Tracer:
    """The diagonal of the last two axes."""
    return op.diagonal(x, offset=number(offset, "diagonal: offset"))


def cross(x1: Any, x2: Any, *, axis: int = -1) -> Tracer:
    """The vector product along an axis of extent 3."""
    return _cross(x1, x2, axis=axis)


def solve(a: Any, b: Any) -> Tracer:
    """x with a x = b: of a vector b, else of matrices."""
    return op.solve(a, b)


def inv(a: Any) -> Tracer:
    """The inverse.   vjp: -y^T ct y^T"""
    return op.inv(a)


def det(a: Any) -> Tracer:
    """The determinant."""
    return op.det(a)


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its size."""

    sign: Tracer
    logabsdet: Tracer


def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its size."""
    return SlogdetResult(*op.slogdet(a))


def cholesky(a: Any, *, upper: bool = False) -> Tracer:
    """The lower factor of a symmetric positive matrix; the upper one on demand."""
    made = op.cholesky(a)
    return conjugate(matrix_transpose(made)) if upper else made


def matrix_power(a: Any, n: int) -> Tracer:
    """A matrix to an integer power; of the inverse for n < 0."""
    x = lifted(a)
    exponent = number(n, "matrix_power: n")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise refusal(f"matrix_power: expected square matrices, got {x!r}")
    if exponent < 0:
        return matrix_power(op.inv(x), -exponent)
    made: Any = broadcast_to(lifted(np.eye(x.shape[-1])).astype(x.dtype), x.shape)
    if not exponent:
        return made
    made = None
    while exponent:
        if exponent & 1:
            made = x if made is None else op.matmul(made, x)
        exponent >>= 1
        x = op.matmul(x, x) if exponent else x
    return cast(Tracer, made)


def multi_dot(arrays: Sequence[Any]) -> Tracer:
    """The product of several matrices; the first and the last may be vectors."""
    xs = [lifted(a) for a in arrays]
    if len(xs) < 2:
        raise refusal(f"multi_dot: at least two arrays expected, got {len(xs)}")
    # the cheapest order, as of NumPy, from the extents
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = expand_dims(xs[0], 0) if first else xs[0]
    xs[-1] = expand_dims(xs[-1], 1) if last else xs[-1]
    made: Any = _chain(xs)
    shape = [n for k, n in enumerate(made.shape) if not ((k == 0 and first) or (k == 1 and last))]
    return reshape(made, shape)


def _chain(xs: Sequence[Any]) -> Any:
    """The product in the order with the fewest multiplications."""
    n = len(xs)
    extents = [x.shape[0] for x in xs] + [xs[-1].shape[1]]
    best: dict[tuple[int, int], tuple[int, int]] = {(k, k): (0, k) for k in range(n)}
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            costs = [
                (
                    best[i, k][0]
                    + best[k + 1, j][0]
                    + extents[i] * extents[k + 1] * extents[j + 1],
                    k,
                )
                for k in range(i, j)
            ]
            best[i, j] = sorted(costs)[0]

    def product(i: int, j: int) -> Any:
        if i == j:
            return xs[i]
        k = best[i, j][1]
        return op.matmul(product(i, k), product(k + 1, j))

    return product(0, n - 1)


def tensorinv(a: Any, ind: int = 2) -> Tracer:
    """The inverse by `tensordot` over `ind` axes."""
    x = lifted(a)
    at = number(ind, "tensorinv: ind")
    first, last = x.shape[:at], x.shape[at:]
    count = 1
    for n in last:
        count *= n
    return reshape(op.inv(reshape(x, (count, count))), (*last, *first))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tracer:
    """x with tensordot(a, x, x.ndim) = b."""
    x, y = lifted(a), lifted(b)
    if axes is not None:
        moved = [axis_of(x, axis) for axis in axes]
        x = moveaxis(x, moved, range(x.ndim - len(moved), x.ndim))
    unknowns = x.shape[y.ndim :]
    return reshape(op.solve(reshape(x, (y.size, -1)), reshape(y, -1)), unknowns)


def matmul(x1: Any, x2: Any) -> Tracer:
    """The matrix product."""
    return op.matmul(x1, x2)


def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Tracer:
    """The sum of products along an axis; x1 is conjugated."""
    return op.vecdot(conjugate(x1), x2, axis=axis)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    norm, vector_norm, matrix_norm, trace, diagonal, cross, solve, inv, det, slogdet, cholesky,
    matrix_power, multi_dot, tensorinv, tensorsolve, matmul, vecdot, outer, tensordot,
    matrix_transpose, cond, *factors.FUNCTIONS,
)  # fmt: skip
BY_NAME = {f.__name__: eager(checked(f, f"linalg.{f.__name__}")) for f in FUNCTIONS}
ABSENT: dict[str, str] = {
    "test": "it is a part of NumPy of its own",
    "LinAlgError": "a singular matrix gives inf and nan, and raises no error",
}
"""NumPy's names that are not here, and why."""
DIFFERS = {
    "svd": "further vectors of `full_matrices` are others of the same space",
    "eig": "complex for matrices with real eigenvalues, too", "eigvals": "as `eig`",
    "eigh": "without `UPLO` it is of the symmetric part", "eigvalsh": "as `eigh`",
    "qr": 'no `mode` "raw"',
    "lstsq": "residuals do not depend on the rank",
    "inv": "a singular matrix gives inf and nan", "solve": "as `inv`", "cholesky": "as `inv`",
}  # fmt: skip
"""What differs from NumPy in functions that are here."""
globals().update(BY_NAME)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.numpy.linalg", ABSENT)


__all__ = [*BY_NAME]
