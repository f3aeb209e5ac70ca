"""How many threads the calls of a function take: all, or one where others keep the cores busy.

Threads of a parallel call wait for each other at every barrier, so a thread that has lost its core
holds up all, for milliseconds each time: beside two busy processes, calls of 60 us took 5 ms. One
thread loses no more than its share. Results have the same bits with any number of threads, so the
number may change from call to call.

Calls are timed. Time that parallel calls save against one thread is put by, up to a limit, and time
that they lose is taken from it. When less than nothing is left, calls run alone for `PATIENCE`
times the loss, and then parallel ones are tried again: so a part of 1 / PATIENCE is lost at most,
and less where trials fail one after the other. Only time in calls counts: where they are seldom,
each would be a trial otherwise.

What one thread would have taken is the processor's time of a call alone, which interruptions do not
change, times the slowdown of late: the wall's time over the processor's. A crowd makes a call of
30 ms alone take 20 or 100, so that a few such times say nothing, and a slowdown that is known badly
counts as none: parallel calls then have to be faster than an undisturbed call alone.
"""

from __future__ import annotations

from math import exp

PATIENCE, MOST_PATIENCE, LONG_PATIENCE = 32, 256, 3e9
"""Times the lost time that calls run alone: 3 % are lost at most while others are busy. It doubles
with each trial that fails up to the second number, which is not to take longer than the third."""

SAVED_CALLS, SAVED_NANOSECONDS = 30, 50e6
"""The most saved time, in calls alone and as such: one interruption is borne, and a crowd noticed
soon. Slow calls save as much as one of them takes."""

GRACE = 200_000
"""Nanoseconds that are lost before a trial has failed: its first call has to wake threads."""

SAMPLES = 3
"""Calls alone at the beginning, for a first time to compare with: the least of theirs."""

SLOW = 5_000_000
"""Nanoseconds of a call from which on one sample is enough, and is not taken at once."""

CALLS_BEFORE = 4
"""Slow parallel calls per thread before the first call alone, which may take as long as those."""

SHARE = 40
"""Later, a call alone is due when parallel ones took this many times as long: 2.5 % at most."""

WEIGHT = 0.05
"""Of the time of a call alone, in the average."""

CLOCK_EVERY = 8e6
"""Nanoseconds of calls alone, one after the other, after which the processor's time is read again.
Others use the average, or less. The system looks whether a time slice is over when it is asked."""

MEMORY, FORGET_EVERY, DOUBT = 2e9, 10e6, 100e6
"""Nanoseconds after which two thirds of a slowdown are forgotten, a step of that, and those without
any slowdown that it is mixed with."""

TRUST = 0.75
"""Of a slowdown, the part that counts. An estimate errs both ways, and acts where it is too high:
beside four busy processes all of it made two threads do 0.88 of the calls of one."""


class Team:
    """The number of threads of each call of one function, at most `count`. Times are in ns."""

    def __init__(self, count: int):
        self._count = count
        self._used = 0.0  # the average of the processor's time of a call alone
        self._samples = 0  # calls alone until that is known
        self._calls = 0  # parallel calls until then
        self._worked = 0.0  # the processors' time of those
        self._since = 0.0  # the time of parallel calls since the last call alone
        self._unclocked = 0.0  # the time of calls alone since the clock was read
        self._saved = 0.0
        self._owed = 0.0  # the time of calls alone until parallel ones are tried again
        self._patience = PATIENCE
        # of calls alone since `_noted`, and of those before, in part: all time, the processor's
        self._new, self._new_used, self._noted = 0.0, 0.0, 0.0
        self._recent, self._recent_used = 0.0, 0.0
        self._expected = 0.0  # what a call on one thread would take; 0 before it is computed

    def size(self) -> int:
        """The threads of the next call."""
        return 1 if self._owed > 0 or self._is_sample_due() else self._count

    def needs_clock(self, size: int) -> bool:
        """Whether the processor's time of a call on so many threads that begins now is wanted."""
        if self._samples < SAMPLES:
            return True
        return size == 1 and (self._unclocked > CLOCK_EVERY or self._since > 0)

    def _is_sample_due(self) -> bool:
        if self._samples == SAMPLES:
            return self._since > SHARE * self._used
        is_slow = self._worked > SLOW * self._calls
        return self._calls >= (CALLS_BEFORE * self._count if is_slow else 1)

    def note(self, size: int, elapsed: float, now: float, used: float | None = None) -> None:
        """Note a call on `size` threads that took `elapsed` and ended now.

        Of that time the thread that called had a core for `used`, if that was read.
        """
        if size == 1:
            self._note_alone(elapsed, now, used)
        elif self._samples < SAMPLES:
            self._since += elapsed
            self._calls += 1
            self._worked += size * (elapsed if used is None else used)
        else:
            self._note_parallel(elapsed, now)

    def _note_alone(self, elapsed: float, now: float, used: float | None) -> None:
        self._owed -= elapsed
        self._since = 0.0
        self._unclocked += elapsed
        if used is None:
            self._new_used += min(elapsed, self._used)
        else:
            self._note_used(used)
        self._new += elapsed
        self._expected = 0.0
        if self._new > FORGET_EVERY:
            self._forget(now)

    def _note_used(self, used: float) -> None:
        self._unclocked = 0.0
        self._new_used += used
        if self._samples == SAMPLES:
            self._used += WEIGHT * (used - self._used)
            return
        self._used = min(used, self._used or used)
        self._samples = SAMPLES if used > SLOW else self._samples + 1

    def _forget(self, now: float) -> None:
        kept = exp((self._noted - now) / MEMORY)
        self._recent = kept * self._recent + self._new
        self._recent_used = kept * self._recent_used + self._new_used
        self._new, self._new_used, self._noted, self._expected = 0.0, 0.0, now, 0.0

    def _time_alone(self) -> float:
        wall = self._recent + self._new + DOUBT
        slowdown = wall / (self._recent_used + self._new_used + DOUBT)
        return self._used * (1 + TRUST * (slowdown - 1))

    def _note_parallel(self, elapsed: float, now: float) -> None:
        self._since += elapsed
        if now - self._noted > FORGET_EVERY:
            self._forget(now)
        alone = self._expected = self._expected or self._time_alone()
        most = max(alone, min(SAVED_CALLS * alone, SAVED_NANOSECONDS))
        self._saved = min(self._saved + alone - elapsed, most)
        if self._saved == most:
            self._patience = PATIENCE
        if self._saved < -GRACE:
            least = -PATIENCE * self._saved
            self._owed = max(least, min(-self._patience * self._saved, LONG_PATIENCE))
            self._patience = min(2 * self._patience, MOST_PATIENCE)
            self._saved = 0.0
