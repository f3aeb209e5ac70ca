"""Derivatives within a memory limit, and policies, by measured plans.

A plan is a setting of loop policies (`loop_policy_search.py`) and a set of values to keep
(`candidates.py`, both in `passes/recompute/`). Plans are measured, the cheapest first, until one
fits; the compiler hands in the measure, which compiles down to the memory plan. So the promised
peak is the program's arena; and as the plans do not depend on the limit, a larger limit never
leads to more recomputation, nor to a smaller peak.

Growing tapes, of loops of unknown length, are outside of the arena. They occur only where a loop
must not run again, or has the policy store_all; they share the rest of the limit beside the arena,
and a program that needs more stops with an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from gradir.dialects.base.attribute_names import LOOPS, MEMORY_LIMIT, PEAK, POLICY_ATTRIBUTE
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.differentiate.derived import Derived
from gradir.passes.gradient.decisions import Decision, decided
from gradir.passes.gradient.gradient import Derivation
from gradir.passes.gradient.measured_peak import (
    Measure,
    Note,
    derivative_functions,
    measured_peak,
    peak_within,
)
from gradir.passes.recompute.candidates import (
    Candidate,
    candidates,
    nearly_free,
    spread,
    straight_bytes,
)
from gradir.passes.recompute.loop_policy_search import Setting, settings
from gradir.passes.recompute.policies import policy_named, rematerialization
from gradir.passes.recompute.tape_limits import has_growing, limit_tapes

# For a program of n ops, OPS_TO_MEASURE / n plans are measured.
OPS_TO_MEASURE = 24_000
FEWEST, MOST = 6, 48
# With several settings of loops, where each takes LOWERS times the memory of the one before: the
# number of all plans; and the number per setting, if straight-line code is no SMALL part of it.
MOST_WITH_LOOPS, FEWEST_OF_SETTING = 18, 3
LOWERS, SMALL = 0.75, 0.05


@dataclass(frozen=True)
class MemoryLimit:
    """A limit in bytes on the arena; for mode=split, on the larger arena plus the residuals between
    the halves.
    """

    bytes: int
    measure: Measure
    note: Note

    def __call__(self, derivation: Derivation) -> Derived:
        decision = decided(self.search, self.note, derivation)
        peak = decision.peak
        assert peak is not None
        derived = decision.applied(derivation.mode)
        limit_tapes(derived, self.bytes - peak)
        derived.attributes |= {
            MEMORY_LIMIT: IntegerAttr(self.bytes, i64),
            PEAK: IntegerAttr(peak, i64),
        }
        if derived.loops:
            derived.attributes[LOOPS] = ArrayAttr([loop.policy for loop in derived.loops])
        return derived

    def search(self, derivation: Derivation) -> Decision:
        """The cheapest plan that fits; PassError without one."""
        plans = Plans(derivation, self.measure)
        chosen = plans.within(self.bytes)
        if chosen is None:
            least = plans.least()
            tapes = " and what grows on tapes" if has_growing(plans.derived(least.setting)) else ""
            raise PassError(
                f"gradir-gradient: memory_limit of {self.bytes} bytes is infeasible: minimum is "
                f"{plans.peak(least)} bytes{tapes}",
                derivation.source,
            )
        return plans.decision(chosen)


@dataclass(frozen=True)
class Policy:
    """A policy by its name: `auto`, the plan of the lowest peak among plans of hardly more time;
    or one of kept values, unless keeping all takes less memory.
    """

    name: str
    measure: Measure
    note: Note

    def __call__(self, derivation: Derivation) -> Derived:
        search = self.search_auto if self.name == "auto" else self.search_named
        return decided(search, self.note, derivation).applied(derivation.mode)

    def search_auto(self, derivation: Derivation) -> Decision:
        derived = derivation.derived()
        found = nearly_free(derived, derivation.mode, derivation.costs, _how_many(derived))
        peak = partial(measured_peak, self.measure, derived, derivation=derivation)
        return Decision(derived, {}, min(found, key=peak).kept)

    def search_named(self, derivation: Derivation) -> Decision:
        """Without native code to measure, the policy decides."""
        derived, mode = derivation.derived(), derivation.mode
        keeps = policy_named(self.name, derivation.costs)
        if not rematerialization(derived, lambda value: not keeps(value), mode).recomputed:
            return Decision(derived, {}, None)
        made = (value for op in derived.forward.ops for value in op.results)
        wanted = Candidate(frozenset(value for value in made if keeps(value)), 0.0)
        try:
            peak, peak_of_all = (
                measured_peak(self.measure, derived, c, derivation) for c in (wanted, None)
            )
            is_higher = peak > peak_of_all
        except PassError:
            is_higher = False
        return Decision(derived, {}, None if is_higher else wanted.kept)


def check_limit(limit: Attribute | None, peak: int, function: FuncOp) -> None:
    """PassError if a function takes more than the limit of its derivation."""
    if isinstance(limit, IntegerAttr) and peak > (allowed := limit.value.data):
        raise PassError(
            f"@{function.sym_name.data}: was differentiated for a memory limit of {allowed} bytes, "
            f"got an arena of {peak}; compile on the machine, and for the number of threads, where "
            "it was differentiated",
            function,
        )


@dataclass(frozen=True)
class CandidatePlan:
    """A setting of the loops, by its number, and the kept values under it.

    `number` is the plan's own number, from the cheapest on.
    """

    number: int
    setting: int
    candidate: Candidate


class PeakCache:
    """The measured peaks of plans, for the last few derivatives.

    For a series of limits, each plan is compiled once.
    """

    # Limits are tried on one function at a time, or on a few functions of a program in turn.
    DERIVATIVES = 8

    def __init__(self) -> None:
        self._peaks: dict[tuple[Measure, str], dict[int, int]] = {}

    def of(self, measure: Measure, text: str) -> dict[int, int]:
        """The peaks by plan number; new ones are added there."""
        peaks = self._peaks.pop((measure, text), {})
        self._peaks[measure, text] = peaks
        for oldest in list(self._peaks)[: -self.DERIVATIVES]:
            self._peaks.pop(oldest, None)
        return peaks


PEAKS = PeakCache()


class Plans:
    """The plans for one derivative, the cheapest first, and their memory."""

    def __init__(self, derivation: Derivation, measure: Measure):
        self.derivation, self.measure = derivation, measure
        self.mode = derivation.mode
        stored, loops = _storing_all(derivation)
        straight = straight_bytes(stored, self.mode)
        found = settings(derivation.program, stored.loops, derivation.costs)
        count = _how_many(stored)
        self.settings, self._of_setting = _thinned(found, straight, count)
        plain = not loops and not self.settings[0].policies
        self._derived: dict[int, Derived] = {0: stored} if plain else {}
        self._peaks = PEAKS.of(measure, _text(derivation, stored))
        self._made: list[CandidatePlan] = []
        self._rest = self._in_order()

    def _in_order(self) -> Iterator[CandidatePlan]:
        """The plans; candidates of a setting are computed when no earlier plan is cheaper."""
        waiting: list[tuple[float, int, int, Candidate | None]] = [
            (setting.cost, k, 0, None) for k, setting in enumerate(self.settings)
        ]
        number = 0
        while waiting:
            cost, setting, _, candidate = heappop(waiting)
            if candidate is not None:
                yield CandidatePlan(number, setting, candidate)
                number += 1
                continue
            derived, mode = self.derived(setting), self.mode
            costs, count = self.derivation.costs, self._of_setting
            for place, each in enumerate(candidates(derived, mode, costs, count)):
                heappush(waiting, (cost + each.cost, setting, place, each))

    def __iter__(self) -> Iterator[CandidatePlan]:
        place = 0
        while True:
            if place == len(self._made):
                following = next(self._rest, None)
                if following is None:
                    return
                self._made.append(following)
            yield self._made[place]
            place += 1

    def derived(self, setting: int) -> Derived:
        """The derivative under a setting."""
        if setting not in self._derived:
            self._derived[setting] = self.derivation.derived(self.settings[setting].policies)
        return self._derived[setting]

    def peak(self, plan: CandidatePlan) -> int:
        """The bytes of the derivative, compiled for this machine."""
        if plan.number not in self._peaks:
            derived = self.derived(plan.setting)
            self._peaks[plan.number] = measured_peak(
                self.measure, derived, plan.candidate, self.derivation
            )
        return self._peaks[plan.number]

    def _fits(self, plan: CandidatePlan, limit: int) -> bool:
        """Whether the peak is within a limit; without a measurement where a bound is above it."""
        if plan.number not in self._peaks:
            derived = self.derived(plan.setting)
            found = peak_within(self.measure, derived, plan.candidate, self.derivation, limit)
            if found is None:
                return False
            self._peaks[plan.number] = found
        return self._peaks[plan.number] <= limit

    def within(self, limit: int) -> CandidatePlan | None:
        """The cheapest plan that fits."""
        possible = (plan for plan in self if plan.candidate.at_least <= limit)
        found = next((plan for plan in possible if self._fits(plan, limit)), None)
        if found is None and self.peak(least := self.least()) <= limit:
            # `at_least` may count values that later passes remove
            return least
        return found

    def least(self) -> CandidatePlan:
        """The plan with the lowest peak; those that keep least are tried first."""
        least: CandidatePlan | None = None
        for plan in sorted(self, key=lambda plan: plan.candidate.at_least):
            if least is None or plan.candidate.at_least < self.peak(least) > self.peak(plan):
                least = plan
        assert least is not None
        return least

    def decision(self, plan: CandidatePlan) -> Decision:
        """The plan, to be applied to the derivative."""
        policies = self.settings[plan.setting].policies
        return Decision(self.derived(plan.setting), policies, plan.candidate.kept, self.peak(plan))


def _storing_all(derivation: Derivation) -> tuple[Derived, bool]:
    """The derivative without policies of loops, and whether a loop has one."""
    marked = [op for op in derivation.source.walk() if POLICY_ATTRIBUTE in op.attributes]
    return derivation.derived(dict.fromkeys(marked, LoopPolicyAttr.of("store_all"))), bool(marked)


def _text(derivation: Derivation, stored: Derived) -> str:
    """The key of plans and, with the measure, of peaks."""
    _, functions = derivative_functions(stored, None, derivation)
    return "\n".join(map(str, (derivation.source, *functions)))


def _how_many(stored: Derived) -> int:
    """The most plans to measure."""
    ops = sum(1 for block in (stored.forward, stored.backward) for _ in block.walk())
    return max(FEWEST, min(MOST, OPS_TO_MEASURE // max(ops, 1)))


def _thinned(found: list[Setting], straight: int, count: int) -> tuple[list[Setting], int]:
    """The settings of at most LOWERS times the memory of the one before, and the number of plans
    per setting; `straight` are the bytes of residuals outside of loops."""
    # recomputation leaves a part of these
    rest = straight / 4
    kept = found[:1]
    for setting in found[1:]:
        if setting.bytes + rest <= LOWERS * (kept[-1].bytes + rest):
            kept.append(setting)
    if len(kept) == 1:
        return kept, count
    each = FEWEST_OF_SETTING if straight > SMALL * found[0].bytes else 1
    return spread(kept, max(min(count, MOST_WITH_LOOPS) // each, 1)), each
