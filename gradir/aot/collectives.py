"""Collectives and messages of a library: MPI's functions, in the order of the program.

A call is started at its place, by MPI's functions that do not block, and waited for before the
first op that needs it, as in gradir's own calls; so these have the same order of sums. Its requests
are in the workspace. In a group of one rank MPI copies, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from gradir.aot.code import constant_texts
from gradir.aot.groups import GROUP_FUNCTION, Groups, group_function
from gradir.aot.mpi_code import GROUP, HANDLES_SYMBOL, REQUESTS, MpiCode
from gradir.dialects.grad.host_call import COLLECTIVE, IN_REGION, HostCallOp
from gradir.runtime.arrays import ArraySpec, spec_of

LARGEST_COUNT = (1 << 31) - 1
SEND_TAG, PERMUTE_TAG = 1, 2

START_SYMBOL, WAIT_SYMBOL, END_SYMBOL = (
    "gradir_start_collective", "gradir_wait", "gradir_end_collectives",
)  # fmt: skip


@dataclass(frozen=True)
class CollectiveCall:
    """One call of a program. `words` stand behind the kind and the group in its name."""

    place: str
    kind: str
    group: str
    words: tuple[str, ...]
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]

    @property
    def ranks(self) -> int:
        """The ranks that the program is for; 0 for any number."""
        return int(self.words[0]) if self.words and self.kind != "barrier" else 0

    @property
    def other(self) -> int:
        """The root, or the other end of a message."""
        return int(self.words[1]) if self.kind in WITH_OTHER else 0

    @property
    def pairs(self) -> list[int]:
        """Source and target of each message of a permutation."""
        if self.kind != "permute":
            return []
        pairs = [pair.split(">") for pair in self.words[1].split(",") if pair]
        return [int(rank) for pair in pairs for rank in pair]

    @property
    def summed(self) -> ArraySpec | None:
        """What is summed, if the kind sums; a part of it for each rank in reduce_scatter."""
        return self.outputs[0] if self.kind in SUMMED else None


def collective_place(site: Any) -> str:
    """The place of a host call site, with the op's own name."""
    kind, *_ = site.callee.split(":")
    return site.place.replace(f"{HostCallOp.name} @{site.callee}", kind.removesuffix(IN_REGION))


def collective_call(site: Any, groups: Groups) -> CollectiveCall | str:
    """The collective of a host call site; or why a library cannot make it."""
    kind, group, *words = site.callee.removeprefix(COLLECTIVE).split(":")
    kind = kind.removesuffix(IN_REGION)
    inputs, outputs = (tuple(spec_of("", t) for t in ts) for ts in (site.inputs, site.outputs))
    if any(spec.nbytes > LARGEST_COUNT for spec in (*inputs, *outputs)):
        return f"MPI counts to {LARGEST_COUNT}; divide the array"
    made = CollectiveCall(collective_place(site), kind, group, tuple(words), inputs, outputs)
    return groups.objection(group, made.ranks) or made


def collective_functions(kinds: Sequence[str], in_place: int, has_groups: bool) -> str:
    """The module with the functions of collectives:

    @gradir_start_collective(site, buffers, table, status)    0, or a code of a status
    @gradir_wait(site, table, status)    the same, when it is done
    @gradir_end_collectives(requests, count)    waits for all that are under way
    """
    given = dict[str, str](), dict[str, str]()
    parts = [_start(kinds, in_place, has_groups, *given), _wait(*given), _end_all(*given)]
    if has_groups:
        parts.append(group_function(*given))
    texts, declared = given
    head = ["declare i32 @snprintf(ptr, i64, ptr, ...)"]
    head += [f"declare i32 @{name}({types})" for name, types in declared.items()]
    head.append(f"@{HANDLES_SYMBOL} = external hidden global i8")
    return "\n".join([*head, constant_texts(texts), *parts])


def _start(
    kinds: Sequence[str],
    in_place: int,
    has_groups: bool,
    texts: dict[str, str],
    declared: dict[str, str],
) -> str:
    w = _Writer(texts, declared, in_place)
    flag = w.emit("alloca i32, align 4")
    w.mpi("MPI_Initialized", f"ptr {flag}")
    none = w.emit(f"icmp eq i32 {w.load('i32', 1, flag)}, 0")
    w.refuse(none, "the caller has not initialized MPI")
    w.choose_communicator(has_groups)
    w.mpi("MPI_Comm_size", f"{w.comm}, ptr {flag}")
    w.size, ranks = w.emit(f"sext i32 {w.load('i32', 1, flag)} to i64"), w.site("ranks")
    is_fixed, differs = (w.emit(f"icmp ne i64 {ranks}, {n}") for n in ("0", w.size))
    wrong = w.emit(f"and i1 {is_fixed}, {differs}")
    w.refuse(wrong, "the program is for %lld ranks, got %lld", f"i64 {ranks}", f"i64 {w.size}")
    w.mpi("MPI_Comm_rank", f"{w.comm}, ptr {flag}")
    w.rank = w.emit(f"sext i32 {w.load('i32', 1, flag)} to i64")
    known = sorted({*kinds}, key=[*KINDS].index)
    w.switch(w.site("kind"), "done", [([*KINDS].index(k), f"of.{k}") for k in known])
    for kind in known:
        w.label(f"of.{kind}")
        KINDS[kind](w)
        w.jump("done")
    w.label("done")
    w.ret("i32 0")
    return w.definition(START_SYMBOL, "ptr %site, ptr %buffers, ptr %table, ptr %status")


def _wait(texts: dict[str, str], declared: dict[str, str]) -> str:
    f = MpiCode(texts, declared)
    f.refuse_code(f.wait_for_all(requests_of(f)))
    f.ret("i32 0")
    return f.definition(WAIT_SYMBOL, "ptr %site, ptr %table, ptr %status")


def _end_all(texts: dict[str, str], declared: dict[str, str]) -> str:
    f = MpiCode(texts, declared)
    with f.loop("0", "%count") as k:
        f.wait_for_all(f.entry_of(REQUESTS, "%requests", k))
    f.ret()
    return f.definition(END_SYMBOL, "ptr %requests, i64 %count", "void")


def requests_of(f: MpiCode) -> str:
    """The REQUESTS of a call in the workspace."""
    return f.address("i8", "%table", f.site("requests"))


class _Writer(MpiCode):
    """Writes the starts of the kinds."""

    def __init__(self, texts: dict[str, str], declared: dict[str, str], in_place: int):
        super().__init__(texts, declared)
        self.in_place = f"i64 {in_place}"
        self.operand = self.load("ptr", 1, "%buffers")
        self.result = self.load("ptr", 1, self.address("i64", "%buffers", self.site("reads")))
        self.requests = requests_of(self)
        self.comm = self.rank = self.size = ""

    def choose_communicator(self, has_groups: bool) -> None:
        """The group's, or the world's."""
        self.comm = self.handle("world")
        if not has_groups:
            return
        group = self.site("group")
        chosen = self.allocate_early()
        self.store("i64", 1, chosen, self.comm.removeprefix("i64 "))
        with self.when(self.emit(f"icmp ne ptr {group}, null")):
            self.return_unless_0(
                self.call("i32", f"@{GROUP_FUNCTION}", f"ptr %site, ptr {group}, ptr %status")
            )
            self.store("i64", 1, chosen, self.field(GROUP, group, "comm"))
        self.comm = f"i64 {self.load('i64', 1, chosen)}"

    def start(self, name: str, arguments: str) -> None:
        """Call a function whose last argument is the place of its request."""
        count = self.field(REQUESTS, self.requests, "count")
        first = self.place(REQUESTS, self.requests, "first")
        given = [arguments] if arguments else []
        given += [self.comm, f"ptr {self.address('i64', first, count)}"]
        self.mpi(name, ", ".join(given))
        self.put(REQUESTS, self.requests, "count", self.add(count, 1))

    def copy(self, target: str) -> None:
        """The operand to a place, which it may be in."""
        size = self.site("operand")
        given = f"ptr {target}, ptr {self.operand}, i64 {size}, i1 false"
        self.line(f"call void @llvm.memmove.p0.p0.i64({given})")

    def clear(self) -> None:
        given = f"ptr {self.result}, i8 0, i64 {self.site('result')}, i1 false"
        self.line(f"call void @llvm.memset.p0.i64({given})")

    def half(self, number: str) -> str:
        """An i64 as an int."""
        return "i32 " + self.emit(f"trunc i64 {number} to i32")

    def word(self, pointer: str) -> str:
        return "i64 " + self.emit(f"ptrtoint ptr {pointer} to i64")

    def bytes(self, name: str) -> str:
        """The count and the type of an array that is only moved."""
        return f"{self.half(self.site(name))}, {self.handle('byte')}"

    def numbers(self) -> str:
        """The count and the type of an array that is summed, and how."""
        count, type_ = self.half(self.site("count")), self.site("type")
        return f"{count}, i64 {type_}, {self.handle('sum')}"

    def is_root(self) -> str:
        return self.emit(f"icmp eq i64 {self.rank}, {self.site('other')}")

    def send(self, rank: str, tag: int) -> None:
        message = f"{self.word(self.operand)}, {self.bytes('operand')}"
        self.start("MPI_Isend", f"{message}, {self.half(rank)}, i32 {tag}")

    def receive(self, rank: str, tag: int) -> None:
        message = f"{self.word(self.result)}, {self.bytes('result')}"
        self.start("MPI_Irecv", f"{message}, {self.half(rank)}, i32 {tag}")


def _rank(w: _Writer) -> None:
    w.store("i64", 1, w.result, w.rank)


def _size(w: _Writer) -> None:
    w.store("i64", 1, w.result, w.size)


def _barrier(w: _Writer) -> None:
    """Nothing of a barrier's needs it, so that it waits by itself."""
    w.start("MPI_Ibarrier", "")
    w.return_unless_0(w.call("i32", f"@{WAIT_SYMBOL}", "ptr %site, ptr %table, ptr %status"))


def _all_reduce(w: _Writer) -> None:
    w.copy(w.result)
    w.start("MPI_Iallreduce", f"{w.in_place}, {w.word(w.result)}, {w.numbers()}")


def _reduce(w: _Writer) -> None:
    root = w.is_root()
    with w.when(root):
        w.copy(w.result)
    with w.when(w.emit(f"xor i1 {root}, true")):
        w.clear()
    source = w.emit(f"select i1 {root}, {w.in_place}, {w.word(w.operand)}")
    both = f"i64 {source}, {w.word(w.result)}"
    w.start("MPI_Ireduce", f"{both}, {w.numbers()}, {w.half(w.site('other'))}")


def _broadcast(w: _Writer) -> None:
    with w.when(w.is_root()):
        w.copy(w.result)
    root = w.half(w.site("other"))
    w.start("MPI_Ibcast", f"{w.word(w.result)}, {w.bytes('result')}, {root}")


def _all_gather(w: _Writer) -> None:
    w.copy(w.address("i8", w.result, w.emit(f"mul i64 {w.rank}, {w.site('operand')}")))
    part = w.bytes("operand")
    w.start("MPI_Iallgather", f"{w.in_place}, {part}, {w.word(w.result)}, {part}")


def _reduce_scatter(w: _Writer) -> None:
    both = f"{w.word(w.operand)}, {w.word(w.result)}"
    w.start("MPI_Ireduce_scatter_block", f"{both}, {w.numbers()}")


def _permute(w: _Writer) -> None:
    """This rank's messages, if it has any; 0 where it gets none."""
    ways = [w.allocate_early() for _ in range(2)]
    for way in ways:
        w.store("i64", 1, way, "-1")
    with w.loop("0", w.site("n_pairs")) as k:
        pair = w.address("i64", w.site("pairs"), w.multiply(k, 2))
        ends = [w.load("i64", 1, w.address("i64", pair, end)) for end in (0, 1)]
        for way, own, other in zip(ways, ends[::-1], ends, strict=True):
            with w.when(w.emit(f"icmp eq i64 {own}, {w.rank}")):
                w.store("i64", 1, way, other)
    source, target = (w.load("i64", 1, way) for way in ways)
    with w.when(w.emit(f"icmp slt i64 {source}, 0")):
        w.clear()
    with w.when(w.emit(f"icmp sge i64 {source}, 0")):
        w.receive(source, PERMUTE_TAG)
    with w.when(w.emit(f"icmp sge i64 {target}, 0")):
        w.send(target, PERMUTE_TAG)


def _require_others(w: _Writer) -> None:
    """A message to itself would wait for ever."""
    alone = w.emit(f"icmp eq i64 {w.size}, 1")
    text = "a message goes to another rank, got rank %lld on itself"
    w.refuse(alone, text, f"i64 {w.site('other')}")


def _send(w: _Writer) -> None:
    _require_others(w)
    w.clear()
    w.send(w.site("other"), SEND_TAG)


def _recv(w: _Writer) -> None:
    _require_others(w)
    w.receive(w.site("other"), SEND_TAG)


KINDS: Mapping[str, Callable[[_Writer], None]] = MappingProxyType(
    {
        "rank": _rank,
        "size": _size,
        "barrier": _barrier,
        "all_reduce": _all_reduce,
        "reduce": _reduce,
        "broadcast": _broadcast,
        "all_gather": _all_gather,
        "reduce_scatter": _reduce_scatter,
        "permute": _permute,
        "send": _send,
        "recv": _recv,
    }
)
SUMMED = ("all_reduce", "reduce", "reduce_scatter")
WITH_OTHER = ("reduce", "broadcast", "send", "recv")
"""The kinds that have a root, or another end."""


def elements(spec: ArraySpec) -> int:
    """The number of elements of an array."""
    return int(np.prod(spec.shape, dtype=object))
