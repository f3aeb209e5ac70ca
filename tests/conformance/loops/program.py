"""A program of the suite: its function, its arguments, and the names that it may use of a system.

`xp` has NumPy's sin, cos, tanh, exp, log, sqrt, abs, where, sum, maximum, minimum, stack,
concatenate, zeros, ones, arange, flip, argmin, logical_and, logical_not; arrays have operators,
comparisons, `@` and indices. `flow` has

    cond(pred, true, false, *operands)    while_loop(condition, body, init)
    fori_loop(lower, upper, body, init)   scan(function, init, xs, length=None, reverse=False)
    checkpoint(f)  jit(f)  grad(f)        vmap(f, in_axes=0)       with JAX's meanings, and
    set(x, i, v), add(x, i, v)            x with rows x[i] replaced by v, or with v added to them
    cast(x, dtype)                        x in another type
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

PROGRAMS: dict[str, Program] = {}
"""All programs by name, in the order in which their files are read."""


@dataclass(frozen=True)
class Program:
    """`function(xp, flow, *arguments)` is differentiated by all floating arguments.

    `order` is the highest derivative's, checked here. `tolerance` is relative to the largest
    component. `has_inner` says that the function differentiates by itself.
    """

    name: str
    group: str
    function: Function
    arguments: tuple[Array, ...]
    order: int = 2
    tolerance: float = 1e-10
    has_inner: bool = field(default=False, kw_only=True)

    @property
    def says(self) -> str:
        """The first sentence of its docstring."""
        first = (self.function.__doc__ or "").strip().split("\n\n")[0]
        return re.sub(r"\s+", " ", first)

    @property
    def active(self) -> tuple[int, ...]:
        """The places of the floating arguments."""
        return tuple(k for k, a in enumerate(self.arguments) if is_float(a))

    def bound(self, xp: Any, flow: Any) -> Function:
        """The function of the arguments alone, under its own name."""

        def wrapper(*arguments: Any) -> Any:
            return self.function(xp, flow, *arguments)

        wrapper.__name__ = wrapper.__qualname__ = self.name
        return wrapper


def is_float(array: Array) -> bool:
    """Whether elements are floats, ml_dtypes' too."""
    return array.dtype.kind not in "biu"


def program(group: str, *arguments: Any, **options: Any) -> Callable[[Function], Function]:
    """Enters a function as a program of a group, at these arguments."""

    def entered(function: Function) -> Function:
        name = function.__name__
        assert name not in PROGRAMS, name
        given = tuple(np.asarray(a) for a in arguments)
        PROGRAMS[name] = Program(name, group, function, given, **options)
        return function

    return entered


def spread(*shape: int, seed: float = 0.0, low: float = -0.9, high: float = 0.9) -> Array:
    """Numbers between two bounds without a pattern; three decimals, the same everywhere."""
    count = np.arange(1, int(np.prod(shape)) + 1)
    unit = (count * 0.6180339887 + (seed + 1) * 0.3819) % 1.0
    return np.round(low + (high - low) * unit, 3).reshape(shape)
