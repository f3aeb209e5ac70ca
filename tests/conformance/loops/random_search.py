"""A search for faults: random programs, whose first and second derivatives gradir must have.

`python -m conformance.loops.random_search MINUTES SEED` with tests/ on the path; it needs mpmath.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from conformance.loops.derivatives import Derivatives
from conformance.loops.gradir_flow import GradirFlow
from conformance.loops.program import Program
from conformance.loops.random_programs import random_program
from conformance.loops.references import Differences, directions

import gradir
import gradir.numpy as gnp

POLICIES = [(), ("every=2", "every=2"), ("binomial=2", "online=2")]
# Of the value, the slope and the second derivative along a direction; relative where that is more.
TOLERANCES = (1e-9, 1e-8, 1e-7)


def interpreted(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a traced function, flat."""
    module = gradir.trace(function, *arguments)
    return gradir.interpret(module, module.functions[-1], *arguments)


def projected(gradient: Sequence[Any], line: Sequence[Any]) -> float:
    """The slope along a direction."""
    return sum(float(np.sum(g * d)) for g, d in zip(gradient, line, strict=True))


def faults(program: Program, wanted: Sequence[float]) -> list[str]:
    """What gradir's interpreter makes wrong, if anything: numbers, or bits under a policy."""
    lines, found = directions(program, 2), list[str]()
    bits: list[tuple[Any, ...]] = []
    for policy in POLICIES:
        made = Derivatives(program, gnp, GradirFlow(*policy), gradir)
        value, *gradient = interpreted(made.with_value, made.point)
        bits.append((value, *gradient))
        second = interpreted(made.order(2), made.point)
        got = (float(value), projected(gradient, lines[0]), projected(second, lines[1]))
        if not all(map(_is_near, got, wanted, TOLERANCES)):
            found.append(f"{policy}: got {got}, wanted {wanted}")
    if not program.has_inner and not all(_are_equal(bits[0], other) for other in bits[1:]):
        found.append("other bits under a policy")
    return found


def _is_near(got: float, wanted: float, tolerance: float) -> bool:
    return abs(got - wanted) <= tolerance * max(1.0, abs(wanted))


def _are_equal(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def reference(differences: Differences, program: Program) -> list[float]:
    """The value, and its derivatives along the directions."""
    lines = directions(program, 2)
    return [float(differences.along(program, lines[:n])) for n in range(3)]


def main(minutes: float, seed: int) -> None:
    """Search, and say which programs are at fault."""
    differences, end, count = Differences(), time.monotonic() + 60 * minutes, 0
    while time.monotonic() < end:
        number = seed + count
        program = random_program(number, has_inner=number % 2 == 0)
        try:
            said = faults(program, reference(differences, program))
        except Exception as error:
            said = [f"{type(error).__name__}: {error}"[:600]]
        if said:
            print(program.name, *said, sep="\n  ", flush=True)
        count += 1
    print(f"{count} programs from seed {seed}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
