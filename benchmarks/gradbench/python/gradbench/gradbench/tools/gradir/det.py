"""The determinant by expansion along rows: every minor is computed, as often as it occurs.

The minors of the last rows are one array, those of one row more the next: n! / m! of m rows.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp


@cache
def _columns_left(n: int) -> list[Any]:
    """For each number of rows that are expanded, the columns of each minor [count, left]."""
    columns = [np.arange(n, dtype=np.int32)[None]]
    while (left := columns[-1].shape[1]) > 1:
        kept = np.array([[c for c in range(left) if c != k] for k in range(left)])
        columns.append(columns[-1][:, kept].reshape(-1, left - 1))
    return columns


def _determinant(a: Any, n: int) -> Any:
    levels = _columns_left(n)
    minors = gnp.ones(len(levels[-1]))
    for row, columns in reversed(list(enumerate(levels))):
        signs = 1.0 - 2.0 * (np.arange(n - row) % 2)
        minors = gnp.sum(a[row][columns] * signs * minors.reshape(columns.shape), axis=1)
    return minors[0]


_primal = gradir.jit(_determinant, static_argnums=1)
_gradient = gradir.jit(gradir.grad(_determinant), static_argnums=1)


def _prepared(given: Any) -> Any:
    n = given["ell"]
    return np.array(given["A"], float).reshape(n, n), n


_runs = partial(wrap.multiple_runs, pre=_prepared)


@_runs(post=float)
def primal(given: Any) -> Any:
    return _primal(*given)


@_runs(post=lambda found: found.ravel().tolist())
def gradient(given: Any) -> Any:
    return _gradient(*given)
