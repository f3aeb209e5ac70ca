"""Writing the function of one pass: its body, the stores of the yielded values, its text.

Work items, loops with their addresses, and the arguments of the body are in `items`, `loops` and
`arguments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from gradir.codegen import costs
from gradir.codegen.bodies.emitter import LlvmValue, Surroundings
from gradir.codegen.nests.arguments import BodyArguments
from gradir.codegen.nests.items import PassItems
from gradir.codegen.nests.loops import PassLoops
from gradir.codegen.nests.space import LinearWrite, Pass
from gradir.codegen.nests.streams import StreamedStore, Streams, bytes_moved
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import of_sizes


class PassWriter:
    """Writes one pass. `target` sets the unrolling, never the order of combination."""

    def __init__(
        self,
        one: Pass,
        target: MachineTarget,
        needs: Needs,
        streamed: frozenset[str] = frozenset(),
    ):
        self.one = one
        self.target = target
        self.f = FunctionWriter(needs)
        self.lanes = one.lanes
        self.loops = PassLoops(one, self.f)
        self.items = PassItems(self.loops)
        self.arguments = BodyArguments(self.loops)
        self.streams = Streams(self.f, streamed)

    def body(self, shift: int, mask: str | None) -> list[LlvmValue | None]:
        """Emit the body for one vector; gives the yielded values."""
        arguments = [self.arguments.load(k, shift, mask) for k in range(len(self.one.reads))]
        v = self.one.vector_dim
        indices: dict[int, str] = {}
        vector_dim: int | None = None
        for dim, here in self.one.index_of.items():
            indices[dim] = "0" if here is None else self.loops.indices[here]
            if here == v:
                indices[dim] = self.f.add(indices[dim], shift)
                vector_dim = dim
        surroundings = Surroundings(indices, vector_dim, mask)
        return self.one.body.emit(self.f, self.lanes, surroundings, arguments)

    def vector(self, value: LlvmValue | None, kind: str) -> str:
        """The name of a yielded value in all lanes."""
        assert value is not None
        if value.lanes == self.lanes:
            return value.name
        return self.f.splat(kind, self.lanes, value.name)

    def store_plain(self, values: Sequence[LlvmValue | None], shift: int, mask: str | None) -> None:
        """Write the outputs that are not combined."""
        lanes, f = self.lanes, self.f
        streamed: list[StreamedStore] = []
        vectors: dict[LinearWrite, tuple[str, str]] = {}
        for w in self.one.writes:
            if w.combiner != "none" or w.in_memory:
                continue
            value = self.vector(values[w.position], w.value_kind)
            value = f.resize(w.value_kind, w.kind, lanes, value, w.unsigned)
            address = self.loops.address(w.pointer, w.kind, w.offset, shift)
            address = self._in_chunk(w, address)
            stride = w.offset.coefficients[self.one.vector_dim]
            if mask is None and w in self._interleaved:
                vectors[w] = address, value
            elif mask is None and w.pointer in self.streams.pointers:
                streamed.append(StreamedStore(w.kind, lanes, address, value))
            else:
                f.store_strided(w.kind, lanes, address, stride, value, mask)
        for even, odd in self._interleaved.items() if vectors else ():
            if even.offset.constant < odd.offset.constant:
                (address, first), (_, second) = vectors[even], vectors[odd]
                f.store_interleaved(even.kind, lanes, address, first, second)
        self.streams.store(streamed)

    @cached_property
    def _interleaved(self) -> dict[LinearWrite, LinearWrite]:
        """The writes of every other element of a buffer, each with the one of those between."""
        beside: dict[Any, list[LinearWrite]] = {}
        for w in self.one.writes:
            steps = w.offset.coefficients
            is_plain = w.combiner == "none" and not (w.in_memory or w.chunk_step)
            if is_plain and self.lanes > 1 and steps[self.one.vector_dim] == 2:
                beside.setdefault((w.pointer, w.kind, steps), []).append(w)
        pairs = [each for each in beside.values() if len(each) == 2]
        return {
            one: other
            for x, y in pairs
            if abs(x.offset.constant - y.offset.constant) == 1
            for one, other in ((x, y), (y, x))
        }

    def _in_chunk(self, write: LinearWrite, address: str) -> str:
        if not write.chunk_step:
            return address
        return self.f.address(
            write.kind, address, self.f.multiply(self.items.chunk_index, write.chunk_step)
        )

    def store_total(
        self, write: LinearWrite, total: str, lanes: int, shift: int, mask: str | None
    ) -> None:
        """Write the result of a reduction: what the output starts from, combined with `total`."""
        address = self.loops.address(write.pointer, write.kind, write.offset, shift)
        address = self._in_chunk(write, address)
        stride = write.offset.coefficients[self.one.vector_dim] if lanes > 1 else 1
        f = self.f
        if write.starts:
            if lanes == 1:
                old = f.load(write.kind, 1, address)
            else:
                old = f.load_strided(write.kind, lanes, address, stride, mask)
            old = f.resize(write.kind, write.value_kind, lanes, old, write.unsigned)
            total = f.combine(write.combiner, write.value_kind, lanes, old, total)
        total = f.resize(write.value_kind, write.kind, lanes, total)
        if lanes == 1:
            f.store(write.kind, 1, address, total)
        else:
            f.store_strided(write.kind, lanes, address, stride, total, mask)

    # The finished function.

    def text(self, symbol: str, parameters: Sequence[str]) -> str:
        """The definition of the pass's function."""
        f, pointers = self.f, {r.pointer for r in self.one.reads if r is not None}
        pointers |= {w.pointer for w in self.one.writes}
        scratch = [
            f"  {p} = getelementptr i8, ptr %scratch, i64 {p.rpartition('.')[2]}"
            for p in sorted(pointers)
            if p.startswith("%scratch.")
        ]
        f.prologue = [*scratch, *f.prologue]
        self.streams.end()
        f.ret()
        return f.define(symbol, ", ".join(parameters), self.target.attributes, linkage="")

    def cost(self) -> float:
        """Roughly the nanoseconds of the pass on one thread."""
        one = self.one
        vectors = one.size // self.loops.extent * -(-self.loops.extent // self.lanes)
        accesses = len(one.reads) + len(one.writes)
        operations = one.interleaved * (one.body.cost + costs.NEST_ACCESS_COST * accesses)
        return _larger(vectors * operations, _moving_cost(bytes_moved(one), self.target))


_larger = of_sizes(max)


@of_sizes
def _moving_cost(moved: int, target: MachineTarget) -> float:
    """The nanoseconds of one thread to read and write `moved` bytes, where they surely lie."""
    if moved >= costs.UNCACHED_BYTES:
        return moved * costs.MEMORY_BYTE_COST
    is_own = moved <= target.l2_bytes
    return moved * (costs.OWN_CACHE_BYTE_COST if is_own else costs.SHARED_CACHE_BYTE_COST)
