"""What may be kept of a forward computation: a family of sets, from all that is read to very little.

The family depends on the program alone, never on a limit. With few residuals it has every subset of
them. Otherwise the forward code is cut where few bytes are alive into at most MOST_BLOCKS blocks, a
chain, and dynamic programming over it finds, for each of a row of limits, what to keep at the least
cost: of each block everything, all but what is nearly free, or, of a run of blocks, only what is
alive at its start (Chen et al. 2016, "Training deep nets with sublinear memory cost"; for chains
with unequal costs Feng and Huang 2021, "Optimal gradient checkpoint search"). The model counts the
bytes of residuals, which is exact up to what fusion and scheduling make of the rest; whoever picks
from the family measures the memory of each candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from xdsl.ir import Operation, SSAValue

from gradir.passes.costs import Costs
from gradir.passes.derived_functions import Derived
from gradir.passes.live_bytes import bytes_of
from gradir.passes.policies import is_nearly_free, policy_named, rematerialization
from gradir.passes.rematerialize import captured
from gradir.passes.residuals import is_constant

MOST_BLOCKS = 32
# Limits for which the chain is solved.
LIMITS = 20
# Up to so many residuals, every subset is a candidate.
FEW = 5
# Of each place of the chain, so many partial plans that no other one beats are followed.
WIDTH = 12

Kept = frozenset[SSAValue]


@dataclass(frozen=True)
class Candidate:
    """A set of forward values to keep, and the seconds of recomputation that this costs."""

    kept: Kept
    cost: float


@dataclass(frozen=True)
class _Plan:
    """Of the first blocks of the chain: bytes kept, seconds, and the values."""

    bytes: int
    cost: float
    kept: Kept


@dataclass
class _Block:
    """A stretch of the forward code: what the backward code reads of it, and what it costs."""

    residuals: list[SSAValue] = field(default_factory=list[SSAValue])
    cheap: list[SSAValue] = field(default_factory=list[SSAValue])
    seconds: float = 0.0
    cheap_seconds: float = 0.0
    # what is made before the block and read by it or behind it
    alive: tuple[SSAValue, ...] = ()


def candidates(derived: Derived, mode: str, costs: Costs) -> list[Candidate]:
    """The family, cheapest first; the first keeps all residuals and recomputes nothing."""
    family = _Family(derived, mode, costs)
    found = dict.fromkeys(family.sets())
    made = [Candidate(kept, family.cost(kept)) for kept in found]
    return sorted(made, key=lambda c: (c.cost, -sum(map(bytes_of, c.kept))))


def nearly_free(derived: Derived, mode: str, costs: Costs) -> list[Candidate]:
    """To keep all that is read, and to recompute of it what takes hardly any time."""
    family = _Family(derived, mode, costs)
    return [Candidate(kept, 0.0) for kept in (family.read, family.read - family.cheap)]


class _Family:
    def __init__(self, derived: Derived, mode: str, costs: Costs):
        self.derived = derived
        self.mode = mode
        self.costs = costs
        plan = rematerialization(derived, lambda value: False, mode)
        self.residuals = [v for v in plan.stored if bytes_of(v)]
        self.read = frozenset(plan.stored)
        self.cheap = self._nearly_free()

    def cost(self, kept: Kept) -> float:
        """The seconds of what is recomputed if these values are kept."""
        plan = rematerialization(self.derived, lambda value: value not in kept, self.mode)
        ops = dict.fromkeys(value.owner for value in plan.recomputed)
        return sum(self.costs.of(op).seconds for op in ops if isinstance(op, Operation))

    def sets(self) -> Iterator[Kept]:
        """The sets to keep; what is recomputed without them ends there or at arguments."""
        yield self.read
        yield self.read - self.cheap
        yield frozenset()
        keeps = policy_named("keep_matmuls", self.costs)
        yield frozenset(r for op in self.derived.forward.ops for r in op.results if keeps(r))
        if len(self.residuals) <= FEW:
            for count in range(len(self.residuals)):
                yield from map(frozenset, combinations(self.residuals, count))
        blocks = self._blocks()
        for limit in self._limits(blocks):
            yield from self._solved(blocks, limit)

    def _nearly_free(self) -> Kept:
        """Residuals that cheap ops make of arguments and other residuals."""
        ready: set[SSAValue] = set(self.read)
        found: list[SSAValue] = []
        for op in self.derived.forward.ops:
            for result in op.results:
                inputs = (v for v in captured(op) if isinstance(v.owner, Operation))
                within = all(v in ready or is_constant_value(v) for v in inputs)
                if within and is_nearly_free(result, self.costs):
                    ready.add(result)
                    if result in self.read:
                        found.append(result)
        return frozenset(found)

    # The chain.

    def _blocks(self) -> list[_Block]:
        """The forward code in blocks of about equal bytes, each cut where little is alive."""
        ops = list(self.derived.forward.ops)
        place = {op: k for k, op in enumerate(ops)}
        last: dict[SSAValue, int] = {}
        for op in ops:
            for value in captured(op):
                last[value] = place[op]
        made: list[list[SSAValue]] = [[] for _ in range(len(ops) + 1)]
        ends: list[list[SSAValue]] = [[] for _ in range(len(ops) + 1)]
        for op in ops:
            for result in op.results:
                if last.get(result, -1) > place[op] and bytes_of(result):
                    made[place[op] + 1].append(result)
                    ends[last[result] + 1].append(result)
        cuts = self._cuts(ops, made, ends)
        blocks: list[_Block] = []
        alive: dict[SSAValue, None] = {}
        residuals = set(self.residuals)
        for k, op in enumerate(ops):
            alive |= dict.fromkeys(made[k])
            for value in ends[k]:
                alive.pop(value, None)
            if k in cuts or not blocks:
                blocks.append(_Block(alive=tuple(alive)))
            block = blocks[-1]
            seconds = self.costs.of(op).seconds
            block.seconds += seconds
            for result in op.results:
                if result in residuals:
                    (block.cheap if result in self.cheap else block.residuals).append(result)
                if result in self.cheap:
                    block.cheap_seconds += seconds
        return blocks

    def _cuts(
        self, ops: list[Operation], made: list[list[SSAValue]], ends: list[list[SSAValue]]
    ) -> set[int]:
        """Of each share of the residuals' bytes, the place with the fewest bytes alive."""
        total = sum(map(bytes_of, self.residuals)) or 1
        residuals = set(self.residuals)
        best: dict[int, tuple[int, int]] = {}
        seen = alive = 0
        for k, op in enumerate(ops):
            alive += sum(map(bytes_of, made[k])) - sum(map(bytes_of, ends[k]))
            share = seen * MOST_BLOCKS // total
            best[share] = min(best.get(share, (alive, k)), (alive, k))
            seen += sum(bytes_of(r) for r in op.results if r in residuals)
        return {k for _, k in best.values()}

    def _limits(self, blocks: list[_Block]) -> list[int]:
        total = sum(map(bytes_of, self.residuals))
        return [total * k // LIMITS for k in range(1, LIMITS)]

    def _solved(self, blocks: list[_Block], limit: int) -> Iterator[Kept]:
        """The cheapest plan of which no part takes more than the limit, if there is one."""
        plans: list[list[_Plan]] = [[] for _ in range(len(blocks) + 1)]
        plans[0] = [_Plan(0, 0.0, frozenset())]
        for start in range(len(blocks)):
            plans[start] = _best(plans[start])
            for plan in plans[start]:
                for end, longer in self._steps(blocks, start, plan, limit):
                    plans[end].append(longer)
        for plan in _best(plans[-1])[:1]:
            yield plan.kept

    def _steps(
        self, blocks: list[_Block], start: int, plan: _Plan, limit: int
    ) -> Iterator[tuple[int, _Plan]]:
        """What may become of the next block, or of several."""
        block = blocks[start]
        for kept, cost, again in (
            ([*block.residuals, *block.cheap], 0.0, []),
            (block.residuals, block.cheap_seconds, block.cheap),
        ):
            longer = _with(plan, kept, cost)
            if longer.bytes + sum(map(bytes_of, again)) <= limit:
                yield start + 1, longer
        inside, seconds = 0, 0.0
        at_start = _with(plan, block.alive if start else (), 0.0)
        for end in range(start + 1, len(blocks) + 1):
            last = blocks[end - 1]
            inside += sum(map(bytes_of, (*last.residuals, *last.cheap)))
            seconds += last.seconds
            if at_start.bytes + inside > limit:
                return
            yield end, _Plan(at_start.bytes, plan.cost + seconds, at_start.kept)


def is_constant_value(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and is_constant(value.owner)


def _with(plan: _Plan, values: list[SSAValue] | tuple[SSAValue, ...], cost: float) -> _Plan:
    added = [v for v in values if v not in plan.kept]
    size = sum(map(bytes_of, added))
    return _Plan(plan.bytes + size, plan.cost + cost, plan.kept.union(added))


def _best(plans: list[_Plan]) -> list[_Plan]:
    """Those of which none is cheaper and keeps less; the cheapest first, at most WIDTH."""
    front: list[_Plan] = []
    for plan in sorted(plans, key=lambda p: (p.cost, p.bytes)):
        if not front or plan.bytes < front[-1].bytes:
            front.append(plan)
    if len(front) <= WIDTH:
        return front
    return [front[k * (len(front) - 1) // (WIDTH - 1)] for k in range(WIDTH)]
