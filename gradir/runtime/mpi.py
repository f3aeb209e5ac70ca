"""MPI, as mpi4py has loaded it: the process's communicators, and the addresses of MPI's functions.

A process that a launcher has started beside others (mpiexec, srun), or that has imported
mpi4py.MPI, is a rank of MPI's world; any other is alone, and nothing of MPI is loaded.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import pickle
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, NoReturn

from gradir.argument_checks import known_arguments
from gradir.dialects.comm.worlds import Alone, World, WorldError
from gradir.errors import CommError
from gradir.runtime.patience import Patience, begin, leave

LAUNCHERS = ("PMI_SIZE", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Variables that launchers set for the processes they start."""


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


@dataclass(frozen=True)
class _Group:
    """A group's communicators: of programs, and of what ranks agree on beside them."""

    data: Any
    control: Any

    @cached_property
    def members(self) -> list[int]:
        """The numbers of its ranks in the world."""
        everyone = mpi().COMM_WORLD.group
        return self.data.group.Translate_ranks(list(range(self.data.size)), everyone)


_groups: dict[str, _Group] = {}


def _group(name: str) -> _Group:
    if name not in _groups and name == "world":
        _groups[name] = _begin()
    if name not in _groups:
        known = ", ".join(["world", *(g for g in _groups if g != "world")])
        raise WorldError(f"there is no group {name}; groups: {known}")
    found = _groups[name]
    if found.data == mpi().COMM_NULL:
        raise WorldError(f"rank {mpi().COMM_WORLD.rank} is not in group {name}")
    return found


def _begin() -> _Group:
    """The world's communicators, which all ranks make at their first use."""
    everyone = mpi().COMM_WORLD
    patience = Patience("the first use of gradir.comm", "world", lambda: ())
    made: list[Any] = []
    for _ in range(3):
        copy, request = everyone.Idup()
        patience.wait(request.Test)
        made.append(copy)
    data, control, ends = made
    if everyone.size > 1:
        begin(control)
        atexit.register(lambda: None if mpi().Is_finalized() else leave(ends))
    return _Group(data, control)


def communicator(group: str) -> Any:
    """The communicator of a group, whose messages meet no others; WorldError for an unknown one."""
    return _group(group).data


def patience(group: str, what: str) -> Patience:
    """A wait for the ranks of a group."""
    found = _group(group)
    return Patience(what, group, lambda: found.members)


@known_arguments
def add_group(name: str, ranks: Sequence[int]) -> None:
    """Make a group of some ranks of the world; all ranks call it."""
    everyone = _group("world").control
    chosen = everyone.group.Incl(list(ranks))
    _groups[name] = _Group(everyone.Create(chosen), everyone.Create(chosen))


def own_groups() -> dict[str, list[int]]:
    """The ranks of the groups that `add_group` has made, as far as this rank is in them."""
    made = {name: found for name, found in _groups.items() if name != "world"}
    return {name: each.members for name, each in made.items() if each.data != mpi().COMM_NULL}


def agreed(group: str, said: str) -> list[str] | None:
    """What all ranks of a group say where it differs, by rank; None where it is the same.

    Ranks meet here, and nowhere else, before they exchange what needs them to agree.
    """
    number = int.from_bytes(hashlib.sha256(said.encode()).digest()[:7])
    pair = array("q", [number, -number])
    comm = _group(group).control
    request = comm.Iallreduce(mpi().IN_PLACE, [pair, mpi().INT64_T], mpi().MAX)
    patience(group, said.splitlines()[0]).wait(request.Test)
    if pair[0] == -pair[1]:
        return None
    return [text.decode() for text in _all_gathered(group, said.encode())]


def _all_gathered(group: str, given: bytes) -> list[bytes]:
    """The bytes of all ranks, which have agreed on that they gather."""
    comm, waiting = _group(group).control, patience(group, "what all ranks give")
    lengths = array("q", [0] * comm.size)
    own = array("q", [len(given)])
    waiting.wait(comm.Iallgather([own, mpi().INT64_T], [lengths, mpi().INT64_T]).Test)
    received = bytearray(sum(lengths))
    waiting.wait(comm.Iallgatherv(given, [received, list(lengths), mpi().BYTE]).Test)
    ends = list(accumulate(lengths, initial=0))
    return [bytes(received[a:b]) for a, b in pairwise(ends)]


class MpiWorld:
    """This process among MPI's processes, for the interpreter: arrays travel as pickles."""

    def rank(self, group: str) -> int:
        return communicator(group).rank

    def size(self, group: str) -> int:
        return communicator(group).size

    def gather(self, group: str, said: str, value: Any) -> Sequence[tuple[str, Any]]:
        others = agreed(group, said)
        if others is not None:
            return [(other, None) for other in others]
        every = _all_gathered(group, pickle.dumps(value))
        return [(said, pickle.loads(each)) for each in every]

    def send(self, group: str, target: int, said: str, value: Any) -> None:
        # kept alive by mpi4py until it is done
        communicator(group).isend((said, value), dest=target)

    def receive(self, group: str, source: int, said: str) -> tuple[str, Any]:
        comm, found = communicator(group), list[Any]()
        what = f"a message from rank {source}, {said}"
        patience(group, what).wait(lambda: _add(found, comm.improbe(source)))
        return found[0].recv()


def _add(found: list[Any], message: Any) -> bool:
    found.extend([] if message is None else [message])
    return bool(found)


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
