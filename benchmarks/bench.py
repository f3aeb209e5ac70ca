"""Prints all rows of the table: gradir's figures, those of peers, what is asked for, met or not.

Each setting (threads, busy processes beside) has a process of its own, in which the contenders of a
row take turns. Writes the section of docs/benchmarks.md that is made by it, and its picture.

    .venv/bin/python benchmarks/bench.py [--quick] [--only TEXT ...] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import harness
from busy import busy_processes
from rows import beside, report
from rows.row import Figure, Outcome, Row, Run, Setting
from rows.table import ROWS, by_name, outcome_of

DOCS = Path(__file__).parent.parent / "docs"
ROW_SECONDS = 240
"""A row that takes longer is ended."""

MARK = "outcome "
FULL, QUICK = (15, 0.1), (3, 0.03)
"""Turns of each contender, and the seconds of one."""

BUSY_TURN = 0.4
"""The seconds of a turn beside busy processes, where a core may be away for some milliseconds."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="shorter turns, fewer settings")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="rows with this in their names")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md and .svg")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(json.loads(options.child))
    head = about(options.quick)
    print(head, flush=True)
    outcomes: list[Outcome] = []
    for setting, rows in plan(options.quick, options.only).items():
        for outcome in outcomes_in(setting, rows, options.quick):
            print(report.text(outcome), flush=True)
            outcomes.append(outcome)
    outcomes.sort(key=lambda o: [row.name for row in ROWS].index(o.name))
    if options.write:
        write(outcomes, head)
    return int(any(outcome.failed for outcome in outcomes))


def plan(quick: bool, only: Sequence[str] | None) -> dict[Setting, list[Row]]:
    """The rows of each setting."""
    made: dict[Setting, list[Row]] = {}
    for row in ROWS:
        if only and not any(text in row.name for text in only):
            continue
        settings = row.settings if row.quick is None or not quick else row.quick
        for setting in settings:
            made.setdefault(setting, []).append(row)
    return made


def about(quick: bool) -> str:
    """When and where the figures are from."""
    load = os.getloadavg()[0]
    beside = "beside other processes" if load > 0.5 else "alone"
    versions = ", ".join(f"{k} {v}" for k, v in harness.installed_versions().items())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {harness.processor_name()}, {os.cpu_count()} "
        f"cores, {beside} (load {load:.1f} at the start){', quick version' if quick else ''}; "
        f"{versions}."
    )


def outcomes_in(setting: Setting, rows: Sequence[Row], quick: bool) -> Iterator[Outcome]:
    """The outcomes of rows; after one that ends its process, the others have a new one."""
    with busy_processes(setting.busy):
        left = list(rows)
        while left:
            for outcome in outcomes_of_child(setting, left, quick):
                yield outcome
                del left[0]
                if outcome.failed.startswith("the process"):
                    break


def outcomes_of_child(setting: Setting, rows: Sequence[Row], quick: bool) -> Iterator[Outcome]:
    """What a process says of rows; the last one failed if it ends before its time."""
    said = json.dumps(
        {"setting": asdict(setting), "quick": quick, "rows": [row.name for row in rows]}
    )
    command = [sys.executable, __file__, "--child", said]
    environment = os.environ | harness.child_environment(setting.threads)
    # without a buffer, in which a second line would wait unseen
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    ) as process:
        assert process.stdout is not None
        for row in rows:
            line = next_line(process.stdout)
            if line is None:
                process.kill()
                why = f"the process took more than {ROW_SECONDS} s, or ended"
                yield Outcome(row.name, setting, failed=why)
                return
            yield restored(json.loads(line))


def next_line(stream: Any) -> str | None:
    """The next outcome of a process; None where none comes in time."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select(ROW_SECONDS):
            line = stream.readline().decode("utf-8", "replace")
            if not line:
                return None
            if line.startswith(MARK):
                return line.removeprefix(MARK)
    return None


def restored(said: dict[str, Any]) -> Outcome:
    figures = [Figure(**each) for each in said["figures"]]
    setting = Setting(**said["setting"])
    return Outcome(said["name"], setting, figures, said["why"], said["failed"], said["seconds"])


def child(asked: dict[str, Any]) -> int:
    """Measure rows in this process, which has their setting."""
    setting = Setting(**asked["setting"])
    harness.pin_processors(setting.cores or setting.threads)
    rounds, turn = QUICK if asked["quick"] else FULL
    if setting.busy or setting.cores:
        turn = max(turn, BUSY_TURN)
    run = Run(setting, rounds, turn, asked["quick"])
    for name in asked["rows"]:
        print(MARK + json.dumps(asdict(outcome_of(by_name(name), run))), flush=True)
    return 0


def write(outcomes: Sequence[Outcome], head: str) -> None:
    """Put the figures into the documentation."""
    page = DOCS / "benchmarks.md"
    made = report.replaced(page.read_text("utf-8"), report.markdown(outcomes, head))
    page.write_text(made, "utf-8")
    (DOCS / "benchmarks.svg").write_text(report.picture(outcomes, head), "utf-8")
    (DOCS / "beside.svg").write_text(beside.picture(outcomes, head), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
