"""A lower bound of the bytes of a derivative's tapes, for any order of its ops.

A tape with a capacity is a buffer as long as it lives. Two tapes from the forward to the backward
code live at the same time if the backward code of each needs the forward code of the other; if
that is so for every two of some tapes, all of them live at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.ir import Block, SSAValue

from gradir.dialects.grad.tape import TapeNewOp, is_tape
from gradir.passes.analysis.live_bytes import held_bytes, held_bytes_of_type
from gradir.passes.analysis.regions import values_read
from gradir.passes.differentiate.derived import Derived

Needs = dict[SSAValue, int]
"""The tapes that must be written before a value is computed, as bits."""


class TapeBounds:
    """The tapes of a derivative, and those that live at the same time."""

    def __init__(self, derived: Derived):
        blocks = derived.forward, derived.backward
        news = [op for b in blocks for op in b.walk() if isinstance(op, TapeNewOp)]
        self.largest = max((held_bytes_of_type(op.tape.type) for op in news), default=0)
        self.tapes: list[SSAValue] = [
            r for op in derived.forward.ops for r in op.results if is_tape(r.type) and held_bytes(r)
        ]
        self._bits = {tape: 1 << k for k, tape in enumerate(self.tapes)}
        self._read = self._needs(*blocks)

    def _needs(self, forward: Block, backward: Block) -> Needs:
        """The tapes that must be written before the first read of each tape.

        The backward code counts as a reader of tapes alone: it may recompute other values of the
        forward code.
        """
        written: Needs = {}
        for op in forward.ops:
            found = _union_of_needs(values_read(op), written)
            for result in op.results:
                written[result] = found | self._bits.get(result, 0)
        needed: Needs = {tape: written[tape] for tape in self.tapes}
        read: Needs = {}
        for op in backward.ops:
            values = values_read(op)
            found = _union_of_needs(values, needed)
            for value in values:
                if value in self._bits:
                    read[value] = read.get(value, found) & found
            needed |= dict.fromkeys(op.results, found)
        return read

    def together(self, stored: Collection[SSAValue]) -> int:
        """The bytes of the tapes among some values that live at the same time."""
        chosen: list[SSAValue] = []
        for tape in sorted(self._of(stored), key=held_bytes, reverse=True):
            if all(self._overlap(tape, other) for other in chosen):
                chosen.append(tape)
        return sum(map(held_bytes, chosen))

    def all(self, stored: Collection[SSAValue]) -> int:
        """The bytes of the tapes among some values."""
        return sum(map(held_bytes, self._of(stored)))

    def _of(self, stored: Collection[SSAValue]) -> Sequence[SSAValue]:
        return [tape for tape in self.tapes if tape in stored]

    def _overlap(self, one: SSAValue, other: SSAValue) -> bool:
        pairs = (one, other), (other, one)
        return all(self._read.get(a, 0) & self._bits[b] for a, b in pairs)


def _union_of_needs(values: Collection[SSAValue], needs: Needs) -> int:
    found = 0
    for value in values:
        found |= needs.get(value, 0)
    return found
