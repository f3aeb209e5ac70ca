"""Runs of a function that was compiled with clocks, and without, as a profile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gradir.codegen.driver.report import Timed
from gradir.diagnostics import Sources
from gradir.profiling.limits import measured_limits
from gradir.profiling.profile import Line, Part, Profile
from gradir.runtime.executable import Executable

SECONDS, MOST_RUNS = 0.2, 1000
"""How long a profile's runs take together, at least one, and how many there are at most."""


def profiled(
    timed: Executable, plain: Executable, arrays: Sequence[object], out: object, sources: Sources
) -> Profile:
    """The profile of calls of `timed`, which is `plain` with clocks."""

    def with_clocks() -> object:
        return timed(*arrays, out=out)

    def without() -> object:
        return plain(*arrays, out=out)

    without()
    with_clocks()  # the first run of code and memory is not like others
    first = timed.timings()
    start = time.perf_counter()
    with_clocks()
    runs = 1 + min(MOST_RUNS, int(SECONDS / (time.perf_counter() - start)))
    seconds = (time.perf_counter() - start + _seconds(with_clocks, runs - 1)) / runs
    parts = [
        _part(t, (calls - c) / runs, (ns - n) / runs, sources)
        for (t, calls, ns), (_, c, n) in zip(timed.timings(), first, strict=True)
    ]
    parts = sorted((p for p in parts if p.calls), key=lambda p: -p.seconds)
    rest = max(seconds - sum(p.seconds for p in parts), 0.0)
    parts.append(Part("rest", "call, threads, numbers", (), (), 1.0, rest, None, 0, 32))
    threads = timed.threads if timed.program.is_parallel else 1
    return Profile(
        function=plain.name,
        threads=threads,
        runs=runs,
        seconds=seconds,
        plain_seconds=_seconds(without, runs) / runs,
        parts=tuple(parts),
        limits=measured_limits(threads),
    )


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def _part(timed: Timed, calls: float, nanoseconds: float, sources: Sources) -> Part:
    lines = [Line(f, n, (sources.line(f, n) or "").strip()) for f, n in timed.lines]
    return Part(
        timed.kind, timed.name, timed.ops, tuple(lines), calls, nanoseconds * 1e-9,
        timed.flops, timed.bytes, timed.bits,
    )  # fmt: skip
