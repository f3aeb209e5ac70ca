"""gradir.numpy: products of vectors and matrices, and statistics made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gradir.dialects.array.triangles import DiagonalBackwardOp
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.shapes import is_inexact, tensor
from gradir.frontends.functions.arguments import axis_of, floating, number, with_dtype
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.creation import arange
from gradir.frontends.functions.parts import conjugate, of_parts, real
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.reductions import average, sum
from gradir.frontends.functions.shapes import atleast_1d, concatenate, stack
from gradir.frontends.functions.sugar import (
    einsum as _einsum,
)
from gradir.frontends.functions.sugar import (
    tensordot,
)
from gradir.frontends.functions.views import (
    expand_dims,
    moveaxis,
    reshape,
    transpose,
)
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted


def _pair(a: Any, b: Any) -> tuple[Any, Any]:
    return lifted(a), lifted(b)


def dot(a: Any, b: Any, out: None = None, *, precision: str | None = None) -> Tracer:
    """Products summed over the last axis of a and the last but one of b."""
    x, y = _pair(a, b)
    if not x.ndim or not y.ndim:
        return x * y
    return tensordot(x, y, ([x.ndim - 1], [y.ndim - 2 if y.ndim > 1 else 0]), precision)


def inner(a: Any, b: Any, *, precision: str | None = None) -> Tracer:
    """Products summed over the last axes."""
    x, y = _pair(a, b)
    if not x.ndim or not y.ndim:
        return x * y
    return tensordot(x, y, ([x.ndim - 1], [y.ndim - 1]), precision)


def vdot(a: Any, b: Any, *, precision: str | None = None) -> Tracer:
    """The sum of products of all elements in row-major order; a is conjugated."""
    x, y = _pair(a, b)
    x = conjugate(x)
    return tensordot(reshape(x, -1), reshape(y, -1), 1, precision)


def outer(a: Any, b: Any, out: None = None) -> Tracer:
    """y[i, j] = a[i] * b[j], both flattened.   vjp: ct b, a ct"""
    x, y = _pair(a, b)
    return op.outer(reshape(x, -1), reshape(y, -1))


def matvec(x1: Any, x2: Any) -> Tracer:
    """Matrices times vectors; leading axes broadcast."""
    return reshape_last(op.matmul(x1, expand_dims(x2, lifted(x2).ndim)))


def vecmat(x1: Any, x2: Any) -> Tracer:
    """Vectors times matrices; leading axes broadcast, and the vectors are conjugated."""
    x = conjugate(x1)
    made = op.matmul(expand_dims(x, x.ndim - 1), x2)
    return reshape(made, [*made.shape[:-2], made.shape[-1]])


def reshape_last(x: Any) -> Tracer:
    """x without its last axis, of extent 1."""
    return reshape(x, x.shape[:-1])


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Tracer:
    """The sum of products along an axis, `axis = -1`; x1 is conjugated, other axes broadcast.

    vjp: ct * x2, ct * conj(x1), summed over broadcast axes
    """
    return op.vecdot(conjugate(x1), x2, axis=axis)


def kron(a: Any, b: Any) -> Tracer:
    """Each element of a times all of b, as blocks."""
    x, y = _pair(a, b)
    rank = x.ndim if x.ndim > y.ndim else y.ndim
    m, n = ((*[1] * (rank - v.ndim), *v.shape) for v in (x, y))
    wide = [e for one in m for e in (one, 1)], [e for one in n for e in (1, one)]
    made: Any = reshape(x, wide[0]) * reshape(y, wide[1])
    return reshape(made, [p * q for p, q in zip(m, n, strict=True)])


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tracer:
    """The vector product along an axis of extent 3; of extent 2 a third element is 0."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    extents = x.shape[-1], y.shape[-1]
    if not set(extents) <= {2, 3}:
        raise refusal(f"cross: the axes must have extent 2 or 3, got {extents[0]} and {extents[1]}")
    (x0, x1, x2), (y0, y1, y2) = _components(x), _components(y)
    if x2 is None and y2 is None:
        return x0 * y1 - x1 * y0
    x2, y2 = (x0 * 0 if x2 is None else x2), (y0 * 0 if y2 is None else y2)
    made = stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0], -1)
    return moveaxis(made, -1, axisc)


def _components(x: Any) -> list[Any]:
    parts = [x[..., k] for k in range(x.shape[-1])]
    return [*parts, None] if len(parts) == 2 else parts


def einsum(
    *operands: Any, out: None = None, optimize: Any = False, precision: str | None = None
) -> Tracer:
    """The sum of products by an equation such as "ij,jk->ik", or by lists of axes.

    `optimize` is taken and has no effect: the compiler chooses the order. vjp: einsums of ct
    """
    del optimize
    equation, arrays = _equation(operands)
    return _einsum(equation, *arrays, precision=precision)


def _equation(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    if not operands or isinstance(operands[0], str):
        return (operands[0] if operands else ""), list(operands[1:])
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def word(axes: Sequence[Any]) -> str:
        return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)

    count = len(operands) // 2 * 2
    terms = ",".join(word(axes) for axes in operands[1:count:2])
    last = f"->{word(operands[-1])}" if len(operands) % 2 else ""
    return terms + last, list(operands[0:count:2])


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """NumPy's own answer for arrays of these shapes; nothing is computed."""
    equation, arrays = _equation(operands)
    empty = [np.broadcast_to(0.0, lifted(a).shape) for a in arrays]
    return np.einsum_path(equation, *empty, optimize=optimize)


# Statistics.


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Tracer:  # fmt: skip
    """The covariance matrix of variables, the rows of m (and of y), or columns without rowvar."""
    x = _variables(m, y, rowvar, dtype)
    ddof = int(not bias) if ddof is None else ddof
    return converted(_covariance(wide(x), ddof, fweights, aweights), element(x))


def _covariance(x: Any, ddof: int, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of the rows of x."""
    weights: Any = None
    for given in (fweights, aweights):
        if given is not None:
            more: Any = converted(lifted(given), element(x))
            weights = more if weights is None else weights * more
    if weights is None:
        scale: Any = x.shape[1] - ddof
        centred: Any = x - average(x, 1, keepdims=True)
        weighed = centred
    else:
        total: Any = sum(weights)
        lost: Any = ddof
        if aweights is not None and ddof:
            lost = ddof * sum(weights * lifted(aweights)) / total
        scale = total - lost
        centred = x - average(x, 1, weights, keepdims=True)
        weighed = centred * weights
    divisor = op.maximum(floating(scale).astype(x.real.dtype), 0)
    made = op.matmul(weighed, conjugate(transpose(centred))) / divisor
    return reshape(made, [n for n in made.shape if n != 1] if made.size == 1 else made.shape)


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    parts: list[Any] = []
    for given in (m, y):
        if given is None:
            continue
        x = floating(with_dtype(lifted(given), dtype))
        if x.ndim > 2:
            raise refusal(f"cov: expected arrays of rank <= 2, got {x!r}")
        x = atleast_1d(x)
        x = reshape(x, (1, x.size)) if x.ndim == 1 else x
        parts.append(x if rowvar or lifted(given).ndim < 2 else transpose(x))
    return parts[0] if len(parts) == 1 else concatenate(parts, 0)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tracer:
    """The correlation matrix of variables, as `cov`."""
    rows = _variables(x, y, rowvar, dtype)
    c = _covariance(wide(rows), 1)
    if not c.ndim:
        return converted(c / c, element(rows))
    deviation = op.sqrt(real(op.diagonal(c)))
    made = c / deviation[:, None] / deviation[None, :]
    return converted(of_parts(lambda x: op.clip(x, min=-1, max=1), made), element(rows))


# Diagonals.


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """The diagonal number `offset` of the planes of two axes, as the last axis.

    vjp: ct on that diagonal of zeros
    """
    return op.diagonal(_planes(a, axis1, axis2, "diagonal"), offset=number(offset, "offset"))


def _planes(a: Any, axis1: int, axis2: int, name: str) -> Tracer:
    x = lifted(a)
    if x.ndim < 2:
        raise refusal(f"{name}: expected an array of rank >= 2, got {x!r}")
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    if first == second:
        raise refusal(f"{name}: axis1 and axis2 must differ, got {axis1} and {axis2}")
    return moveaxis(x, (first, second), (-2, -1))


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Tracer:
    """The sum of the diagonal number `offset` of the planes of two axes; of integers in int64.

    vjp: ct on that diagonal of zeros
    """
    planes = with_dtype(_planes(a, axis1, axis2, "trace"), dtype)
    if is_inexact(element(planes)):
        return op.trace(planes, offset=number(offset, "trace: offset"))
    return sum(op.diagonal(planes, offset=number(offset, "trace: offset")), -1, dtype)


def diag(v: Any, k: int = 0) -> Tracer:
    """A matrix with a vector on its diagonal number k; of a matrix that diagonal."""
    x: Any = lifted(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise refusal(f"diag: expected an array of rank 1 or 2, got {x!r}")
    n, k = x.size, number(k, "diag: k")
    side = n + abs(k)
    if is_inexact(element(x)) and not is_extent(n):
        offset = k or None
        return emit_one(DiagonalBackwardOp, x, type=tensor([side, side], element(x)), offset=offset)
    first: Any = arange(n) if is_extent(n) else cast(Any, np).arange(n)
    places: Any = (first + (-k if k < 0 else 0)) * side + first + (k if k > 0 else 0)
    zeros = reshape(op.tile(reshape(converted(0, element(x)), 1), repeats=[side * side]), -1)
    return reshape(op.index_update(zeros, places, x, axis=0), (side, side))


def diagflat(v: Any, k: int = 0) -> Tracer:
    """A matrix with the elements of v on its diagonal number k."""
    return diag(reshape(v, -1), k)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    dot, inner, vdot, vecdot, outer, matvec, vecmat, kron, cross, einsum, einsum_path, cov,
    corrcoef, diagonal, trace, diag, diagflat,
)  # fmt: skip
