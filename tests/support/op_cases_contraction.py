"""Rows of the table: contractions of any axes, and plain sums of products as references."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array

from gradir.dialects.base.attributes import Plain


def _dot_general(
    lhs: Array,
    rhs: Array,
    lhs_batch: Any = (),
    rhs_batch: Any = (),
    lhs_contract: Any = (),
    rhs_contract: Any = (),
) -> Array:
    """Batch, own and summed axes of each factor in order, then a matrix product by elements."""

    def ordered(x: Array, batch: Any, summed: Any) -> tuple[Array, list[int], list[int]]:
        axes = [[int(a) % x.ndim for a in np.atleast_1d(given)] for given in (batch, summed)]
        free = [a for a in range(x.ndim) if a not in axes[0] + axes[1]]
        order = axes[0] + free + axes[1]
        shape = [[x.shape[a] for a in part] for part in (axes[0], free, axes[1])]
        moved = np.moveaxis(x, order, range(x.ndim)).reshape([prod(part) for part in shape])
        return moved, shape[0], shape[1]

    left, batch, rows = ordered(lhs, lhs_batch, lhs_contract)
    right, _, columns = ordered(rhs, rhs_batch, rhs_contract)
    result = np.sum(left[:, :, None, :] * right[:, None, :, :], axis=-1)
    return result.reshape(batch + rows + columns)


def _sum_of_products(terms: list[str], result: str, *xs: Array) -> Array:
    """Index by index; extents of 1 stand for every index."""
    sizes: dict[str, int] = {}
    for term, x in zip(terms, xs, strict=True):
        for label, n in zip(term, x.shape, strict=True):
            sizes[label] = max(n, sizes.get(label, n)) if n else 0
    total = np.zeros([sizes[label] for label in result])
    for place in product(*(range(n) for n in sizes.values())):
        at = dict(zip(sizes, place, strict=True))
        factors = [
            x[tuple(at[label] if n > 1 else 0 for label, n in zip(term, x.shape, strict=True))]
            for term, x in zip(terms, xs, strict=True)
        ]
        total[tuple(at[label] for label in result)] += np.prod(factors)
    return total


def _einsum(terms: str, result: str) -> Any:
    """The reference of an equation, given with a letter for each axis of an ellipsis too."""

    def reference(*xs: Array, equation: str) -> Array:
        return _sum_of_products(terms.split(","), result, *xs)

    return reference


def _outer(lhs: Array, rhs: Array) -> Array:
    return lhs[:, None] * rhs[None, :]


def _vecdot(lhs: Array, rhs: Array, axis: int = -1) -> Array:
    end = axis if axis < 0 else axis - lhs.ndim
    return np.sum(np.moveaxis(lhs, end, -1) * np.moveaxis(rhs, end, -1), axis=-1)


_DOT_GENERAL: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Plain]]] = [
    ((3, 4), (4, 5), {"lhs_contract": [1], "rhs_contract": [0]}),
    ((3, 4), (5, 4), {"lhs_contract": 1, "rhs_contract": -1}),
    ((2, 3, 4), (4, 2, 5), {"lhs_batch": [0], "rhs_batch": [1], "lhs_contract": [-1],
                            "rhs_contract": [0]}),
    ((2, 3, 4, 5), (5, 3, 2), {"lhs_contract": [1, 3], "rhs_contract": [1, 0]}),
    ((2, 3, 4), (3, 2, 5), {"lhs_batch": [1, 0], "rhs_batch": [0, 1]}),
    ((2, 3), (2, 3), {"lhs_batch": [0], "rhs_batch": [0], "lhs_contract": [1],
                      "rhs_contract": [1]}),
    ((2, 40), (40, 2), {"lhs_batch": [0], "rhs_batch": [1], "lhs_contract": [1],
                        "rhs_contract": [0]}),
    ((2, 3), (3, 2), {"lhs_contract": [0, 1], "rhs_contract": [1, 0]}),
    ((3,), (4, 2), {}),
    ((), (), {}),
    ((), (3,), {}),
    ((0, 4), (4, 5), {"lhs_contract": [1], "rhs_contract": [0]}),
    ((3, 0), (0, 5), {"lhs_contract": [1], "rhs_contract": [0]}),
    ((1, 1), (1, 1), {"lhs_contract": [1], "rhs_contract": [0]}),
    ((2, 17, 3), (3, 17, 5, 2), {"lhs_contract": [1], "rhs_contract": [1]}),
]  # fmt: skip

# Shapes, the equation, and where that says less than all, the terms and the result in full.
_EINSUM: list[tuple[list[tuple[int, ...]], str, str]] = [
    ([(3, 4), (4, 5)], "ij,jk->ik", "ij,jk->ik"),
    ([(3, 4), (4, 5)], "ij,jk", "ij,jk->ik"),
    ([(3, 4), (4, 5)], "ij,jk->ki", "ij,jk->ki"),
    ([(3, 4), (5, 4)], " i j , k j -> k i ", "ij,kj->ki"),
    ([(2, 3, 4), (2, 4, 5)], "bij,bjk->bik", "bij,bjk->bik"),
    ([(2, 3, 4), (4, 5)], "...ij,jk->...ik", "aij,jk->aik"),
    ([(2, 1, 3, 4), (3, 4, 5)], "...ij,...jk", "abij,bjk->abik"),
    ([(2, 3, 4)], "...j->j...", "abj->jab"),
    ([(3, 4), (3, 4)], "...,...->...", "ab,ab->ab"),
    ([(3, 4), (4,)], "...,...", "ab,b->ab"),
    ([(3, 3)], "ii", "ii->"),
    ([(3, 3)], "ii->i", "ii->i"),
    ([(2, 3, 2, 3)], "ijij->ji", "ijij->ji"),
    ([(2, 2, 2)], "iii->i", "iii->i"),
    ([(3, 3), (3,)], "ii,i->i", "ii,i->i"),
    ([(3, 4)], "ba", "ba->ab"),
    ([(3, 4)], "ij->", "ij->"),
    ([(2, 3, 4)], "ijk->ki", "ijk->ki"),
    ([(3, 4), (4, 5)], "ij,jk->k", "ij,jk->k"),
    ([(3, 4), (5,)], "ij,k->", "ij,k->"),
    ([(3,), (4,)], "i,j->ij", "i,j->ij"),
    ([(3,), (3,)], "i,i->", "i,i->"),
    ([(40,), (40,)], "i,i->", "i,i->"),
    ([(), (3,)], ",i->i", ",i->i"),
    ([()], "->", "->"),
    ([(3, 1), (4, 5)], "ij,jk->ik", "ij,jk->ik"),
    ([(1, 4), (3, 4), (1, 4)], "ij,ij,ij->j", "ij,ij,ij->j"),
    ([(2, 3), (3, 4), (4, 2)], "ij,jk,ki->", "ij,jk,ki->"),
    ([(2, 3), (3, 4), (4, 5)], "ab,bc,cd->da", "ab,bc,cd->da"),
    ([(2, 3), (2, 4), (2, 2), (3,)], "ia,ib,ic,a->bc", "ia,ib,ic,a->bc"),
    ([(0, 3), (3, 2)], "ij,jk->ik", "ij,jk->ik"),
    ([(2, 0), (0, 2)], "ij,jk->ik", "ij,jk->ik"),
    ([(0, 0)], "ii->i", "ii->i"),
    ([(17, 3), (3, 18)], "ij,jk->ik", "ij,jk->ik"),
    ([(2,)] * 9, "a,b,a,b,a,b,a,b,a->b", "a,b,a,b,a,b,a,b,a->b"),
]


def _cases() -> list[Case]:
    vecdot: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Plain]]] = [
        ((4,), (4,), {}),
        ((3, 4), (3, 4), {}),
        ((3, 4), (3, 4), {"axis": 0}),
        ((2, 3, 4), (3, 4), {"axis": -2}),
        ((3, 4), (4,), {}),
        ((2, 1, 4), (3, 4), {}),
        ((70,), (70,), {}),
        ((2, 0), (2, 0), {}),
        ((0, 2), (2,), {}),
    ]
    outer: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((3,), (4,)), ((1,), (17,)), ((0,), (3,)), ((3,), (3,)),
    ]  # fmt: skip
    return [
        *(Case("array.dot_general", [a, b], given, _dot_general) for a, b, given in _DOT_GENERAL),
        *(
            Case("array.einsum", shapes, {"equation": equation}, _einsum(*full.split("->")))
            for shapes, equation, full in _EINSUM
        ),
        *(Case("array.outer", pair, reference=_outer) for pair in outer),
        *(Case("array.vecdot", [a, b], given, _vecdot) for a, b, given in vecdot),
    ]


CASES: tuple[Case, ...] = tuple(_cases())
