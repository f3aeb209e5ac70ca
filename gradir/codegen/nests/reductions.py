"""Reductions over the last dimension: the lanes of vectors are partial results.

An output of f32 keeps L = four vectors of partial results (see `accumulator_lanes`). Iteration d of
the last dimension goes to partial result d mod L, over all reduced dimensions in lexicographic
order, with the folds of `space.choose_folds` between them; at the end they are folded in halves. So
the order depends on the bounds, the output's access
and type and the vector width alone. (Small windows are in `columns`, see `choose_vector_dim`.)
"""

from __future__ import annotations

from math import prod

from gradir.codegen.bodies.emitter import LlvmValue
from gradir.codegen.costs import UNROLL_SIZE
from gradir.codegen.nests.accumulators import Accumulators, Levels, Place, folded_loops
from gradir.codegen.nests.space import accumulator_lanes
from gradir.codegen.nests.writer import PassWriter
from gradir.dialects.base.traced_sizes import is_traced


def write_row_reduction(writer: PassWriter) -> None:
    """All iterations of a pass whose reduced dimensions include the last one."""
    one = writer.one
    kept = [d for d in range(len(one.bounds)) if d not in one.reduced]
    reduced = [d for d in range(len(one.bounds)) if d in one.reduced and d != one.vector_dim]
    inner = prod(one.bounds[d] for d in one.reduced) // one.pieces
    rows = _RowReduction(writer)
    with writer.items.each(writer.items.choose(kept, inner, 1)):
        rows.begin()
        with (
            folded_loops(writer, reduced, rows.levels),
            writer.arguments.hoisting(frozenset([one.vector_dim]), {}),
            folded_loops(writer, [one.vector_dim], rows.levels),
        ):
            rows.along()
        rows.finish()


class _RowReduction:
    """One row after another along the vector dimension, into the accumulators."""

    def __init__(self, writer: PassWriter):
        self.writer = writer
        one = writer.one
        self.writes = [w for w in one.writes if w.combiner != "none"]
        self.total_slots = [
            max(1, accumulator_lanes(w.value_kind, writer.target) // writer.lanes)
            for w in self.writes
        ]
        most = max(self.total_slots)
        extent = writer.loops.extent
        # slots that stay empty change nothing
        self.vectors = most if is_traced(extent) else -(-extent // writer.lanes)
        size = one.body.size + 2
        # short rows touch few slots; else one vector at a time, turning the slots round
        self.unrolled = size * min(most, self.vectors) <= UNROLL_SIZE or self.vectors == 1
        self.unroll = most if self.unrolled else 1
        self.levels = [
            Levels(writer, w, min(n, self.vectors) if self.unrolled else n)
            for w, n in zip(self.writes, self.total_slots, strict=True)
        ]
        self.totals = [each.last for each in self.levels]

    def begin(self) -> None:
        for each in self.levels:
            each.first.reset(self._places(each.first))

    def _places(self, total: Accumulators) -> list[Place]:
        return [(k * self.writer.lanes, None) for k in range(len(total.slots))]

    def along(self) -> None:
        if self.unrolled:
            self.writer.loops.along_vector(self.unroll, self._into_slot, False, self._turning)
            return
        self._rolled()

    def _rolled(self) -> None:
        """Whole turns of all slots in one loop, and the rest of the row in another."""
        writer, lanes = self.writer, self.writer.lanes
        dim, extent = writer.one.vector_dim, writer.loops.extent
        span = writer.loops.spans[dim]
        width = max(self.total_slots) * lanes
        main = extent // width * width
        if is_traced(main) or main:
            stop, always = writer.loops.whole_part(span, main)
            with (
                writer.f.loop(span.low, stop, lanes, at_least_once=always) as index,
                writer.loops.at(dim, index),
            ):
                self._turning(None)
        if is_traced(extent):
            writer.loops.any_tail(span, main, max(self.total_slots), self._into_slot)
        elif main < extent:
            with writer.loops.ending(span):
                writer.loops.rolled_tail(main, self._turning)
                turned = -(-(extent - main) // lanes)
                for total in self.totals:
                    total.rotate(-turned)

    def _into_slot(self, shift: int, mask: str | None) -> None:
        values = self.writer.body(shift, mask)
        self.writer.store_plain(values, shift, mask)
        for total in self.totals:
            number = shift // self.writer.lanes % len(total.slots)
            total.combine(number, self._value(total, values), mask)

    def _turning(self, mask: str | None) -> None:
        values = self.writer.body(0, mask)
        self.writer.store_plain(values, 0, mask)
        for total in self.totals:
            total.combine(0, self._value(total, values), mask)
            total.rotate()

    def _value(self, total: Accumulators, values: list[LlvmValue | None]) -> str:
        return self.writer.vector(values[total.write.position], total.kind)

    def finish(self) -> None:
        firsts = [each.first for each in self.levels]
        for total, slots in zip(firsts, self.total_slots, strict=True):
            if total.write.resumes:
                total.leave(self._places(total))
                continue
            extent = self.writer.loops.extent
            result = total.fold(slots, self.writer.lanes if is_traced(extent) else extent)
            self.writer.store_total(total.write, result, 1, 0, None)
