"""The tables of points run: errors of each op's value and derivatives, in ulp."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp
from points_faults import FAULTS, ORDERS, Fault
from points_jets import DIGITS
from points_lines import Lines
from points_lines_run import points_of, run_on_lines
from points_made import Array, error_in_ulp, pairs, unary_points
from points_ops import Unary
from points_pairs import SIZES, Binary
from points_run import KINDS, run
from points_sized import Sized

Row = Unary | Binary | Lines

# An error beyond this is a fault: of a value, a first and a second derivative.
LIMITS = (4.0, 8.0, 16.0)


class Error(NamedTuple):
    """One result of an op at one point, and the right number."""

    line: str
    kind: str
    way: str  # native or interpreted
    result: str  # f, first0, forward0, second00, ...
    point: tuple[float, ...]
    got: float
    right: Any
    ulp: float

    @property
    def order(self) -> int:
        return order_of(self.result)

    @property
    def is_beyond(self) -> bool:
        return self.ulp > LIMITS[self.order]

    def __str__(self) -> str:
        place = ", ".join(map(repr, self.point))
        return (
            f"{self.line} at ({place}), {self.kind}, {self.way} {self.result}: got {self.got!r}, "
            f"right {mp.nstr(self.right, 20)}, {self.ulp:.3g} ulp"
        )


@cache
def order_of(result: str) -> int:
    return 0 if result.rstrip("0123456789") == "f" else 2 if result.startswith("second") else 1


def errors(row: Row) -> Iterator[Error]:
    """All results of a row's op at all of its points, in both types, natively and interpreted."""
    yield from _errors_on_lines(row) if isinstance(row, Lines) else _errors_at_points(row)


def _errors_on_lines(row: Lines) -> Iterator[Error]:
    for kind, dtype in KINDS.items():
        lines, info = points_of(row, dtype), np.finfo(dtype)
        found = run_on_lines(row, lines, kind)
        for k, line in enumerate(lines):
            point = tuple(map(float, line))
            with mp.workdps(DIGITS):
                answers = row.answers(point, float(info.tiny))
                seen: dict[tuple[int, float], float] = {}
                for result in _counted(answers, mp.mpf(2) ** int(info.maxexp)):
                    right = answers[result]
                    for way, results in found.items():
                        got = results[result][k]
                        # most numbers are found in several ways
                        if (key := (id(right), float(got))) not in seen:
                            seen[key] = error_in_ulp(got, right.number, right.size)
                        yield Error(
                            row.line, kind, way, result, point, key[1], right.number, seen[key]
                        )


def _counted(answers: dict[str, Sized], end: Any) -> list[str]:
    """The results that are compared: values, and derivatives where nothing overflows.

    Where one derivative does, the cotangents of 0 beside it make nan of it.
    """
    overflows = [
        order_of(result) for result, right in answers.items() if end <= abs(right.number) < mp.inf
    ]
    last = min(overflows, default=2)
    return [result for result in answers if order_of(result) in (0, *range(last + (not overflows)))]


def _errors_at_points(row: Unary | Binary) -> Iterator[Error]:
    for kind, dtype in KINDS.items():
        columns = _points(row, dtype)
        found = run(row.line, columns, kind)
        points = [tuple(map(float, p)) for p in zip(*columns, strict=True)]
        with mp.workdps(DIGITS):
            tables = [_Table(row, p, np.finfo(dtype)) for p in points]
            for way, results in found.items():
                for result, values in results.items():
                    for table, got in zip(tables, values, strict=True):
                        if result in table.answers:
                            yield table.error(kind, way, result, got)


class _Table:
    """What the results are at a point, and the errors of numbers that were found for them."""

    def __init__(self, row: Unary | Binary, point: tuple[float, ...], info: Any):
        self.row, self.point = row, point
        self.answers = {name: mp.mpf(number) for name, number in row.results(point).items()}
        self.overflows = abs(self.answers["f"]) >= mp.mpf(2) ** int(info.maxexp)
        # most numbers are found in several ways
        self.seen: dict[tuple[int, Any, float], float] = {}

    def error(self, kind: str, way: str, result: str, got: Any) -> Error:
        right, number = self.answers[result], float(got)
        key = order_of(result), right, number
        if key not in self.seen:
            self.seen[key] = self._ulp(order_of(result), got, right)
        return Error(self.row.line, kind, way, result, self.point, number, right, self.seen[key])

    def _ulp(self, order: int, got: Any, right: Any) -> float:
        if order > 0 and self.overflows and got == mp.sign(right) * inf:
            return 0.0  # the value is inf already
        ulp = error_in_ulp(got, right)
        scale = self.row.last_place_of(self.point, order) if ulp > 1 else 0
        return error_in_ulp(got, right, scale) if scale else ulp


def _points(row: Unary | Binary, dtype: Any) -> list[Array]:
    if isinstance(row, Unary):
        return [unary_points(dtype, row.near)]
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.array(SIZES).astype(dtype)
    sizes = np.unique(sizes[np.isfinite(sizes)])
    numbers = [*sizes, *-sizes[1:]]
    x, y = pairs(numbers, numbers, dtype)
    counts = np.array([row.holds(float(a), float(b)) for a, b in zip(x, y, strict=True)])
    return [x[counts].copy(), y[counts].copy()]


def fault_at(error: Error) -> Fault | None:
    """The known fault that an error belongs to."""
    for fault in FAULTS:
        if fault.line == error.line and fault.result in (error.result, ORDERS[error.order]):
            if fault.where(*error.point):
                return fault
    return None


def worst(found: list[Error]) -> dict[str, list[float]]:
    """By type the largest errors of native values, first and second derivatives, beside faults."""
    largest = {kind: [0.0, 0.0, 0.0] for kind in KINDS}
    for error in found:
        errors_, order = largest[error.kind], error.order
        if error.way == "native" and error.ulp > errors_[order] and fault_at(error) is None:
            errors_[order] = error.ulp
    return largest
