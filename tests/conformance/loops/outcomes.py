"""What a system makes of a program, as outcomes.json has it: a word for each kind of derivative.

right      within the program's tolerance of the reference
wrong      a number, and not that
nan        a number that is not finite
refused    an error
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from conformance.loops.derivatives import Derivatives, error_of
from conformance.loops.program import Program
from conformance.loops.references import directions

FILE = Path(__file__).parent / "outcomes.json"
KINDS = ("reverse", "forward", "second")


def load() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def outcomes_of(
    made: Derivatives,
    reference: dict[str, Any],
    numbers: Callable[[Any], list[Any]],
    call: Callable[[Callable[..., Any], Sequence[Any]], Any] = lambda f, args: f(*args),
) -> dict[str, str]:
    """A word for each kind; the reason of a refusal under the kind's name with `why`."""
    first, second = reference["gradients"][:2]
    (line,) = directions(made.program, 1)
    slope = sum(float(np.sum(g * d)) for g, d in zip(first, line, strict=True))
    wanted = {
        "reverse": (made.gradient, first, 1.0),
        "forward": (made.pushed, [np.array(slope)], 1.0),
        "second": (made.order(2), second, 10.0),
    }
    found: dict[str, str] = {}
    for kind, (function, numbers_wanted, loss) in wanted.items():
        try:
            got = numbers(call(function, made.point))
        except Exception as error:
            found[kind] = "refused"
            found[f"{kind} why"] = _first_line(error)
            continue
        found[kind] = _word(made.program, got, numbers_wanted, loss)
    return found


def _word(program: Program, found: Sequence[Any], wanted: Sequence[Any], loss: float) -> str:
    if not all(np.isfinite(f).all() for f in found):
        return "nan"
    return "right" if error_of(found, wanted) <= program.tolerance * loss else "wrong"


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:160]
