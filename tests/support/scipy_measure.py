"""Writes special_worst.json and stats_worst.json: the largest errors that docs/numpy.md states.

Native values, first and second derivatives are measured in f64 and f32, in ulp and rounded up to
a half, without the known faults. Run it beside `make docs`: `python
tests/support/scipy_measure.py`, with names of rows for theirs alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from points_faults import ORDERS, Fault
from points_measure import rounded_up
from scipy_check import SUPPORT, TABLES, ScipyError, errors_of
from scipy_faults import FAULTS
from scipy_rows import Row

TYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32}
Stated = dict[str, dict[str, list[float]]]


def stated() -> Stated:
    """The errors of rows, by name, type and order."""
    return {name: ulps for table in TABLES for name, ulps in _stated_of(table).items()}


def _stated_of(table: str) -> Stated:
    return json.loads(_file_of(table).read_text())


def _file_of(table: str) -> Path:
    return SUPPORT / f"{table}_worst.json"


def fault_of(error: ScipyError) -> Fault | None:
    """The known fault that an error belongs to."""
    for fault in FAULTS:
        if fault.line == error.name and fault.result == ORDERS[error.order]:
            if fault.where(*error.place):
                return fault
    return None


def worst_of(found: list[ScipyError]) -> list[float]:
    """The largest errors by order, beside faults."""
    largest = [0.0] * (1 + max(error.order for error in found))
    for error in found:
        if fault_of(error) is None:
            largest[error.order] = max(largest[error.order], error.ulp)
    return rounded_up(largest)


def _worst_by_type(row: Row) -> dict[str, list[float]]:
    return {kind: worst_of(list(errors_of(row, dtype=dtype))) for kind, dtype in TYPES.items()}


def main(names: list[str]) -> None:
    for table, rows in TABLES.items():
        found = _stated_of(table) if names else {}
        counts = [row for row in rows if not names or row.name in names]
        found |= {row.name: _worst_by_type(row) for row in counts}
        lines = [f"{json.dumps(name)}: {json.dumps(ulps)}" for name, ulps in sorted(found.items())]
        _file_of(table).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
