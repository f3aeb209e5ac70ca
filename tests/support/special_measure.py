"""Writes special_worst.json: the largest errors of gradir.scipy.special, stated in docs/numpy.md.

Native values, first and second derivatives are measured in f64, in ulp and rounded up to a
half, without the known faults. Run it beside `make docs`:
`python tests/support/special_measure.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

from points_faults import ORDERS, Fault
from points_measure import rounded_up
from special_check import SpecialError, errors_of_special
from special_faults import FAULTS
from special_rows import ROWS

WORST = Path(__file__).parent / "special_worst.json"


def stated() -> dict[str, list[float]]:
    """The errors by function and order."""
    return json.loads(WORST.read_text())


def fault_of(error: SpecialError) -> Fault | None:
    """The known fault that an error belongs to."""
    for fault in FAULTS:
        if fault.line == error.name and fault.result == ORDERS[error.order]:
            if fault.where(*error.place):
                return fault
    return None


def worst_of(found: list[SpecialError]) -> list[float]:
    """The largest errors by order, beside faults."""
    largest = [0.0] * (1 + max(error.order for error in found))
    for error in found:
        if fault_of(error) is None:
            largest[error.order] = max(largest[error.order], error.ulp)
    return rounded_up(largest)


def main() -> None:
    measured = {row.name: worst_of(list(errors_of_special(row))) for row in ROWS}
    lines = [f"{json.dumps(name)}: {json.dumps(ulps)}" for name, ulps in sorted(measured.items())]
    WORST.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
