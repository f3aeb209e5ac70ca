"""Level 2: random programs as text, with control flow, stages, calls and policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from xdsl.ir import Attribute

import gradir
from fuzz.outcome import Outcome
from fuzz.text_program import TextProgram, random_text_program, smaller_program
from fuzz.trial import Array, Trial
from fuzz.verdict import choose_checks, judge, refusals_allowed
from gradir import Module
from gradir.dialects.base.shapes import element_of, is_float, is_tensor, shape_of
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

ELEMENTS = ("f64",) * 7 + ("f32", "f16", "bf16")


@dataclass(frozen=True)
class TextCase:
    """A program, the checks that are made of it, and the seed of arguments and decisions."""

    program: TextProgram
    checks: tuple[str, ...]
    seed: int
    smooth: bool


@dataclass(frozen=True)
class SavedCase:
    """Likewise, with the program as its two texts: what a file holds."""

    marked: str
    plain: str
    checks: tuple[str, ...]
    seed: int
    smooth: bool


def saved_case(case: TextCase) -> SavedCase:
    """The case with its texts written."""
    program = case.program
    marked, plain = program.text(marked=True), program.text(marked=False)
    return SavedCase(marked, plain, case.checks, case.seed, case.smooth)


def make(seed: int) -> TextCase:
    """The case of a seed."""
    choose = Random(seed)
    element = choose.choice(ELEMENTS)
    double, free = element == "f64", choose.random() < 0.2
    program = random_text_program(choose, free, element)
    return TextCase(program, choose_checks(choose, double), seed, double and not free)


def check(case: TextCase | SavedCase) -> Outcome:
    """Fine, or an exception."""
    saved = case if isinstance(case, SavedCase) else saved_case(case)
    with refusals_allowed("a valid program"):
        modules = gradir.parse(saved.plain), gradir.parse(saved.marked)
    arguments = arguments_of(modules[0], "f", case.seed)
    trial = Trial(*modules, "f", arguments, case.smooth, Random(case.seed))
    return judge(trial, case.checks)


def arguments_of(module: Module, name: str, seed: int) -> list[Array]:
    """Floats round zero, small integers."""
    generator = np.random.default_rng(seed)
    types = function_named(module.op, name).function_type.inputs.data
    return [_array(t, generator) for t in types]


def _array(type_: Attribute, generator: np.random.Generator) -> Array:
    shape = shape_of(type_) if is_tensor(type_) else ()
    element = element_of(type_) if is_tensor(type_) else type_
    dtype = dtype_of(element)
    if is_float(element):
        return np.asarray(generator.uniform(-1, 1, shape), dtype)
    high = 2 if dtype.kind == "b" or not shape else max(shape[0], 1)
    return np.asarray(generator.integers(0, high, shape), dtype)


def smaller(case: TextCase) -> Iterator[TextCase]:
    """Cases with one check, and with less in the program."""
    if len(case.checks) > 1:
        for name in case.checks:
            yield replace(case, checks=(name,))
    for program in smaller_program(case.program):
        yield replace(case, program=program)


# As a file: the text with marks and the one without.

BETWEEN = "// without marks:\n"


def write(case: TextCase) -> str:
    """The text that a file of it holds."""
    options = json.dumps([case.checks, case.seed, case.smooth])
    program = case.program
    return f"// {options}\n{program.text(marked=True)}{BETWEEN}{program.text(marked=False)}"


def read(text: str) -> SavedCase:
    """The case of a file."""
    _, _, options, programs = text.split("\n", 3)
    checks, seed, smooth = json.loads(options.removeprefix("// "))
    marked, plain = programs.split(BETWEEN)
    return SavedCase(marked, plain, tuple(checks), seed, smooth)
