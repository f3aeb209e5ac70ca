"""Rows of the op table for array's elementwise functions and reductions beyond the first ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
from op_cases import (
    INTEGERS,
    SHAPES,
    Case,
    binary,
    bools,
    empty_reduction,
    integers,
    reduction,
    unary,
)
from op_references import Array, Reference

from gradir.dialects.base.attributes import Plain


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(v) for v in x.ravel()]).reshape(x.shape)


def _half_even(x: Array) -> Array:
    return np.array([float(round(v)) for v in x.ravel()]).reshape(x.shape)


def _transcendental() -> list[Case]:
    return [
        *unary("array.exp2"),
        *unary("array.log2", lambda x: np.log(x) / math.log(2), (0.4, 3)),
        *unary("array.log10", lambda x: np.log(x) / math.log(10), (0.4, 3)),
        *unary("array.erfc", _erfc),
        *unary("array.cbrt", lambda x: np.sign(x) * np.abs(x) ** (1 / 3), (0.2, 3.0)),
        *unary("array.tan", lambda x: np.sin(x) / np.cos(x), (-1.3, 1.3)),
        *unary("array.asin", domain=(-0.9, 0.9)),
        *unary("array.acos", domain=(-0.9, 0.9)),
        *unary("array.atan"),
        *unary("array.sinh", lambda x: (np.exp(x) - np.exp(-x)) / 2),
        *unary("array.cosh", lambda x: (np.exp(x) + np.exp(-x)) / 2),
        *unary("array.asinh", lambda x: np.log(x + np.sqrt(x * x + 1))),
        *unary("array.acosh", lambda x: np.log(x + np.sqrt(x * x - 1)), (1.3, 4)),
        *unary("array.atanh", lambda x: np.log((1 + x) / (1 - x)) / 2, (-0.8, 0.8)),
        *unary("array.ceil", kinks=INTEGERS),
        *unary("array.round", _half_even, kinks=[k + 0.5 for k in INTEGERS]),
        Case("array.round", [np.array([0.5, 1.5, 2.5, -0.5, -1.5])], {}, np.array([0, 2, 2, 0, -2]),
             is_derivative=False),
        *unary("array.trunc", kinks=INTEGERS),
    ]  # fmt: skip


def _lgamma(x: Array) -> Array:
    return np.array([math.lgamma(v) for v in x.ravel()]).reshape(x.shape)


def _polygamma(x: Array, order: int) -> Array:
    """A long sum, and the first terms of its rest."""
    s, count = order + 1, 4000
    q = x[..., None] + np.arange(count)
    end = x + count
    sign = (-1.0) ** s * math.factorial(order)
    if order == 0:
        rest = np.log(end) - 0.5 / end - 1 / (12 * end**2) + 1 / (120 * end**4)
        return rest - np.sum(1 / q, axis=-1)
    rest = end**-order * (1 / order + 0.5 / end + s / (12 * end**2))
    return sign * (np.sum(q**-s, axis=-1) + rest)


def _gamma() -> list[Case]:
    rows = [
        *unary("array.lgamma", _lgamma, (0.3, 12)),
        Case("array.lgamma", [np.array([-0.3, -1.6, -3.5, -20.25, 1e-5, 2.7, 9.0])], {}, _lgamma,
             is_derivative=False),
        Case("array.lgamma", [np.array([-0.3, -1.6, -3.5])], {}, _lgamma),
    ]  # fmt: skip
    for order in (0, 1, 2, 5):
        name, given = "grad.polygamma", {"order": order}
        rows += [Case(name, [s], given, _polygamma, domain=(0.7, 6)) for s in SHAPES]
        rows.append(Case(name, [np.array([-0.4, -1.5, -2.6])], given, _polygamma))
    return rows


def _logic() -> list[Case]:
    pair = bools(0, 0, 1, 1), bools(0, 1, 0, 1)
    odd = np.array([0.0, -1.5, nan, inf, -inf])
    rows = [Case(f"array.logical_{name}", pair) for name in ("or", "xor")]
    for name in ("and", "or", "xor"):
        rows += [
            Case(f"array.bitwise_{name}", pair),
            Case(f"array.bitwise_{name}", [integers(5, -7, 12), integers(3, 255, -1)]),
            *(
                Case(f"array.bitwise_{name}", [integers(5, 7, 12, dtype=dtype)] * 2)
                for dtype in (np.int32, np.int8, np.uint8)
            ),
            Case(f"array.bitwise_{name}", [integers([], dtype=np.int64)] * 2),
        ]
    for name, holds in (("isnan", [2]), ("isinf", [3, 4]), ("isfinite", [0, 1])):
        expected = np.isin(np.arange(5), holds)
        rows += [Case(f"array.{name}", [odd], {}, expected), *unary(f"array.{name}")]
    return rows


def _clip() -> list[Case]:
    def clip(x: Array, min: float = -inf, max: float = inf) -> Array:
        return np.array([sorted((min, v, max))[1] for v in x.ravel()]).reshape(x.shape)

    return [
        *unary("array.clip", clip, attributes={"min": -0.7, "max": 1.1}, kinks=[-0.7, 1.1]),
        Case("array.clip", [(17,)], {"min": 0}, clip, kinks=[0]),
        Case("array.clip", [(17,)], {"max": 0.5}, clip, kinks=[0.5]),
        Case("array.clip", [(3,)], {}, clip),
        Case("array.clip", [integers(-3, 0, 5)], {"min": -1, "max": 2}, clip),
    ]


def _wrapped(base: int, exponent: int) -> int:
    """base ** exponent modulo 2 ** 64, as a signed number."""
    rest = pow(base, exponent, 2**64)
    return rest - 2**64 if rest >= 2**63 else rest


def _binary() -> list[Case]:
    parts = np.array([5.3, -5.3, 5.3, -5.3, 0.2, -7.0]), np.array([1.7, 1.7, -1.7, -1.7, 3.0, 2.0])
    smooth = [part[:5] for part in parts]

    def remainder(x: Array, y: Array) -> Array:
        return np.array([v % w for v, w in zip(x.ravel(), y.ravel(), strict=True)])

    def floor_divide(x: Array, y: Array) -> Array:
        return np.array([v // w for v, w in zip(x.ravel(), y.ravel(), strict=True)])

    rows = [
        *binary("array.pow", lambda x, y: np.exp(y * np.log(x)), domain=(0.4, 3)),
        Case("array.pow", [np.array([-1.5, -2.0, 3.0]), np.array([2.0, -3.0, 0.0])],
             {}, np.array([2.25, -0.125, 1.0]), is_derivative=False),
        Case("array.pow", [integers(3, -2, 7, -1, 1, 0, 2), integers(4, 5, 0, -3, -2, -1, -1)],
             {}, np.array([81, -32, 1, -1, 1, 0, 0])),
        Case("array.pow", [integers(3, -7, 2), integers(2**62 + 5, 41, 63)], {},
             np.array([_wrapped(3, 2**62 + 5), _wrapped(-7, 41), -(2**63)])),
        *binary("array.atan2"),
        *binary("array.hypot", lambda x, y: np.sqrt(x * x + y * y)),
        *binary("array.logaddexp", lambda x, y: np.log(np.exp(x) + np.exp(y))),
        *binary("array.copysign", kinks=[0]),
    ]  # fmt: skip
    whole = integers(7, -7, 7, -7, 5), integers(2, 2, -2, -2, 0)
    small = np.array([-128, -128, 127], np.int8), np.array([-1, 3, -128], np.int8)
    for op, reference, of_whole, of_small in (
        ("remainder", remainder, [1, 1, -1, -1, 0], [0, 1, -1]),
        ("floor_divide", floor_divide, [3, -4, -4, 3, 0], [-128, -43, -1]),
    ):
        name = f"array.{op}"
        rows += [
            Case(name, smooth, {}, reference),
            Case(name, [p.reshape(5, 1) for p in smooth]),
            Case(name, parts, {}, reference, is_derivative=False),
            Case(name, [np.array(5.3), np.array(-1.7)]),
            Case(name, [np.zeros(0)] * 2),
            Case(name, whole, {}, np.array(of_whole)),
            Case(name, small, {}, np.array(of_small)),
        ]
    return rows


def _prod(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """Element by element."""
    axes = _axes(axis, x)
    result = np.ones([1 if d in axes else n for d, n in enumerate(x.shape)])
    for place in np.ndindex(*x.shape):
        result[tuple(0 if d in axes else i for d, i in enumerate(place))] *= x[place]
    return result if keepdims else np.squeeze(result, axes)


def _axes(axis: Any, x: Array) -> tuple[int, ...]:
    given = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return tuple(sorted(a % x.ndim for a in given))


def _var(x: Array, axis: Any = None, keepdims: bool = False, correction: float = 0) -> Array:
    """From the sums of the numbers and of their squares."""
    axes = _axes(axis, x)
    count = math.prod(x.shape[a] for a in axes)
    squares = np.sum(x * x, axis=axes, keepdims=keepdims)
    sums = np.sum(x, axis=axes, keepdims=keepdims)
    return (squares - sums * sums / np.float64(count)) / np.float64(count - correction)


def _std(x: Array, **attributes: Any) -> Array:
    return np.sqrt(_var(x, **attributes))


def _norm(x: Array, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    axes = _axes(axis, x)
    if ord in (1, 2):
        return np.sum(np.abs(x) ** ord, axis=axes, keepdims=keepdims) ** (1 / ord)
    return np.max(np.abs(x), axis=axes, keepdims=keepdims, initial=0)


def _truth(python: Callable[[Iterable[bool]], bool]) -> Reference:
    def reference(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        axes = _axes(axis, x)
        kept = [1 if d in axes else n for d, n in enumerate(x.shape)]
        result = np.zeros(kept, bool)
        for place in np.ndindex(*kept):
            line = x[tuple(slice(None) if d in axes else i for d, i in enumerate(place))]
            result[place] = python(bool(v != 0) for v in np.ravel(line))
        return result if keepdims else np.squeeze(result, axes)

    return reference


def _place(better: Callable[[float, float], bool]) -> Reference:
    def first(line: Array) -> int:
        best = 0
        for k, v in enumerate(line):
            if not math.isnan(line[best]) and (math.isnan(v) or better(v, line[best])):
                best = k
        return best

    def reference(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
        lines = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
        found = np.array([first(line) for line in lines.reshape(-1, lines.shape[-1])], np.int64)
        if axis is None:
            return found.reshape([1] * x.ndim if keepdims else [])
        found = found.reshape(lines.shape[:-1])
        return np.expand_dims(found, axis) if keepdims else found

    return reference


def _with(rows: list[Case], **attributes: Plain) -> list[Case]:
    return [replace(row, attributes={**row.attributes, **attributes}) for row in rows]


def _products() -> list[Case]:
    zeros = np.array([[2.0, 0.0, -3.0, 1.5], [0.0, 4.0, 0.0, 1.0], [0.5, 3.0, -2.0, 1.0]])
    pairs = np.array([[[0.0, 2.0], [3.0, 0.0]], [[1.5, -1.0], [0.5, 2.5]]])
    return [
        *reduction("array.prod", _prod),
        *empty_reduction("array.prod", _prod),
        *(Case("array.prod", [zeros], {"axis": axis}, _prod) for axis in (0, 1, [0, 1])),
        Case("array.prod", [pairs], {"axis": [0, 2]}, _prod),
        Case("array.prod", [integers(3, -5, 2**40, 2**21)], {}, np.array(-15 * 2**61 + 2**65)),
        Case("array.prod", [integers([], dtype=np.int32)], {}, np.array(1)),
    ]


def _deviations() -> list[Case]:
    rows: list[Case] = []
    for op, reference in (("array.var", _var), ("array.std", _std)):
        corrected = [Case(op, [(3, 4)], {"axis": 1}, reference), Case(op, [(17,)], {}, reference)]
        rows += [
            *reduction(op, reference),
            *empty_reduction(op, reference),
            *_with(corrected, correction=1),
            *_with(corrected, correction=0.5, keepdims=True),
        ]
    return rows


def _norms() -> list[Case]:
    rows: list[Case] = []
    for order in (None, 1, 2, "inf", inf):
        given: dict[str, Plain] = {} if order is None else {"ord": order}
        plain = [*reduction("array.norm", _norm), *empty_reduction("array.norm", _norm)]
        signed = Case("array.norm", [np.array([[0.3, -1.2, 0.8], [2.0, 0.1, -1.9]])], {"axis": 1})
        low = [replace(row, domain=(0.3, 3)) for row in plain]
        rows += _with([*low, replace(signed, reference=_norm)], **given)
    return rows


def _truths_and_places() -> list[Case]:
    table = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0]], bool)
    rows: list[Case] = []
    for op, python in (("array.any", any), ("array.all", all)):
        reference = _truth(python)
        rows += [
            *reduction(op, reference),
            *empty_reduction(op, reference),
            *(Case(op, [table], {"axis": axis}, reference) for axis in (0, 1, [0, 1], list[int]())),
            Case(op, [np.array([[0.0, -0.0], [nan, 0.0], [nan, 2.0]])], {"axis": 1}, reference),
            Case(op, [integers([[0, -3], [0, 0]])], {"axis": -1, "keepdims": True}, reference),
        ]
    shapes: list[tuple[tuple[int, ...], dict[str, Plain]]] = [
        ((3, 4), {"axis": 0}), ((3, 4), {"axis": -1, "keepdims": True}), ((2, 3, 4), {"axis": [1]}),
        ((3, 4), {}), ((2, 3), {"keepdims": True}), ((), {}), ((1,), {"axis": 0}), ((17,), {}),
        ((2, 70), {"axis": 1}), ((33, 3), {"axis": 0}), ((0, 3), {"axis": 1}),
    ]  # fmt: skip
    odd = np.array([[1.0, 3.0, 3.0, -2.0], [-2.0, nan, 5.0, nan], [-inf, inf, inf, -inf]])
    for op, better in (("array.argmax", float.__gt__), ("array.argmin", float.__lt__)):
        reference = _place(lambda x, y, better=better: better(float(x), float(y)))
        rows += [Case(op, [shape], given, reference) for shape, given in shapes]
        rows += [
            Case(op, [odd], {"axis": 1}, reference),
            Case(op, [odd], {}, reference),
            Case(op, [integers(2, -7, 9, 9, -7)], {}, reference),
            Case(op, [np.array([200, 3, 255, 0, 255, 0], np.uint8)], {}, reference),
        ]
    return rows


CASES: tuple[Case, ...] = (
    *_transcendental(),
    *_gamma(),
    *_logic(),
    *_clip(),
    *_binary(),
    *_products(),
    *_deviations(),
    *_norms(),
    *_truths_and_places(),
)
