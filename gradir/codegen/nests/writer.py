"""Writing the function of one pass: work items, loops, addresses, arguments of the body, stores.

`PassWriter` keeps the value of every linear address function for the dimensions that are bound so
far; binding a dimension adds its part, so that each part is computed in the outermost loop it can.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from gradir.codegen.bodies.emitter import LlvmValue, Surroundings
from gradir.codegen.nests.space import Linear, LinearRead, LinearWrite, Pass
from gradir.codegen.nests.streams import Store, Streams, bytes_moved
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.instructions import Needs
from gradir.codegen.text.memory import MemoryInstructions, constant_mask
from gradir.codegen.text.target import MachineTarget

# Elements that a work item should at least cover.
ITEM_ELEMENTS = 4096
# What is surely not in any cache, for the estimate of costs.
SHARED_CACHE = 16 << 20
# The most instructions that unrolled copies of a body may come to.
UNROLL_SIZE = 48


@dataclass(frozen=True)
class Span:
    """Part of a dimension: [low, high); `ends` is the i1 that it reaches the end (None: always)."""

    low: str
    high: str
    ends: str | None = None


@dataclass(frozen=True)
class Items:
    """How the parallel dimensions are dealt out: `full` ones one by one, `blocked` in blocks.

    `inner` parallel dimensions are loops inside an item.
    """

    full: tuple[int, ...]
    blocked: tuple[int, int] | None
    inner: tuple[int, ...]


class PassWriter:
    """The text of one pass. `target` sets the unrolling, never the order of combination."""

    def __init__(
        self, one: Pass, target: MachineTarget, needs: Needs, streamed: frozenset[str] = frozenset()
    ):
        self.one = one
        self.target = target
        self.f = FunctionText()
        self.memory = MemoryInstructions(self.f, needs)
        self.needs = needs
        self.lanes = one.lanes
        self.streams = Streams(self.memory, streamed)
        self.allocas: list[str] = []
        self.indices: dict[int, str] = {}
        self.linears: dict[Linear, str] = {k: str(k.constant) for k in one.linears}
        self.hoisted: dict[tuple[int, int | None], LlvmValue] = {}
        self.spans = {d: Span("0", str(n)) for d, n in enumerate(one.bounds)}
        self.chunk_index = "0"
        self.item_count = 1

    @property
    def extent(self) -> int:
        """The extent of the vector dimension."""
        return self.one.bounds[self.one.vector_dim]

    # Integers and loops.

    def add(self, left: str, right: str | int) -> str:
        if _is_number(left) and _is_number(str(right)):
            return str(int(left) + int(right))
        if left == "0" or str(right) == "0":
            return str(right) if left == "0" else left
        return self.f.emit(f"add nsw i64 {left}, {right}")

    def multiply(self, value: str, factor: int) -> str:
        if _is_number(value) or factor == 0:
            return str(int(value) * factor) if factor else "0"
        return value if factor == 1 else self.f.emit(f"mul nsw i64 {value}, {factor}")

    def minimum(self, value: str, limit: int) -> str:
        if _is_number(value):
            return str(min(int(value), limit))
        return self.memory.intrinsic("smin", "i64", 1, value, str(limit))

    @contextmanager
    def at(self, dim: int, index: str) -> Generator[None]:
        """Everything inside stands at this index of a dimension (the first lane's)."""
        before = self.linears
        self.linears = {
            k: self.add(v, self.multiply(index, k.coefficients[dim])) if k.coefficients[dim] else v
            for k, v in before.items()
        }
        self.indices[dim] = index
        yield
        self.linears = before

    @contextmanager
    def loop(self, dim: int) -> Generator[None]:
        """All indices of a dimension, or of the part of it that its span says."""
        span = self.spans[dim]
        if (span.low, span.high) == ("0", "1"):
            with self.at(dim, "0"):
                yield
            return
        with (
            self.f.loop(span.low, span.high, at_least_once=True) as index,
            self.at(dim, index),
        ):
            yield

    @contextmanager
    def ending(self, span: Span) -> Generator[None]:
        """What only the part that reaches the end of its dimension does."""
        if span.ends is None:
            yield
        else:
            with self.f.when(span.ends, "ends"):
                yield

    def along_vector(
        self,
        unroll: int,
        group: Callable[[int, str | None], None],
        rolled_tail: bool,
        step: Callable[[str | None], None],
    ) -> None:
        """Cover the vector dimension: whole groups of `unroll` vectors, then what is left.

        `group(shift, mask)` is called for each vector of an unrolled group; a tail of several
        vectors calls it once each with a constant mask, or `step(mask)` in a loop.
        """
        dim, extent, span = self.one.vector_dim, self.extent, self.spans[self.one.vector_dim]
        width = unroll * self.lanes
        main = extent // width * width
        if main:
            with self.groups(span, main, width) as index, self.at(dim, index):
                for k in range(unroll):
                    group(k * self.lanes, None)
        if main == extent:
            return
        with self.ending(span):
            count = -(-(extent - main) // self.lanes)
            if rolled_tail and count > 1:
                self.rolled_tail(main, step)
                return
            with self.at(dim, str(main)):
                for k in range(count):
                    left = extent - main - k * self.lanes
                    mask = constant_mask(self.lanes, left) if left < self.lanes else None
                    group(k * self.lanes, mask)

    @contextmanager
    def groups(self, span: Span, main: int, width: int) -> Generator[str]:
        if span.ends is None and span.low == "0" and main == width:
            yield "0"
            return
        stop, always = self.whole_part(span, main)
        with self.f.loop(span.low, stop, width, at_least_once=always) as index:
            yield index

    def whole_part(self, span: Span, main: int) -> tuple[str, bool]:
        """Where the part of the span before `main` ends, and whether it is surely not empty."""
        if span.ends is None:
            return str(main), True
        if main == self.extent:
            return span.high, True
        return self.minimum(span.high, main), False

    def rolled_tail(self, main: int, step: Callable[[str | None], None]) -> None:
        extent, lanes = self.extent, self.lanes
        with (
            self.f.loop(str(main), str(extent), lanes, at_least_once=True) as index,
            self.at(self.one.vector_dim, index),
        ):
            mask = None
            if extent % lanes:
                left = self.f.emit(f"sub nsw i64 {extent}, {index}")
                mask = self.memory.first_lanes(lanes, left)
            step(mask)

    # Work items.

    def choose_items(self, dims: Sequence[int], inner: int, multiple: int) -> Items:
        """Deal out parallel `dims`, outermost first, so that an item is not too small.

        `inner` elements belong to each index of all of them; blocks of the vector dimension are
        multiples of `multiple`.
        """
        size, position = inner, len(dims)
        vector = self.lanes // self.one.interleaved
        wanted = max(256, min(ITEM_ELEMENTS, int(4000 * vector / (1 + self.one.body.cost))))
        while position and size * self.one.bounds[dims[position - 1]] <= wanted:
            position -= 1
            size *= self.one.bounds[dims[position]]
        if not position:
            return Items((), None, tuple(dims))
        dim = dims[position - 1]
        block = max(1, wanted // size)
        if dim == self.one.vector_dim:
            block = -(-block // multiple) * multiple
        if block >= self.one.bounds[dim]:
            return Items(tuple(dims[: position - 1]), None, tuple(dims[position - 1 :]))
        if block == 1:
            return Items(tuple(dims[:position]), None, tuple(dims[position:]))
        return Items(tuple(dims[: position - 1]), (dim, block), tuple(dims[position:]))

    @contextmanager
    def items(self, items: Items) -> Generator[None]:
        """The loop over the function's items, with their dimensions bound."""
        blocks = [] if items.blocked is None else [items.blocked]
        with self.blocks(items.full, blocks), ExitStack() as stack:
            for dim in [d for d, _ in blocks] + list(items.inner):
                if dim != self.one.vector_dim:
                    stack.enter_context(self.loop(dim))
            yield

    @contextmanager
    def blocks(self, full: Sequence[int], blocks: Sequence[tuple[int, int]]) -> Generator[None]:
        """The loop over items: an index of each `full` dimension, and a span of each block."""
        one = self.one
        counts = [one.bounds[d] for d in full]
        counts += [-(-one.bounds[d] // size) for d, size in blocks]
        if one.chunk is not None:
            counts.insert(0, one.chunk.count)
        self.item_count = prod(counts)
        with self.f.loop("%begin", "%end", hint="item") as item, ExitStack() as stack:
            parts = self._decode(item, counts) if self.item_count > 1 else ["0"] * len(counts)
            if one.chunk is not None:
                self.chunk_index = parts.pop(0)
                self._set_span(one.chunk.dim, self.chunk_index, one.chunk.size)
            for (dim, size), number in zip(blocks, parts[len(full) :], strict=True):
                self._set_span(dim, number, size)
            for dim, index in zip(full, parts, strict=False):
                stack.enter_context(self.at(dim, index))
            yield

    def _decode(self, item: str, counts: Sequence[int]) -> list[str]:
        """The digits of an item number, the last of `counts` changing fastest."""
        parts: list[str] = []
        for position, count in reversed(list(enumerate(counts))):
            if count == 1:
                parts.append("0")
            elif prod(counts[:position]) == 1:
                parts.append(item)
            else:
                parts.append(self.f.emit(f"urem i64 {item}, {count}"))
                item = self.f.emit(f"udiv i64 {item}, {count}")
        return parts[::-1]

    def _set_span(self, dim: int, number: str, size: int) -> None:
        extent = self.one.bounds[dim]
        low = self.multiply(number, size)
        high = self.add(low, size)
        if extent % size:
            high = self.minimum(high, extent)
        ends = self.f.emit(f"icmp eq i64 {high}, {extent}")
        self.spans[dim] = Span(low, high, ends)

    # The body's arguments.

    @contextmanager
    def hoisting(self, inside: frozenset[int], shifts: dict[int, str | None]) -> Generator[None]:
        """Load now the reads that do not change over the dimensions `inside`.

        Reads that are the same in all lanes are loaded once, others for each shift (with its mask).
        """
        before = self.hoisted
        self.hoisted = dict(before)
        for k, read in enumerate(self.one.reads):
            if read is None or read.uses(inside) or (k, None) in before:
                continue
            if self._is_uniform(read):
                self.hoisted[k, None] = self.argument(k, 0, None)
                continue
            for shift, mask in shifts.items():
                self.hoisted[k, shift] = self.argument(k, shift, mask)
        yield
        self.hoisted = before

    @contextmanager
    def given(self, values: dict[int, LlvmValue]) -> Generator[None]:
        """These arguments of the body are known, for the first vector."""
        before = self.hoisted
        self.hoisted = before | {(k, 0): value for k, value in values.items()}
        yield
        self.hoisted = before

    def _is_uniform(self, read: LinearRead) -> bool:
        v = self.one.vector_dim
        return self.lanes == 1 or read.empty or not read.uses(frozenset([v]))

    def argument(self, k: int, shift: int, mask: str | None) -> LlvmValue:
        """Argument k of the body `shift` elements further along the vector dimension."""
        found = self.hoisted.get((k, shift)) or self.hoisted.get((k, None))
        if found is not None:
            return found
        read = self.one.reads[k]
        if read is None:
            return LlvmValue("poison", 1)
        if read.offset is None:
            return LlvmValue(read.pointer, 1)
        if read.empty:
            return LlvmValue(read.other, 1)
        if self._is_uniform(read):
            return LlvmValue(self._scalar(read, shift), 1)
        return LlvmValue(self._vector(read, shift, mask), self.lanes)

    def address(self, pointer: str, kind: str, linear: Linear, shift: int) -> str:
        """The address of the first lane."""
        base = self.memory.address(kind, pointer, self.linears[linear])
        return self.memory.address(kind, base, shift * linear.coefficients[self.one.vector_dim])

    def _scalar(self, read: LinearRead, shift: int) -> str:
        assert read.offset is not None
        conditions = [self._inside(g.row, g.extent, shift) for g in read.guards]
        if not conditions:
            address = self.address(read.pointer, read.kind, read.offset, shift)
            return self.memory.load(read.kind, 1, address)
        inside = self._all_of(conditions)
        address = self.address(read.pointer, read.kind, read.offset, shift)
        # the first element is there to be read where the guarded one is not
        safe = self.f.emit(f"select i1 {inside}, ptr {address}, ptr {read.pointer}")
        loaded = self.memory.load(read.kind, 1, safe)
        return self.memory.select(read.kind, 1, inside, loaded, read.other)

    def _inside(self, row: Linear, extent: int, shift: int) -> str:
        value = self.add(self.linears[row], shift * row.coefficients[self.one.vector_dim])
        return self.f.emit(f"icmp ult i64 {value}, {extent}")

    def _all_of(self, conditions: Sequence[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.memory.binary("and", "i1", 1, result, condition)
        return result

    def _vector(self, read: LinearRead, shift: int, mask: str | None) -> str:
        assert read.offset is not None
        mask = self._guard_mask(read, shift, mask)
        address = self.address(read.pointer, read.kind, read.offset, shift)
        stride = read.offset.coefficients[self.one.vector_dim]
        return self.memory.load_strided(read.kind, self.lanes, address, stride, mask, read.other)

    def _guard_mask(self, read: LinearRead, shift: int, mask: str | None) -> str | None:
        """The lanes of `mask` whose element is in the tensor."""
        v, lanes = self.one.vector_dim, self.lanes
        masks = [] if mask is None else [mask]
        scalars: list[str] = []
        for guard in read.guards:
            step = guard.row.coefficients[v]
            if not step:
                scalars.append(self._inside(guard.row, guard.extent, shift))
                continue
            start = self.add(self.linears[guard.row], shift * step)
            if not _is_number(start):
                start = self.memory.cast("trunc", "i64", "i32", 1, start)
            numbers = self.memory.lane_numbers(lanes, start, step, "i32")
            limit = self.memory.splat("i32", lanes, str(guard.extent))
            masks.append(self.f.emit(f"icmp ult <{lanes} x i32> {numbers}, {limit}"))
        if scalars:
            masks.append(self.memory.splat("i1", lanes, self._all_of(scalars)))
        if not masks:
            return None
        result = masks[0]
        for other in masks[1:]:
            result = self.memory.binary("and", "i1", lanes, result, other)
        return result

    # The body and its results.

    def body(self, shift: int, mask: str | None) -> list[LlvmValue | None]:
        """Emit the body for one vector; gives the yielded values."""
        arguments = [self.argument(k, shift, mask) for k in range(len(self.one.reads))]
        v = self.one.vector_dim
        indices: dict[int, str] = {}
        vector_dim: int | None = None
        for dim, here in self.one.index_of.items():
            indices[dim] = "0" if here is None else self.indices[here]
            if here == v:
                indices[dim] = self.add(indices[dim], shift)
                vector_dim = dim
        surroundings = Surroundings(indices, vector_dim, mask)
        return self.one.body.emit(self.f, self.lanes, self.needs, surroundings, arguments)

    def vector(self, value: LlvmValue | None, kind: str) -> str:
        """The name of a yielded value in all lanes."""
        assert value is not None
        if value.lanes == self.lanes:
            return value.name
        return self.memory.splat(kind, self.lanes, value.name)

    def store_plain(self, values: Sequence[LlvmValue | None], shift: int, mask: str | None) -> None:
        """Write the outputs that are not combined."""
        lanes, memory = self.lanes, self.memory
        streamed: list[Store] = []
        for w in self.one.writes:
            if w.combiner != "none" or w.in_memory:
                continue
            value = self.vector(values[w.position], w.value_kind)
            value = memory.resize(w.value_kind, w.kind, lanes, value)
            address = self.address(w.pointer, w.kind, w.offset, shift)
            address = self._in_chunk(w, address)
            stride = w.offset.coefficients[self.one.vector_dim]
            if mask is None and w.pointer in self.streams.pointers:
                streamed.append(Store(w.kind, lanes, address, value))
            else:
                memory.store_strided(w.kind, lanes, address, stride, value, mask)
        self.streams.store(streamed)

    def _in_chunk(self, write: LinearWrite, address: str) -> str:
        if not write.chunk_step:
            return address
        return self.memory.address(
            write.kind, address, self.multiply(self.chunk_index, write.chunk_step)
        )

    def store_total(
        self, write: LinearWrite, total: str, lanes: int, shift: int, mask: str | None
    ) -> None:
        """Write the result of a reduction: what the output starts from, combined with `total`."""
        address = self.address(write.pointer, write.kind, write.offset, shift)
        address = self._in_chunk(write, address)
        stride = write.offset.coefficients[self.one.vector_dim] if lanes > 1 else 1
        memory = self.memory
        if write.starts:
            if lanes == 1:
                old = memory.load(write.kind, 1, address)
            else:
                old = memory.load_strided(write.kind, lanes, address, stride, mask)
            old = memory.resize(write.kind, write.value_kind, lanes, old)
            total = memory.combine(write.combiner, write.value_kind, lanes, old, total)
        total = memory.resize(write.value_kind, write.kind, lanes, total)
        if lanes == 1:
            memory.store(write.kind, 1, address, total)
        else:
            memory.store_strided(write.kind, lanes, address, stride, total, mask)

    # The finished function.

    def text(self, symbol: str, parameters: Sequence[str]) -> str:
        """The definition of the pass's function."""
        pointers = {r.pointer for r in self.one.reads if r is not None}
        pointers |= {w.pointer for w in self.one.writes}
        scratch = [
            f"  {p} = getelementptr i8, ptr %scratch, i64 {p.rpartition('.')[2]}"
            for p in sorted(pointers)
            if p.startswith("%scratch.")
        ]
        lines = ["entry:", *scratch, *self.allocas, *self.streams.entry, self.f.text()]
        lines += [*self.streams.exit, "  ret void"]
        head = f"define void {symbol}({', '.join(parameters)}) {self.target.attributes} {{"
        return "\n".join([head, *lines, "}", ""])

    def cost(self) -> float:
        """Roughly the nanoseconds of the pass on one thread."""
        one = self.one
        vectors = one.size // self.extent * -(-self.extent // self.lanes)
        operations = one.body.cost + 0.3 * (len(one.reads) + len(one.writes))
        operations *= one.interleaved
        # bytes a nanosecond that a thread moves in its own cache, in the shared one, in memory
        moved = bytes_moved(one)
        speed = 60.0 if moved <= self.target.l2_bytes else 40.0
        return max(vectors * operations, moved / (speed if moved < SHARED_CACHE else 16.0))


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()
