"""Writes references.json: values and derivatives of all programs from differences at 120 digits.

`python -m conformance.loops.references`, tests/ on the path; it needs mpmath, the suite does not.
The programs run in Python's own loops on mpmath's numbers (plain.py). A central difference with a
step of 1e-20 has an error of about 1e-40, and each order of derivatives costs 20 of the digits.

A program's entry has its value and, by order, derivatives: all of the first order, of the
second along one direction and of the third along two, as a gradient for each active argument.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from conformance.loops.all_programs import PROGRAMS
from conformance.loops.plain import PlainFlow
from conformance.loops.program import Array, Program, is_float

FILE = Path(__file__).parent / "references.json"
DIGITS = 120
STEP = "1e-20"


def directions(program: Program, count: int) -> list[list[Array]]:
    """Fixed directions in the space of the active arguments."""
    found: list[list[Array]] = []
    for k in range(count):
        shapes = [program.arguments[a].shape for a in program.active]
        unit = [np.cos(1.0 + k + np.arange(np.prod(s, dtype=int)) * (1.7 + k)) for s in shapes]
        found.append([np.round(u, 2).reshape(s) for u, s in zip(unit, shapes, strict=True)])
    return found


class ManyDigits:
    """NumPy's functions on arrays of mpmath's numbers."""

    def __init__(self, mp: Any):
        self.mp = mp
        for name in ("sin", "cos", "tanh", "exp", "log", "sqrt"):
            setattr(self, name, self._elementwise(getattr(mp, name)))

    def _elementwise(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        made = np.frompyfunc(lambda x: function(self.mp.mpf(x)), 1, 1)
        return lambda x: made(x)

    def zeros(self, shape: Any) -> Any:
        return self.number(np.zeros(shape))

    def ones(self, shape: Any) -> Any:
        return self.number(np.ones(shape))

    def where(self, chosen: Any, x: Any, y: Any) -> Any:
        return np.where(np.asarray(chosen, bool), x, y)[()]

    def number(self, array: Any) -> Any:
        """Floats as numbers of mpmath, exactly; integers as they are."""
        if not is_float(np.asarray(array)):
            return np.asarray(array)[()]
        made = np.frompyfunc(lambda x: self.mp.mpf(float(x)), 1, 1)(np.asarray(array, np.float64))
        return np.asarray(made, object)[()]

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class Differences:
    """Derivatives of programs by central differences of mpmath's numbers."""

    def __init__(self) -> None:
        self.mp = import_module("mpmath").mp
        self.mp.dps = DIGITS
        self.xp = ManyDigits(self.mp)
        self.flow = PlainFlow(self.slope)
        self.step = self.mp.mpf(STEP)

    def slope(self, function: Callable[[Any], Any], x: Any) -> Any:
        """The gradient of a function of one array."""
        found = np.zeros(np.shape(x), object)
        for place in np.ndindex(found.shape):
            unit = np.zeros(found.shape)
            unit[place] = 1.0
            moved = [function(x + sign * self.step * self.xp.number(unit)) for sign in (1, -1)]
            found[place] = (moved[0] - moved[1]) / (2 * self.step)
        return found[()]

    def along(self, program: Program, lines: Sequence[Sequence[Any]]) -> Any:
        """The mixed derivative along some directions of the active arguments."""
        run = program.bound(self.xp, self.flow)
        start = [self.xp.number(a) for a in program.arguments]
        total = self.mp.mpf(0)
        for signs in product((1, -1), repeat=len(lines)):
            moved = list(start)
            for sign, line in zip(signs, lines, strict=True):
                for k, part in zip(program.active, line, strict=True):
                    moved[k] = moved[k] + sign * self.step * self.xp.number(part)
            total += int(np.prod(signs)) * run(*moved)
        return total / (2 * self.step) ** len(lines)

    def gradient(self, program: Program, lines: Sequence[Sequence[Any]]) -> list[Any]:
        """The gradient, or the gradient of the derivative along directions: a list by argument."""
        found: list[Any] = []
        for which, k in enumerate(program.active):
            part = np.zeros(program.arguments[k].shape)
            for place in np.ndindex(part.shape):
                unit = [np.zeros(program.arguments[a].shape) for a in program.active]
                unit[which][place] = 1.0
                part[place] = float(self.along(program, [*lines, unit]))
            found.append(part.tolist())
        return found


def entry(differences: Differences, program: Program) -> dict[str, Any]:
    """The value and the derivatives of a program."""
    lines = directions(program, 2)
    orders = [differences.gradient(program, lines[:n]) for n in range(program.order)]
    return {"value": float(differences.along(program, [])), "gradients": orders}


def load() -> dict[str, Any]:
    """The entries by name, gradients as arrays of the arguments' shapes."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    for name, values in found.items():
        shapes = [PROGRAMS[name].arguments[k].shape for k in PROGRAMS[name].active]
        values["gradients"] = [
            [np.reshape(np.array(g, float), s) for g, s in zip(order, shapes, strict=True)]
            for order in values["gradients"]
        ]
    return found


def main() -> None:
    """Write references.json."""
    differences = Differences()
    found = {name: entry(differences, p) for name, p in PROGRAMS.items()}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
