"""The tables of gradir.scipy run: values and two derivatives natively, errors in ulp.

What is right is stored in special_answers.json and stats_answers.json, as mpmath takes minutes;
this file, run as a program, writes them anew, with names of rows theirs alone. Derivatives are
differences in many digits. An error is counted in units of the last place of a result, or of
what one such unit of an argument changes, where that is more. Results below the least normal number
are left out, and in float32 places that it has not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import special_rows
import stats_rows
from mpmath import mp
from points_made import error_in_ulp
from scipy_rows import Number, Row

import gradir
import gradir.numpy as gnp

SUPPORT = Path(__file__).parent
TABLES: dict[str, Sequence[Row]] = {"special": special_rows.ROWS, "stats": stats_rows.ROWS}
"""The rows of each module of gradir.scipy."""
DIGITS = 50
STEP = mp.mpf(10) ** -16


@dataclass(frozen=True)
class ScipyError:
    """A value of a function or its derivative at a place, and the right one.

    `name` is the row's, with " f32" behind it for results in float32.
    """

    name: str
    order: int
    place: tuple[float, ...]
    got: float
    right: Number
    ulp: float

    def __str__(self) -> str:
        return (
            f"{self.name} at {self.place}, derivative {self.order}: got {self.got!r}, "
            f"right {mp.nstr(self.right, 20)}, {self.ulp:.3g} ulp"
        )


def errors_of(
    row: Row, order: int = 2, is_native: bool = True, dtype: Any = np.float64
) -> Iterator[ScipyError]:
    """The errors of a function and its derivatives up to an order."""
    chosen = [k for k, place in enumerate(row.places) if _has_place(dtype, place, row)]
    places = [row.places[k] for k in chosen]
    made = _found(row, places, min(order, row.order), is_native, dtype)
    name = row.name if dtype is np.float64 else f"{row.name} f32"
    for n, (found, answers) in enumerate(zip(made, stored()[row.name], strict=False)):
        for place, got, k in zip(places, found, chosen, strict=True):
            with mp.workdps(DIGITS):
                right, size = map(mp.mpf, answers[k])
                if 0 < abs(right) < np.finfo(dtype).tiny:
                    continue
                ulp = error_in_ulp(got, right, size)
            yield ScipyError(name, n, place, float(got), right, ulp)


def _has_place(dtype: Any, place: tuple[float, ...], row: Row) -> bool:
    """Whether a type has numbers so near to those of a place that they are not ends."""
    info = np.finfo(dtype)
    with np.errstate(over="ignore", under="ignore"):
        near = [float(dtype(x)) for x in place]
    return all(
        one == x or (float(info.tiny) < abs(x) < float(info.max) and one not in row.ends)
        for one, x in zip(near, place, strict=True)
    )


@cache
def stored() -> dict[str, list[list[tuple[str, str]]]]:
    """The right values and sizes at a row's places, by name and order."""
    return {name: column for table in TABLES for name, column in _stored_of(table).items()}


def _stored_of(table: str) -> dict[str, list[list[tuple[str, str]]]]:
    return json.loads(_file_of(table).read_text())


def _file_of(table: str) -> Path:
    return SUPPORT / f"{table}_answers.json"


def _found(
    row: Row, places: Sequence[tuple[float, ...]], order: int, is_native: bool, dtype: Any
) -> list[Any]:
    """The function and its derivatives at all places, by one function."""
    *others, x = (np.array(column).astype(dtype) for column in zip(*places, strict=True))

    def first(x: Any) -> Any:
        return gradir.grad(lambda x: gnp.sum(row.function(*others, x)))(x)

    def every(x: Any) -> list[Any]:
        made = [row.function(*others, x), first(x)]
        return made if order < 2 else [*made, gradir.jvp(first, (x,), (np.ones_like(x),))[1]]

    if is_native:
        return list(gradir.jit(every)(x))
    module = gradir.trace(every, x)
    return list(gradir.interpret(module, module.functions[-1], x))


def answers_at(row: Row, place: tuple[float, ...]) -> list[tuple[Number, Number]]:
    """The value and its derivatives, and the sizes that errors are relative to."""
    distance = min(
        (abs(place[-1] - end) for end in (0.0, *row.ends) if end != place[-1]), default=1
    )
    with mp.workdps(row.digits + int(3 * max(0, -log10(distance)))):
        return _differences(row, [mp.mpf(x) for x in place], mp.mpf(distance) * STEP)


def _differences(row: Row, place: list[Number], step: Number) -> list[tuple[Number, Number]]:
    *others, x = place

    def at(k: int) -> Number:
        return mp.re(row.meaning(*others, x + k * step))

    far, below, here, above, beyond = map(at, range(-2, 3))
    first = (8 * (above - below) - (beyond - far)) / (12 * step)
    second = (16 * (above + below) - (beyond + far) - 30 * here) / (12 * step**2)
    third = (beyond - far - 2 * (above - below)) / (2 * step**3)
    size = [max(abs(f), abs(x * g)) for f, g in ((here, first), (first, second), (second, third))]
    for k, other in enumerate(others):
        moved = [*others[:k], other * (1 + STEP), *others[k + 1 :]]
        size[0] = max(size[0], abs(mp.re(row.meaning(*moved, x)) - here) / STEP)
    return list(zip((here, first, second), size, strict=True))


def _answers_of(row: Row) -> list[list[tuple[str, str]]]:
    places = [answers_at(row, place) for place in row.places]
    return [
        [(str(mp.nstr(right, 22)), str(mp.nstr(size, 3))) for right, size in column]
        for column in list(zip(*places, strict=True))[: row.order + 1]
    ]


def main(names: list[str]) -> None:
    """Store the answers of all rows, or of some again."""
    for table, rows in TABLES.items():
        found = _stored_of(table) if names else {}
        found |= {row.name: _answers_of(row) for row in rows if not names or row.name in names}
        lines = [f"{json.dumps(name)}: {json.dumps(answers)}" for name, answers in found.items()]
        _file_of(table).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
