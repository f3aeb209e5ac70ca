"""Times contenders against each other: one process, in turns, medians, ratios to a reference.

A script describes workloads, each a list of contenders, and calls `main`. For each thread count it
starts one process whose libraries and processors are limited to that many threads. There, every
contender prepares, its results are compared with the reference's, and then all run in turns
(A B C A B C ...), so that a noisy moment of the machine falls on all alike.
"""

import argparse
import gc
import importlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
CHILD = "GRADIR_BENCHMARK_THREADS"
SETTLE_SECONDS = 0.01
SAMPLE_SECONDS = 1e-4

Call = Callable[[], object]


class UnavailableError(Exception):
    """A contender cannot run on this machine; the text says what is missing."""


@dataclass(frozen=True)
class Contender:
    """A name, and a function that prepares and returns the call to time.

    The call returns the arrays to compare, in tuples or lists, once they are computed.
    """

    name: str
    prepare: Callable[[], Call]
    requires: str = "numpy"


@dataclass(frozen=True)
class Workload:
    """Contenders for the same work. Without a tolerance, results are not compared.

    `rounds` bounds the turns of each contender, where one takes seconds.
    """

    title: str
    contenders: Sequence[Contender]
    reference: str
    tolerance: float | None = 1e-4
    operations: int | None = None
    rounds: int | None = None


@dataclass
class Entry:
    """What became of one contender."""

    name: str
    call: Call | None = None
    note: str = ""
    failed: bool = False
    ready_seconds: float = 0.0
    samples: list[float] = field(default_factory=list[float])

    @property
    def median(self) -> float:
        """Median seconds per call."""
        return statistics.median(self.samples)


def library(name: str) -> Any:
    """Import a library that may be missing; untyped, so that checks do not depend on it."""
    return importlib.import_module(name)


def compiled_gradient(
    program: str,
    inputs: Sequence[Any],
    wrt: Sequence[int],
    threads: int,
    reuse: bool = False,
    memory_limit: int | None = None,
) -> Call:
    """The call of gradir's compiled value and gradient of a program in `programs/`.

    With `reuse`, results go to the same buffers at each call.
    """
    gradir = library("gradir")
    module = gradir.parse(PROGRAMS / program).gradient(
        "main", wrt=list(wrt), mode="grad", memory_limit=memory_limit
    )
    return compiled_call(gradir.compile(module, "main_grad", threads=threads), inputs, reuse)


def compiled_function(
    program: str, inputs: Sequence[Any], threads: int, reuse: bool = False
) -> Call:
    """The call of gradir's compiled `@main` of a program in `programs/`."""
    gradir = library("gradir")
    function = gradir.compile(gradir.parse(PROGRAMS / program), "main", threads=threads)
    return compiled_call(function, inputs, reuse)


def compiled_call(function: Any, inputs: Sequence[Any], reuse: bool) -> Call:
    """A call of a compiled gradir function, into the buffers of a first one with `reuse`."""
    if not reuse:
        return lambda: function(*inputs)
    out = [np.array(result) for result in function(*inputs)]
    return lambda: function(*inputs, out=out)


def torch_compiled_gradient(
    function: Callable[..., Any], inputs: Sequence[Any], wrt: tuple[int, ...]
) -> Call:
    """The call of PyTorch's compiled value and gradient of a function."""
    torch = library("torch")
    require_cxx_compiler()
    # fullgraph: what cannot be compiled is an error, not a quiet fall back to eager mode.
    compiled = torch.compile(torch.func.grad_and_value(function, argnums=wrt), fullgraph=True)

    def call() -> object:
        gradients, value = compiled(*inputs)
        return value, gradients

    return call


def require_cxx_compiler() -> None:
    """Refuse a contender that compiles C++ where no compiler is installed."""
    cxx_compiler()


def cxx_compiler() -> str:
    """The C++ compiler of this machine."""
    for name in (os.environ.get("CXX") or "g++", "clang++"):
        if path := shutil.which(name):
            return path
    raise UnavailableError("needs a C++ compiler, and neither g++ nor clang++ was found")


def main(workloads: Callable[[int], Iterable[Workload]], *, threads: Sequence[int] = (2,)) -> None:
    """The command line of a benchmark script; exits with 1 when a contender failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="+", default=list(threads), metavar="N")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each contender")
    parser.add_argument("--turn", type=float, default=0.1, help="seconds in one turn")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="the contenders to run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one line per workload")
    options = parser.parse_args()
    if CHILD not in os.environ:
        sys.exit(max(run_in_child(count) for count in options.threads))
    count = int(os.environ[CHILD])
    pin_processors(count)
    failed = False
    for workload in workloads(count):
        entries = run(workload, options.rounds, options.turn, options.only)
        print(table(workload, entries, count), flush=True)
        failed |= any(entry.failed for entry in entries)
        if options.json:
            append_json(options.json, workload, entries, count)
    sys.exit(1 if failed else 0)


def run_in_child(threads: int) -> int:
    """Run this script again, limited to `threads` threads, before any library is loaded."""
    environment = os.environ | child_environment(threads) | {CHILD: str(threads)}
    return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode


def child_environment(threads: int) -> dict[str, str]:
    """The variables that limit libraries to so many threads."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(variables, str(threads)) | {
        "JAX_PLATFORMS": "cpu",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "GRADIR_CACHE": "0",  # what is ready has been compiled
        "GRADIR_TIERS": "0",  # and compiled well
        "PYTHONDONTWRITEBYTECODE": "",  # modules are compiled once, as for a user
    }


def pin_processors(count: int) -> None:
    """Keep this process on `count` processors: the one limit that each library obeys."""
    if not hasattr(os, "sched_setaffinity"):
        return
    available = sorted(os.sched_getaffinity(0))
    if len(available) < count:
        print(f"note: {count} threads on {len(available)} processors", flush=True)
    os.sched_setaffinity(0, available[:count])


def run(
    workload: Workload, rounds: int, turn: float, only: Sequence[str] | None = None
) -> list[Entry]:
    """Prepare, compare and time a workload's contenders."""
    chosen = [c for c in workload.contenders if not only or c.name in only]
    entries = [prepare(contender) for contender in chosen]
    if workload.tolerance is not None:
        compare(entries, workload.reference, workload.tolerance)
    ready = [entry for entry in entries if entry.call]
    for _ in range(min(rounds, workload.rounds or rounds)):
        for entry in ready:
            take_turn(entry, turn)
    return entries


def prepare(contender: Contender) -> Entry:
    """Prepare one contender and call it once; note why where that is not possible."""
    entry = Entry(contender.name)
    try:
        library(contender.requires)
    except ModuleNotFoundError:
        entry.note = "not installed"
        return entry
    start = time.perf_counter()
    try:
        entry.call = contender.prepare()
        entry.call()
    except UnavailableError as error:
        entry.call, entry.note = None, str(error)
    except Exception as error:
        # One broken contender must not hide the others' numbers; the exit code tells of it.
        first_line = str(error).strip().splitlines()[:1]
        entry.call, entry.failed = None, True
        entry.note = f"failed: {type(error).__name__}: {''.join(first_line)}"
    entry.ready_seconds = time.perf_counter() - start
    return entry


def compare(entries: Sequence[Entry], reference: str, tolerance: float) -> None:
    """Note how far each contender's results are from the reference's."""
    named = {entry.name: entry for entry in entries if entry.call}
    base = named.get(reference) or next(iter(named.values()), None)
    if base is None or base.call is None:
        return
    expected = arrays(base.call())
    for entry in named.values():
        if entry is base or entry.call is None:
            continue
        actual = arrays(entry.call())
        if [a.shape for a in actual] != [e.shape for e in expected]:
            entry.note, entry.failed = f"FAILED: other shapes than {base.name}", True
            continue
        pairs = zip(actual, expected, strict=True)
        # NumPy's maximum keeps a NaN, Python's may drop it.
        distance = float(np.max([relative_distance(a, e) for a, e in pairs]))
        entry.failed = not distance <= tolerance
        entry.note = f"{'WRONG: ' if entry.failed else ''}within {distance:.0e} of {base.name}"


def arrays(result: object) -> list[np.ndarray[Any, Any]]:
    """The arrays in nested tuples and lists, in order."""
    if isinstance(result, (tuple, list)):
        return [array for item in cast(Sequence[object], result) for array in arrays(item)]
    detach = getattr(result, "detach", None)  # PyTorch's tensors record gradients until then
    return [np.array(detach() if detach else result)]


def relative_distance(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The largest difference of two arrays, relative to the largest expected element."""
    scale = max(float(np.abs(expected).max()), float(np.finfo(np.float32).tiny))
    return float(np.abs(actual.astype(np.float64) - expected).max()) / scale


def take_turn(entry: Entry, seconds: float) -> None:
    """Time one contender's calls for a while, after a pause and a call that is not timed."""
    call = entry.call
    assert call is not None
    gc.collect()
    # Another library's threads spin for some milliseconds after its last call.
    time.sleep(SETTLE_SECONDS)
    start = time.perf_counter()
    call()
    # A call of a few microseconds is timed many at once: the clock costs about 0.1 of one.
    repeats = max(1, int(SAMPLE_SECONDS / (time.perf_counter() - start)))
    gc.disable()
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        now = time.perf_counter()
        entry.samples.append((now - start) / repeats)
        if now >= end:
            break
    gc.enable()


def reference_median(workload: Workload, entries: Sequence[Entry]) -> tuple[str, float]:
    """The reference's name and median, or the first contender's where it did not run."""
    timed = [entry for entry in entries if entry.samples]
    chosen = [entry for entry in timed if entry.name == workload.reference] or timed
    return (chosen[0].name, chosen[0].median) if chosen else (workload.reference, 1.0)


def table(workload: Workload, entries: Sequence[Entry], threads: int) -> str:
    """The printed table: medians, tenth percentiles, ratios to the reference, notes."""
    reference, base = reference_median(workload, entries)
    unit, scale = ("ms", 1e3) if base >= 1e-3 else ("us", 1e6)
    per_operation = f"{'us/op':>9}" if workload.operations else ""
    lines = [
        f"\n{workload.title}; {threads} thread{'s' if threads > 1 else ''}",
        f"{'':26}{'median ' + unit:>12}{'p10 ' + unit:>12}{'ratio':>8}{per_operation}"
        f"{'ready s':>9}  (ratio: median / median of {reference})",
    ]
    for entry in entries:
        if not entry.samples:
            lines.append(f"{entry.name:26}  {entry.note}")
            continue
        low = float(np.quantile(entry.samples, 0.1))
        cells = f"{entry.median * scale:12.3f}{low * scale:12.3f}{entry.median / base:8.2f}"
        if workload.operations:
            cells += f"{entry.median * 1e6 / workload.operations:9.2f}"
        lines.append(f"{entry.name:26}{cells}{entry.ready_seconds:9.2f}  {entry.note}")
    return "\n".join(lines)


def append_json(path: Path, workload: Workload, entries: Sequence[Entry], threads: int) -> None:
    """Append one line of JSON: the workload, the machine, the versions, the numbers."""
    record = {
        "workload": workload.title,
        "threads": threads,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processor": processor_name(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version()} | installed_versions(),
        "contenders": [
            {
                "name": entry.name,
                "median_us": round(entry.median * 1e6, 3) if entry.samples else None,
                "p10_us": round(float(np.quantile(entry.samples, 0.1)) * 1e6, 3)
                if entry.samples
                else None,
                "samples": len(entry.samples),
                "note": entry.note,
            }
            for entry in entries
        ],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def installed_versions() -> dict[str, str]:
    """The versions of the libraries that take part and are installed."""
    found: dict[str, str] = {}
    for name in ("gradir", "numpy", "llvmlite", "jax", "torch"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def processor_name() -> str:
    """The processor's name as the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
