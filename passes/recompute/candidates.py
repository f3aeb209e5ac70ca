"""Candidate sets of kept forward values, from all residuals to few.

The candidates depend on the program alone, never on a limit: the caller measures the memory of each
and picks. For few residuals they are all subsets; otherwise the plans for a series of limits
(`chain.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad.tape import is_tape
from gradir.passes.analysis.live_bytes import held_bytes
from gradir.passes.analysis.regions import captured
from gradir.passes.analysis.union_find import Families
from gradir.passes.differentiate.derived import Derived
from gradir.passes.differentiate.residuals import is_constant
from gradir.passes.recompute.chain import Chain, Kept, total_bytes
from gradir.passes.recompute.costs import Cost, Costs
from gradir.passes.recompute.kept_bytes import KeptBytes
from gradir.passes.recompute.policies import is_nearly_free, policy_named, rematerialization
from gradir.passes.recompute.rematerialize import Rematerialization
from gradir.passes.recompute.tape_bounds import TapeBounds

# The share of a derivative's time that nearly free recomputation may add.
LITTLE = 0.05
# The number of limits for which the chain is solved.
LIMITS = 24
# The most residuals for which every subset is a candidate.
FEW = 5


@dataclass(frozen=True)
class Candidate:
    """A set of kept forward values, and the seconds of recomputation without the others.

    `at_least`: a lower bound of its bytes (kept_bytes.py, and tape_bounds.py for tapes).
    `about`: an estimate of its bytes, which selects the candidates to measure.
    """

    kept: Kept
    cost: float
    at_least: int = 0
    about: int = 0


def candidates(derived: Derived, mode: str, costs: Costs, most: int) -> list[Candidate]:
    """At most `most` candidates, cheapest first; the first keeps all residuals and recomputes
    nothing.
    """
    family = _Family(derived, mode, costs)
    if most == 1:
        return [family.candidate(family.read)]
    made = map(family.candidate, dict.fromkeys(family.sets()))
    # one of those that differ in scalars only
    found = {(c.cost, frozenset(filter(held_bytes, c.kept))): c for c in reversed(list(made))}
    ordered = sorted(reversed(found.values()), key=lambda c: (c.cost, -c.at_least))
    front = _promising(ordered)
    others = [c for c in ordered if c not in front]
    picked = [*spread(front, most), *spread(others, max(most - len(front), 0))]
    return [c for c in ordered if c in picked]


def _promising(ordered: list[Candidate]) -> list[Candidate]:
    """The Pareto front of seconds and estimated bytes."""
    front = ordered[:1]
    for candidate in ordered[1:]:
        if candidate.about < front[-1].about:
            front.append(candidate)
    return front


_T = TypeVar("_T")


def spread(found: list[_T], count: int) -> list[_T]:
    """`count` entries of a list at even distances, with the first and the last."""
    if len(found) <= count:
        return found
    return [found[k * (len(found) - 1) // max(count - 1, 1)] for k in range(count)]


def straight_bytes(derived: Derived, mode: str) -> int:
    """The bytes of all residuals but tapes."""
    stored = rematerialization(derived, lambda value: False, mode).stored
    return total_bytes([value for value in stored if not is_tape(value.type)])


def nearly_free(derived: Derived, mode: str, costs: Costs, most: int) -> list[Candidate]:
    """Of `most` candidates, those that take hardly more time than the first, cheapest first.

    They repeat no reduction: its readers wait for it and pass over memory once more, so that it
    takes more time than its flops and bytes. A contraction takes the time of its flops.
    """
    ops = [op for block in (derived.forward, derived.backward) for op in block.ops]
    limit = LITTLE * sum(costs.of(op).seconds for op in ops)

    def reduces(value: SSAValue) -> bool:
        cost = costs.of(value.owner) if isinstance(value.owner, Operation) else Cost()
        return cost.reduces and not cost.contraction_flops

    def is_little(candidate: Candidate) -> bool:
        plan = rematerialization(derived, lambda value: value not in candidate.kept, mode)
        return candidate.cost <= limit and not any(map(reduces, plan.recomputed))

    return list(filter(is_little, candidates(derived, mode, costs, most)))


class _Family:
    def __init__(self, derived: Derived, mode: str, costs: Costs):
        self.derived = derived
        self.mode = mode
        self.costs = costs
        plan = rematerialization(derived, lambda value: False, mode)
        self.read = frozenset(plan.stored)
        self.residuals = [v for v in plan.stored if held_bytes(v)]
        self.cheap = self._nearly_free()
        self.tapes = TapeBounds(derived)
        self.sure = KeptBytes(derived.forward, derived.backward, costs)
        # results lie in the caller's memory
        self.returned = {*derived.results}

    def candidate(self, kept: Kept) -> Candidate:
        plan = rematerialization(self.derived, lambda value: value not in kept, self.mode)
        of_tapes = (self.tapes.all if self.mode == "split" else self.tapes.together)(plan.stored)
        sure = self.sure.at_least(kept - self.returned)
        at_least = max(sure, of_tapes, self.tapes.largest)
        return Candidate(kept, self._seconds(plan), at_least, _estimate(plan))

    def _seconds(self, plan: Rematerialization) -> float:
        ops = dict.fromkeys(value.owner for value in plan.recomputed)
        return sum(self.costs.of(op).seconds for op in ops if isinstance(op, Operation))

    def sets(self) -> Iterator[Kept]:
        """The sets to keep; recomputation starts from their values and from arguments."""
        yield self.read
        yield self.read - self.cheap
        yield frozenset()
        keeps = policy_named("keep_matmuls", self.costs)
        yield frozenset(r for op in self.derived.forward.ops for r in op.results if keeps(r))
        if len(self.residuals) <= FEW:
            for count in range(len(self.residuals)):
                yield from map(frozenset, combinations(self.residuals, count))
        chain = Chain(self.derived.forward, self.residuals, self.cheap, self.costs)
        yield from chain.plans(LIMITS)

    def _nearly_free(self) -> Kept:
        """Residuals computed by cheap ops from arguments and other residuals."""
        ready = set(self.read)
        found: list[SSAValue] = []
        for op in self.derived.forward.ops:
            inputs = [v for v in captured(op) if isinstance(v.owner, Operation)]
            if not all(v in ready or _is_constant_value(v) for v in inputs):
                continue
            for result in op.results:
                if is_nearly_free(result, self.costs):
                    ready.add(result)
                    if result in self.read:
                        found.append(result)
        return frozenset(found)


def _estimate(plan: Rematerialization) -> int:
    """The bytes of stored values and of the largest group of recomputed values: the values of a
    group are computed one from another."""
    families = Families()
    for value in plan.recomputed:
        for other in captured(value.owner) if isinstance(value.owner, Operation) else ():
            if other in plan.recomputed:
                families.join(other, value)
    together: dict[SSAValue, int] = {}
    for value in plan.recomputed:
        root = families.of(value)
        together[root] = together.get(root, 0) + held_bytes(value)
    return total_bytes(plan.stored) + max(together.values(), default=0)


def _is_constant_value(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and is_constant(value.owner)
