"""Rows of the op table for ops with loops of their own: cumulative ops, sorting, linear algebra."""

from __future__ import annotations

from math import inf, nan, prod
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


# Sorting: by Python's sort of lines, which is stable too.


def _order(line: Array, descending: bool) -> list[int]:
    """The places of a line in order; NaN is larger than all numbers."""

    def key(place: int) -> tuple[bool, float]:
        value = float(line[place])
        is_nan = value != value
        number = 0.0 if is_nan else value
        return (not is_nan, -number) if descending else (is_nan, number)

    return sorted(range(len(line)), key=key)


def _orders(x: Array, axis: int, descending: bool) -> Array:
    lines = _lines(x, axis)
    rows = [_order(line, descending) for line in lines]
    return np.array(rows, np.int64).reshape(lines.shape)


def _argsort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    return _back(_orders(x, axis, descending), x, axis)


def _sort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    lines = _lines(x, axis)
    rows = [line[order] for line, order in zip(lines, _orders(x, axis, descending), strict=True)]
    return _back(np.array(rows).reshape(lines.shape), x, axis)


def _top_k(x: Array, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]:
    order = _argsort(x, axis, largest)
    first = np.moveaxis(np.moveaxis(order, axis, 0)[:k], 0, axis)
    values = np.moveaxis(np.moveaxis(_sort(x, axis, largest), axis, 0)[:k], 0, axis)
    return values, first


_SORTED: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
    ((3, 4), {}),
    ((3, 4), {"axis": 0, "descending": True}),
    ((2, 5, 3), {"axis": 1}),
    ((2, 5, 3), {"axis": -1, "descending": True}),
    ((1,), {}),
    ((17,), {"axis": 0}),
    ((0,), {}),
    ((0, 3), {"axis": 1}),
    ((3, 0), {"axis": -1}),
)
# Ties, zeros of both signs, and NaN; a row of f64 that is too long to be sorted by counting.
_TIED = np.array([[2.0, -0.0, nan, 0.0, 2.0, -inf, 0.0], [nan, 1, inf, nan, 1, -0.0, 0.0]])
_LONG = np.random.default_rng(5).integers(-40, 40, (2, 300)) / 8


def _sorts() -> list[Case]:
    both: tuple[dict[str, Plain], ...] = ({}, {"descending": True})
    tied = (_TIED, _LONG, np.array([[3, -7, 3, 0, -7]], np.int8), np.array([5, 1, 255], np.uint8),
            np.array([2**40, -(2**60), 3]))  # fmt: skip
    picked: tuple[tuple[tuple[int, ...], dict[str, Plain]], ...] = (
        ((3, 7), {"k": 2}),
        ((7, 3), {"k": 3, "axis": 0, "largest": False}),
        ((4,), {"k": 4}),
        ((4,), {"k": 0}),
        ((1,), {"k": 1}),
        ((0, 4), {"k": 2}),
    )
    return [
        *(Case("array.sort", [s], a, _sort) for s, a in _SORTED),
        *(Case("array.sort", [x], a, _sort, is_derivative=False) for x in tied for a in both),
        *(Case("array.argsort", [s], a, _argsort) for s, a in _SORTED),
        *(Case("array.argsort", [x], a, _argsort) for x in tied for a in both),
        *(Case("array.top_k", [s], a, _top_k) for s, a in picked),
        *(Case("array.top_k", [x], {"k": k, "largest": largest}, _top_k, is_derivative=False)
          for x in (_TIED, _LONG) for k in (3, 7) for largest in (True, False)),
        Case("array.top_k", [_LONG], {"k": 200}, _top_k, is_derivative=False),
    ]  # fmt: skip


CASES: tuple[Case, ...] = (*_cumulatives(), *_sorts())
