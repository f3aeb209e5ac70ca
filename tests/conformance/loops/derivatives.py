"""Derivatives of a program in the form that references.json has, for a system like JAX.

`g` is a namespace with grad, value_and_grad and jvp as JAX has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from conformance.loops.program import Program
from conformance.loops.references import directions

Function = Callable[..., Any]


class Derivatives:
    """A program's derivatives by its active arguments, as functions of all arguments."""

    def __init__(self, program: Program, xp: Any, flow: Any, g: Any):
        self.program, self.xp, self.g = program, xp, g
        self.value = program.bound(xp, flow)
        self.places = program.active

    @property
    def point(self) -> list[Any]:
        return list(self.program.arguments)

    def line(self, number: int) -> list[Any]:
        """A direction, in the arguments' types."""
        found = directions(self.program, number + 1)[number]
        types = [self.program.arguments[k].dtype for k in self.places]
        return [d.astype(t) for d, t in zip(found, types, strict=True)]

    def gradient(self, *arguments: Any) -> Any:
        return self.g.grad(self.value, argnums=self.places)(*arguments)

    def with_value(self, *arguments: Any) -> Any:
        return self.g.value_and_grad(self.value, argnums=self.places)(*arguments)

    def pushed(self, *arguments: Any) -> Any:
        """Forward mode: the slope along the first direction."""
        return self._push(self.value, arguments)

    def pushed_gradient(self, *arguments: Any) -> Any:
        """Forward mode over reverse mode: the second order."""
        return self._push(self.gradient, arguments)

    def _push(self, function: Function, arguments: Sequence[Any]) -> Any:
        """The tangent of a function of all arguments along the first direction."""

        def of_active(*active: Any) -> Any:
            given = list(arguments)
            for k, value in zip(self.places, active, strict=True):
                given[k] = value
            return function(*given)

        primals = tuple(arguments[k] for k in self.places)
        lines = tuple(self.xp.asarray(d) for d in self.line(0))
        return self.g.jvp(of_active, primals, lines)[1]

    def order(self, number: int) -> Function:
        """Reverse mode over reverse mode: the gradient of the derivative along directions."""
        if number == 1:
            return self.gradient
        inner = self.order(number - 1)

        def projected(*arguments: Any) -> Any:
            total: Any = 0.0
            for slope, line in zip(inner(*arguments), self.line(number - 2), strict=True):
                total = total + self.xp.sum(slope * self.xp.asarray(line))
            return total

        return lambda *arguments: self.g.grad(projected, argnums=self.places)(*arguments)


def error_of(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, relative to the largest number; inf where there is nan."""
    ours = [np.asarray(f, np.float64) for f in found]
    scale = max((float(np.max(np.abs(w), initial=0.0)) for w in wanted), default=0.0) or 1.0
    worst = 0.0
    for one, other in zip(ours, wanted, strict=True):
        if not np.isfinite(one).all():
            return float("inf")
        worst = max(worst, float(np.max(np.abs(one - other), initial=0.0)) / scale)
    return worst
