"""Rows of the op table for integers of all widths, at the ends of their ranges.

References are Python's integers: exact, then cut to the width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from integer_ends import TYPES, UNSIGNED, ends, pairs
from op_cases import Case
from op_references import Array


def cut(numbers: list[int], name: str) -> Array:
    """Integers to the width of a type."""
    bits = np.iinfo(name).bits
    return np.array([n % (1 << bits) for n in numbers], f"uint{bits}").astype(name)


def exact(function: Callable[[int, int], int]) -> Callable[..., Array]:
    """A function of Python's integers as one of two arrays."""

    def on_arrays(x: Array, y: Array) -> Array:
        return cut([function(*v) for v in zip(x.tolist(), y.tolist(), strict=True)], x.dtype.name)

    return on_arrays


def shifted(x: Array, y: Array, function: Callable[[int, int], int]) -> Array:
    """A shift of Python's integers; of a negative count, or a large one, by one bit of each."""
    bits = 8 * x.dtype.itemsize
    counts = [n if 0 <= n < bits else bits for n in y.tolist()]
    return cut([function(*v) for v in zip(x.tolist(), counts, strict=True)], x.dtype.name)


def _left(x: Array, y: Array) -> Array:
    return shifted(x, y, lambda n, count: n << count)


def _right(x: Array, y: Array) -> Array:
    return shifted(x, y, lambda n, count: n >> count)


def _ones(x: Array) -> Array:
    return np.array([abs(n).bit_count() for n in x.tolist()])


def _less(x: Array, y: Array) -> Array:
    return np.array([v < w for v, w in zip(x.tolist(), y.tolist(), strict=True)])


def _clipped(x: Array, min: int, max: int) -> Array:
    return np.array([sorted((min, n, max))[1] for n in x.tolist()], x.dtype)


def _taken(x: Array, at: Array) -> Array:
    return np.array([x.tolist()[n] for n in at.tolist()])


BINARY: dict[str, Callable[..., Array]] = {
    "subtract": exact(lambda x, y: x - y),
    "multiply": exact(lambda x, y: x * y),
    "maximum": exact(max),
    "minimum": exact(min),
    "floor_divide": exact(lambda x, y: x // y if y else 0),
    "remainder": exact(lambda x, y: x % y if y else 0),
}


def _sums(name: str) -> list[Case]:
    table = np.array(ends(name), name).reshape(2, -1)
    rows: list[list[int]] = table.tolist()

    def case(op: str, function: Callable[..., Any]) -> Case:
        return Case(op, [table], {"axis": 1}, cut([function(row) for row in rows], name))

    return [
        case("array.sum", sum),
        case("array.max", max),
        case("array.min", min),
        Case("array.sort", [table], {}, np.array([sorted(row) for row in rows], name)),
        Case(
            "array.argsort",
            [table],
            {"descending": True},
            np.array([range(len(r) - 1, -1, -1) for r in rows]),
        ),
    ]


def _bits(to: str) -> Callable[..., Array]:
    return lambda x: np.frombuffer(x.tobytes(), to)


CASES: tuple[Case, ...] = (
    *(
        Case("array.bitcast", [x], {}, _bits(to), results=[(x.shape, to)])
        for x, to in (
            (np.array([0, 2**31, 2**32 - 1, 0x3F800000], np.uint32), "float32"),
            (np.array([-1, 0, 0x3FF0000000000000], np.int64), "float64"),
            (np.array([-1, 5], np.int32), "uint32"),
        )
    ),
    *(Case("array.bitwise_left_shift", pairs(name), {}, _left) for name in TYPES),
    *(Case("array.bitwise_right_shift", pairs(name), {}, _right) for name in TYPES),
    *(Case("array.bitwise_count", [np.array(ends(name), name)], {}, _ones) for name in TYPES),
    *(Case(f"array.{op}", pairs(name), {}, f) for op, f in BINARY.items() for name in UNSIGNED),
    *(Case("array.less", pairs(name), {}, _less) for name in UNSIGNED),
    *(case for name in UNSIGNED for case in _sums(name)),
    Case(
        "array.pow",
        [np.array([3, 2, 2**63, 0], np.uint64), np.array([41, 2**63, 2, 0], np.uint64)],
        {},
        np.array([pow(3, 41, 2**64), 0, 0, 1], np.uint64),
    ),
    Case(
        "array.full",
        [],
        {"value": 2**64 - 1},
        np.array([2**64 - 1] * 2, np.uint64),
        results=[((2,), "uint64")],
    ),
    Case("array.iota", [], {"axis": 0}, np.arange(3, dtype=np.uint16), results=[((3,), "uint16")]),
    Case(
        "array.clip",
        [np.array(ends("uint64"), np.uint64)],
        {"min": 3, "max": 2**64 - 2},
        _clipped,
    ),
    Case("array.take", [(70,), np.array([69, 0], np.uint64)], {}, _taken),
    Case(
        "array.one_hot",
        [np.array([3, 0], np.uint16)],
        {"depth": 4},
        np.eye(4)[[3, 0]],
        results=[((2, 4), None)],
    ),
)
