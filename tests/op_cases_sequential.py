"""Rows of the op table for ops with loops of their own: cumulative ops, sorting, linear algebra."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array, Reference

from gradir.dialects.attributes import Plain


def _lines(x: Array, axis: int) -> Array:
    """The lines of x along an axis, as rows."""
    moved = np.moveaxis(x, axis, -1)
    return moved.reshape(prod(moved.shape[:-1]), moved.shape[-1])


def _back(rows: Array, x: Array, axis: int) -> Array:
    """Rows in place of the lines of x along an axis."""
    moved = np.moveaxis(x, axis, -1).shape
    return np.moveaxis(rows.reshape(*moved[:-1], rows.shape[-1]), -1, axis)


def _cumulative(reduce: Any) -> Reference:
    """Each element from the elements before it, by their definition."""

    def function(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
        lines, keep = _lines(x, axis), 0 if exclusive else 1
        result = np.zeros(lines.shape)
        count = lines.shape[1]
        for row, line in enumerate(lines):
            for k in range(count):
                part = line[k + 1 - keep :] if reverse else line[: k + keep]
                result[row, k] = reduce(part)
        return _back(result, x, axis)

    return function


def _linear_recurrence(
    a: Array, u: Array, axis: int = 0, reverse: bool = False, lagged: bool = False
) -> Array:
    """The sum of all u[j] times the coefficients between j and i."""
    factors, added = _lines(a, axis), _lines(u, axis)
    if reverse:
        factors, added = factors[:, ::-1], added[:, ::-1]
    result, shift = np.zeros(added.shape), 0 if lagged else 1
    for row, (line, terms) in enumerate(zip(factors, added, strict=True)):
        for i in range(len(terms)):
            products = [prod(line[j + shift : i + shift].tolist()) for j in range(i + 1)]
            result[row, i] = np.dot(products, terms[: i + 1])
    return _back(result[:, ::-1] if reverse else result, u, axis)


def _shift(x: Array, axis: int, by: int) -> Array:
    lines = _lines(x, axis)
    result = np.zeros(lines.shape)
    for place in range(lines.shape[1]):
        if 0 <= place - by < lines.shape[1]:
            result[:, place] = lines[:, place - by]
    return _back(result, x, axis)


_SCANNED: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
    ((3, 4), {"axis": 1}),
    ((3, 4), {"axis": 0, "exclusive": True}),
    ((3, 4), {"axis": -1, "reverse": True}),
    ((2, 3, 2), {"axis": 1, "reverse": True, "exclusive": True}),
    ((9, 3), {"axis": -1, "exclusive": True}),
    ((1,), {}),
    ((17,), {"axis": 0}),
    ((0,), {}),
    ((0, 3), {"axis": 1}),
    ((3, 0), {"axis": -1}),
    ((2, 0), {"axis": 0}),
    ((4, 0), {"axis": 1, "exclusive": True}),
)


def _cumulatives() -> list[Case]:
    zeros = np.array([[2.0, 0.0, -1.5, 3.0], [0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]])
    return [
        *(Case("array.cumulative_sum", [s], a, _cumulative(np.sum)) for s, a in _SCANNED),
        *(Case("array.cumulative_prod", [s], a, _cumulative(np.prod)) for s, a in _SCANNED),
        Case("array.cumulative_prod", [zeros], {"axis": 1}, _cumulative(np.prod)),
        Case("array.cumulative_prod", [zeros], {"axis": 0, "exclusive": True, "reverse": True},
             _cumulative(np.prod)),
        *(Case("grad.linear_recurrence", [s, s], a | {"reverse": reverse, "lagged": lagged},
               _linear_recurrence)
          for s, a in (((3, 4), {"axis": 1}), ((3, 4), {"axis": 0}), ((2, 0), {"axis": 1}))
          for reverse in (False, True) for lagged in (False, True)),
        Case("grad.shift", [(3, 4)], {"axis": 1, "by": 1}, _shift),
        Case("grad.shift", [(3, 4)], {"axis": 0, "by": -2}, _shift),
        Case("grad.shift", [(3,)], {"axis": 0, "by": 5}, _shift),
    ]  # fmt: skip


CASES: tuple[Case, ...] = (*_cumulatives(),)
