"""The calls that ops of `comm` become, in native code: what each does with the MPI library.

An op's call is named `comm.KIND:GROUP:WORDS`, the first word the number of ranks. Each call of a
program gets a site (codegen/text/library_calls.py), at the program's first call of its group: there
all ranks compare their programs. In a process that is alone a collective is a copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from gradir.cache.memory import made_once
from gradir.codegen.driver.report import CompiledProgram, HostCallSite
from gradir.codegen.text.library_calls import (
    BUSY,
    CALL_ARGUMENTS,
    FINISH_SYMBOL,
    IN_VAIN,
    OPERAND,
    RESULT,
    SITE_WORDS,
    START_SYMBOL,
    library_calls,
)
from gradir.dialects.comm.worlds import WorldError
from gradir.dialects.grad.host_call import COLLECTIVE, IN_REGION
from gradir.dialects.grad.host_functions import HostFunction
from gradir.errors import CommError
from gradir.runtime import jit, mpi
from gradir.runtime.arrays import ArraySpec, spec_of
from gradir.runtime.fixed_code import fixed_object
from gradir.runtime.native_functions import NativeFunction
from gradir.runtime.operator_layout import NativeOperator
from gradir.runtime.threads import library_function

Argument: TypeAlias = int | tuple[int, int]
"""A word, or OPERAND or RESULT, and bytes from its address on."""

LARGEST_COUNT = (1 << 31) - 1
SEND_TAG, PERMUTE_TAG = 1, 2
LOCAL = ("rank", "size")
"""Calls that need no other rank."""


def is_collective(site: HostCallSite) -> bool:
    return site.is_started


def group_of(site: HostCallSite) -> str | None:
    """The group that a call is a collective of; None for one that needs no other rank."""
    kind, group, *_ = _words(site)
    return None if kind in LOCAL else group


def _words(site: HostCallSite) -> list[str]:
    return site.callee.removeprefix(COLLECTIVE).split(":")


class Collective:
    """One call in a program, ready to be made: its function, and whether it is under way."""

    def __init__(self, site: HostCallSite):
        kind, self.group, *words = _words(site)
        # in a loop or branch; where there are others they may have come to another one
        is_checked = kind.endswith(IN_REGION) and mpi.world().size(self.group) > 1
        kind = kind.removesuffix(IN_REGION)
        inputs, outputs = ([spec_of("", t) for t in ts] for ts in (site.inputs, site.outputs))
        try:
            steps = _steps(kind, self.group, inputs, outputs, words)
        except (WorldError, CommError) as error:
            raise CommError(f"{site.place}: {error}") from None
        self._words = steps.words(is_checked)
        read = ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in inputs)
        self._said = " ".join([kind, *words[1:], *(["of", read] if inputs else [])])
        self._in_vain = ""
        self._patience: mpi.Patience | None = None
        _by_site[self._words.ctypes.data] = self
        functions = _code().addresses
        kept = self, steps
        native = NativeFunction(
            *(kind, functions[START_SYMBOL], self._words.ctypes.data, kept, None),
            finish=functions[FINISH_SYMBOL],
        )
        self.function = HostFunction(site.callee, NativeOperator(native))

    @property
    def is_pending(self) -> bool:
        """Started, and not waited for."""
        return bool(self._words[SITE_WORDS.index("pending")])

    def check(self) -> int:
        """IN_VAIN unless all ranks of the group have come to a call of this kind and type."""
        try:
            others = mpi.agreed(self.group, self._said)
        except CommError as error:
            self._in_vain = str(error)
            return IN_VAIN
        if others is not None:
            other = next(k for k, said in enumerate(others) if said != others[0])
            self._in_vain = (
                f"all ranks of group {self.group} must call the same, got {others[0]} on rank 0 "
                f"and {others[other]} on rank {other}"
            )
        return 0 if others is None else IN_VAIN

    def late(self, turn: int) -> int:
        """What the native code asks while it waits: IN_VAIN where it is so."""
        if turn == 1 or self._patience is None:
            self._patience = mpi.patience(self.group, self._said)
        failure = self._patience.failure()
        self._in_vain = failure or ""
        return 0 if failure is None else IN_VAIN

    def failure(self, code: int) -> str:
        """What a number means that its function has returned."""
        if code == BUSY:
            return (
                "the program runs in another thread of this rank, or has failed there; collectives "
                "are for one thread at a time"
            )
        if code == IN_VAIN:
            return self._in_vain
        return f"MPI has failed: {mpi.mpi().Get_error_string(code)}"


@dataclass
class _Steps:
    """What a call does as it is started, in the words of a site."""

    copied: int = 0
    source: int = 0
    place: int = 0
    cleared: int = 0
    calls: list[tuple[str, list[Argument]]] = field(default_factory=list)
    is_over: bool = False
    kept: list[Any] = field(default_factory=list)

    def call(self, name: str, *arguments: Argument) -> None:
        """Add a call, whose last argument will be the place of its request."""
        self.calls.append((name, [*arguments]))

    def words(self, is_checked: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The site."""
        size = mpi.mpi()._sizeof(mpi.mpi().Request) if self.calls else 0
        requests = np.zeros(max(len(self.calls) * size, 1), np.uint8)
        statuses = np.zeros(0, np.uint8)
        test = 0
        if self.calls:
            statuses = np.zeros(len(self.calls) * mpi.mpi()._sizeof(mpi.mpi().Status), np.uint8)
            test = mpi.function_address("MPI_Testall")
        self.kept += [requests, statuses]
        first = {
            "copied": self.copied, "source": self.source, "place": self.place,
            "cleared": self.cleared, "calls": len(self.calls), "requests": len(self.calls),
            "request_place": requests.ctypes.data, "statuses": statuses.ctypes.data, "test": test,
            "yield": library_function("sched_yield"), "late": _address(_late),
            "check": _address(_check) if is_checked else 0,
            "pending": 0, "over": self.is_over or not self.calls,
        }  # fmt: skip
        found = [int(first[name]) for name in SITE_WORDS]
        for k, (name, arguments) in enumerate(self.calls):
            given = [*arguments, requests.ctypes.data + k * size]
            given += [0] * (CALL_ARGUMENTS - len(given))
            found.append(mpi.function_address(name))
            found += [a if isinstance(a, int) else a[1] for a in given]
            found += [0 if isinstance(a, int) else a[0] for a in given]
        return np.array([_signed(word) for word in found], np.int64)


def _signed(word: int) -> int:
    """A word of 64 bits as the signed number of its bits."""
    return word - (1 << 64) if word >= 1 << 63 else word


def _steps(
    kind: str,
    group: str,
    inputs: Sequence[ArraySpec],
    outputs: Sequence[ArraySpec],
    words: Sequence[str],
) -> _Steps:
    """What a call does; CommError or WorldError where the world does not fit it."""
    world = mpi.world()
    steps = _Steps()
    size = world.size(group)
    if kind in LOCAL:
        if words:
            _check_ranks(group, int(words[0]), size)
        number = np.array(world.rank(group) if kind == "rank" else world.size(group))
        steps.copied, steps.source = number.nbytes, number.ctypes.data
        steps.kept.append(number)
        return steps
    if kind == "barrier":
        if size > 1:
            steps.call("MPI_Ibarrier", mpi.handle(mpi.communicator(group)))
            steps.is_over = True
        return steps
    _check_ranks(group, int(words[0]), size)
    _check_sizes(kind, size, inputs[0].nbytes, outputs[0].nbytes)
    plan = _Plan(steps, group, world.rank(group), inputs[0], outputs[0])
    plan.plan_one_rank(kind, *words[1:]) if size == 1 else _KINDS[kind](plan, *words[1:])
    return steps


def _check_ranks(group: str, ranks: int, size: int) -> None:
    if ranks != size:
        raise CommError(
            f"ranks = {ranks} must be the size of group {group}, got {size}; start as many "
            f"processes: mpiexec -n {ranks} python ..."
        )


def _check_sizes(kind: str, ranks: int, read: int, written: int) -> None:
    """CommError where the arrays do not fit the kind; MPI writes as far as it is told."""
    if kind == "all_gather":
        read *= ranks
    elif kind == "reduce_scatter":
        written *= ranks
    if kind not in _KINDS or read != written:
        raise CommError(f"no {kind} has so many bytes for {ranks} ranks, got {read} and {written}")


class _Plan:
    """Adds to the steps of a call what its kind does on this rank."""

    def __init__(self, steps: _Steps, group: str, rank: int, operand: ArraySpec, result: ArraySpec):
        self.steps, self.group, self.rank = steps, group, rank
        self.operand, self.result = operand, result

    def plan_one_rank(self, kind: str, *words: str) -> None:
        """In a group of one rank."""
        if kind in ("send", "recv"):
            raise CommError(f"a message goes to another rank, got rank {words[0]} on itself")
        if kind == "permute" and not words[0]:
            self.steps.cleared = self.result.nbytes
        else:
            self.steps.copied = self.operand.nbytes

    @property
    def comm(self) -> int:
        return mpi.handle(mpi.communicator(self.group))

    def count(self, spec: ArraySpec, unit: int = 1) -> int:
        """The number of elements, or of bytes, that MPI counts in 32 bits."""
        found = int(np.prod(spec.shape, dtype=object)) * unit
        if found > LARGEST_COUNT:
            raise CommError(f"MPI counts to {LARGEST_COUNT}, got {found}; divide the array")
        return found

    def numbers(self, spec: ArraySpec) -> tuple[int, int]:
        """Count and type of an array whose numbers are summed."""
        found = getattr(mpi.mpi(), _MPI_TYPES[spec.dtype.name])
        return self.count(spec), mpi.handle(found)

    def bytes(self, spec: ArraySpec) -> tuple[int, int]:
        """Count and type of an array that is only moved."""
        return self.count(spec, spec.dtype.itemsize), mpi.handle(mpi.mpi().BYTE)

    @property
    def sum(self) -> int:
        return mpi.handle(mpi.mpi().SUM)

    def all_reduce(self) -> None:
        self.steps.copied = self.operand.nbytes
        given = _in_place(), (RESULT, 0), *self.numbers(self.result), self.sum, self.comm
        self.steps.call("MPI_Iallreduce", *given)

    def reduce(self, root: str) -> None:
        source, target = (OPERAND, 0), 0
        if self.rank == int(root):
            self.steps.copied = self.operand.nbytes
            source, target = _in_place(), (RESULT, 0)
        else:
            self.steps.cleared = self.result.nbytes
        given = source, target, *self.numbers(self.operand), self.sum, int(root), self.comm
        self.steps.call("MPI_Ireduce", *given)

    def broadcast(self, root: str) -> None:
        if self.rank == int(root):
            self.steps.copied = self.operand.nbytes
        self.steps.call("MPI_Ibcast", (RESULT, 0), *self.bytes(self.result), int(root), self.comm)

    def all_gather(self) -> None:
        self.steps.copied = self.operand.nbytes
        self.steps.place = self.rank * self.operand.nbytes
        self.count(self.result, self.result.dtype.itemsize)
        part = self.bytes(self.operand)
        self.steps.call("MPI_Iallgather", _in_place(), *part, (RESULT, 0), *part, self.comm)

    def reduce_scatter(self) -> None:
        self.count(self.operand)
        given = (OPERAND, 0), (RESULT, 0), *self.numbers(self.result), self.sum, self.comm
        self.steps.call("MPI_Ireduce_scatter_block", *given)

    def permute(self, pairs: str) -> None:
        ways = [tuple(map(int, pair.split(">"))) for pair in pairs.split(",") if pair]
        source = next((s for s, t in ways if t == self.rank), None)
        target = next((t for s, t in ways if s == self.rank), None)
        if source is None:
            self.steps.cleared = self.result.nbytes
        else:
            self._receive(source, PERMUTE_TAG)
        if target is not None:
            self._send(target, PERMUTE_TAG)

    def send(self, target: str) -> None:
        self.steps.cleared = self.result.nbytes
        self._send(int(target), SEND_TAG)

    def recv(self, source: str) -> None:
        self._receive(int(source), SEND_TAG)

    def _send(self, target: int, tag: int) -> None:
        given = (OPERAND, 0), *self.bytes(self.operand), target, tag, self.comm
        self.steps.call("MPI_Isend", *given)

    def _receive(self, source: int, tag: int) -> None:
        given = (RESULT, 0), *self.bytes(self.result), source, tag, self.comm
        self.steps.call("MPI_Irecv", *given)


_KINDS: dict[str, Callable[..., None]] = {
    "all_reduce": _Plan.all_reduce,
    "reduce": _Plan.reduce,
    "broadcast": _Plan.broadcast,
    "all_gather": _Plan.all_gather,
    "reduce_scatter": _Plan.reduce_scatter,
    "permute": _Plan.permute,
    "send": _Plan.send,
    "recv": _Plan.recv,
}

_MPI_TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    **{f"int{bits}": f"INT{bits}_T" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT{bits}_T" for bits in (8, 16, 32, 64)},
}


def _in_place() -> int:
    return int(mpi.mpi().IN_PLACE)


_by_site: WeakValueDictionary[int, Collective] = WeakValueDictionary()


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
def _late(site: int, turn: int) -> int:
    return _asked(site, lambda of: of.late(turn))


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def _check(site: int) -> int:
    return _asked(site, Collective.check)


def _asked(site: int, ask: Callable[[Collective], int]) -> int:
    """What a call answers to native code; an exception, as of Ctrl-C, ends all ranks."""
    try:
        return ask(_by_site[site])
    except BaseException as error:
        mpi.end_all_ranks(error)
        return IN_VAIN


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@made_once
def _code() -> jit.LoadedCode:
    """The functions of all sites."""
    symbols = {name: library_function(name) for name in ("memcpy", "memset")}
    return jit.LoadedCode([fixed_object(library_calls())], (START_SYMBOL, FINISH_SYMBOL), symbols)


def check_programs(program: CompiledProgram, group: str) -> None:
    """CommError unless all ranks of a group run programs with the same calls, on the same types."""
    if mpi.world().size(group) == 1:
        return
    texts = mpi.agreed(group, "\n".join(_described(program)))
    if texts is None:
        return
    every = [text.splitlines() for text in texts]
    other = next(k for k, each in enumerate(every) if each != every[0])
    longest = max(len(every[0]), len(every[other]))
    first, second = ([*every[k], *["nothing"] * longest] for k in (0, other))
    place = next(k for k in range(longest) if first[k] != second[k])
    raise CommError(
        f"all ranks of group {group} must run the same program, got {first[place]} on rank 0 and "
        f"{second[place]} on rank {other}"
    )


def _described(program: CompiledProgram) -> list[str]:
    """What ranks must agree on, a line for each fact."""
    parameters = [("argument", p) for p in program.inputs] + [
        ("result", p) for p in program.results
    ]
    lines = [
        f"the first call of @{program.name}",
        *(f"{what} {p.name}: {p.type}" for what, p in parameters),
    ]
    for site in program.host_calls:
        if is_collective(site):
            types = ", ".join(map(str, site.inputs))
            results = ", ".join(map(str, site.outputs))
            lines.append(f"{site.callee} of {types or 'nothing'} to {results or 'nothing'}")
    return lines
