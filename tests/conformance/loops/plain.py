"""The meaning of a program: Python's own loops, on NumPy arrays or on numbers of mpmath.

Nothing of gradir is in it, and no derivative but differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Function = Callable[..., Any]

# Weights of f(x + k h v) in a derivative along v that is exact for polynomials up to degree 4.
STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
# h for programs that are smooth in a small neighbourhood only, and for derivatives inside of them.
STEP = 1e-6
INNER_STEP = 3e-3


class PlainFlow:
    """Loops and branches of Python; `slope(f, x)` is the derivative of a function of an array."""

    def __init__(self, slope: Callable[[Function, Any], Any]):
        self.grad = lambda f: lambda x: slope(f, x)

    def cond(self, pred: Any, true: Function, false: Function, *operands: Any) -> Any:
        return true(*operands) if pred else false(*operands)

    def while_loop(self, condition: Function, body: Function, init: Any) -> Any:
        while condition(init):
            init = body(init)
        return init

    def fori_loop(self, lower: Any, upper: Any, body: Function, init: Any) -> Any:
        for i in range(int(lower), int(upper)):
            init = body(np.int64(i), init)
        return init

    def scan(
        self, function: Function, init: Any, xs: Any, length: int | None = None,
        reverse: bool = False,
    ) -> Any:  # fmt: skip
        count = length if length is not None else len(leaves_of(xs)[0])
        ys: list[Any] = [None] * count
        for k in reversed(range(count)) if reverse else range(count):
            init, ys[k] = function(init, mapped(lambda a, k=k: a[k], xs))
        return init, stacked(ys)

    def vmap(self, function: Function, in_axes: int = 0) -> Function:
        def rows(*arrays: Any) -> Any:
            return stacked([function(*row) for row in zip(*arrays, strict=True)])

        return rows

    def checkpoint(self, function: Function) -> Function:
        return function

    jit = checkpoint

    def set(self, x: Any, i: Any, v: Any) -> Any:
        made = np.array(x)
        made[i] = v
        return made

    def add(self, x: Any, i: Any, v: Any) -> Any:
        return self.set(x, i, x[i] + v)

    def cast(self, x: Any, dtype: str) -> Any:
        """Floats stay what they are: a reference is exact."""
        array = np.asarray(x)
        return array.astype(dtype)[()] if array.dtype.kind in "biu" else x


def leaves_of(tree: Any) -> list[Any]:
    """The arrays of nested tuples and dicts; None is no array."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def mapped(function: Function, tree: Any) -> Any:
    """A function of each array, nested as before."""
    match tree:
        case None:
            return None
        case tuple():
            return tuple(mapped(function, part) for part in tree)
        case dict():
            return {key: mapped(function, part) for key, part in sorted(tree.items())}
        case _:
            return function(tree)


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of one nesting as a tree of arrays with a row for each; no row: an empty array."""
    if not trees:
        return np.zeros(0)
    first = trees[0]
    if isinstance(first, tuple):
        return tuple(stacked([t[k] for t in trees]) for k in range(len(first)))
    if isinstance(first, dict):
        return {key: stacked([t[key] for t in trees]) for key in first}
    return None if first is None else np.stack([np.asarray(t) for t in trees])


# NumPy in float64.


def slope_in_double(function: Function, x: Any) -> Any:
    """The derivative by each element, from central differences in float64."""
    found = np.zeros(np.shape(x))
    for place in np.ndindex(found.shape):
        unit = np.zeros(found.shape)
        unit[place] = 1.0
        terms = [w * function(x + k * INNER_STEP * unit[()]) for k, w in STENCIL]
        found[place] = sum(terms) / INNER_STEP
    return found[()]


DOUBLE = PlainFlow(slope_in_double)


class Double:
    """NumPy; ones and zeros are float64."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def in_double(array: Any) -> Any:
    """An argument as the plain program takes it: floats in float64."""
    return array[()] if array.dtype.kind in "biu" else array.astype(np.float64)[()]
