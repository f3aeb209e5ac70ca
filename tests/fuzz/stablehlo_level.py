"""StableHLO texts with something changed: each is read, or refused with the place of the fault.

The texts are printed from golden programs, and written in tests/filecheck/stablehlo.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

import gradir
from fuzz.corpus import accepted
from fuzz.mutants import without_runs
from fuzz.mutations import mutated
from fuzz.outcome import Outcome, must_work
from gradir import GradirError
from gradir.frontends.stablehlo import load

LARGEST = 8_000
"""Characters of a text: larger ones take longer and have no more to find."""
BASES = 40
"""Programs that are printed, of which texts are mutants."""
SMALL = 100_000
"""Mutants with a larger extent are read, and not differentiated."""


@dataclass(frozen=True)
class Text:
    """A StableHLO text."""

    text: str


@cache
def bases() -> tuple[str, ...]:
    """Texts that gradir prints of golden programs and of their gradients, and reads back."""
    found: list[str] = []
    pieces = accepted()
    for piece in Random(0).sample(pieces, len(pieces)):
        try:
            module = gradir.parse(piece.text)
            name = module.functions[0]
            printed = module.to_stablehlo(name)
            load(printed, trust_derivatives=True)
        except GradirError:
            continue
        if len(printed) <= LARGEST:
            found.append(printed)
        if len(found) == BASES:
            break
    return tuple(found)


def make(seed: int) -> Text:
    """A mutant of a random text."""
    choose = Random(seed)
    return Text(mutated(choose, choose.choice(bases())))


def check(subject: Text) -> Outcome:
    """Fine, or an exception: what is read prints text that parses."""
    module = load(subject.text, trust_derivatives=True)
    with must_work("parsing what was read"):
        gradir.parse(str(module))
    extents = [int(n) for n in re.findall(r"(?<=[<x])\d+(?=x)", subject.text)]
    if max(extents, default=0) > SMALL:
        return Outcome("fine", done=("read",))
    for name in module.functions:
        try:
            module.gradient(name, mode="vjp")
        except GradirError:
            return Outcome("fine", done=("read",))
    return Outcome("fine", done=("read", "differentiated"))


def smaller(subject: Text) -> Iterator[Text]:
    """Texts with fewer lines."""
    yield from map(Text, without_runs(subject.text.splitlines(keepends=True)))


def write(subject: Text) -> str:
    """The text that a file of it holds."""
    return f"//\n{subject.text}"


def read(text: str) -> Text:
    """The text of a file."""
    return Text(text.split("\n", 3)[3])
