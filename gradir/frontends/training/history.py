"""What was measured in training: a row for each step and each epoch, as CSV and as a chart."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gradir.errors import ArgumentError
from gradir.frontends.training.chart import Curve, Panel, chart
from gradir.frontends.training.whole_files import as_path, write_whole

Better = Literal["lower", "higher"]
Per = Literal["epochs", "steps"]

COUNTS = ("step", "epoch", "rows")
"""The columns that count."""


class Table:
    """Rows of numbers by the names of their columns; nan where a row has no such number."""

    def __init__(self, columns: Mapping[str, Sequence[float]] | None = None):
        self.columns: dict[str, list[float]] = {k: list(v) for k, v in (columns or {}).items()}

    def __len__(self) -> int:
        return min(map(len, self.columns.values()), default=0)

    def put(self, at: int, row: Mapping[str, float]) -> None:
        """Write row `at`, behind the rows 0 to at - 1; those from there on are dropped."""
        for name in row:
            if name not in self.columns:
                self.columns[name] = [math.nan] * at
        for name, column in self.columns.items():
            column[at:] = [row.get(name, math.nan)]

    def first(self, count: int) -> Table:
        """A copy of the first rows."""
        return Table({name: column[:count] for name, column in self.columns.items()})

    def csv(self) -> str:
        """Comma-separated values, the names first; numbers read back as the same bits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        for row in zip(*self.columns.values(), strict=True):
            writer.writerow("" if math.isnan(x) else repr(x) for x in row)
        return text.getvalue()


class History:
    """`epochs` and `steps`: columns of numbers by their names.

    A step has its number from 1, its epoch, its rows, its loss, and the aux numbers of the loss
    function. An epoch has the means of these over its rows, and the metrics on held-out data.
    """

    def __init__(self, epochs: Table, steps: Table):
        self._tables: dict[str, Table] = {"epochs": epochs, "steps": steps}

    def __repr__(self) -> str:
        counts = " and ".join(f"{len(table)} {name}" for name, table in self._tables.items())
        return f"<gradir.History of {counts}>"

    @property
    def epochs(self) -> dict[str, list[float]]:
        return self._tables["epochs"].columns

    @property
    def steps(self) -> dict[str, list[float]]:
        return self._tables["steps"].columns

    def write_csv(self, path: Any, per: Per = "epochs") -> None:
        """Write the rows per "epochs" or "steps" as comma-separated values."""
        write_whole(as_path("path", path), self._table(per).csv())

    def write_svg(
        self,
        path: Any,
        per: Per = "epochs",
        name: str = "",
        beside: Mapping[str, History] | None = None,
    ) -> None:
        """Draw each column over the epochs or steps, with other histories `beside` this one."""
        histories = {name: self, **(beside or {})}
        write_whole(as_path("path", path), self._chart(per, histories))

    def _repr_html_(self) -> str:
        """The chart of the epochs, or of the steps before the first epoch is over."""
        return self._chart("epochs" if len(self._tables["epochs"]) else "steps", {"": self})

    def _table(self, per: Per) -> Table:
        if per not in self._tables:
            raise ArgumentError(f"per: expected 'epochs' or 'steps', got {per!r}")
        return self._tables[per]

    def _chart(self, per: Per, histories: Mapping[str, History]) -> str:
        tables = {name: history._table(per) for name, history in histories.items()}
        names = dict.fromkeys(n for t in tables.values() for n in t.columns if n not in COUNTS)
        panels = [
            Panel(
                name.replace("_", " "),
                [
                    Curve(label, list(zip(*(t.columns[c] for c in (per[:-1], name)), strict=True)))
                    for label, t in tables.items()
                    if name in t.columns
                ],
            )
            for name in names
        ]
        return chart(panels, per[:-1])


def epoch_means(steps: Table, rows: slice) -> dict[str, float]:
    """The means over some steps, by their rows."""
    weights = steps.columns["rows"][rows]
    return {
        name: weighted_mean(column[rows], weights)
        for name, column in steps.columns.items()
        if name not in COUNTS
    }


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """The mean of values that stand for several rows each; nan of no row."""
    pairs = [(v * w, w) for v, w in zip(values, weights, strict=True) if w]
    return sum(v for v, _ in pairs) / sum(w for _, w in pairs) if pairs else math.nan


def epochs_since_best(values: Sequence[float], better: Better) -> int:
    """How long ago the best of the values was, the first of equals; nan is never the best."""
    at, best, sign = -1, math.inf, 1.0 if better == "lower" else -1.0
    for k, value in enumerate(values):
        if sign * value < best:
            at, best = k, sign * value
    return len(values) - 1 - at
