"""Collectives of a library: MPI's functions on MPI_COMM_WORLD, in the order of the program.

A program starts a collective and waits for it later; here it is over when it is started. MPI's
calls that do not block make the sums, as in gradir's own calls: the others may add in another
order. In a group of one rank MPI copies, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from gradir.aot.code import Code, constant_texts
from gradir.aot.mpi import REQUEST_BYTES, STATUS_BYTES
from gradir.codegen.text.structs import Struct
from gradir.dialects.grad.host_call import COLLECTIVE, IN_REGION, HostCallOp
from gradir.runtime.arrays import ArraySpec, spec_of

LARGEST_COUNT = (1 << 31) - 1
PERMUTE_TAG = 2

SITE = Struct.of(
    "collective",
    kind="i64", ranks="i64", reads="i64", operand="i64", result="i64", count="i64", type="i64",
    root="i64", pairs="ptr", n_pairs="i64", text="ptr",
)  # fmt: skip
"""A call: the number of its kind; its ranks, 0 for any; whether it has an operand; bytes of operand
and result; count and type of what is summed; the rank `root`; (source, target) of a permutation."""
HANDLES = Struct.of("mpi", world="i64", sum="i64", byte="i64")
COLLECTIVE_SYMBOL, HANDLES_SYMBOL = "gradir_collective", "gradir_mpi_handles"


@dataclass(frozen=True)
class CollectiveCall:
    """One call of a program. `words` stand behind the kind and the group in its name."""

    place: str
    kind: str
    words: tuple[str, ...]
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]

    @property
    def ranks(self) -> int:
        """The ranks that the program is for; 0 for any number."""
        return int(self.words[0]) if self.words and self.kind != "barrier" else 0

    @property
    def root(self) -> int:
        return int(self.words[1]) if self.kind in ("reduce", "broadcast") else 0

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


def collective_call(site: Any) -> CollectiveCall | str:
    """The collective of a host call site; or why a library cannot make it."""
    kind, group, *words = site.callee.removeprefix(COLLECTIVE).split(":")
    kind = kind.removesuffix(IN_REGION)
    inputs, outputs = (tuple(spec_of("", t) for t in ts) for ts in (site.inputs, site.outputs))
    if group != "world":
        return f"a library has the group world, got {group}"
    if kind not in KINDS:
        return "a library has no messages that are sent and received apart; use gradir.comm.permute"
    if any(spec.nbytes > LARGEST_COUNT for spec in (*inputs, *outputs)):
        return f"MPI counts to {LARGEST_COUNT}; divide the array"
    return CollectiveCall(collective_place(site), kind, tuple(words), inputs, outputs)


def collective_function(kinds: Sequence[str], in_place: int) -> str:
    """The module with `@gradir_collective(site, buffers, status)`: 0, or a code of a status."""
    texts: dict[str, str] = {}
    w = _Writer(Code(texts), in_place)
    f = w.f
    flag = f.emit("alloca i32, align 4")
    w.call("MPI_Initialized", f"ptr {flag}")
    none = f.emit(f"icmp eq i32 {f.load('i32', 1, flag)}, 0")
    w.refuse(none, "the caller has not initialized MPI")
    w.call("MPI_Comm_size", f"i64 {w.world}, ptr {flag}")
    size, ranks = f.load("i32", 1, flag), w.site("ranks")
    size = f.emit(f"sext i32 {size} to i64")
    wrong = f.emit(f"and i1 {f.emit(f'icmp ne i64 {ranks}, 0')}, "
                   f"{f.emit(f'icmp ne i64 {ranks}, {size}')}")  # fmt: skip
    w.refuse(wrong, "the program is for %lld ranks, got %lld", f"i64 {ranks}", f"i64 {size}")
    w.call("MPI_Comm_rank", f"i64 {w.world}, ptr {flag}")
    w.rank, w.size = f.emit(f"sext i32 {f.load('i32', 1, flag)} to i64"), size
    known = sorted({*kinds}, key=[*KINDS].index)
    f.switch(w.site("kind"), "done", [([*KINDS].index(k), f"of.{k}") for k in known])
    for kind in known:
        f.label(f"of.{kind}")
        KINDS[kind](w)
        f.jump("done")
    f.label("done")
    f.ret("i32 0")
    made = f.definition(COLLECTIVE_SYMBOL, "ptr %site, ptr %buffers, ptr %status")
    declared = [f"declare i32 @{name}({types})" for name, types in w.declared.items()]
    head = ["declare i32 @snprintf(ptr, i64, ptr, ...)", *declared]
    head.append(f"@{HANDLES_SYMBOL} = external hidden global i8")
    return "\n".join([*head, constant_texts(texts), made])


class _Writer:
    """Writes the calls of the kinds."""

    def __init__(self, f: Code, in_place: int):
        self.f, self.in_place = f, f"i64 {in_place}"
        self.declared: dict[str, str] = {}
        reads = self.site("reads")
        self.operand = f.load("ptr", 1, "%buffers")
        self.result = f.load("ptr", 1, f.address("i64", "%buffers", reads))
        self.world, self.sum, self.byte = (
            f.field(HANDLES, f"@{HANDLES_SYMBOL}", name) for name in ("world", "sum", "byte")
        )
        self.request = f.allocate("i8", REQUEST_BYTES, 8)
        self.told = f.allocate("i8", STATUS_BYTES, 8)
        self.rank = self.size = ""

    def site(self, name: str) -> str:
        return self.f.field(SITE, "%site", name)

    def refuse(self, condition: str, text: str, *values: str) -> None:
        of = f"ptr {self.site('text')}"
        self.f.refuse_if(condition, "operator_failed", f"%s: {text}", [of, *values])

    def call(self, name: str, arguments: str) -> None:
        """Call one of MPI's functions; handles are words, whether they are ints or pointers."""
        self.declared[name] = ", ".join(a.split()[0] for a in arguments.split(", "))
        code = self.f.call("i32", f"@{name}", arguments)
        self.refuse(self.f.emit(f"icmp ne i32 {code}, 0"), "MPI has failed (%d)", f"i32 {code}")

    def wait(self) -> None:
        self.call("MPI_Wait", f"ptr {self.request}, ptr {self.told}")

    def copy(self, target: str) -> None:
        """The operand to a place, which it may be in."""
        size = self.site("operand")
        given = f"ptr {target}, ptr {self.operand}, i64 {size}, i1 false"
        self.f.line(f"call void @llvm.memmove.p0.p0.i64({given})")

    def clear(self) -> None:
        given = f"ptr {self.result}, i8 0, i64 {self.site('result')}, i1 false"
        self.f.line(f"call void @llvm.memset.p0.i64({given})")

    def count(self, name: str) -> str:
        return "i32 " + self.f.emit(f"trunc i64 {self.site(name)} to i32")

    def word(self, pointer: str) -> str:
        return "i64 " + self.f.emit(f"ptrtoint ptr {pointer} to i64")

    def bytes(self, name: str) -> str:
        """The count and the type of an array that is only moved."""
        return f"{self.count(name)}, i64 {self.byte}"

    def numbers(self) -> str:
        """The count and the type of an array that is summed, and how."""
        return f"{self.count('count')}, i64 {self.site('type')}, i64 {self.sum}"

    def is_root(self) -> str:
        return self.f.emit(f"icmp eq i64 {self.rank}, {self.site('root')}")


def _rank(w: _Writer) -> None:
    w.f.store("i64", 1, w.result, w.rank)


def _size(w: _Writer) -> None:
    w.f.store("i64", 1, w.result, w.size)


def _barrier(w: _Writer) -> None:
    w.call("MPI_Barrier", f"i64 {w.world}")


def _all_reduce(w: _Writer) -> None:
    w.copy(w.result)
    result = w.word(w.result)
    given = f"{w.in_place}, {result}, {w.numbers()}, i64 {w.world}, ptr {w.request}"
    w.call("MPI_Iallreduce", given)
    w.wait()


def _reduce(w: _Writer) -> None:
    f, root = w.f, w.is_root()
    with f.when(root):
        w.copy(w.result)
    source = f.emit(f"select i1 {root}, {w.in_place}, {w.word(w.operand)}")
    end = f"{w.count('root')}, i64 {w.world}, ptr {w.request}"
    w.call("MPI_Ireduce", f"i64 {source}, {w.word(w.result)}, {w.numbers()}, {end}")
    w.wait()
    with f.when(f.emit(f"xor i1 {root}, true")):
        w.clear()


def _broadcast(w: _Writer) -> None:
    with w.f.when(w.is_root()):
        w.copy(w.result)
    end = f"{w.count('root')}, i64 {w.world}"
    w.call("MPI_Bcast", f"{w.word(w.result)}, {w.bytes('result')}, {end}")


def _all_gather(w: _Writer) -> None:
    place = w.f.emit(f"mul i64 {w.rank}, {w.site('operand')}")
    w.copy(w.f.address("i8", w.result, place))
    part = w.bytes("operand")
    given = f"{w.in_place}, {part}, {w.word(w.result)}, {part}, i64 {w.world}"
    w.call("MPI_Allgather", given)


def _reduce_scatter(w: _Writer) -> None:
    both = f"{w.word(w.operand)}, {w.word(w.result)}"
    given = f"{both}, {w.numbers()}, i64 {w.world}, ptr {w.request}"
    w.call("MPI_Ireduce_scatter_block", given)
    w.wait()


def _permute(w: _Writer) -> None:
    """This rank's messages, if it has any: one to send, one to receive, or both at once."""
    f = w.f
    ways = [f.allocate_early() for _ in range(2)]
    for way in ways:
        f.store("i64", 1, way, "-1")
    with f.loop("0", w.site("n_pairs")) as k:
        pair = f.address("i64", w.site("pairs"), f.multiply(k, 2))
        ends = [f.load("i64", 1, f.address("i64", pair, end)) for end in (0, 1)]
        for way, own, other in zip(ways, ends[::-1], ends, strict=True):
            with f.when(f.emit(f"icmp eq i64 {own}, {w.rank}")):
                f.store("i64", 1, way, other)
    source, target = (f.load("i64", 1, way) for way in ways)
    has = [f.emit(f"icmp sge i64 {rank}, 0") for rank in (source, target)]
    tag = f"i32 {PERMUTE_TAG}"
    sent, taken = (
        f"{w.word(array)}, {w.bytes(name)}, i32 {f.emit(f'trunc i64 {rank} to i32')}, {tag}"
        for array, name, rank in ((w.operand, "operand", target), (w.result, "result", source))
    )
    only = [f.emit(f"xor i1 {each}, true") for each in has]
    with f.when(f.emit(f"and i1 {has[0]}, {has[1]}")):
        w.call("MPI_Sendrecv", f"{sent}, {taken}, i64 {w.world}, ptr {w.told}")
    with f.when(f.emit(f"and i1 {only[0]}, {has[1]}")):
        w.call("MPI_Send", f"{sent}, i64 {w.world}")
    with f.when(f.emit(f"and i1 {has[0]}, {only[1]}")):
        w.call("MPI_Recv", f"{taken}, i64 {w.world}, ptr {w.told}")
    with f.when(only[0]):
        w.clear()


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
    }
)
SUMMED = ("all_reduce", "reduce", "reduce_scatter")


def elements(spec: ArraySpec) -> int:
    """The number of elements of an array."""
    return int(np.prod(spec.shape, dtype=object))
