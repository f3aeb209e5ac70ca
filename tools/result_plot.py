"""gradir-run --plot: results as curves over their last axis, a panel each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradir.errors import ArgumentError
from gradir.frontends.training.chart import Curve, Panel, chart
from gradir.runtime.arrays import Array

MOST_ROWS, MOST_POINTS, MOST_PANELS = 5, 2_000, 60
"""What is drawn of a result, and of many."""


def result_chart(results: Sequence[Array], labels: Sequence[str | None]) -> str:
    """The results as an SVG document; ArgumentError for more than MOST_PANELS."""
    if len(results) > MOST_PANELS:
        raise ArgumentError(f"--plot draws at most {MOST_PANELS} results, got {len(results)}")
    return chart(
        [_panel(k, r, label) for k, (r, label) in enumerate(zip(results, labels, strict=True))],
        "index",
    )


def _panel(number: int, result: Array, label: str | None) -> Panel:
    """A row for each index of the leading axes: the first ones, which the title says."""
    values = np.asarray(result).astype(np.float64)
    rows = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
    if values.ndim and not values.size:
        rows = rows[:0]
    name = f"result{number}" if label is None else f"result{number} %{label}"
    left_out = f", {MOST_ROWS} of {len(rows)} rows" if len(rows) > MOST_ROWS else ""
    shown = rows[:MOST_ROWS]
    names = [f"row {k}" if len(shown) > 1 else "" for k in range(len(shown))]
    curves = [Curve(each, _points(row)) for each, row in zip(names, shown, strict=True)]
    return Panel(name + left_out, curves)


def _points(row: Array) -> list[tuple[float, float]]:
    """The elements by their index; of a long row the least and the largest of each piece."""
    if len(row) <= MOST_POINTS:
        return [(float(k), float(x)) for k, x in enumerate(row)]
    found: set[int] = set()
    for piece in np.array_split(np.arange(len(row)), MOST_POINTS // 2):
        finite = np.nan_to_num(row[piece])
        found |= {int(piece[np.argmin(finite)]), int(piece[np.argmax(finite)])}
    return [(float(k), float(row[k])) for k in sorted(found)]
