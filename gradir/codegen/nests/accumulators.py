"""Accumulators of the reductions of a pass: vectors that live in registers over its loops.

They are written as stack slots, which LLVM turns into registers. Slot s of an output holds `lanes`
partial results. The order of all that is combined is documented at `fold` and in `space.Fold`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

from gradir.codegen.nests.space import LinearWrite
from gradir.codegen.nests.writer import PassWriter
from gradir.codegen.text.kinds import bits_of, identity, infinity_key, is_float, llvm_type

Place: TypeAlias = tuple[int, str | None]
"""How many elements after the first one a slot's are, and its mask."""


class Levels:
    """The accumulators of one output on each level of folds, the innermost last.

    A combiner that does not round has one level: any order gives the same bits.
    """

    def __init__(self, writer: PassWriter, write: LinearWrite, slots: int):
        rounds = is_float(write.value_kind) and write.combiner in ("add", "multiply")
        count = len(writer.one.folds) if rounds else 0
        inside = [replace(write, resumes=False)] * count
        self.all = [Accumulators(writer, w, slots) for w in (write, *inside)]

    @property
    def first(self) -> Accumulators:
        return self.all[0]

    @property
    def last(self) -> Accumulators:
        return self.all[-1]

    @contextmanager
    def folded(self, number: int) -> Generator[None]:
        """Values combined inside go to the level below fold `number`, then to the fold's level."""
        if len(self.all) == 1:
            yield
            return
        outer, inner = self.all[number : number + 2]
        inner.reset()
        yield
        outer.absorb(inner)


@contextmanager
def folded_loops(
    writer: PassWriter, dims: Sequence[int], levels: Sequence[Levels]
) -> Generator[None]:
    """The blocks of the folds of some dimensions, and loops over all but the vector dimension."""
    with ExitStack() as stack:
        for dim in dims:
            for number, fold in enumerate(writer.one.folds):
                if fold.dim == dim:
                    stack.enter_context(writer.loops.blocks(dim, fold.size))
                    for each in levels:
                        stack.enter_context(each.folded(number))
            if dim != writer.one.vector_dim:
                stack.enter_context(writer.loops.loop(dim))
        yield


class Accumulators:
    """The slots of one output.

    Maximum and minimum of floats are held as integers of the same order (`order_key`): combining is
    then one instruction, where floats, with NaN and signed zeros, take a chain of six.
    """

    def __init__(self, writer: PassWriter, write: LinearWrite, slots: int):
        self.f, self.loops = writer.f, writer.loops
        self.write, self.kind, self.lanes = write, write.value_kind, writer.lanes
        self.combiner = write.combiner
        self.keyed = is_float(self.kind) and self.combiner in ("maximum", "minimum")
        self.held = f"i{max(32, bits_of(self.kind))}" if self.keyed else self.kind
        # from one place in `pointer` to the next, of a reduction that is done in parts
        columns = write.offset.coefficients[writer.one.vector_dim]
        self.stride = 1 if writer.one.reduces_lanes else columns
        with self.f.early():
            self.slots = [
                self.f.new_slots(self.held, self.lanes, hint="total") for _ in range(slots)
            ]

    def reset(self, places: Sequence[Place] = ()) -> None:
        """Set all slots to the combiner's identity, or to the results of an earlier part."""
        if self.write.resumes:
            for slot, (shift, mask) in zip(self.slots, places, strict=True):
                address = self._address(shift)
                args = (self.held, self.lanes, address, self.stride, mask)
                self.set(slot, self.f.load_strided(*args))
            return
        start = identity(self.combiner, self.kind)
        if self.keyed:
            start = infinity_key(self.held, self.combiner)
        for slot in self.slots:
            self.set(slot, self.f.splat(self.held, self.lanes, start))

    def leave(self, places: Sequence[Place]) -> None:
        """Leave the slots for a later part of the reduction."""
        for slot, (shift, mask) in zip(self.slots, places, strict=True):
            address, value = self._address(shift), self.get(slot)
            self.f.store_strided(self.held, self.lanes, address, self.stride, value, mask)

    def _address(self, shift: int) -> str:
        base = self.loops.address(self.write.pointer, self.held, self.write.offset, 0)
        return self.f.address(self.held, base, shift * self.stride)

    def get(self, slot: str) -> str:
        return self.f.load_slot(self.held, self.lanes, slot)

    def set(self, slot: str, value: str) -> None:
        self.f.store_slot(self.held, self.lanes, slot, value)

    def combine(self, number: int, value: str, mask: str | None) -> None:
        """Combine a vector into a slot; lanes that are not active keep their values."""
        slot = self.slots[number]
        old = self.get(slot)
        if self.keyed:
            value = self.f.order_key(self.kind, self.lanes, value, self.combiner)
        new = self._combined(self.lanes, old, value)
        if mask is not None:
            new = self.f.select(self.held, self.lanes, mask, new, old)
        self.set(slot, new)

    def _combined(self, lanes: int, left: str, right: str) -> str:
        return self.f.combine(self.combiner, self.held, lanes, left, right)

    def absorb(self, other: Accumulators) -> None:
        """Combine the slots of another one of the same output into these."""
        for slot, more in zip(self.slots, other.slots, strict=True):
            self.set(slot, self._combined(self.lanes, self.get(slot), other.get(more)))

    def result(self, number: int) -> str:
        """The value of a slot, as a vector of the output's kind."""
        return self._decoded(self.lanes, self.get(self.slots[number]))

    def _decoded(self, lanes: int, value: str) -> str:
        return self.f.from_order_key(self.kind, lanes, value) if self.keyed else value

    def rotate(self, places: int = 1) -> None:
        """Slot s becomes what slot s + places was, so that a loop always uses slot 0."""
        count = len(self.slots)
        if places % count == 0:
            return
        values = [self.get(slot) for slot in self.slots]
        for s, slot in enumerate(self.slots):
            self.set(slot, values[(s + places) % count])

    def fold(self, total_slots: int, active: int) -> str:
        """All partial results combined: the first half with the second, and so on down to one.

        `total_slots * lanes` partial results are folded; those after the first `active` were never
        touched, and combining them would change nothing.
        """
        values = [self.get(slot) for slot in self.slots]
        while total_slots > 1:
            total_slots //= 2
            for k in range(len(values) - total_slots):
                values[k] = self._combined(self.lanes, values[k], values[k + total_slots])
            values = values[:total_slots]
        return self._decoded(1, self._fold_lanes(values[0], min(self.lanes, active)))

    def _fold_lanes(self, value: str, active: int) -> str:
        width = self.lanes
        while width > 1:
            half = width // 2
            low = self._part(value, width, 0, half)
            if active > half:
                low = self._combined(half, low, self._part(value, width, half, half))
            value, width, active = low, half, min(active, half)
        return value

    def _part(self, value: str, width: int, start: int, count: int) -> str:
        """`count` lanes from `start` on; a scalar if that is one."""
        type_ = llvm_type(self.held, width)
        if count == 1:
            return self.f.emit(f"extractelement {type_} {value}, i64 {start}")
        return self.f.shuffle(self.held, width, value, range(start, start + count))
