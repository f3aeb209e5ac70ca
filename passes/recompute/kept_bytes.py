"""A lower bound of the bytes of a set of kept values, for any fusion and schedule.

When the last kept value is computed, two kinds of other kept values are in memory as a whole: the
ones it is computed from, and the ones whose elements are all read later, by a contraction that
depends on it. Other readers prove nothing: fusion may run them early, and keep their result, a
mask or a sum, in place of the value.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Block, Operation, SSAValue

from gradir.passes.analysis.kept_bits import kept_bytes
from gradir.passes.analysis.live_bytes import bytes_of
from gradir.passes.analysis.regions import values_read
from gradir.passes.recompute.costs import Costs


class KeptBytes:
    """The dependences of a forward and a backward block, as bit masks over positions."""

    def __init__(self, forward: Block, backward: Block, costs: Costs):
        self.costs = costs
        self.places = {op: k for k, op in enumerate(forward.ops)}
        self.before = dependences(forward)
        self.needs = dependences(backward)
        self.readers: dict[SSAValue, int] = {}
        for k, op in enumerate(backward.ops):
            for value in values_read(op):
                self.readers[value] = self.readers.get(value, 0) | 1 << k
        self.products = products(backward, costs)

    def at_least(self, kept: Collection[SSAValue]) -> int:
        """The bytes of the kept values in memory when the last one is computed."""
        made = [v for v in kept if v.owner in self.places and self.readers.get(v)]
        if not made:
            return 0
        last = max(made, key=self._place)
        before, after = self.before[self._owner(last)], self.readers[last]
        return sum(
            kept_bytes(value)
            for value in made
            if before >> self._place(value) & 1
            and not self.costs.of(self._owner(value)).is_free
            and any(self.needs[op] & after for op in self.products.get(value, []))
        )

    def _place(self, value: SSAValue) -> int:
        return self.places[self._owner(value)]

    def _owner(self, value: SSAValue) -> Operation:
        assert isinstance(value.owner, Operation)
        return value.owner


def products(block: Block, costs: Costs) -> dict[SSAValue, list[Operation]]:
    """The contractions that read all of a value, directly or through permutations of it."""
    found: dict[SSAValue, list[Operation]] = {}
    for op in reversed(list(block.ops)):
        if op.regions:
            continue
        for value in values_read(op):
            readers = found.setdefault(value, [])
            if costs.of(op).contraction_flops:
                readers.append(op)
            elif costs.of(op).is_free and len(op.results) == 1:
                if bytes_of(op.results[0]) == bytes_of(value):
                    readers += found.get(op.results[0], [])
    return found


def dependences(block: Block) -> dict[Operation, int]:
    """For each op, the ops of the block that it needs, itself included, as bits of places."""
    found: dict[Operation, int] = {}
    for k, op in enumerate(block.ops):
        mask = 1 << k
        for value in values_read(op):
            owner = value.owner
            if isinstance(owner, Operation) and owner in found:
                mask |= found[owner]
        found[op] = mask
    return found
