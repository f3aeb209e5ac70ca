"""The check that compiles and differentiates with GRADIR_VALIDATE=1."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

import gradir
from fuzz.trial import Trial
from fuzz.worker import TooLong, at_most
from gradir.checks import VALIDATE_VARIABLE

VALIDATED_SECONDS = 10
"""A validation that takes longer is broken off: it runs the program some forty times."""


def validated(trial: Trial) -> None:
    """Each stage, native code and the derivative keep what validations hold them to."""
    mode = trial.choose.choice(["vjp", "vjp", "split", "jvp"])
    if not (trial.wrt and trial.floating):
        return
    with suppress(TooLong), at_most(VALIDATED_SECONDS), validating():
        derived = trial.marked.gradient(trial.name, mode=mode)
        for name in [f for f in derived.functions if f not in trial.marked.functions][:2]:
            gradir.compile(derived, name, threads=trial.choose.choice([1, 2]))


@contextmanager
def validating() -> Generator[None]:
    """A context in which compilations and derivatives are validated."""
    before = os.environ.get(VALIDATE_VARIABLE)
    os.environ[VALIDATE_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VALIDATE_VARIABLE]
