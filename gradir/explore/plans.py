"""The memory plans of one function under smaller and smaller memory limits.

Each is the plan of the derivative that the compiler makes for that limit. A limit one byte below
the peak of a plan gives the next smaller one; larger steps come first, to reach the minimum soon.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from gradir.compiler.compiler import isolate_function
from gradir.compiler.pipeline import Machine, run_stages
from gradir.dialects.base.attribute_names import PEAK
from gradir.dialects.base.diagnostics import LocatedError
from gradir.errors import GradirError
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.symbols import drop_unneeded

NO_LIMIT = 1 << 62
STEPS = (0.8, 0.95, 1.0)
"""The shares of a peak that are tried as the next limit, the lowest first."""

MOST_PLANS, SECONDS = 12, 20.0
"""The most plans, and the time after which no further one is begun."""


@dataclass(frozen=True)
class LimitedPlan:
    """The plan for a limit; `peak` is the figure that the limit bounds."""

    limit: int
    peak: int
    plan: MemoryPlan


@dataclass(frozen=True)
class LimitedPlans:
    """Plans from the most memory to the least, and why there are no further ones."""

    plans: tuple[LimitedPlan, ...]
    end: str


def plans_within(
    limited: Callable[[int], ModuleOp], function: str, machine: Machine
) -> LimitedPlans:
    """The plans of `@function` of the modules that `limited` makes for limits in bytes."""
    found: list[LimitedPlan] = []

    def attempt(limit: int) -> str:
        """Add the plan for a limit; the reason where there is none."""
        made = _planned(limited, limit, function, machine)
        if isinstance(made, LimitedPlan) and all(made.peak != other.peak for other in found):
            found.append(made)
        return made if isinstance(made, str) else ""

    start = time.perf_counter()
    said = attempt(NO_LIMIT)
    while not said and len(found) < MOST_PLANS and time.perf_counter() - start < SECONDS:
        peak = found[-1].peak
        for share in STEPS:
            said = attempt(min(int(peak * share), peak - 1))
            if not said:
                break
    tried: set[int] = set()
    while len(found) < MOST_PLANS and time.perf_counter() - start < SECONDS:
        found.sort(key=lambda plan: -plan.peak)
        gaps = [a.peak for a, b in pairwise(found) if a.peak - 1 > b.peak and a.peak not in tried]
        if not gaps:
            break
        tried.add(gaps[0])
        attempt(gaps[0] - 1)
    return LimitedPlans(tuple(found), said or "there may be smaller ones, which were not tried")


def _planned(
    limited: Callable[[int], ModuleOp], limit: int, function: str, machine: Machine
) -> LimitedPlan | str:
    """The plan for a limit; the reason where there is none."""
    try:
        module = limited(limit)
        found = (op.attributes.get(PEAK) for op in module.ops)
        peaks = [each.value.data for each in found if isinstance(each, IntegerAttr)]
        drop_unneeded(module, function)
        isolate_function(module, function)
        plan = run_stages(module, machine)[function]
    except (LocatedError, GradirError) as error:
        return str(error).rpartition("error: ")[2].partition("\n")[0]
    return LimitedPlan(limit, max(peaks, default=plan.peak_bytes), plan)
