"""Rows of the op table for reads and sums at affine subscripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from op_cases import Case
from op_references import Array
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineMap

# The grid, the array of the subscripts, the map, and whether it leaves the array.
_ROWS = (
    ((3, 4), (3, 4), lambda i, j: (i, j), False),
    ((4, 3), (3, 4), lambda i, j: (j, i), False),
    ((3, 5, 3), (6, 4), lambda i, j, k: (i * 2 + k - 1, j), True),
    ((4, 2, 3), (6,), lambda i, j, k: (i + k,), False),
    ((5,), (4, 6), lambda i: (i - 1, i * -1 + 4), True),
    ((5, 2), (), lambda i, j: (), False),
    ((7,), (7,), lambda i: (i * -1 + 6,), False),
    ((7,), (9,), lambda i: (i + -3,), True),
    ((3, 4), (2,), lambda i, j: (j * 0 + 1,), False),
    ((9,), (3,), lambda i: (i * 4 - 30,), True),
    ((), (3, 2), lambda: (1, 0), False),
    ((0, 3), (3, 2), lambda i, j: (i, j), True),
    ((2,), (0,), lambda i: (i,), True),
    ((40, 33), (41, 66), lambda i, j: (i + 1, j * 2), False),
    ((2, 3), (3, 3), lambda i, j: (i + j, i - j), True),
)


def _gathered(grid: Sequence[int], subscripts: Any, pad: float) -> Any:
    def reference(x: Array, **given: Any) -> Array:
        y = np.full(grid, float(pad))
        for place in np.ndindex(*grid):
            at = subscripts(*place)
            if all(0 <= s < n for s, n in zip(at, x.shape, strict=True)):
                y[place] = x[at]
        return y

    return reference


def _summed(shape: Sequence[int], subscripts: Any) -> Any:
    def reference(x: Array, **given: Any) -> Array:
        y = np.zeros(shape)
        for place in np.ndindex(*x.shape):
            at = subscripts(*place)
            if all(0 <= s < n for s, n in zip(at, shape, strict=True)):
                y[at] += x[place]
        return y

    return reference


def _affine() -> Iterator[Case]:
    for grid, shape, subscripts, leaves in _ROWS:
        given: dict[str, Any] = {"map": AffineMapAttr(AffineMap.from_callable(subscripts))}
        pad = {"pad": -1.5} if leaves else {}
        gathered = _gathered(grid, subscripts, pad.get("pad", 0))
        yield Case(*("array.affine_gather", [shape], given | pad, gathered), results=[(grid, None)])
        yield Case(
            *("array.affine_scatter_add", [grid], given | ({"drop": True} if leaves else {})),
            *(_summed(shape, subscripts),), results=[(shape, None)],
        )  # fmt: skip


CASES: tuple[Case, ...] = (*_affine(),)
