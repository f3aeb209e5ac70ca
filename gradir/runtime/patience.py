"""Waits for other ranks that end: when these come, when one of them has ended, or after a time.

A rank whose program ends says so where others do not end with it (`leave`), as after sys.exit; one
that waits for it in vain learns that within seconds. GRADIR_COMM_TIMEOUT bounds all other waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from gradir.errors import CommError

TIMEOUT_VARIABLE = "GRADIR_COMM_TIMEOUT"
DEFAULT_TIMEOUT = 1800.0

LEAVE_TAG = 3
"""The tag of the message of a rank that has ended."""

LEAVE_SECONDS = 0.5
"""How long a rank that ends waits for the others to end as well before it tells them."""

NOTICE_SECONDS, GRACE_SECONDS = 0.5, 1.0
"""How long a wait is before it asks who has ended, and how long it goes on then: what one has
still sent may be under way."""

_gone: set[int] = set()
_control: list[Any] = []


def limit() -> float:
    """The longest wait in seconds."""
    return float(os.environ.get(TIMEOUT_VARIABLE, DEFAULT_TIMEOUT))


class Patience:
    """One wait for the ranks of a group, which are numbers of the world."""

    def __init__(self, what: str, group: str, members: Callable[[], Sequence[int]]):
        self._what, self._group, self._members = what, group, members
        self._start = time.monotonic()
        self._noticed: float | None = None

    def failure(self) -> str | None:
        """Why the wait is in vain; None where it is not."""
        now = time.monotonic()
        if now - self._start > limit():
            return (
                f"{self._what}: other ranks of group {self._group} have not come within "
                f"{limit():g} seconds ({TIMEOUT_VARIABLE})"
            )
        if now - self._start < NOTICE_SECONDS:
            return None
        gone = _ended() & {*self._members()}
        if gone and self._noticed is None:
            self._noticed = now
        if gone and self._noticed is not None and now - self._noticed > GRACE_SECONDS:
            return f"{self._what}: rank {min(gone)} has ended, and this rank waits for it"
        return None

    def wait(self, is_ready: Callable[[], object]) -> None:
        """Wait; CommError where it is in vain."""
        pause = 1e-5
        while not is_ready():
            if (failure := self.failure()) is not None:
                raise CommError(failure)
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)


def begin(control: Any) -> None:
    """Take a communicator of all ranks for messages of those that end."""
    _control.append(control)


def leave(ends: Any) -> None:
    """At the end of this process: wait for the others to end; tell those that do not.

    MPI waits for all as well when it ends, so nothing takes longer. `ends` is a communicator of its
    own.
    """
    request, start = ends.Ibarrier(), time.monotonic()
    told: list[Any] = []
    while not request.Test():
        if not told and time.monotonic() - start > LEAVE_SECONDS:
            others = (k for k in range(ends.size) if k != ends.rank)
            told = [_control[0].Isend(b"", k, LEAVE_TAG) for k in others]
        time.sleep(1e-3)


def _ended() -> set[int]:
    """The ranks that have said that they end."""
    import mpi4py.MPI as mpi  # where there are others it is loaded

    for control in _control:
        status = mpi.Status()
        while control.Iprobe(mpi.ANY_SOURCE, LEAVE_TAG, status):
            control.Recv(bytearray(0), status.source, LEAVE_TAG)
            _gone.add(status.source)
    return _gone
