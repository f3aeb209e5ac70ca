"""All rows of `make bench`, and one of them in a process that has its setting."""

from __future__ import annotations

import time

from rows import calling, compiling, jacobians, loops, networks, starting, sweeps, training
from rows.row import Outcome, Row, Run

ROWS: tuple[Row, ...] = (
    *training.ROWS,
    *networks.ROWS,
    *sweeps.ROWS,
    *loops.ROWS,
    *jacobians.ROWS,
    *compiling.ROWS,
    *starting.ROWS,
    *calling.ROWS,
)


def by_name(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def outcome_of(row: Row, run: Run) -> Outcome:
    """The figures of a row; where it misses what is asked for, also what stands in the way."""
    outcome, start = Outcome(row.name, run.setting), time.perf_counter()
    try:
        measured = row.measure(run)
        outcome.figures = measured.figures
        asked = [a for a in row.asked if a.holds_in(run.setting)]
        if measured.explain and any(a.is_met(measured.figures) is False for a in asked):
            outcome.why = measured.explain()
    except Exception as error:
        # the other rows go on; the exit code tells of it
        first_line = str(error).strip().partition("\n")[0]
        outcome.failed = f"{type(error).__name__}: {first_line}"
    outcome.seconds = time.perf_counter() - start
    return outcome
