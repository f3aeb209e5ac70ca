"""A lower bound of the bytes of a function's arena, for any fusion and schedule.

A value that a contraction reads as a whole is in memory from its op to that contraction; so it is
while another contraction runs, if that one needs the value and the reader needs that one. Fusion
may keep in its place what it is computed from by other ops than contractions, and compute it where
it is read. So values that depend on one contraction count once, with the least bytes on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.interfaces import is_terminator
from gradir.passes.analysis.live_bytes import bytes_of
from gradir.passes.analysis.regions import values_read
from gradir.passes.recompute.costs import Costs
from gradir.passes.recompute.kept_bytes import dependences, products


def arena_at_least(block: Block, costs: Costs) -> int:
    """The bytes of the values in memory while one of the contractions runs, the most of all."""
    ops = list(block.ops)
    places = {op: k for k, op in enumerate(ops)}
    before, sources = dependences(block), _sources(ops, costs)
    read = [(v, found) for v, found in products(block, costs).items() if v in sources]
    most = 0
    for op in ops:
        if not costs.of(op).contraction_flops:
            continue
        alive: dict[Operation, int] = {}
        here = 1 << places[op]
        for value, readers in read:
            owner = value.owner
            assert isinstance(owner, Operation)
            is_before = owner is not op and before[op] >> places[owner] & 1
            if is_before and any(before[r] & here for r in readers if r is not op):
                source, size = sources[value]
                alive[source] = max(alive.get(source, 0), size)
        most = max(most, sum(alive.values()))
    return most


def _sources(ops: Sequence[Operation], costs: Costs) -> dict[SSAValue, tuple[Operation, int]]:
    """For each value, the first of the contractions it is computed from, and the least bytes of
    the values on the way; those in the memory of a result have none."""
    places = {op: k for k, op in enumerate(ops)}
    outside = _returned(ops, costs)
    found: dict[SSAValue, tuple[Operation, int]] = {}
    for op in ops:
        read = [found[v] for v in values_read(op) if v in found]
        for result in op.results:
            size = 0 if result in outside else bytes_of(result)
            if costs.of(op).contraction_flops:
                found[result] = op, size
            elif read:
                first = min((source for source, _ in read), key=places.__getitem__)
                found[result] = first, min(size, *(least for _, least in read))
    return found


def _returned(ops: Sequence[Operation], costs: Costs) -> set[SSAValue]:
    """The results of the block, and what they are views of."""
    found: set[SSAValue] = set()
    for op in reversed(ops):
        if is_terminator(op) or (costs.of(op).is_free and found.intersection(op.results)):
            found.update(values_read(op))
    return found
