"""Bytes that a choice of what to keep is sure to take, whatever fusion and scheduling do.

At the moment at which the last of the kept values is made, which others lie in memory as a whole?
Those that it is computed from, of which a contraction that depends on it reads all elements later.
Other readers prove nothing: fusion may let them run early, and keep what they make of a value, a
mask or a sum, in the place of it.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Block, Operation, SSAValue

from gradir.passes.analysis.live_bytes import bytes_of
from gradir.passes.analysis.regions import values_read
from gradir.passes.recompute.costs import Costs


class KeptBytes:
    """The dependences of a forward and a backward block, as bit masks over positions."""

    def __init__(self, forward: Block, backward: Block, costs: Costs):
        self.costs = costs
        self.places = {op: k for k, op in enumerate(forward.ops)}
        # by forward op: those that it depends on, itself included; by backward op likewise
        self.before = _dependences(forward)
        self.needs = _dependences(backward)
        self.readers: dict[SSAValue, int] = {}
        for k, op in enumerate(backward.ops):
            for value in values_read(op):
                self.readers[value] = self.readers.get(value, 0) | 1 << k
        self.products = _products(backward, costs)

    def at_least(self, kept: Collection[SSAValue]) -> int:
        """The bytes of the values that are in memory when the last one is made."""
        made = [v for v in kept if v.owner in self.places and self.readers.get(v)]
        if not made:
            return 0
        last = max(made, key=self._place)
        before, after = self.before[self._owner(last)], self.readers[last]
        return sum(
            bytes_of(value)
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


def _products(block: Block, costs: Costs) -> dict[SSAValue, list[Operation]]:
    """The contractions that read all of a value, also through what only permutes its elements."""
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


def _dependences(block: Block) -> dict[Operation, int]:
    found: dict[Operation, int] = {}
    for k, op in enumerate(block.ops):
        mask = 1 << k
        for value in values_read(op):
            owner = value.owner
            if isinstance(owner, Operation) and owner in found:
                mask |= found[owner]
        found[op] = mask
    return found
