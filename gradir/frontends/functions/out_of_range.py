"""x.at[key] where indices are out of range, by JAX's modes: left out, filled or clipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradir.dialects.base.shapes import is_float
from gradir.frontends.functions.arguments import one_of
from gradir.frontends.functions.indexing import entries_of
from gradir.frontends.functions.sugar import where
from gradir.frontends.functions.wide import as_indices
from gradir.frontends.tracing.tracer import FUNCTIONS, Tracer
from gradir.frontends.tracing.tracing import element

MODES = (None, "promise_in_bounds", "drop", "fill", "clip")
"""The first two: an index out of range is an error; "drop" and "fill" are the same."""


def is_checked(mode: Any) -> bool:
    """Whether an index out of range is an error; TraceError for an unknown mode."""
    one_of(mode, "x.at[...]: mode", MODES)
    return mode in MODES[:2]


def inside(x: Tracer, key: Any, mode: str, fill: Any = 0) -> tuple[Tracer, tuple[Any, ...]]:
    """x and a key whose indices are in range.

    Where they are not clipped, x has one more row along each axis that has indices, full of `fill`,
    and all indices out of range are its number.
    """
    places: list[Any] = []
    more: list[tuple[int, int]] = []
    for entry in entries_of(x, key):
        if entry is None or isinstance(entry, slice):
            places.append(entry)
            more += [] if entry is None else [(0, 0)]
            continue
        extent = x.shape[len(more)]
        given: Any = as_indices(entry)
        from_start: Any = where(given < 0, given + extent, given)
        if mode == "clip":
            places.append(FUNCTIONS["clip"](from_start, 0, extent - 1))
        else:
            is_there = (from_start >= 0) & (from_start < extent)
            places.append(where(is_there, from_start, extent))
        more.append((0, int(mode != "clip")))
    if not any(after for _, after in more):
        return x, tuple(places)
    return FUNCTIONS["pad"](x, more, constant_values=fill), tuple(places)


def cut(made: Tracer, shape: Sequence[int]) -> Tracer:
    """The array without the rows that `inside` added."""
    return made if made.shape == tuple(shape) else made[tuple(slice(0, n) for n in shape)]


def default_fill(x: Tracer) -> Any:
    """What reads out of range give: nan, the least signed or largest unsigned integer, or True."""
    if is_float(element(x)):
        return np.nan
    if x.dtype == bool:
        return True
    limits = np.iinfo(x.dtype)
    return limits.max if x.dtype.kind == "u" else limits.min
