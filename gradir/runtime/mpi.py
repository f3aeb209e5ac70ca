"""MPI, as mpi4py has loaded it: the process's communicators, and the addresses of MPI's functions.

A process that a launcher has started beside others (mpiexec, srun), or that has imported
mpi4py.MPI, is a rank of MPI's world; any other is alone, and nothing of MPI is loaded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from gradir.dialects.comm.worlds import Alone, World, WorldError
from gradir.errors import CommError

LAUNCHERS = ("PMI_SIZE", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Variables that launchers set for the processes they start."""

TIMEOUT_VARIABLE = "GRADIR_COMM_TIMEOUT"


def is_launched() -> bool:
    """Whether this process is to be a rank of MPI's world."""
    return "mpi4py.MPI" in sys.modules or any(name in os.environ for name in LAUNCHERS)


@cache
def mpi() -> Any:
    """The module mpi4py.MPI; CommError where it cannot be loaded. Failing ranks end all others."""
    try:
        found = import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise CommError(
            f"this process was started as one of several, and mpi4py cannot be loaded: {error}; "
            "install gradir[mpi]"
        ) from None
    if found.COMM_WORLD.size > 1:
        end_all_with_one(found)
    return found


def end_all_with_one(found: Any) -> None:
    """An exception that nobody catches ends all ranks, after it has been shown."""
    shown = sys.excepthook

    def hook(*error: Any) -> None:
        rank = found.COMM_WORLD.rank
        try:
            shown(*error)
            print(f"gradir: rank {rank} has failed, which ends all ranks", file=sys.stderr)
        finally:
            _abort(found)

    sys.excepthook = hook


def _abort(found: Any) -> NoReturn:
    """End all ranks; MPI may only ask for it and return, while this one must not go on."""
    sys.stdout.flush()
    sys.stderr.flush()
    # the launcher drops what it has not read when it is told to end
    time.sleep(0.3)
    found.COMM_WORLD.Abort(1)
    os._exit(1)


def end_all_ranks(error: BaseException) -> None:
    """Show an error and end all ranks, where there are others."""
    if is_launched() and mpi().COMM_WORLD.size > 1:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        finally:  # it may be another's hook
            _abort(mpi())


_groups: dict[str, Any] = {}


def communicator(group: str) -> Any:
    """The communicator of a group, whose messages meet no others; WorldError for an unknown one."""
    if group not in _groups and group == "world":
        _groups[group] = mpi().COMM_WORLD.Dup()
    if group not in _groups:
        known = ", ".join(["world", *(g for g in _groups if g != "world")])
        raise WorldError(f"there is no group {group}; groups: {known}")
    found = _groups[group]
    if found == mpi().COMM_NULL:
        raise WorldError(f"rank {mpi().COMM_WORLD.rank} is not in group {group}")
    return found


def add_group(name: str, ranks: Sequence[int]) -> None:
    """Make a group of some ranks of the world; all ranks call it."""
    world = communicator("world")
    chosen = world.group.Incl(list(ranks))
    _groups[name] = world.Create(chosen)


class MpiWorld:
    """This process among those of MPI's world, for the interpreter: arrays travel as pickles."""

    def rank(self, group: str) -> int:
        return communicator(group).rank

    def size(self, group: str) -> int:
        return communicator(group).size

    def gather(self, group: str, said: str, value: Any) -> Sequence[tuple[str, Any]]:
        return communicator(group).allgather((said, value))

    def send(self, group: str, target: int, said: str, value: Any) -> None:
        # kept alive by mpi4py until it is done
        communicator(group).isend((said, value), dest=target)

    def receive(self, group: str, source: int, said: str) -> tuple[str, Any]:
        del said
        return communicator(group).recv(source=source)


@cache
def world() -> World:
    """The world of this process."""
    return MpiWorld() if is_launched() else Alone()


@cache
def function_address(name: str) -> int:
    """The address of a function of the MPI library that mpi4py has loaded."""
    library = ctypes.CDLL(mpi().__file__)
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise CommError(f"the MPI library that mpi4py has loaded has no function {name}") from None


def handle(of: Any) -> int:
    """A communicator, type or operation as C passes it: an int or a pointer."""
    return mpi()._handleof(of)


def gathered_in_time(group: str, said: bytes, what: Callable[[], str]) -> list[bytes]:
    """The bytes that all ranks of a group give; CommError where some do not within the time limit.

    GRADIR_COMM_TIMEOUT is that limit in seconds, 300 by default. `what` says what they are for.
    """
    found = communicator(group)
    limit = float(os.environ.get(TIMEOUT_VARIABLE, "300"))
    received = bytearray(len(said) * found.size)
    request = found.Iallgather(said, received)
    start = time.monotonic()
    while not request.Test():
        if time.monotonic() - start > limit:
            raise CommError(
                f"{what()}: other ranks of group {group} than {found.rank} have not come within "
                f"{limit:g} seconds ({TIMEOUT_VARIABLE})"
            )
        time.sleep(0.0002)
    return [bytes(received[k : k + len(said)]) for k in range(0, len(received), len(said))]
