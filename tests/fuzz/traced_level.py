"""Level 1: random Python functions that are traced, with stages, control flow and derivatives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

import gradir
from fuzz.outcome import Outcome
from fuzz.traced_forms import BOOL, FLOATS, INTEGER, A, P
from fuzz.traced_program import INPUTS, TracedProgram, random_traced_program, smaller_program
from fuzz.trial import Array, Trial
from fuzz.verdict import choose_checks, judge, refusals_allowed

DTYPES = ("float64",) * 7 + ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class TracedCase:
    """A program, the checks that are made of it, and the seed of arguments and decisions."""

    program: TracedProgram
    checks: tuple[str, ...]
    seed: int
    smooth: bool


@dataclass(frozen=True)
class SavedCase:
    """Likewise, with the program as Python source: what a file holds."""

    source: str
    size: int
    dtype: str
    has_derivatives: bool
    checks: tuple[str, ...]
    seed: int
    smooth: bool


def saved_case(case: TracedCase) -> SavedCase:
    """The case with its source written."""
    p = case.program
    return SavedCase(
        p.text(), p.size, p.dtype, p.has_derivatives, case.checks, case.seed, case.smooth
    )


def make(seed: int) -> TracedCase:
    """The case of a seed."""
    choose = Random(seed)
    dtype = choose.choice(DTYPES)
    double, free = dtype == "float64", choose.random() < 0.2
    program = random_traced_program(choose, free, dtype)
    checks = choose_checks(choose, double, traced=True)
    return TracedCase(program, checks, seed, double and not free)


def function_of(source: str, marked: bool) -> Callable[..., Any]:
    """The function that a source defines."""
    names: dict[str, Any] = {}
    text = source if marked else source.replace("MARKED = True", "MARKED = False")
    exec(compile(text, "<program>", "exec"), names)
    return names["f"]


def check(case: TracedCase | SavedCase) -> Outcome:
    """Fine, or an exception."""
    saved = case if isinstance(case, SavedCase) else saved_case(case)
    arguments = arguments_of(saved.size, saved.dtype, saved.seed)
    plain, marked = (function_of(saved.source, m) for m in (False, True))
    with refusals_allowed("tracing"):
        modules = gradir.trace(plain, *arguments), gradir.trace(marked, *arguments)
    trial = Trial(
        *modules, "f", arguments, saved.smooth, Random(saved.seed),
        exact=not saved.has_derivatives, function=marked,
    )  # fmt: skip
    return judge(trial, saved.checks)


def arguments_of(size: int, dtype: str, seed: int) -> list[Array]:
    """Arrays for INPUTS: floats round zero, integers below the size."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return [_array(t, size, kind, generator) for t in INPUTS]


def _array(type_: str, size: int, kind: Any, generator: np.random.Generator) -> Array:
    if type_ in FLOATS:
        shape = () if type_ == P else (size, size) if type_ == A else (size,)
        return np.asarray(generator.uniform(-1, 1, shape), kind)
    if type_ == BOOL:
        return np.asarray(generator.random() < 0.5)
    return np.asarray(generator.integers(0, size, () if type_ == INTEGER else size), np.int64)


def smaller(case: TracedCase) -> Iterator[TracedCase]:
    """Cases with one check, and with less in the program."""
    if len(case.checks) > 1:
        for name in case.checks:
            yield replace(case, checks=(name,))
    for program in smaller_program(case.program):
        yield replace(case, program=program)
    if case.program.dtype != "float64":
        yield replace(case, program=replace(case.program, dtype="float64"))


def write(case: TracedCase) -> str:
    """The text that a file of it holds."""
    saved = saved_case(case)
    options = (
        saved.size,
        saved.dtype,
        saved.has_derivatives,
        saved.checks,
        saved.seed,
        saved.smooth,
    )
    return f"# {json.dumps(options)}\n{saved.source}"


def read(text: str) -> SavedCase:
    """The case of a file."""
    _, _, options, source = text.split("\n", 3)
    size, dtype, has, checks, seed, smooth = json.loads(options.removeprefix("# "))
    return SavedCase(source, size, dtype, has, tuple(checks), seed, smooth)
