"""A forward computation as a chain of blocks, and the values to keep by dynamic programming.

The forward code is cut where few bytes are alive. Each block keeps all its residuals, or all but
the nearly free ones; a run of blocks may keep only the values alive at its start (Chen et al. 2016,
"Training deep nets with sublinear memory cost"). `solve` finds the cheapest plan under a limit on
the kept bytes plus the recomputed bytes of any one run. It is exact for a chain of at most
MOST_BLOCKS values with at most WIDTH partial plans at each place (as in Feng and Huang 2021,
"Optimal gradient checkpoint search"), up to the effects of fusion and scheduling on memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import ceil
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from gradir.passes.analysis.kept_bits import kept_bytes
from gradir.passes.analysis.regions import captured
from gradir.passes.recompute.costs import Costs

MOST_BLOCKS = 64
# The most undominated partial plans that are followed at each place of the chain.
WIDTH = 24

Kept: TypeAlias = frozenset[SSAValue]
# A set of values, as a mask of their numbers.
Mask: TypeAlias = int


@dataclass
class Stretch:
    """A block of the chain: its residuals, and the cost of a run.

    `cheap` are the nearly free residuals, recomputed in `cheap_seconds`. `alive` are the values
    made before the block and read in it or behind it. `bytes` counts all residuals.
    """

    alive: Mask
    residuals: Mask = 0
    cheap: Mask = 0
    bytes: int = 0
    cheap_bytes: int = 0
    seconds: float = 0.0
    cheap_seconds: float = 0.0


class _Plan(NamedTuple):
    """A plan of the first blocks: kept bytes, seconds of recomputation, kept values. A tuple,
    since half a million are made for a few dozen layers."""

    bytes: int
    cost: float
    kept: Mask


def total_bytes(values: Collection[SSAValue]) -> int:
    return sum(map(kept_bytes, values))


class Chain:
    """The blocks of a forward computation, with its residuals."""

    def __init__(self, forward: Block, residuals: Collection[SSAValue], cheap: Kept, costs: Costs):
        self.ops = list(forward.ops)
        self.residuals = set(residuals)
        self.bytes = total_bytes(residuals)
        self._numbers: dict[SSAValue, int] = {}
        self._weights: dict[Mask, int] = {}
        alive = self._alive()
        cuts = self._cuts(alive)
        self.blocks: list[Stretch] = []
        for k, op in enumerate(self.ops):
            if k in cuts or not self.blocks:
                self.blocks.append(Stretch(sum(map(self._mask, alive[k]))))
            self._add(op, self.blocks[-1], cheap, costs)

    def _mask(self, value: SSAValue) -> Mask:
        return 1 << self._numbers.setdefault(value, len(self._numbers))

    def _weight(self, values: Mask) -> int:
        """The bytes of a set of values."""
        if values not in self._weights:
            total = sum(kept_bytes(v) for v, k in self._numbers.items() if values >> k & 1)
            self._weights[values] = total
        return self._weights[values]

    def _alive(self) -> list[list[SSAValue]]:
        """At each place, the values made before it and read at it or behind it."""
        last: dict[SSAValue, int] = {}
        for k, op in enumerate(self.ops):
            last.update(dict.fromkeys(captured(op), k))
        now: dict[SSAValue, None] = {}
        places: list[list[SSAValue]] = []
        for k, op in enumerate(self.ops):
            now = {v: None for v in now if last[v] >= k}
            places.append(list(now))
            now |= {r: None for r in op.results if last.get(r, -1) > k and kept_bytes(r)}
        return places

    def _cuts(self, alive: list[list[SSAValue]]) -> set[int]:
        """For each share of the residuals' bytes, the place with the fewest bytes alive."""
        best: dict[int, tuple[int, int]] = {}
        seen = 0
        for k, op in enumerate(self.ops):
            share = seen * MOST_BLOCKS // max(self.bytes, 1)
            here = total_bytes(alive[k]), k
            best[share] = min(best.get(share, here), here)
            seen += total_bytes([r for r in op.results if r in self.residuals])
        return {k for _, k in best.values()}

    def _add(self, op: Operation, block: Stretch, cheap: Kept, costs: Costs) -> None:
        seconds = costs.of(op).seconds
        block.seconds += seconds
        for result in op.results:
            if result not in self.residuals:
                continue
            block.bytes += kept_bytes(result)
            if result in cheap:
                block.cheap_seconds += seconds
                block.cheap_bytes += kept_bytes(result)
                block.cheap |= self._mask(result)
            else:
                block.residuals |= self._mask(result)

    def plans(self, count: int) -> Iterator[Kept]:
        """The sets to keep for a series of limits, from the least feasible one on, each a constant
        factor above the one before."""
        least = self.least()
        for k in range(count):
            limit = least * (self.bytes / max(least, 1)) ** (k / count)
            if (kept := self.solve(ceil(limit))) is not None:
                yield kept

    def least(self) -> int:
        """The lowest feasible limit, to a thousandth of the residuals' bytes."""
        low, high = 0, self.bytes
        while high - low > max(self.bytes // 1000, 1):
            middle = (low + high) // 2
            if self.solve(middle) is None:
                low = middle
            else:
                high = middle
        return high

    def solve(self, limit: int) -> Kept | None:
        """The set to keep at the least cost under the limit; None where there is none."""
        plans: list[list[_Plan]] = [[] for _ in range(len(self.blocks) + 1)]
        plans[0] = [_Plan(0, 0.0, 0)]
        for start in range(len(self.blocks)):
            for plan in _best(plans[start]):
                for end, longer in self._steps(start, plan, limit):
                    plans[end].append(longer)
        found = _best(plans[-1])
        if not found:
            return None
        return frozenset(v for v, k in self._numbers.items() if found[0].kept >> k & 1)

    def _steps(self, start: int, plan: _Plan, limit: int) -> Iterator[tuple[int, _Plan]]:
        """The extensions of a plan by the next block, or by a run of blocks."""
        block = self.blocks[start]
        everything = self._keep(plan, block.residuals | block.cheap, 0.0)
        if everything.bytes <= limit:
            yield start + 1, everything
        # from the values alive at its start: no earlier block is run again
        costly = self._keep(plan, block.alive | block.residuals, block.cheap_seconds)
        if block.cheap and costly.bytes + block.cheap_bytes <= limit:
            yield start + 1, costly
        begun = self._keep(plan, block.alive, 0.0)
        inside, seconds = 0, plan.cost
        for end in range(start, len(self.blocks)):
            inside += self.blocks[end].bytes
            seconds += self.blocks[end].seconds
            if begun.bytes + inside > limit:
                return
            yield end + 1, _Plan(begun.bytes, seconds, begun.kept)

    def _keep(self, plan: _Plan, values: Mask, cost: float) -> _Plan:
        added = self._weight(values & ~plan.kept)
        return _Plan(plan.bytes + added, plan.cost + cost, plan.kept | values)


def _best(plans: list[_Plan]) -> list[_Plan]:
    """The Pareto front of seconds and kept bytes; the cheapest first, at most WIDTH."""
    front: list[_Plan] = []
    for plan in sorted(plans, key=attrgetter("cost", "bytes")):
        if not front or plan.bytes < front[-1].bytes:
            front.append(plan)
    if len(front) <= WIDTH:
        return front
    return [front[k * (len(front) - 1) // (WIDTH - 1)] for k in range(WIDTH)]
