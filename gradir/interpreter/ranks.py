"""All ranks of a program in one process: threads that meet at each collective.

A rank waits until the others of its group have come to the same collective. Where no rank can go on
the program has deadlocked, which is known at once, not by a time limit.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gradir.dialects.comm.worlds import WorldError, entered

T = TypeVar("T")
Groups = Mapping[str, Sequence[int]]


class _Meeting:
    """What the ranks of a group have brought to one collective."""

    def __init__(self, size: int):
        self.given: list[tuple[str, Any] | None] = [None] * size
        self.missing = size


class Hub:
    """The ranks, and the messages on their way between them."""

    def __init__(self, ranks: int, groups: Groups):
        self.groups = {"world": range(ranks), **groups}
        self._changed = threading.Condition()
        self._running = ranks
        self._meetings: dict[tuple[str, int], _Meeting] = {}
        self._messages: dict[tuple[str, int, int], deque[tuple[str, Any]]] = {}
        # what each rank waits for; None when it runs
        self._waiting: list[str | None] = [None] * ranks
        # whether a rank that waits can go on
        self._ready: list[Callable[[], bool]] = [lambda: True] * ranks
        self._failed: str | None = None
        self._is_deadlock = False
        # the ranks that have failed because another one has
        self.stopped: set[int] = set()

    def meet(self, rank: int, group: str, number: int, said: str, value: Any) -> _Meeting:
        """Bring a value to the group's collective of a number, and wait for all others."""
        members = self.groups[group]
        with self._changed:
            meeting = self._meetings.setdefault((group, number), _Meeting(len(members)))
            meeting.given[members.index(rank)] = said, value
            meeting.missing -= 1
            if not meeting.missing:
                del self._meetings[group, number]
            self._wait(rank, f"{said} of group {group}", lambda: not meeting.missing)
            return meeting

    def send(self, group: str, source: int, target: int, said: str, value: Any) -> None:
        with self._changed:
            waiting = self._messages.setdefault((group, source, target), deque())
            waiting.append((said, value))
            self._wake()

    def receive(self, rank: int, group: str, source: int, target: int, said: str) -> Any:
        with self._changed:
            waiting = self._messages.setdefault((group, source, target), deque())
            what = f"comm.recv of {said} from rank {source} of group {group}"
            self._wait(rank, what, lambda: bool(waiting))
            return waiting.popleft()

    def _wait(self, rank: int, what: str, ready: Callable[[], bool]) -> None:
        self._wake()
        if not ready():
            self._waiting[rank], self._ready[rank] = what, ready
            self._pause()
            self._changed.wait_for(lambda: self._waiting[rank] is None or self._failed is not None)
            self._waiting[rank] = None
        if not ready():
            assert self._failed is not None
            if not self._is_deadlock:
                self.stopped.add(rank)
            raise WorldError(self._failed)

    def _wake(self) -> None:
        """Let all ranks run that can go on."""
        for rank, what in enumerate(self._waiting):
            if what is not None and self._ready[rank]():
                self._waiting[rank] = None
                self._running += 1
        self._changed.notify_all()

    def _pause(self) -> None:
        """One rank fewer runs; where none does the others wait for ever."""
        self._running -= 1
        if self._running == 0 and any(self._waiting) and self._failed is None:
            self._is_deadlock = True
            self._failed = f"the ranks wait for each other: {'; '.join(self._places())}"
            self._changed.notify_all()

    def _places(self) -> list[str]:
        return [
            f"rank {rank} {'has ended' if what is None else f'waits in {what}'}"
            for rank, what in enumerate(self._waiting)
        ]

    def ended(self, error: BaseException | None, rank: int) -> None:
        """A rank has returned or raised."""
        with self._changed:
            if error is not None and self._failed is None:
                self._failed = f"rank {rank} has failed"
                self._changed.notify_all()
            self._pause()

    def check_received(self) -> None:
        """WorldError for a message that nobody has received."""
        for (group, source, target), waiting in self._messages.items():
            if waiting:
                raise WorldError(
                    f"each comm.send needs a comm.recv, got {waiting[0][0]} from rank {source} to "
                    f"rank {target} of group {group}, which has received none"
                )


class RankOfHub:
    """One rank's end of a hub."""

    def __init__(self, hub: Hub, rank: int):
        self._hub, self._rank = hub, rank
        self._met: dict[str, int] = {}

    def _members(self, group: str) -> Sequence[int]:
        members = self._hub.groups.get(group)
        if members is None:
            known = ", ".join(self._hub.groups)
            raise WorldError(f"there is no group {group}; groups: {known}")
        if self._rank not in members:
            raise WorldError(f"rank {self._rank} is not in group {group}")
        return members

    def rank(self, group: str) -> int:
        return self._members(group).index(self._rank)

    def size(self, group: str) -> int:
        return len(self._members(group))

    def gather(self, group: str, said: str, value: Any) -> Sequence[tuple[str, Any]]:
        self._members(group)
        number = self._met[group] = self._met.get(group, 0) + 1
        meeting = self._hub.meet(self._rank, group, number, said, value)
        return [each for each in meeting.given if each is not None]

    def send(self, group: str, target: int, said: str, value: Any) -> None:
        self._hub.send(group, self.rank(group), target, said, value)

    def receive(self, group: str, source: int, said: str) -> tuple[str, Any]:
        return self._hub.receive(self._rank, group, source, self.rank(group), said)


def on_ranks(ranks: int, run: Callable[[int], T], groups: Groups | None = None) -> list[T]:
    """What `run(rank)` returns on each rank, all at once; the error of the lowest that fails.

    `groups` are ranks by the names of groups, beside "world", which has all.
    """
    hub = Hub(ranks, groups or {})
    results: list[Any] = [None] * ranks
    errors: dict[int, BaseException] = {}

    def one(rank: int) -> None:
        error = None
        try:
            with entered(RankOfHub(hub, rank)):
                results[rank] = run(rank)
        except BaseException as raised:  # the thread of the caller raises it
            error = raised
            errors[rank] = raised
        hub.ended(error, rank)

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        rank = min(errors.keys() - hub.stopped)
        errors[rank].add_note(f"on rank {rank} of {ranks}")
        raise errors[rank]
    hub.check_received()
    return results
