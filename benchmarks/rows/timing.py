"""Contenders in turns as the figures of a row, and what a profile says stands in the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import harness

from rows.libraries import (
    Model,
    differentiated,
    in_gradir,
    jitted,
    memory_in_jax,
    memory_in_torch,
)
from rows.row import GRADIR, Figure, Measured, Run

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}
MEGABYTE = 1e6


def timed(
    run: Run,
    contenders: Sequence[harness.Contender],
    unit: str = "ms",
    what: str = "time",
    tolerance: float | None = 1e-3,
) -> list[Figure]:
    """The median time of each contender; one that is wrong has none."""
    workload = harness.Workload(what, contenders, contenders[0].name, tolerance)
    entries = harness.run(workload, run.rounds, run.turn)
    return [
        Figure(e.name, what, _median(e, unit), unit, "" if e.samples and not e.failed else e.note)
        for e in entries
    ]


def _median(entry: harness.Entry, unit: str) -> float | None:
    return entry.median * UNITS[unit] if entry.samples and not entry.failed else None


def per_second(figures: Sequence[Figure], what: str, count: int) -> list[Figure]:
    """Times as how much is done a second, `count` in each."""
    return [
        Figure(f.who, what, f.value and count * UNITS[f.unit] / f.value, "/s", f.note)
        for f in figures
    ]


def model_row(
    model: Model,
    make_inputs: Callable[[], Sequence[Any]],
    wrt: Sequence[int],
    unit: str = "ms",
    peers: Sequence[str] = ("JAX", "PyTorch"),
    arena: bool = False,
) -> Callable[[Run], Measured]:
    """The time of a model's value and gradient, and its memory if asked for."""

    def measure(run: Run) -> Measured:
        inputs, threads = make_inputs(), run.setting.threads
        chosen = [p for p in peers if not (run.quick and p == "torch.compile")]
        figures = timed(run, differentiated(model, inputs, wrt, threads, chosen), unit)
        if len(chosen) < len(peers):
            figures.append(Figure("torch.compile", "time", None, unit, "not in the quick version"))
        compiled = jitted(model, wrt, threads)
        if arena:
            figures.append(arena_of(compiled.compiled(*inputs).executable))
            figures += memory_of_peers(model, inputs, wrt, peers)
        return Measured(figures, lambda: hot_parts(compiled.profile(*inputs)))

    return measure


def arena_of(executable: Any) -> Figure:
    return Figure(GRADIR, "arena", executable.plan.peak_bytes / MEGABYTE, "MB")


def memory_of_peers(
    model: Model, inputs: Sequence[Any], wrt: Sequence[int], peers: Sequence[str]
) -> list[Figure]:
    """What peers that are installed hold beside arguments, and JAX beside results, in a call."""
    known = {"JAX": ("jax", memory_in_jax), "PyTorch": ("torch", memory_in_torch)}
    made: list[Figure] = []
    for who, (library, memory) in known.items():
        if who not in peers:
            continue
        try:
            harness.library(library)
        except ModuleNotFoundError:
            made.append(Figure(who, "arena", None, "MB", "not installed"))
        else:
            made.append(Figure(who, "arena", memory(model, inputs, wrt) / MEGABYTE, "MB"))
    return made


def first_call_row(
    model: Callable[[int], Model],
    make_inputs: Callable[[], Sequence[Any]],
    wrt: Sequence[int],
    peers: Sequence[str] = ("JAX",),
) -> Callable[[Run], Measured]:
    """The time of the first call: each program is another one, by its number."""

    def measure(run: Run) -> Measured:
        inputs, threads = make_inputs(), run.setting.threads
        # modules are loaded by another program
        in_gradir(model(0), inputs, wrt, threads)()
        chosen = differentiated(model(1), inputs, wrt, threads, peers)
        return Measured(
            [first_call(contender) for contender in chosen],
            lambda: compile_times(jitted(model(2), wrt, threads), inputs),
        )

    return measure


def first_call(contender: harness.Contender, what: str = "first call") -> Figure:
    """The seconds to prepare and call a contender once, its library's import aside."""
    try:
        harness.library(contender.requires)
    except ModuleNotFoundError:
        return Figure(contender.name, what, None, "s", "not installed")
    start = time.perf_counter()
    try:
        contender.prepare()()
    except Exception as error:
        return Figure(contender.name, what, None, "s", f"failed: {type(error).__name__}: {error}")
    return Figure(contender.name, what, time.perf_counter() - start, "s")


def compile_times(function: Any, inputs: Sequence[Any]) -> str:
    """How a first call's time is shared out."""
    start = time.perf_counter()
    executable = function.compiled(*inputs).executable
    total = time.perf_counter() - start
    llvm = llvm_seconds(executable)
    return (
        f"LLVM {llvm / total:.0%} of {total:.2f} s; the rest is tracing, the derivative and the "
        f"stages, in Python; {len(executable.program.kernels)} kernels"
    )


def llvm_seconds(executable: Any) -> float:
    """LLVM's part of a compilation."""
    times = executable.compile_times
    return float(times.parse + times.optimize + times.emit) * 1e-6


def hot_parts(profile: Any, most: int = 3) -> str:
    """The longest parts of a profile, in one line."""
    parts = sorted(profile.parts, key=lambda part: -part.seconds)
    return "; ".join(_part(profile, part) for part in parts[:most])


def _part(profile: Any, part: Any) -> str:
    said = f"{part.name} {profile.share(part):.0%}"
    of_limit = part.share_of_limit(profile.limits)
    if of_limit is not None:
        said += f" at {of_limit:.0%} of the limit by {part.bound(profile.limits)}"
    ops = [op for op in part.ops if op not in ("nest", "rows", "contract")][:4]
    return said + (f" ({', '.join(ops)})" if ops else "")
