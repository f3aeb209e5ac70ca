"""nn.embedding_bag: sums, means and maxima of rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.nn.embedding import EmbeddingOp
from gradir.frontends.functions.embedding import in_order
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

MODES = ("sum", "mean", "max")


def embedding_bag(
    table: Any,
    ids: Any,
    offsets: Any = None,
    *,
    mode: str = "mean",
    weights: Any = None,
    padding_idx: int | None = None,
) -> Tracer:
    """The sum, mean or maximum of the rows of each bag, of shape [bags, width], as PyTorch has it.

    table: floats of shape [rows, width]. ids: integers of shape [bags, n], or of shape [n] with
    `offsets` of shape [bags]: the place in ids where each bag starts, ascending from 0. A bag may
    be empty: its result is zeros. weights: factors of the rows, shaped as ids, for the sum alone.
    padding_idx: a row that counts in no bag, and gets no gradient. The gradient of the table is row
    slices where these are asked for. TraceError for other shapes, modes and arguments; an offset
    that descends, or a first one that is not 0, is an index out of range at run time.
    """
    table, ids = in_order(table, ids)
    _check(table, ids, offsets, mode, weights)
    rows = apply(EmbeddingOp, {"table": table, "ids": ids, "padding_idx": padding_idx})
    if mode == "mean":
        rows = wide(rows)  # a sum and a count may be beyond float16 where the mean is not
    keep = None if padding_idx is None else _is_no_padding(ids, padding_idx, table.shape[0])
    if mode == "max":
        return _maximum(rows, keep) if offsets is None else _largest(rows, keep, lifted(offsets))
    factors = [lifted(f) for f in (weights, keep) if f is not None]
    for factor in factors:
        rows = rows * gnp.expand_dims(gnp.astype(factor, rows.dtype), axis=-1)
    places = None if offsets is None else _bags(lifted(offsets), ids.shape[0])
    count = ids.shape[0] if offsets is None else lifted(offsets).shape[0]
    total = _summed(rows, places, count)
    if mode == "sum":
        return total
    ones = gnp.ones(ids.shape, dtype=rows.dtype) if keep is None else gnp.astype(keep, rows.dtype)
    sizes = _summed(gnp.expand_dims(ones, axis=-1), places, count)
    return converted(total / gnp.maximum(sizes, 1), element(table))


def _check(table: Tracer, ids: Tracer, offsets: Any, mode: str, weights: Any) -> None:
    place = "nn.embedding_bag"
    if mode not in MODES:
        raise refusal(f'{place}: mode must be "sum", "mean" or "max", got {mode!r}')
    if table.ndim != 2 or not is_float(element(table)):
        raise refusal(f"{place}: table must be a matrix of floats, got {table!r}")
    wanted = 2 if offsets is None else 1
    if ids.ndim != wanted:
        raise refusal(
            f"{place}: ids must be [bags, n] without offsets and [n] with them, got {ids!r}"
        )
    if offsets is not None and lifted(offsets).ndim != 1:
        raise refusal(f"{place}: offsets must have one axis, got {lifted(offsets)!r}")
    if weights is not None and (mode != "sum" or lifted(weights).shape != ids.shape):
        raise refusal(f'{place}: weights need mode "sum" and the shape of ids, {ids.shape}')


def _is_no_padding(ids: Tracer, padding_idx: int, rows: int) -> Tracer:
    """The padding row may be counted from either end."""
    row = padding_idx % rows if rows else padding_idx
    places = gnp.astype(ids, "int64")
    return gnp.logical_and(places != row, places != row - rows)


def _maximum(rows: Tracer, keep: Tracer | None) -> Tracer:
    bags, count, width = rows.shape
    if not count:
        return gnp.zeros((bags, width), dtype=rows.dtype)
    if keep is None:
        return gnp.max(rows, axis=1)
    wide = gnp.expand_dims(keep, axis=-1)
    found = gnp.max(gnp.where(wide, rows, -gnp.inf), axis=1)
    is_full = gnp.expand_dims(gnp.any(keep, axis=1), axis=-1)
    return gnp.where(is_full, found, 0)


def _largest(rows: Tracer, keep: Tracer | None, offsets: Tracer) -> Tracer:
    """The maximum of each bag that starts at an offset; time is in the rows times the bags."""
    bags, count = offsets.shape[0], rows.shape[0]
    # an index out of range where the offsets are not ascending from 0
    places = gnp.take(gnp.arange(bags), _bags(offsets, count), 0)
    inside = gnp.expand_dims(gnp.arange(bags), 1) == places
    if keep is not None:
        inside = gnp.logical_and(inside, keep)
    wide = gnp.expand_dims(inside, axis=-1)
    found = gnp.max(gnp.where(wide, gnp.expand_dims(rows, 0), -gnp.inf), axis=1, initial=-gnp.inf)
    return gnp.where(gnp.expand_dims(gnp.any(inside, axis=1), axis=-1), found, 0)


def _bags(offsets: Tracer, count: int) -> Tracer:
    """The bag of each place, i64; out of range where the offsets are not ascending from 0."""
    bags = offsets.shape[0]
    starts = gnp.astype(offsets, "int64")
    marks = gnp.zeros((count + 1,), dtype="int64")
    marked = gnp.scatter_add(marks, starts, gnp.ones((bags,), dtype="int64"), axis=0)
    places = gnp.cumulative_sum(marked, axis=0)[:count] - 1
    is_wrong = places < 0
    if bags > 1:
        is_wrong = gnp.logical_or(is_wrong, gnp.any(starts[1:] < starts[:-1]))
    return gnp.where(is_wrong, bags, places)


def _summed(rows: Tracer, places: Tracer | None, bags: int) -> Tracer:
    """The sums of the rows of each bag: along axis 1, or by the bag of each place."""
    if places is None:
        return gnp.sum(rows, axis=1)
    total = gnp.zeros((bags, rows.shape[-1]), dtype=rows.dtype)
    return gnp.scatter_add(total, places, rows, axis=0)


FUNCTIONS: tuple[Callable[..., Any], ...] = (embedding_bag,)
