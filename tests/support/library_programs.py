"""Programs of the fuzzer in libraries: the bits of gradir.compile at the same level and threads.

    PYTHONPATH=tests:tests/support python -m library_programs --programs 500

compares programs and their gradients, at the levels that this processor has in turn, on one to
three threads, and says how many calls were alike. It ends with the first difference.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from aot_harness import RUNNABLE, assert_same_bits, exported, random_arrays
from fuzz.text_program import random_text_program

import gradir
from gradir.aot.loader import Function, LibraryError
from gradir.errors import GradirError

Compiled: TypeAlias = Callable[..., tuple[Any, ...]]

GROUP = 4
"""Programs of a library."""
MOST_THREADS = 3


@dataclass
class Counts:
    """What was compared: programs, calls that gave the same bits, calls that failed alike."""

    programs: int = 0
    alike: int = 0
    failed_alike: int = 0


def compare_group(seed: int, folder: Path, counts: Counts) -> None:
    """Compare a library of programs, each with its gradient, at the level in GRADIR_CPU.

    A program without a gradient has its own call alone.
    """
    level = os.environ["GRADIR_CPU"]
    merged, compiled = _programs(seed)
    library = exported(merged, folder, f"f{seed}", functions=[*compiled], targets=[level],
                       threads=MOST_THREADS)  # fmt: skip
    for name, (function, threads) in compiled.items():
        _compare_calls(library[name], function, threads, counts)
    counts.programs += GROUP


def _programs(seed: int) -> tuple[gradir.Module, dict[str, tuple[Compiled, int]]]:
    """Programs with names of their own in one module, and by their names what gradir.compile makes
    of them, with the number of threads."""
    merged: gradir.Module | None = None
    compiled: dict[str, tuple[Compiled, int]] = {}
    for k in range(GROUP):
        text = random_text_program(Random(100 * seed + k), False, "f32").text(False)
        module = gradir.parse(re.sub(r"@(\w+)", rf"@p{k}_\1", text))
        for name in (f"p{k}_f", f"p{k}_f_grad"):
            threads = 1 + (seed + len(compiled)) % MOST_THREADS
            try:
                made = module.gradient(f"p{k}_f", mode="grad") if name.endswith("grad") else module
                compiled[name] = gradir.compile(made, name, threads), threads
            except GradirError:
                continue
            module = made
        merged = module if merged is None else merged.merge(module)
    assert merged is not None
    return merged, compiled


def _compare_calls(function: Function, compiled: Compiled, threads: int, counts: Counts) -> None:
    arrays = random_arrays(function)
    try:
        wanted = compiled(*arrays)
    except GradirError as error:
        try:
            function(*arrays, threads=threads)
        except LibraryError as found:
            assert str(found) in str(error), (str(found), str(error))
            counts.failed_alike += 1
            return
        raise AssertionError(f"{function.name}: fails in gradir.compile alone: {error}") from None
    assert_same_bits(function(*arrays, threads=threads), wanted)
    counts.alike += 1


def main() -> None:
    """Compare as many programs as asked for."""
    options = argparse.ArgumentParser(description="Compare libraries with gradir.compile.")
    options.add_argument("--programs", type=int, default=500)
    options.add_argument("--seed", type=int, default=1000, help="the first seed")
    options.add_argument("--minutes", type=float, default=60, help="the most minutes")
    given = options.parse_args()
    counts, start = Counts(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + -(-given.programs // GROUP)):
            if time.monotonic() - start > 60 * given.minutes:
                break
            os.environ["GRADIR_CPU"] = RUNNABLE[seed % len(RUNNABLE)]
            compare_group(seed, Path(folder), counts)
            for file in Path(folder).iterdir():
                file.unlink()
    print(
        f"{counts.programs} programs at {', '.join(RUNNABLE)}: {counts.alike} calls with equal "
        f"bits, {counts.failed_alike} that fail alike, none else, in "
        f"{time.monotonic() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
