"""Reductions that keep the vector dimension, and scattered outputs: a lane is its own element.

Each output element is combined in the lexicographic order of the reduced dimensions, with the folds
of `space.choose_folds` between them. A block of
several vectors of elements goes through all of them at once. A scattered output is combined in
memory, in the order of the dimensions that are not rows of it.
"""

from __future__ import annotations

from math import prod

from gradir.codegen.bodies.emitter import LlvmValue
from gradir.codegen.nests.accumulators import Levels, folded_loops
from gradir.codegen.nests.space import LinearWrite
from gradir.codegen.nests.writer import PassWriter
from gradir.codegen.text.kinds import constant_mask
from gradir.dialects.base.traced_sizes import is_traced

# Columns that a work item should at least cover: a few cache lines of each row.
ITEM_COLUMNS = 256


def write_column_reduction(writer: PassWriter) -> None:
    """All iterations of a pass that keeps the last dimension."""
    one = writer.one
    kept = [d for d in range(len(one.bounds)) if d not in one.reduced]
    block = _block(writer) * writer.lanes
    inner = prod(one.bounds[d] for d in one.reduced) // one.pieces
    # whole blocks, and enough columns that rows are read in long pieces
    extent = writer.loops.extent
    columns = ITEM_COLUMNS if is_traced(extent) else min(ITEM_COLUMNS, extent)
    if any(w.in_memory for w in one.writes):
        columns = block  # of a scatter nothing but columns can be shared out
    least = -(-columns // block) * block
    with writer.items.each(writer.items.choose(kept, inner, least)):
        _columns(writer, block)


def _block(writer: PassWriter) -> int:
    """Vectors of columns that are reduced at once."""
    size = writer.one.body.size
    most = 8 if size <= 4 else 4 if size <= 12 else 2
    most //= writer.one.interleaved
    if writer.target.vector_registers < 32:
        most //= 2
    most = max(1, most)
    if is_traced(writer.loops.extent):
        return most
    if any(w.in_memory for w in writer.one.writes):
        # two items at least, and from eight vectors on four; a pass misses caches row by row
        vectors = writer.loops.extent // writer.lanes
        most = min(most, 4, max(1, vectors // (2 if vectors < 8 else 4)))
    vectors = -(-writer.loops.extent // writer.lanes)
    return -(-vectors // -(-vectors // most))


def _columns(writer: PassWriter, block: int) -> None:
    """Whole blocks in a loop, then the rest."""
    dim, extent, lanes = writer.one.vector_dim, writer.loops.extent, writer.lanes
    span = writer.loops.spans[dim]
    main = extent // block * block
    if is_traced(main) or main:
        with writer.loops.groups(span, main, block) as index, writer.loops.at(dim, index):
            _Columns(writer, {k: None for k in range(0, block, lanes)}).write()
    if is_traced(extent):

        def one_vector(shift: int, mask: str | None) -> None:
            _Columns(writer, {shift: mask}).write()

        writer.loops.any_tail(span, main, block // lanes, one_vector)
    elif main < extent:
        with writer.loops.ending(span), writer.loops.at(dim, str(main)):
            rest = extent - main
            masks = {
                k: constant_mask(lanes, rest - k) if rest - k < lanes else None
                for k in range(0, rest, lanes)
            }
            _Columns(writer, masks).write()


class _Columns:
    """One block of columns; `masks` has the mask of each vector by its shift."""

    def __init__(self, writer: PassWriter, masks: dict[int, str | None]):
        self.writer = writer
        self.masks = masks
        one = writer.one
        self.levels = [
            Levels(writer, w, len(masks))
            for w in one.writes
            if w.combiner != "none" and not w.in_memory
        ]
        self.scattered = [w for w in one.writes if w.in_memory]

    def write(self) -> None:
        writer, one = self.writer, self.writer.one
        places = list(self.masks.items())
        for each in self.levels:
            each.first.reset(places)
        with (
            writer.arguments.hoisting(one.reduced, self.masks),
            folded_loops(writer, sorted(one.reduced), self.levels),
            writer.arguments.hoisting(frozenset([one.vector_dim]), {}),
        ):
            for number, (shift, mask) in enumerate(self.masks.items()):
                self._one_vector(number, shift, mask)
        for total in (each.first for each in self.levels):
            if total.write.resumes:
                total.leave(places)
                continue
            for number, (shift, mask) in enumerate(self.masks.items()):
                writer.store_total(total.write, total.result(number), writer.lanes, shift, mask)

    def _one_vector(self, number: int, shift: int, mask: str | None) -> None:
        writer = self.writer
        values = writer.body(shift, mask)
        writer.store_plain(values, shift, mask)
        for total in (each.last for each in self.levels):
            value = writer.vector(values[total.write.position], total.kind)
            total.combine(number, value, None)
        for write in self.scattered:
            self._combine_in_memory(write, values, shift, mask)

    def _combine_in_memory(
        self, write: LinearWrite, values: list[LlvmValue | None], shift: int, mask: str | None
    ) -> None:
        writer, f, lanes = self.writer, self.writer.f, self.writer.lanes
        value = writer.vector(values[write.position], write.value_kind)
        address = writer.loops.address(write.pointer, write.kind, write.offset, shift)
        for position, step in write.symbols:
            index = values[position]
            assert index is not None and index.lanes == 1
            offset = writer.f.multiply(index.name, step)
            address = f.address(write.kind, address, offset)
        stride = write.offset.coefficients[writer.one.vector_dim] if lanes > 1 else 1
        if write.combiner != "none":
            old = f.load_strided(write.kind, lanes, address, stride, mask)
            value = f.combine(write.combiner, write.kind, lanes, old, value)
        else:
            value = f.resize(write.value_kind, write.kind, lanes, value)
        f.store_strided(write.kind, lanes, address, stride, value, mask)
