"""gradir.scipy.linalg.lu, lu_factor and lu_solve: LU factors with partial pivoting.

The order of the rows is a constant to derivatives: factors are differentiated in the order taken,
which is the first one where two pivots are equally large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.linear_systems import LuFactorOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.scipy.calls import anywhere
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import lifted
from gradir.frontends.transforms.flow import fori_loop
from gradir.frontends.transforms.markers import no_grad


def _permuted(a: Any, rows: Any) -> Any:
    """The rows of matrices in an order."""
    shape = (*rows.shape, a.shape[-1])
    return gnp.take_along_axis(a, gnp.broadcast_to(rows[..., None], shape), axis=-2)


def factored(a: Any) -> tuple[Any, Any, Any]:
    """l, u and the order of the rows, with a[rows] = l u, of matrices [.., m, n]."""
    m, n = a.shape[-2:]
    unit = gnp.eye(min(m, n), dtype=a.dtype)
    if m == n:
        both, rows, _, _ = apply(LuFactorOp, {"a": a})
        return op.add(op.tril(both, k=-1), unit), op.triu(both), rows
    if m < n:
        low, high, rows = factored(a[..., :m])
        rest = _permuted(a[..., m:], rows)
        more = op.triangular_solve(low, rest, lower=True, unit_diagonal=True)
        return low, gnp.concatenate([high, more], -1), rows
    # columns of zeros exchange no row, and have no pivot, so that they only say the order
    none = gnp.zeros((*a.shape[:-1], m - n), a.dtype)
    rows = apply(LuFactorOp, {"a": no_grad(gnp.concatenate([a, none], -1))})[1]
    ordered = _permuted(a, rows)
    low, high, again = factored(ordered[..., :n, :])
    turned = gnp.matrix_transpose(ordered[..., n:, :])
    # x with x u = the other rows
    rest = op.triangular_solve(high, turned, lower=False, transpose=True)
    low = gnp.concatenate([low, gnp.matrix_transpose(rest)], -2)
    first = gnp.take_along_axis(rows[..., :n], again, axis=-1)
    return low, high, gnp.concatenate([first, rows[..., n:]], -1)


def _matrices(a: Any, name: str) -> Any:
    x = floating(a)
    if x.ndim < 2:
        raise refusal(f"{name}: expected matrices, got {x!r}")
    return x


def lu(a: Any, permute_l: bool = False, p_indices: bool = False) -> Any:
    """(p, l, u) with a = p l u, for matrices [.., m, n]: a permutation, l with ones on its diagonal
    and nothing above, u upper triangular.

    permute_l: (p l, u). p_indices: in place of p the rows of l in the order of a's, a = l[p] u.
    """
    low, high, rows = factored(_matrices(a, "lu"))
    places = gnp.argsort(rows, axis=-1)
    if permute_l:
        return _permuted(low, places), high
    if p_indices:
        return places, low, high
    return permutation(rows, gnp.real(low).dtype), low, high


def packed(a: Any) -> tuple[Any, Any]:
    """l below its diagonal of ones and u, in one matrix [.., m, n], and the order of the rows."""
    m, n = a.shape[-2:]
    if not a.size:
        return a, gnp.broadcast_to(gnp.arange(m), a.shape[:-1])
    if m == n:
        both, rows, _, _ = apply(LuFactorOp, {"a": a})
        return both, rows
    low, high, rows = factored(a)
    below, above = op.tril(low, k=-1), op.triu(high)
    if n > m:
        none = gnp.zeros((*a.shape[:-1], n - m), a.dtype)
        return op.add(op.concat([below, none], axis=-1), above), rows
    none = gnp.zeros((*a.shape[:-2], m - n, n), a.dtype)
    return op.add(below, op.concat([above, none], axis=-2)), rows


def exchanges(rows: Any, count: int) -> Any:
    """LAPACK's pivots of an order of rows: in step k, row k and row pivots[k] change places."""
    if not rows.size or not count:
        return rows[..., :count]
    numbers, steps = np.arange(rows.shape[-1]), np.arange(count)

    def step(k: Any, state: Any) -> Any:
        order, pivots = state
        wanted, here = gnp.take(rows, k, axis=-1), gnp.take(order, k, axis=-1)
        is_at = order == wanted[..., None]
        at = gnp.argmax(is_at, axis=-1)
        order = gnp.where(is_at, here[..., None], order)
        order = gnp.where(numbers == k, wanted[..., None], order)
        return order, gnp.where(steps == k, at[..., None], pivots)

    return fori_loop(0, count, step, (rows * 0 + numbers, rows[..., :count] * 0))[1]


def order_of(pivots: Any, size: int) -> Any:
    """The order of `size` rows that exchanges make."""
    count, numbers = pivots.shape[-1], np.arange(size)
    pivots = gnp.astype(pivots, "int64")
    start = gnp.broadcast_to(numbers, (*pivots.shape[:-1], size))
    if not pivots.size:
        return start

    def step(k: Any, order: Any) -> Any:
        at = gnp.take(pivots, k, axis=-1)[..., None]
        here = gnp.take(order, k, axis=-1)[..., None]
        is_at = numbers == at
        there = gnp.sum(gnp.where(is_at, order, 0), axis=-1, keepdims=True)
        order = gnp.where(is_at, here, order)
        return gnp.where(numbers == k, there, order)

    return fori_loop(0, count, step, start)


def permutation(rows: Any, dtype: Any) -> Any:
    """The matrix p with a = p b, for the rows b of a in an order."""
    places = gnp.argsort(rows, axis=-1)
    return gnp.astype(gnp.expand_dims(places, -1) == np.arange(rows.shape[-1]), dtype)


def lu_factor(a: Any) -> tuple[Any, Any]:
    """l, without its diagonal, and u in one matrix, and LAPACK's pivots; of a [.., n, n]."""
    x = _matrices(a, "lu_factor")
    if x.shape[-1] != x.shape[-2]:
        raise refusal(f"lu_factor: expected square matrices, got {x!r}; lu takes others")
    both, rows = packed(x)
    return both, exchanges(rows, x.shape[-1])


def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0) -> Any:
    """x with a x = b, from `lu_factor(a)`, b [.., n] or [.., n, m].

    trans: with 1 a^T x = b, with 2 a^H x = b.
    """
    both, pivots = floating(lu_and_piv[0]), lifted(lu_and_piv[1])
    right = floating(b)
    if trans not in (0, 1, 2):
        raise refusal(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    is_vector = right.ndim < both.ndim
    right = right[..., None] if is_vector else right
    if right.shape[-2] != both.shape[-1]:
        raise refusal(f"lu_solve: b must have {both.shape[-1]} rows, got {floating(b)!r}")
    if not both.shape[-1]:
        return floating(b)
    rows = order_of(pivots, both.shape[-1])
    if trans:
        both = gnp.conj(both) if trans == 2 else both
        inner = op.triangular_solve(both, right, lower=False, transpose=True)
        inner = op.triangular_solve(both, inner, lower=True, transpose=True, unit_diagonal=True)
        made = _permuted(inner, gnp.argsort(rows, axis=-1))
    else:
        inner = _permuted(right, rows)
        inner = op.triangular_solve(both, inner, lower=True, unit_diagonal=True)
        made = op.triangular_solve(both, inner, lower=False)
    return made[..., 0] if is_vector else made


COMPILED = {
    "lu": anywhere(lu, "gradir.scipy.linalg", ("permute_l", "p_indices"), takes_complex=True),
    "lu_factor": anywhere(lu_factor, "gradir.scipy.linalg", takes_complex=True),
    "lu_solve": anywhere(lu_solve, "gradir.scipy.linalg", ("trans",), takes_complex=True),
}
