"""JAX's matrix factors, triangular systems, and linear systems that a program solves."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import factors
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.scipy.lu_factors import exchanges, order_of, packed
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.transforms.implicit import linear_solver

RULES = RuleTable("JAX")


@RULES.rule("cholesky", note="of the lower triangle, which has the whole derivative")
def _cholesky(call: Any, a: Any) -> Any:
    # of the lower triangle alone
    whole = op.add(op.tril(a), gnp.matrix_transpose(op.tril(a, k=-1)))
    return op.cholesky(whole)


@RULES.rule("triangular_solve")
def _triangular_solve(call: Any, a: Any, b: Any) -> Any:
    settings = {"lower": call["lower"], "unit_diagonal": call["unit_diagonal"] or None}
    transpose = call["transpose_a"]
    if call["left_side"]:
        return op.triangular_solve(a, b, transpose=transpose or None, **settings)
    # x a = b is a^T x^T = b^T
    turned = gnp.matrix_transpose(b)
    made = op.triangular_solve(a, turned, transpose=not transpose or None, **settings)
    return gnp.matrix_transpose(made)


@RULES.rule("lu", note="the order of rows is a constant to derivatives")
def _lu(call: Any, a: Any) -> list[Any]:
    both, rows = packed(a)
    swaps, order = (ELEMENTS[type_.dtype] for type_ in call.results[1:])
    pivots = exchanges(rows, min(a.shape[-2:]))
    return [both, converted(pivots, swaps), converted(rows, order)]


@RULES.rule("lu_pivots_to_permutation")
def _permutation(call: Any, pivots: Any) -> Any:
    return converted(order_of(pivots, call["permutation_size"]), call.element)


@RULES.rule("qr", note="without pivots")
def _qr(call: Any, a: Any) -> list[Any]:
    if call.params.get("pivoting"):
        raise refusal("qr: pivots are not there; call it with pivoting=False")
    made = factors.qr(a, "complete" if call["full_matrices"] else "reduced")
    return [made[0], made[1]]


@RULES.rule("svd", note="vectors may have other signs than JAX's")
def _svd(call: Any, a: Any) -> list[Any]:
    if call.params.get("subset_by_index") not in (None, (0, min(a.shape[-2:]))):
        raise refusal("svd: subset_by_index is not there; slice the factors")
    if not call["compute_uv"]:
        return [factors.svdvals(a)]
    u, s, vh = factors.svd(a, call["full_matrices"])
    return [s, u, vh]


@RULES.rule("eigh", note="vectors may have other signs than JAX's")
def _eigh(call: Any, a: Any) -> list[Any]:
    if call.params.get("subset_by_index") not in (None, (0, a.shape[-1])):
        raise refusal("eigh: subset_by_index is not there; slice the results")
    values, vectors = factors.eigh(a)
    return [vectors, values]


@RULES.rule("tridiagonal_solve", note="in time n ** 3")
def _tridiagonal(call: Any, low: Any, middle: Any, high: Any, b: Any) -> Any:
    n = middle.shape[-1]
    unit = np.eye(n)
    below, above = (gnp.astype(np.eye(n, k=k), b.dtype) for k in (-1, 1))
    whole = middle[..., None] * gnp.astype(unit, b.dtype)
    whole = whole + low[..., None] * below + high[..., None] * above
    return op.solve(whole, b)


# Systems that a program solves.


@RULES.rule("custom_linear_solve", note="its derivative is another solve")
def _linear_solve(call: Any, *operands: Any) -> Any:
    names = "matvec", "vecmat", "solve", "transpose_solve"
    lengths, at = call["const_lengths"], 0
    arrays, parts = dict[str, list[Any]](), dict[str, Any]()
    for name, graph in zip(names, call["jaxprs"], strict=True):
        count = getattr(lengths, name) or 0
        arrays[name], at = list(operands[at : at + count]), at + count
        if graph is not None:
            inner = call.replay.function(graph)
            parts[name] = lambda own, xs, inner=inner: inner(*own, *xs)
    return linear_solver(parts)(arrays, list(operands[at:]))
