"""How many threads the calls of a function take: all, or one where others keep the cores busy.

Threads of a parallel call wait for each other at every barrier, so a thread that has lost its core
holds up all, for milliseconds each time: beside two busy processes, calls of 60 us took 5 ms. One
thread loses no more than its share. Results have the same bits with any number of threads, so the
number may change from call to call.

Calls are timed. Time that parallel calls save against one thread is put by, up to a limit, and time
that they lose is taken from it. When nothing is left, calls run alone for `PATIENCE` times the
loss, and then parallel ones are tried again: so a part of 1 / PATIENCE is lost at most.
"""

from __future__ import annotations

PATIENCE = 32
"""Times the lost time that calls run alone: 3 % are lost at most while others are busy."""

SAVED_CALLS = 30
"""The most saved time, in calls alone: one interruption is borne, and a crowd noticed soon."""

SAMPLES = 3
"""Calls alone at the beginning, for a first time to compare with: the least of theirs."""

SLOW = 5_000_000
"""Nanoseconds of a call from which on one sample is enough, and is not taken at once."""

CALLS_BEFORE = 4
"""Slow parallel calls per thread before the first call alone, which may take as long as those."""

SHARE = 40
"""Later, a call alone is due when parallel ones took this many times as long: 2.5 % at most."""

OUTLIER = 10
"""A call alone that is slower by this factor was interrupted, and counts as this many times."""

WEIGHT = 0.05
"""Of the time of a call alone, in the average."""


class Team:
    """The number of threads of each call of one function, at most `count`. Times are in ns."""

    def __init__(self, count: int):
        self._count = count
        self._alone = 0.0  # the average time of a call alone
        self._samples = 0  # calls alone until that is known
        self._calls = 0  # parallel calls until then
        self._since = 0.0  # the time of parallel calls since the last call alone
        self._saved = 0.0
        self._until = 0.0  # when to try parallel calls again

    def size(self, now: float) -> int:
        """The threads of a call that begins now."""
        return 1 if now < self._until or self._is_sample_due() else self._count

    def _is_sample_due(self) -> bool:
        if self._samples == SAMPLES:
            return self._since > SHARE * self._alone
        is_slow = self._since > SLOW * self._calls
        return self._calls >= (CALLS_BEFORE * self._count if is_slow else 1)

    def note(self, size: int, elapsed: float, now: float) -> None:
        """Note a call on `size` threads that took `elapsed` seconds and ended now."""
        if size == 1:
            self._note_alone(elapsed)
        else:
            self._note_parallel(elapsed, now)

    def _note_alone(self, elapsed: float) -> None:
        if self._samples == SAMPLES:
            self._since = 0.0
            self._alone += WEIGHT * (min(elapsed, OUTLIER * self._alone) - self._alone)
            return
        self._alone = min(elapsed, self._alone or elapsed)
        self._samples = SAMPLES if elapsed > SLOW else self._samples + 1
        if self._samples == SAMPLES:
            self._since = 0.0

    def _note_parallel(self, elapsed: float, now: float) -> None:
        self._since += elapsed
        if self._samples < SAMPLES:
            self._calls += 1
            return
        self._saved = min(self._saved + self._alone - elapsed, SAVED_CALLS * self._alone)
        if self._saved < 0:
            self._until = now - PATIENCE * self._saved
            self._saved = 0.0
