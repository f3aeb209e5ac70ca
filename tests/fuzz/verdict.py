"""Which checks a program goes through, and what comes of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from random import Random

from fuzz.checks import BY_NAME, CHECKS, ROUGH_TYPES, TRACED
from fuzz.outcome import Broken, Outcome, must_work
from fuzz.trial import Trial
from gradir import GradirError

CHECKS_PER_PROGRAM = 8


def choose_checks(choose: Random, double: bool, traced: bool = False) -> tuple[str, ...]:
    """Some of the checks; in other types than f64 only those that hold there."""
    names = [c.__name__ for c in CHECKS if double or c.__name__ in ROUGH_TYPES]
    names = [n for n in names if traced or n not in TRACED]
    weights = [CHECKS[BY_NAME[n]] for n in names]
    found = choose.choices(names, weights, k=CHECKS_PER_PROGRAM)
    return tuple(dict.fromkeys(found))


def judge(trial: Trial, checks: tuple[str, ...]) -> Outcome:
    """Make the checks, in order."""
    for name in checks:
        with refusals_allowed(name):
            BY_NAME[name](trial)
    return Outcome("fine", done=checks)


@contextmanager
def refusals_allowed(step: str) -> Generator[None]:
    """A refusal inside is a fault, but for those that a random program may meet."""
    try:
        with must_work(step):
            yield
    except Broken as error:
        cause = error.__cause__
        if isinstance(cause, GradirError) and any(part in str(cause) for part in ALLOWED):
            raise cause from None
        raise


ALLOWED = (
    # how marks are put into text is only mostly right
    "_checkpoint: ",
    # decompositions have two types
    "elements must be f32 or f64",
    "has a vjp of its own and no jvp",
)
