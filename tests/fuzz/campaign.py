"""Runs cases in worker processes, and hands on each new kind of fault, made smaller."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count as counting
from threading import Lock
from typing import Any

from fuzz.levels import level, run_seed, run_subject
from fuzz.outcome import Outcome
from fuzz.shrink import shrink
from fuzz.worker import Worker

SEEDS_APART = 10_000_000
"""Campaigns of two seeds have no case in common as long as one has fewer cases than this."""
PROGRESS = 1000
"""A word of how far it is after this many cases."""

Cases = Iterator[tuple[str, int]]


@dataclass(frozen=True)
class Fault:
    """A case that failed: its level and seed, how it failed, and the smallest that fails alike."""

    level: str
    seed: int
    outcome: Outcome
    smallest: Any


@dataclass
class Tally:
    """What has been run of a level."""

    cases: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter[str])
    done: Counter[str] = field(default_factory=Counter[str])
    slowest: tuple[float, int] = (0.0, 0)

    def add(self, seed: int, outcome: Outcome, seconds: float) -> None:
        self.cases += 1
        self.seconds += seconds
        self.kinds[outcome.kind] += 1
        self.done.update(outcome.done)
        self.slowest = max(self.slowest, (seconds, seed))

    def __str__(self) -> str:
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(self.kinds.items()))
        each = 1000 * self.seconds / max(self.cases, 1)
        done = ", ".join(f"{name} {n}" for name, n in sorted(self.done.items()))
        seconds, seed = self.slowest
        return (
            f"{self.cases} cases ({kinds}), {each:.0f} ms of CPU each, at most {seconds:.1f} s "
            f"(case {seed})\n    {done}"
        )


class Campaign:
    """Cases one after another, until there are no more or time is up.

    `known` counts faults by level and key; `report` gets the first of each. `idle` are processes
    that runs take and give back; without it each run has its own.
    """

    def __init__(
        self,
        report: Callable[[Fault], None],
        shrinks: bool = True,
        progress: Callable[[str], None] = lambda text: None,
        idle: list[Worker] | None = None,
    ) -> None:
        self.idle = idle
        self.report = report
        self.shrinks = shrinks
        self.progress = progress
        self.tallies: dict[str, Tally] = {}
        self.known: Counter[str] = Counter()
        self.count = 0
        self.lock = Lock()

    def run(self, cases: Cases, jobs: int = 1, seconds: float | None = None) -> None:
        """Run the cases in `jobs` processes."""
        end = None if seconds is None else time.monotonic() + seconds
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(self._work, cases, end) for _ in range(jobs)]:
                done.result()

    def _work(self, cases: Cases, end: float | None) -> None:
        worker = self.idle.pop() if self.idle else Worker()
        try:
            while end is None or time.monotonic() < end:
                with self.lock:
                    case = next(cases, None)
                if case is None:
                    return
                self._case(worker, *case)
        finally:
            if self.idle is None:
                worker.close()
            else:
                self.idle.append(worker)

    def _case(self, worker: Worker, name: str, seed: int) -> None:
        found = worker.run(run_seed, name, seed)
        # of a process that ended, or was ended, there is an outcome alone
        outcome, seconds = (found, 0.0) if isinstance(found, Outcome) else found
        with self.lock:
            self._count(name, seed, outcome, seconds)
            if outcome.kind != "fault":
                return
            key = f"{name}: {outcome.key}"
            self.known[key] += 1
            if self.known[key] > 1:
                return
        self.report(self._fault(worker, name, seed, outcome))

    def _count(self, name: str, seed: int, outcome: Outcome, seconds: float) -> None:
        self.tallies.setdefault(name, Tally()).add(seed, outcome, seconds)
        self.count += 1
        if self.count % PROGRESS == 0:
            self.progress(f"{self.count} cases, {len(self.known)} kinds of faults")

    def _fault(self, worker: Worker, name: str, seed: int, outcome: Outcome) -> Fault:
        subject = level(name).make(seed)
        if self.shrinks:
            run = partial(worker.run, run_subject, name)
            subject = shrink(subject, outcome.key, level(name).smaller, run)
            final = run(subject)
            outcome = final if final.key == outcome.key else outcome
        return Fault(name, seed, outcome, subject)


def seeds(name: str, seed: int, count: int | None, first: int = 0) -> Cases:
    """So many cases of a level from the first on, without end where no count is given."""
    numbers = counting() if count is None else range(count)
    return ((name, seed * SEEDS_APART + first + k) for k in numbers)


def alternating(*each: Cases) -> Cases:
    """One case of each in turn, until all have ended."""
    left = list(each)
    while left:
        for cases in list(left):
            case = next(cases, None)
            if case is None:
                left.remove(cases)
            else:
                yield case
