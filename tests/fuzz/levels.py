"""The levels by name, and the functions that a worker's process runs for them."""

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fuzz.outcome import Outcome, TimeUp, outcome_of

LEVELS = {
    "traced": "fuzz.traced_level",
    "tensor": "fuzz.text_level",
    "ranks": "fuzz.ranks_level",
    "points": "fuzz.points_level",
    "mutants": "fuzz.mutants",
    "stablehlo": "fuzz.stablehlo_level",
    "onnx": "fuzz.onnx_level",
}
if find_spec("onnx") is None:
    del LEVELS["onnx"]


def level(name: str) -> Any:
    """The module of a level: `make(seed)`, `check(subject)`, `smaller(subject)`, `write(subject)`,
    `read(text)`."""
    return import_module(LEVELS[name])


def run_seed(name: str, seed: int) -> tuple[Outcome, float]:
    """The outcome of the case of a seed, and its CPU time."""
    begin = time.process_time()
    outcome = run_subject(name, level(name).make(seed))
    return outcome, time.process_time() - begin


def run_subject(name: str, subject: Any) -> Outcome:
    """The outcome of a case that is given."""
    try:
        return level(name).check(subject)
    except (Exception, TimeUp) as error:
        return outcome_of(error)


def run_text(name: str, text: str) -> Outcome:
    """The outcome of a case that a file holds."""
    return run_subject(name, level(name).read(text))
