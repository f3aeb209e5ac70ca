"""Row slices as leaves of updates: rules at their rows, and arithmetic of both kinds of leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from gradir.frontends.functions import numpy as gnp
from gradir.frontends.optim.arithmetic import like, single_or_double, stored, widened
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.runtime.row_slices import RowSlices

Leaf = Tracer | RowSlices
Rule = Callable[..., Any]


def traced_slices(what: str, path: str, slices: RowSlices) -> RowSlices:
    """Slices of traced arrays; TraceError that begins with `what` where they do not fit."""
    parts = zip(("indices", "values"), (slices.indices, slices.values), strict=True)
    indices, values = (lifted(part, what=f"{what}: {path}.{name}: ") for name, part in parts)
    rows = (*indices.shape[:1], *slices.shape[1:])
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or values.shape != rows:
        raise refusal(
            f"{what}: {path}: slices of {list(slices.shape)} must have integer indices [n] and "
            f"values {['n', *slices.shape[1:]]}, got {type_text(indices.type)} and "
            f"{type_text(values.type)}".replace("'", "")
        )
    return replace(slices, indices=gnp.astype(indices, "int64"), values=values)


def leaf_text(leaf: Leaf) -> str:
    """The type of a leaf in a message."""
    if isinstance(leaf, RowSlices):
        return f"row slices of {leaf.dtype.name}{list(leaf.shape)}"
    return type_text(leaf.type)


# Arithmetic of arrays and of row slices alike.


def values_of(leaf: Leaf) -> Tracer:
    """The array itself, or the values of slices."""
    return leaf.values if isinstance(leaf, RowSlices) else leaf


def on_values(function: Callable[[Any], Any], leaf: Leaf) -> Any:
    """A function of the array, or of the values of slices; one that is linear."""
    if isinstance(leaf, RowSlices):
        return replace(leaf, values=function(leaf.values))
    return function(leaf)


def scaled(leaf: Leaf, factor: Any) -> Any:
    """A leaf times a number, in the leaf's dtype."""
    return on_values(lambda x: x * like(factor, x), leaf)


def sum_of_squares(leaf: Leaf) -> Any:
    """The sum of the squares of all elements, in float32 at least."""
    wide = single_or_double(values_of(coalesced(leaf)))
    return gnp.sum(wide * wide)


def root_mean_square(leaf: Leaf) -> Any:
    """The root of the mean of the squares of all elements, in float32 at least; 0 of none."""
    size = prod(leaf.shape)
    if size == 0:
        return gnp.zeros((), single_or_double(values_of(leaf)).dtype)
    return gnp.sqrt(sum_of_squares(leaf) / size)


def added(param: Tracer, update: Leaf) -> Tracer:
    """param + update, rounded once, to the dtype of the parameter; slices change their rows."""
    if not isinstance(update, RowSlices):
        return stored(widened(param, update) + widened(update, param), param)
    # in float16 and bfloat16 native code adds to a whole array of float32
    if element(widened(single_or_double(param), update.values)) == element(param):
        return param.at[update.indices].add(update.values)
    once = coalesced(update)
    return _put(param, once, stored(_rows(param, once) + once.values, param))


# Rules of dense arrays.


@dataclass(frozen=True, eq=False)
class _Coalesced(RowSlices):
    """Slices as `coalesce` gives them: entries that are left over repeat the last row, with 0."""


def densified(leaf: Any) -> Any:
    """Slices as an array; another leaf as it is."""
    return leaf.densify() if isinstance(leaf, RowSlices) else leaf


def coalesced(leaf: Any) -> Any:
    """Slices with each row once, added up in float32 at least; another leaf as it is."""
    if isinstance(leaf, _Coalesced) or not isinstance(leaf, RowSlices):
        return leaf
    once = leaf.coalesce()
    return _Coalesced(once.indices, once.values, once.shape)


def by_rows(rule: Rule, row: Sequence[Any], results: int) -> Any:
    """What a rule of dense arrays gives for the rows of slices, one of the entries of `row`.

    The rule gets those rows of all arrays. Its first result are slices again; the others are the
    new rows of the last arrays, which keep their other rows.
    """
    [slices] = (coalesced(leaf) for leaf in row if isinstance(leaf, RowSlices))
    made = rule(*(_rows(leaf, slices) for leaf in row))
    update, *new = made if results > 1 else (made,)
    kept = replace(slices, values=_without_left_over(slices, update))
    states = row[len(row) - len(new) :]
    changed = [_put(state, slices, its) for state, its in zip(states, new, strict=True)]
    return (kept, *changed) if results > 1 else kept


def _rows(leaf: Any, slices: _Coalesced) -> Any:
    """The rows of an array that slices have; their own values."""
    if isinstance(leaf, RowSlices):
        return slices.values
    return gnp.take(leaf, slices.indices, axis=0) if isinstance(leaf, Tracer) else leaf


def _put(array: Tracer, slices: _Coalesced, rows: Tracer) -> Tracer:
    """The array with other rows; of entries of one row the first, which is not left over."""
    return array.at[slices.indices[::-1]].set(rows[::-1])


def _without_left_over(slices: _Coalesced, values: Tracer) -> Tracer:
    """The values, 0 at entries that are left over."""
    indices, [count] = slices.indices, slices.indices.shape
    if count < 2:
        return values
    is_first = gnp.concat([gnp.ones(1, "bool"), indices[1:] != indices[:-1]])
    column = gnp.reshape(is_first, (count, *(1 for _ in values.shape[1:])))
    return gnp.where(column, values, 0.0)
