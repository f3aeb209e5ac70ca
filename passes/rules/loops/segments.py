"""The segments of a loop under `#grad.loop<every = k>`, and the snapshots at their starts.

With a known bound of the number of segments, snapshots are rows of stacked tensors, which the
backward loop reads by the number of the segment. Otherwise they are records of a tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, cast_integer, largest_number, named
from gradir.dialects.grad.tape import TapeType, pop, push
from gradir.passes.analysis.region_flow import segment_size, trips
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.loops.body import check_room, tape_limit
from gradir.passes.rules.loops.carried import take_over
from gradir.passes.rules.loops.for_loop import Bounds
from gradir.passes.rules.loops.snapshots import StackedRows
from gradir.passes.rules.loops.state import LoopState


@dataclass(frozen=True)
class Segments:
    """The bounds of the loop over segments, without overflow. All segments have the same length if
    `even`."""

    whole: Bounds
    stride: SSAValue
    even: bool

    @staticmethod
    def of(op: scf.ForOp, whole: Bounds, emitter: Emitter) -> Segments:
        size, count = segment_size(op), trips(op)
        integers, most = Integers(op.lb.type, emitter), largest_number(op.lb.type)
        low, high, step = whole.numbers()
        even = False
        if isinstance(low, int) and isinstance(high, int) and isinstance(step, int):
            even = count is not None and count % size == 0 and low + count * step <= most
        if not isinstance(step, int):
            fitting = integers.value(integers.divide(most, step))
            size = emitter.insert(arith.MinSIOp(integers.constant(size), fitting)).result
        return Segments(whole, integers.value(integers.multiply(step, size)), even)

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.whole.low, self.whole.high, self.stride)

    def one(self, start: SSAValue, emitter: Emitter) -> Bounds:
        """The bounds of the iterations of a segment."""
        length = self.stride
        if not self.even:
            # as unsigned numbers: nothing overflows
            left = named(emitter.insert(arith.SubiOp(self.whole.high, start)).result, "left")
            length = emitter.insert(arith.MinUIOp(length, left)).result
            length.name_hint = "length"
        end = named(emitter.insert(arith.AddiOp(start, length)).result, "end")
        return Bounds(start, end, self.whole.step)

    def number(self, start: SSAValue, emitter: Emitter) -> SSAValue:
        """The number of segments before the one from `start`."""
        low, _, stride = self.bounds.numbers()
        whole = Integers(start.type, emitter)
        gone = whole.value(whole.subtract(start, low))
        if stride != 1:
            gone = emitter.insert(arith.DivUIOp(gone, self.stride)).result
        return named(cast_integer(gone, IndexType(), emitter), "segment")


@dataclass(frozen=True)
class SegmentRows:
    """Snapshots at the starts of segments, a row each; the backward loop carries none."""

    rows: StackedRows

    def forward(self) -> tuple[list[SSAValue], list[str | None]]:
        """The initial values of the forward loop, and their names."""
        return self.rows.columns, self.rows.names()

    def keep(
        self,
        segments: Segments,
        start: SSAValue,
        state: Sequence[SSAValue],
        own: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Keep the snapshot of the segment from `start`; returns the carried values."""
        if not own:
            return []
        row = segments.number(start, emitter)
        return self.rows.with_columns(own).written(row, state, emitter).columns

    def after(self, own: Sequence[SSAValue]) -> SegmentRows:
        """The snapshots after the forward loop."""
        return SegmentRows(self.rows.with_columns(own))

    def backward(self) -> list[SSAValue]:
        """The initial values of the backward loop."""
        return []

    def take(
        self, segments: Segments, start: SSAValue, own: Sequence[SSAValue], emitter: Emitter
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """The snapshot of the segment from `start`, the last remaining one; and the carried
        values."""
        if not self.rows.columns:
            return [], []
        return self.rows.read(segments.number(start, emitter), emitter), []

    def finish(self, own: Sequence[SSAValue]) -> None:
        """Set the values after the backward loop."""


@dataclass(frozen=True)
class SegmentTape:
    """Snapshots at the starts of segments: records of a tape that both loops carry."""

    tape: TapeThread

    def forward(self) -> tuple[list[SSAValue], list[str | None]]:
        return [self.tape.forward], ["tape"]

    def keep(
        self,
        segments: Segments,
        start: SSAValue,
        state: Sequence[SSAValue],
        own: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        return [named(push(own[0], state, emitter), "tape")]

    def after(self, own: Sequence[SSAValue]) -> SegmentTape:
        take_over([self.tape], own)
        return self

    def backward(self) -> list[SSAValue]:
        return [self.tape.in_backward()]

    def take(
        self, segments: Segments, start: SSAValue, own: Sequence[SSAValue], emitter: Emitter
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        rest, state = pop(own[0], emitter)
        return list(state), [named(rest, "tape")]

    def finish(self, own: Sequence[SSAValue]) -> None:
        take_over([self.tape], own, backward=True)


SegmentStates = SegmentRows | SegmentTape


def open_segments(outer: Differentiator, op: Operation, state: LoopState) -> SegmentStates:
    """Room for the snapshots of a loop's segments."""
    count, outside = trips(op), outer.forward_emitter(op)
    if count is None and state.needed:
        return SegmentTape(outer.open_tape(TapeType.of(state.types, None, tape_limit(op))))
    rows = max(-(-(count or 0) // segment_size(op)), 1)
    check_room(op, rows, state.types)
    return SegmentRows(StackedRows.empty(state.types, state.names, rows, outside))
