"""Writes points_worst.json: by op the largest errors that the tables of points find.

Native code's values, first and second derivatives are measured, by type, in ulp and rounded
up to a half, without the known faults. docs/ops.md states them. Run it beside `make docs`:
`python tests/support/points_measure.py` after a change of the ops' numerics.
"""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path

from points_check import errors, worst
from points_lines import LINES
from points_losses import LOSSES
from points_ops import UNARY
from points_pairs import BINARY

WORST = Path(__file__).parent / "points_worst.json"
ROWS = (*UNARY, *BINARY, *LOSSES, *LINES)

Worst = dict[str, dict[str, list[float]]]


def stated() -> Worst:
    """The errors by op, type and order of derivative."""
    return json.loads(WORST.read_text())


def rounded_up(ulps: list[float]) -> list[float]:
    return [ceil(2 * u) / 2 for u in ulps]


def measure() -> Worst:
    found: Worst = {}
    for row in ROWS:
        of_op = found.setdefault(row.op, {})
        for kind, ulps in worst(list(errors(row))).items():
            before = of_op.get(kind, [0.0] * len(ulps))
            of_op[kind] = [max(pair) for pair in zip(before, rounded_up(ulps), strict=True)]
    return found


def main() -> None:
    lines = [f"{json.dumps(op)}: {json.dumps(ulps)}" for op, ulps in sorted(measure().items())]
    WORST.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
