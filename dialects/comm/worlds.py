"""Worlds: what the interpreter's collectives talk to. A world is one rank's end of all ranks.

A world knows three things: to gather what all ranks of a group give, to send and to receive. Every
op of the dialect is NumPy on the arrays that these return. Each rank names its request, so that
ranks with different requests are found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol


class WorldError(Exception):
    """The ranks do not fit each other; the op that finds it gives the place."""


class World(Protocol):
    """One rank among those that run a program."""

    def rank(self, group: str) -> int:
        """The number of this rank in a group; WorldError for an unknown group."""
        ...

    def size(self, group: str) -> int:
        """The number of ranks in a group; WorldError for an unknown group."""
        ...

    def gather(self, group: str, said: str, value: Any) -> Sequence[tuple[str, Any]]:
        """The requests and values of all ranks of the group, by rank."""
        ...

    def send(self, group: str, target: int, said: str, value: Any) -> None:
        """Give another rank a value, without waiting for it."""
        ...

    def receive(self, group: str, source: int, said: str) -> tuple[str, Any]:
        """The request and value of another rank."""
        ...


class Alone:
    """A process that no launcher has started beside others: every group has one rank."""

    def rank(self, group: str) -> int:
        del group
        return 0

    def size(self, group: str) -> int:
        del group
        return 1

    def gather(self, group: str, said: str, value: Any) -> Sequence[tuple[str, Any]]:
        del group
        return [(said, value)]

    def send(self, group: str, target: int, said: str, value: Any) -> None:
        del said, value
        raise WorldError(f"group {group} has one rank, so that rank {target} is not there")

    def receive(self, group: str, source: int, said: str) -> tuple[str, Any]:
        del said
        raise WorldError(f"group {group} has one rank, so that rank {source} is not there")


_default: list[Callable[[], World]] = [Alone]
_entered = threading.local()


def set_default(make: Callable[[], World]) -> None:
    """Set the function that gives the world of threads that have entered none."""
    _default[0] = make


def current() -> World:
    """The world of this thread."""
    found: World | None = getattr(_entered, "world", None)
    return _default[0]() if found is None else found


@contextmanager
def entered(world: World) -> Generator[None]:
    """A context in which this thread is a rank of a world."""
    before = getattr(_entered, "world", None)
    _entered.world = world
    try:
        yield
    finally:
        _entered.world = before


def agreed(group: str, said: str, value: Any) -> list[Any]:
    """The values of all ranks of a group; WorldError unless all requests are the same."""
    given = current().gather(group, said, value)
    first, _ = given[0]
    for rank, (other, _) in enumerate(given):
        if other != first:
            raise WorldError(
                f"all ranks of group {group} must ask for the same, got {first} on rank 0 and "
                f"{other} on rank {rank}"
            )
    return [each for _, each in given]


def paired(world: World, group: str, source: int, said: str) -> Any:
    """The value that a rank has sent; WorldError unless both requests are the same."""
    other, value = world.receive(group, source, said)
    if other != said:
        raise WorldError(
            f"a message must be received as it was sent, got {said} on rank {world.rank(group)} "
            f"and {other} from rank {source}"
        )
    return value
