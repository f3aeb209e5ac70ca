"""All programs of the suite, by name and by group."""

from __future__ import annotations

from conformance.loops import (
    batches,
    captured,
    carried,
    inner,
    nested,
    numbers,
    places,
    solvers,
    stages,
    trips,
)
from conformance.loops.program import PROGRAMS

GROUPS = {
    module.GROUP: " ".join((module.__doc__ or "").split())
    for module in (
        captured, nested, carried, trips, places, stages, solvers, batches, numbers, inner,
    )
}  # fmt: skip
"""What each group tests, in the order of the page."""

__all__ = ["GROUPS", "PROGRAMS"]
