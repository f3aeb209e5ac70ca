"""Streaming stores: outputs of large passes go past the caches.

An ordinary store reads the line that it writes to, and pushes another one out of the cache. Where
the tensors of a pass are larger than the caches that is traffic for nothing. A streaming store has
to be aligned, which is known at run time only: the function tests its pointers at the start, and
each group of stores is there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gradir.codegen.nests.space import Linear, LinearWrite, Pass
from gradir.codegen.text.kinds import bytes_of, memory_kind
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import LINE_BYTES, FunctionWriter
from gradir.dialects.base.traced_sizes import divides

# The shortest store that streams.
SHORTEST_STORE = 16


def streamed_outputs(
    one: Pass, target: MachineTarget, in_place: frozenset[str], whole_lines: bool, repeats: int = 1
) -> frozenset[str]:
    """The pointers of the outputs that are worth it.

    `in_place` are those that are read as well. The pass runs `repeats` times. `whole_lines`:
    vectors that follow each other do not make up a line together.
    """
    if not target.streaming or repeats * bytes_moved(one) <= target.l3_bytes:
        return frozenset()
    read = {r.pointer for r in one.reads if r is not None} | in_place
    least = LINE_BYTES if whole_lines else SHORTEST_STORE
    return frozenset(
        w.pointer for w in one.writes if w.pointer not in read and _fits(w, one, least)
    )


def bytes_moved(one: Pass) -> int:
    """The bytes of all the elements that a pass reads and writes."""
    reads = [(r.offset, r.kind) for r in one.reads if r is not None and r.offset is not None]
    return sum(_bytes(linear, kind, one) for linear, kind in reads) + sum(
        _bytes(w.offset, w.kind, one) for w in one.writes
    )


def _bytes(linear: Linear, kind: str, one: Pass) -> int:
    extents = zip(linear.coefficients, one.bounds, strict=True)
    return bytes_of(memory_kind(kind)) * prod(n for c, n in extents if c)


def _fits(write: LinearWrite, one: Pass, least: int) -> bool:
    """All full vectors of an output are aligned if its buffer is, and have enough bytes."""
    if write.combiner != "none" or write.in_memory or write.chunk_step:
        return False
    v, size = one.vector_dim, bytes_of(memory_kind(write.kind))
    steps = write.offset.coefficients
    starts = [write.offset.constant, *(c for d, c in enumerate(steps) if d != v)]
    alignment = min(LINE_BYTES, one.lanes * size)
    return (
        steps[v] == 1
        and alignment >= least
        and all(divides(alignment, start * size) for start in starts)
    )


@dataclass(frozen=True)
class StreamedStore:
    """A vector of an output, and where it goes."""

    kind: str
    lanes: int
    address: str
    value: str


class Streams:
    """The streamed outputs of one function; `pointers` is empty where nothing is streamed."""

    def __init__(self, f: FunctionWriter, pointers: frozenset[str]):
        self.f = f
        self.pointers = pointers

    def end(self) -> None:
        """At the end of the function, and of its first block: whether all outputs are aligned."""
        f, bits = self.f, "0"
        if not self.pointers:
            return
        with f.early():
            for pointer in sorted(self.pointers):
                address = f.emit(f"ptrtoint ptr {pointer} to i64", "address")
                bits = f.emit(f"or i64 {bits}, {address}", "bits")
            low = f.emit(f"and i64 {bits}, {LINE_BYTES - 1}", "low")
            f.line(f"%streams = icmp eq i64 {low}, 0")
        # streaming stores are not ordered by what other threads wait for
        f.call("void", "@llvm.x86.sse.sfence", "")

    def store(self, stores: Sequence[StreamedStore]) -> None:
        """Full vectors into some of the outputs."""
        if not stores:
            return
        stream, other, done = (self.f.fresh(f"stream.{k}") for k in ("yes", "no", "done"))
        self.f.branch("%streams", stream, other)
        for label, streamed in ((stream, True), (other, False)):
            self.f.label(label)
            for s in stores:
                self.f.store(s.kind, s.lanes, s.address, s.value, streamed=streamed)
            self.f.jump(done)
        self.f.label(done)
