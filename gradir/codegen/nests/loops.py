"""The loops of a pass, and the addresses inside of them.

`PassLoops` keeps the value of every linear address function for the dimensions that are bound so
far; binding a dimension adds its part, so that each part is computed in the outermost loop it can.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from gradir.codegen.nests.pieces import Piece, pieces_of
from gradir.codegen.nests.space import Guard, Linear, Pass
from gradir.codegen.text.kinds import constant_mask
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.traced_sizes import divides, is_surely, is_traced


@dataclass(frozen=True)
class Span:
    """Part of a dimension: [low, high); `ends` is the i1 that it reaches the end (None: always)."""

    low: str
    high: str
    ends: str | None = None


class PassLoops:
    """Binds the dimensions of a pass, by loops and by indices, and gives addresses there."""

    def __init__(self, one: Pass, f: FunctionWriter):
        self.one = one
        self.f = f
        self.lanes = one.lanes
        # of the vector dimension
        self.extent = one.bounds[one.vector_dim]
        self.indices: dict[int, str] = {}
        self.linears: dict[Linear, str] = {k: str(k.constant) for k in one.linears}
        # the guards that are known to hold, or not to, where the code stands
        self.held: Mapping[Guard, bool] = {}
        self.spans = {d: Span("0", str(n)) for d, n in enumerate(one.bounds)}

    def along_lanes(self, linear: Linear, shift: int) -> str:
        """The value of an address function `shift` elements further along the vector dimension."""
        return self.f.add(self.linears[linear], shift * linear.coefficients[self.one.vector_dim])

    def address(self, pointer: str, kind: str, linear: Linear, shift: int) -> str:
        """The address of the first lane."""
        base = self.f.address(kind, pointer, self.linears[linear])
        return self.f.address(kind, base, shift * linear.coefficients[self.one.vector_dim])

    # Loops.

    @contextmanager
    def at(self, dim: int, index: str) -> Generator[None]:
        """Everything inside stands at this index of a dimension (the first lane's)."""
        before = self.linears
        self.linears = {
            k: self.f.add(v, self.f.multiply(index, k.coefficients[dim]))
            if k.coefficients[dim]
            else v
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
    def blocks(self, dim: int, size: int) -> Generator[None]:
        """Blocks of `size` indices of a dimension's span: loops inside run over one of them."""
        span, extent, chunk = self.spans[dim], self.one.bounds[dim], self.one.chunk
        parts = chunk.size if chunk is not None and chunk.dim == dim else extent
        with self.f.loop(span.low, span.high, size, at_least_once=True) as low:
            high = self.f.add(low, size)
            if not (divides(size, extent) and divides(size, parts)):
                high = self.f.intrinsic("smin", "i64", 1, high, span.high)
            ends = self.f.emit(f"icmp eq i64 {high}, {extent}")
            self.spans[dim] = Span(low, high, ends)
            yield
            self.spans[dim] = span

    def ending(self, span: Span) -> AbstractContextManager[None]:
        """Code written inside runs only in the part that reaches the end of its dimension."""
        return self.f.when(span.ends, "ends")

    def set_span(self, dim: int, number: str, size: int) -> None:
        """Loops over `dim` run over its block of `size` indices that has this number."""
        extent = self.one.bounds[dim]
        low = self.f.multiply(number, size)
        high = self.f.add(low, size)
        if not divides(size, extent):
            high = self.f.minimum(high, extent)
        ends = self.f.emit(f"icmp eq i64 {high}, {extent}")
        self.spans[dim] = Span(low, high, ends)

    def along_vector(
        self,
        unroll: int,
        group: Callable[[int, str | None], None],
        rolled_tail: bool,
        step: Callable[[str | None], None],
    ) -> None:
        """Cover the vector dimension: whole groups of `unroll` vectors, then the tail.

        `group(shift, mask)` is called for each vector of an unrolled group; a tail of several
        vectors calls it once each with a constant mask, or `step(mask)` in a loop.
        """
        dim, extent, span = self.one.vector_dim, self.extent, self.spans[self.one.vector_dim]
        width = unroll * self.lanes
        main = extent // width * width
        for piece in pieces_of(self.one, main, width):
            with self.piece(span, piece, main, width) as index, self.at(dim, index):
                before, self.held = self.held, piece.held
                for k in range(unroll):
                    group(k * self.lanes, None)
                self.held = before
        if is_traced(extent):
            self.any_tail(span, main, unroll, group)
            return
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
    def piece(self, span: Span, piece: Piece, main: int, width: int) -> Generator[str]:
        """The groups of a piece of the vector dimension that are in the span."""
        low, high = piece.low, piece.high
        if is_surely(low, 0) and is_surely(high, main):
            with self.groups(span, main, width) as index:
                yield index
        elif span.ends is None:
            is_some = not is_traced(low) and not is_traced(high)
            with self.f.loop(str(low), str(high), width, at_least_once=is_some) as index:
                yield index
        elif not is_traced(high - low) and high - low == width:
            begun = self.f.emit(f"icmp sle i64 {span.low}, {low}")
            some = self.f.emit(f"icmp sgt i64 {span.high}, {low}")
            with self.f.when(self.f.binary("and", "i1", 1, begun, some), "piece"):
                yield str(low)
        else:
            start = self.f.intrinsic("smax", "i64", 1, span.low, str(low))
            with self.f.loop(start, self.f.minimum(span.high, high), width) as index:
                yield index

    @contextmanager
    def groups(self, span: Span, main: int, width: int) -> Generator[str]:
        if span.ends is None and span.low == "0" and not is_traced(main) and main == width:
            yield "0"
            return
        stop, always = self.whole_part(span, main)
        with self.f.loop(span.low, stop, width, at_least_once=always) as index:
            yield index

    def whole_part(self, span: Span, main: int) -> tuple[str, bool]:
        """Where the part of the span before `main` ends, and whether it is surely not empty."""
        if span.ends is None:
            return str(main), not is_traced(main)
        if not is_traced(main) and main == self.extent:
            return span.high, True
        return self.f.minimum(span.high, main), False

    def any_tail(
        self, span: Span, main: int, unroll: int, group: Callable[[int, str | None], None]
    ) -> None:
        """A tail of any number of vectors below a group's: each has a mask of its own."""
        with self.ending(span), self.at(self.one.vector_dim, str(main)):
            for k in range(unroll):
                left = self.f.subtract(str(self.extent), main + k * self.lanes)
                some = self.f.emit(f"icmp sgt i64 {left}, 0")
                with self.f.when(some, "tail"):
                    group(k * self.lanes, self.f.first_lanes(self.lanes, left))

    def rolled_tail(self, main: int, step: Callable[[str | None], None]) -> None:
        extent, lanes = self.extent, self.lanes
        with (
            self.f.loop(str(main), str(extent), lanes, at_least_once=True) as index,
            self.at(self.one.vector_dim, index),
        ):
            mask = None
            if extent % lanes:
                left = self.f.emit(f"sub nsw i64 {extent}, {index}")
                mask = self.f.first_lanes(lanes, left)
            step(mask)
