"""Where a sparse matrix has entries, and colors of its columns: columns of a color share no row.

The sum of the columns of a color has each of their entries in a row of its own, so a product with
one tangent finds them all (Curtis, Powell, Reid: On the estimation of sparse Jacobian matrices).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gradir.errors import ArgumentError, ArgumentTypeError

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Row i has entries in the columns `indices[indptr[i]:indptr[i + 1]]`; no column twice.

    `build` makes the caller's kind of matrix from the values of the entries, in this order.
    """

    indices: Numbers
    indptr: Numbers
    shape: tuple[int, int]
    build: Callable[[Any], Any]

    @property
    def rows(self) -> Numbers:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @property
    def transposed(self) -> Pattern:
        order = np.argsort(self.indices, kind="stable")
        starts = np.searchsorted(self.indices[order], np.arange(self.shape[1] + 1))
        return Pattern(self.rows[order], starts, (self.shape[1], self.shape[0]), self.build)


def pattern_of(given: Any) -> Pattern:
    """The pattern that a user gives as a matrix of SciPy, of bools, or (indices, indptr, shape)."""
    if hasattr(given, "tocsr"):
        rows: Any = given.tocsr()
        kind = cast(Any, type(rows))

        def build(values: Any) -> Any:
            return kind((values, rows.indices, rows.indptr), shape=rows.shape)

        return _checked(rows.indices, rows.indptr, rows.shape, build)
    if isinstance(given, tuple):
        parts = cast(tuple[Any, ...], given)
        if len(parts) != 3 or np.shape(parts[2]) != (2,):
            raise ArgumentError("pattern: a tuple must be (indices, indptr, (rows, columns))")
        return _checked(*parts, lambda values: values)
    entries = np.asarray(given)
    if entries.ndim != 2 or entries.dtype != np.bool_:
        raise ArgumentTypeError(
            "pattern: expected a matrix of SciPy, an array [rows, columns] of bools, or (indices, "
            f"indptr, shape), got {entries.dtype} of shape {entries.shape}"
        )
    indptr = np.concatenate([[0], np.cumsum(entries.sum(1))])
    return _checked(np.nonzero(entries)[1], indptr, entries.shape, lambda values: values)


def _checked(
    indices: Any, indptr: Any, shape: Sequence[int], build: Callable[[Any], Any]
) -> Pattern:
    indices, indptr = np.asarray(indices), np.asarray(indptr)
    rows, columns = (int(n) for n in shape)
    for name, array in (("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise ArgumentTypeError(f"pattern: {name} must be a vector of integers")
    ends = [0, len(indices)]
    rises = len(indptr) == rows + 1 and [*indptr[[0, -1]]] == ends and np.all(np.diff(indptr) >= 0)
    if not rises:
        raise ArgumentError(
            f"pattern: indptr must rise from 0 to the {len(indices)} entries in {rows} steps"
        )
    if indices.size and not (0 <= indices.min() and indices.max() < columns):
        raise ArgumentError(f"pattern: indices must be columns, 0 to {columns - 1}")
    made = Pattern(indices.astype(np.int64), indptr.astype(np.int64), (rows, columns), build)
    places = made.rows * columns + made.indices
    if not np.all(np.diff(places) > 0) and len(np.unique(places)) < len(places):
        raise ArgumentError("pattern: a row has a column twice; sum_duplicates() of SciPy ends it")
    return made


def colors_of_columns(pattern: Pattern) -> Numbers:
    """A color for each column, 0 and up, greedily: columns of one color share no row.

    In the order of the columns, which is best for bands; if it needs more colors than a row has
    entries, also from the fullest column to the emptiest.
    """
    columns = pattern.transposed
    counts = np.diff(columns.indptr)
    found = _greedy(columns, np.arange(len(counts)))
    if _count(found) > np.diff(pattern.indptr).max(initial=1):
        other = _greedy(columns, np.argsort(-counts, kind="stable"))
        found = min(found, other, key=_count)
    return found


def _count(colors: Numbers) -> int:
    return int(colors.max(initial=0)) + 1


def _greedy(columns: Pattern, order: Numbers) -> Numbers:
    """The first color for each column that its rows do not have; a row's colors are bits."""
    rows: list[int] = columns.indices.tolist()
    starts: list[int] = columns.indptr.tolist()
    taken = [0] * columns.shape[1]
    colors = np.zeros(columns.shape[0], np.int64)
    for column in order.tolist():
        mine, used = rows[starts[column] : starts[column + 1]], 0
        for row in mine:
            used |= taken[row]
        free = ~used & (used + 1)
        colors[column] = free.bit_length() - 1
        for row in mine:
            taken[row] |= free
    return colors


@dataclass(frozen=True, eq=False)
class Compression:
    """Products with `count` seeds that find all entries: tangents if `is_forward`, else cotangents.

    Seed k is 1 where `colors` is k. Entry e is number `places[e]` of the products, which have an
    axis of seeds behind the results.
    """

    is_forward: bool
    colors: Numbers
    count: int
    places: Numbers


def compression_of(pattern: Pattern, mode: str | None) -> Compression:
    """The one with fewer seeds, tangents where both have as many; or the one for `mode`."""
    if mode not in (None, "jvp", "vjp"):
        raise ArgumentError(f"mode: expected None, 'jvp' or 'vjp', got {mode!r}")
    across = pattern.transposed
    made: list[Compression] = []
    if mode != "vjp":
        made.append(_compression(True, pattern, pattern.rows, pattern.indices))
    # rows need as many colors as the fullest column has entries
    if mode == "vjp" or (not mode and np.diff(across.indptr).max(initial=1) < made[0].count):
        made.append(_compression(False, across, pattern.indices, pattern.rows))
    return min(made, key=lambda one: one.count)


def _compression(is_forward: bool, lines: Pattern, kept: Numbers, colored: Numbers) -> Compression:
    colors = colors_of_columns(lines)
    count = _count(colors)
    return Compression(is_forward, colors, count, kept * count + colors[colored])
