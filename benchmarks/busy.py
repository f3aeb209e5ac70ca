"""Steps of 0.06 to 5 ms and calls of 30 ms beside busy processes: two threads, one, torch.compile.

The busy processes are started here, free to move or each kept on one core. All contenders have
been compiled and called before, and take turns in one process. A figure is all time over all
calls, since interruptions are part of it; the median, in brackets, is a call that had none.

    .venv/bin/python benchmarks/busy.py [--busy N ...] [--rounds N] [--turn SECONDS] [--peers]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import harness
from rows import networks, training
from rows.libraries import differentiated, in_gradir

THREADS = 2
TWO, ONE, PEER = "gradir", "gradir, 1 thread", "torch.compile"
LEAST_SHARE = 0.9
"""What is asked of two threads, in calls of one thread."""

BUSY = """
import os, sys
if sys.argv[1:]:
    os.sched_setaffinity(0, {int(sys.argv[1])})
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""


@contextmanager
def busy_processes(count: int, pinned: bool = False) -> Generator[None]:
    """A context beside so many processes that do nothing but run, as long as this one does.

    Those that are `pinned` stay on one core each, in turn.
    """
    cores = sorted(os.sched_getaffinity(0)) if pinned else []
    places = [[str(cores[k % len(cores)])] if pinned else [] for k in range(count)]
    running = [subprocess.Popen([sys.executable, "-c", BUSY, *place]) for place in places]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Load:
    """Busy processes beside."""

    busy: int
    pinned: bool = False

    def __str__(self) -> str:
        return f"{self.busy} busy{', pinned' if self.pinned else ''}" if self.busy else "none busy"


def digits_steps() -> list[harness.Contender]:
    """A step of training the classifier of digits."""
    example = training.digits()

    def step(threads: int) -> Callable[[], harness.Call]:
        return lambda: training.gradir_step(training.digits_loss, example, False, threads)

    return [harness.Contender(ONE, step(1)), harness.Contender(TWO, step(THREADS))]


def derivatives(model: Any, inputs: Sequence[Any], wrt: Sequence[int]) -> list[harness.Contender]:
    """Value and gradient of a model, with torch.compile's."""
    alone = harness.Contender(ONE, lambda: in_gradir(model, inputs, wrt, 1))
    return [alone, *differentiated(model, inputs, wrt, THREADS, (PEER,))]


def workloads() -> Iterator[harness.Workload]:
    """What is timed, from 0.1 to 30 ms."""
    made = {
        "digits step": digits_steps(),
        "MLP": derivatives(networks.mlp, networks.mlp_inputs(), range(2, 8)),
        "encoder block": derivatives(networks.encoder, networks.encoder_inputs(), range(1, 11)),
        "attention, 512 tokens": derivatives(
            networks.attention_of(False), networks.attention_inputs(1, 512), (0, 1, 2)
        ),
    }
    for title, contenders in made.items():
        yield harness.Workload(title, contenders, ONE, tolerance=1e-3)


def loads(counts: Sequence[int]) -> list[Load]:
    """Each number of busy processes, free and pinned."""
    pinned = (False, True) if hasattr(os, "sched_setaffinity") else (False,)
    return [Load(count, pin) for count in counts for pin in pinned if count or not pin]


def row(title: str, load: Load, entries: Sequence[harness.Entry]) -> str:
    """A line of the table."""
    named = {entry.name: entry for entry in entries}
    means = {name: statistics.fmean(entry.samples) for name, entry in named.items()}
    cells = [
        f"{means[name] * 1e3:.3g} ({named[name].median * 1e3:.3g})" if name in means else ""
        for name in (ONE, TWO, PEER)
    ]
    share = means[ONE] / means[TWO]
    verdict = "met" if share >= LEAST_SHARE else "not met"
    ahead = f"{means[PEER] / means[TWO]:.2f}" if PEER in means else ""
    return f"| {title} | {load} | {' | '.join(cells)} | {share:.2f}, {verdict} | {ahead} |"


def head(options: argparse.Namespace) -> str:
    """When and where the figures are from, and the first lines of the table."""
    about = (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {harness.processor_name()}, {os.cpu_count()} "
        f"cores, load {os.getloadavg()[0]:.1f} at the start, {options.rounds} turns of "
        f"{options.turn:g} s; ms a call, mean (median):"
    )
    columns = (
        f"| program | beside | {ONE} | {TWO}, {THREADS} | {PEER} | of 1 thread | of the peer |"
    )
    return f"{about}\n\n{columns}\n|---|---|---|---|---|---|---|"


def prepared(options: argparse.Namespace) -> Iterator[tuple[str, list[harness.Entry]]]:
    """The contenders that work, called once; what became of others is printed."""
    for workload in workloads():
        if options.only and not any(text in workload.title for text in options.only):
            continue
        chosen = [c for c in workload.contenders if options.peers or c.name != PEER]
        entries = [harness.prepare(contender) for contender in chosen]
        assert workload.tolerance is not None
        harness.compare(entries, workload.reference, workload.tolerance)
        works = [entry for entry in entries if entry.call and not entry.failed]
        for entry in entries:
            if entry not in works:
                print(f"{workload.title}: {entry.name}: {entry.note}")
        yield workload.title, works


def measure(options: argparse.Namespace) -> None:
    """Prepare all, then print a line for each workload and load."""
    ready = list(prepared(options))
    print(head(options), flush=True)
    for load in loads(options.busy):
        with busy_processes(load.busy, load.pinned):
            for title, entries in ready:
                for entry in entries:
                    entry.samples.clear()
                for _ in range(options.rounds):
                    for entry in entries:
                        harness.take_turn(entry, options.turn)
                print(row(title, load, entries), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2, 4], metavar="N")
    parser.add_argument("--rounds", type=int, default=10, help="turns of each contender")
    parser.add_argument("--turn", type=float, default=1.0, help="seconds in one turn")
    parser.add_argument(
        "--only", nargs="+", metavar="TEXT", help="programs with this in their names"
    )
    parser.add_argument("--peers", action="store_true", help="torch.compile too")
    options = parser.parse_args()
    if harness.CHILD not in os.environ:
        return harness.run_in_child(THREADS)
    harness.pin_processors(THREADS)
    measure(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
