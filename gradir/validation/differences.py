"""Central differences: the derivative of a function of arrays along a direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# Weights of f(x + k h v) in a derivative along v that is exact for polynomials up to degree 4.
STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
# h for arguments of size 1, near the optimum in float64: errors h**4 and eps / h are about equal.
STEP = 3e-4
PART = 0.381966
"""Of a step; no simple fraction, as of those a staircase may have as many steps in proportion."""


def difference(
    function: Callable[..., float], args: Sequence[Array], index: int, direction: Array
) -> float:
    """The derivative of `function(*args)` in `args[index]` along a direction, by differences."""
    moved, array = list(args), args[index]
    sizes = np.abs(array[array != 0])
    step = STEP * (float(np.mean(sizes)) if sizes.size else 1.0)
    total = 0.0
    for k, weight in STENCIL:
        moved[index] = array + k * step * direction
        total += weight * function(*moved)
    return total / step


def reliable_difference(
    function: Callable[..., float], args: Sequence[Array], index: int, direction: Array
) -> float | None:
    """The difference; None where one of a part of the step is another: there is a kink, or a steep
    place near by."""
    found = difference(function, args, index, direction)
    again = difference(function, args, index, direction * PART) / PART
    near = abs(found - again) <= 1e-8 * max(abs(found), 1.0)
    return found if near and np.isfinite(found) else None
