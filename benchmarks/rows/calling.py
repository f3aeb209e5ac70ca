"""What calls cost beyond their arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import call_overhead
import harness

from rows.row import GRADIR, Asked, Measured, Row, Run
from rows.timing import timed

LIBRARIES = ((GRADIR, "gradir"), ("JAX", "jax"))


def call_row(
    make: Callable[[str], harness.Call], libraries: Sequence[tuple[str, str]] = LIBRARIES
) -> Callable[[Run], Measured]:
    """The time of a call in each library, by its name."""

    def measure(run: Run) -> Measured:
        contenders = [
            harness.Contender(who, lambda library=library: make(library), library.lower())
            for who, library in libraries
        ]
        return Measured(timed(run, contenders, "us"))

    return measure


def polynomial(library: str) -> harness.Call:
    if library == "jax":
        return call_overhead.prepare_jax()
    return call_overhead.prepare_gradir_jit()


ROWS = (
    Row("jit, a call with 16 elements", call_row(polynomial), [Asked("time", 2.0)]),
    Row(
        "jit, a call with a tree of 60 arrays",
        call_row(call_overhead.prepare_nested),
        [Asked("time", 12.0)],
    ),
    Row(
        "grad(f)(x), asked for at each call",
        call_row(lambda library: call_overhead.prepare_gradient(library, kept=False)),
        [Asked("time", 20.0)],
    ),
    Row(
        "sin of 16 elements, outside of a trace",
        call_row(call_overhead.prepare_eager, (*LIBRARIES, ("NumPy", "NumPy"))),
        [Asked("time", 5.0)],
    ),
)
