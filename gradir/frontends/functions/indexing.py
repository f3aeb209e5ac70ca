"""x[...] of traced arrays: integers, slices with steps, ..., None, and arrays of integers.

Integers and slices become one array.slice; a negative step reverses first. Traced integers and one
array of integers become array.take along their axis, several arrays, and integers beside them,
array.gather_nd. Masks are arrays of the places where they hold, which must be known while tracing:
masks of NumPy, and traced ones of known values.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i64

from gradir.dialects.array.assembly import StackOp
from gradir.dialects.array.comparison import LessOp, WhereOp
from gradir.dialects.array.data_dependent import BooleanMaskOp
from gradir.dialects.array.elementwise import AddOp
from gradir.dialects.array.gather_scatter import GatherNdOp
from gradir.dialects.array.indexing import TakeOp
from gradir.dialects.array.movement import FlipOp, PermuteDimsOp, ReshapeOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.extents import Extent, is_extent
from gradir.dialects.base.shapes import is_bool, is_inexact, same_shape, tensor
from gradir.errors import IndexOutOfRange
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import common_shape, converted, spread
from gradir.frontends.tracing.memory import as_view
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, holds_tracers, lifted
from gradir.frontends.tracing.values import value_of

ONE = int | Extent
"""The types of an index that is known, or an extent."""


def get(x: Tracer, key: Any) -> Tracer:
    """x[key]; a view unless it has an array of indices, or is one number."""
    entries = entries_of(x, key)
    if has_several(entries):
        return _gathered(x, entries)
    made = _read(x, entries)
    keys = cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,)
    if any(isinstance(e, Tracer) and e.ndim for e in entries):
        return made
    if not made.shape and not any(k is Ellipsis for k in keys):
        return made if made is not x else Tracer(x.made_in, x.ssa, x.weak)
    # the numbers among the keys as they are now
    kept = tuple(k.copy() if isinstance(k, Tracer) else k for k in keys)

    def write(base: Tracer, value: Tracer) -> Tracer:
        return base.at[kept].set(value)

    return as_view(x, made, lambda base: _read(base, entries_of(base, kept)), write, key)


def _read(x: Tracer, entries: list[Any]) -> Tracer:
    return _shaped(_sliced(x, [e for e in entries if e is not None]), entries)


def has_several(entries: Sequence[Any]) -> bool:
    """Whether an array of indices stands beside integers or another array."""
    arrays = [e for e in entries if isinstance(e, Tracer) and e.ndim]
    return bool(arrays) and len([e for e in entries if isinstance(e, ONE | Tracer)]) > 1


def _gathered(x: Tracer, entries: list[Any]) -> Tracer:
    """x at several arrays, which broadcast; their axes stand where the first was, or in front."""
    axes = [e for e in entries if e is not None]
    taken = [d for d, e in enumerate(axes) if isinstance(e, ONE | Tracer)]
    places = [_place(axes[d], x.shape[d], d) for d in taken]
    shape = common_shape("index", places)
    x = _sliced(x, [slice(None) if d in taken else e for d, e in enumerate(axes)])
    order = [*taken, *(d for d in range(x.ndim) if d not in taken)]
    columns = [spread(p, shape, i64) for p in places]
    indices = apply(StackOp, {"xs": columns, "axis": len(shape)})
    moved = apply(PermuteDimsOp, {"x": x, "axes": order})
    found = apply(GatherNdOp, {"x": moved, "indices": indices})
    return _arranged(found, entries, len(shape))


def _place(entry: Any, extent: int, axis: int) -> Tracer:
    """An entry as an array of indices >= 0."""
    if isinstance(entry, ONE):
        return lifted(np.int64(bounds_of(entry, extent, axis)[0]))
    entry = converted(entry, i64)
    below = apply(LessOp, {"lhs": entry, "rhs": 0})
    moved = apply(AddOp, {"lhs": entry, "rhs": extent})
    return emit_one(WhereOp, below, moved, entry)


def _arranged(found: Tracer, entries: Sequence[Any], rank: int) -> Tracer:
    """The axes of the arrays where the first one was, in front if they stand apart; and None's."""
    at = [k for k, e in enumerate(entries) if isinstance(e, ONE | Tracer)]
    apart = at[-1] - at[0] >= len(at)
    before = 0 if apart else sum(e is not None for e in entries[: at[0]])
    axes = list(range(found.ndim))
    order = [*axes[rank : rank + before], *axes[:rank], *axes[rank + before :]]
    found = apply(PermuteDimsOp, {"x": found, "axes": order}) if before else found
    extents = iter([*found.shape[:before], *found.shape[before + rank :]])
    shape: list[int] = list(found.shape[:rank]) if apart else []
    for k, entry in enumerate(entries):
        if not apart and k == at[0]:
            shape += found.shape[before : before + rank]
        if not isinstance(entry, ONE | Tracer):
            shape.append(1 if entry is None else next(extents))
    return emit_one(ReshapeOp, found, type=tensor(shape, element(found)))


def entries_of(x: Tracer, key: Any) -> list[Any]:
    """One entry per axis, and None for new ones."""
    keys = cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,)
    # a tuple in a tuple lists places, as NumPy takes it
    lists = [list(cast(Any, k)) if isinstance(k, tuple) else k for k in keys]
    given = [entry for k in lists for entry in _entries(k)]
    used = len([g for g in given if g is not None and g is not Ellipsis])
    if len([g for g in given if g is Ellipsis]) > 1 or used > x.ndim:
        raise refusal(f"index: at most {x.ndim} entries and one ... expected, got {len(given)}")
    at = next((k for k, g in enumerate(given) if g is Ellipsis), len(given))
    return [*given[:at], *[slice(None)] * (x.ndim - used), *given[at + 1 :]]


def _entries(key: Any) -> list[Any]:
    """What one part of a key says of one axis, or of several for a mask."""
    if isinstance(key, Tracer) and key.ndim and is_bool(element(key)):
        found = value_of(key)
        key = key if found is None else found
    is_list = isinstance(key, list) and not holds_tracers(cast(Any, key))
    mask: Any = np.asarray(cast(Any, key)) if is_list or isinstance(key, np.ndarray) else None
    if mask is None or mask.ndim == 0 or mask.dtype != bool or not mask.size:
        return [_entry(cast(Any, key))]
    return [lifted(places) for places in mask.nonzero()]


def _entry(key: Any) -> Any:
    """None, ..., a slice, an int, or a traced array of integers."""
    is_array = isinstance(key, (list, np.ndarray)) and np.ndim(cast(Any, key)) > 0
    if key is None or key is Ellipsis or isinstance(key, slice):
        return cast(Any, key)
    if isinstance(key, bool | np.bool_):
        raise refusal("index: expected integers, slices, ... or None, got a bool")
    if is_array:
        key = lifted(cast(Any, key))
    if not isinstance(key, Tracer):
        if isinstance(key, Extent):
            return key
        try:
            return index(cast(Any, key))
        except TypeError:
            kind = type(cast(Any, key)).__name__
            raise refusal(f"index: expected integers, slices, ... or None, got {kind}") from None
    if is_bool(element(key)):
        apply(BooleanMaskOp, {})
    if is_inexact(element(key)):
        raise refusal(f"index: expected integers, got {key!r}; convert with .astype")
    return key


def _sliced(x: Tracer, entries: list[Any]) -> Tracer:
    """x sliced by integers, which keep their axis here, and slices; then the takes of arrays."""
    bounds = [bounds_of(e, n, d) for d, (e, n) in enumerate(zip(entries, x.shape, strict=True))]
    flipped = [d for d, (_, _, step) in enumerate(bounds) if step < 0]
    if flipped:
        x = apply(FlipOp, {"x": x, "axis": flipped})
        bounds = [
            (n - 1 - first, n - 1 - last, -step) if step < 0 else (first, last, step)
            for (first, last, step), n in zip(bounds, x.shape, strict=True)
        ]
    if not all(same_shape(b, (0, n, 1)) for b, n in zip(bounds, x.shape, strict=True)):
        start, stop, step = (list(part) for part in zip(*bounds, strict=True))
        steps = None if set(step) == {1} else step
        x = apply(SliceOp, {"x": x, "start": start, "stop": stop, "step": steps})
    for axis in reversed(range(len(entries))):
        if isinstance(entries[axis], Tracer):
            x = apply(TakeOp, {"x": x, "indices": entries[axis], "axis": axis})
    return x


def bounds_of(entry: Any, extent: int, axis: int) -> tuple[int, int, int]:
    """Start, stop and step of an entry along an axis; the whole axis for an array."""
    if isinstance(entry, Tracer):
        return 0, extent, 1
    if isinstance(entry, ONE):
        if not -extent <= entry < extent:
            message = f"index {entry} is out of range for axis {axis} of extent {extent}"
            raise refusal(message, IndexOutOfRange)
        at: Any = entry + extent if entry < 0 else entry
        return at, at + 1, 1
    for part in (entry.start, entry.stop, entry.step):
        if isinstance(part, Tracer) and value_of(part) is None:
            raise refusal(
                "index: slices must be known while tracing; use gradir.numpy.dynamic_slice"
            )
    if any(map(is_extent, (entry.start, entry.stop, entry.step, extent))):
        return _named_bounds(entry, extent)
    try:
        chosen = range(*entry.indices(extent))
    except (TypeError, ValueError) as error:
        raise refusal(f"index: {error}") from None
    if not chosen:
        return 0, 0, 1
    return chosen[0], chosen[-1] + (1 if chosen.step > 0 else -1), chosen.step


def _named_bounds(entry: slice, extent: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice where some are not known."""
    step: Any = 1 if entry.step is None else entry.step
    if not isinstance(step, int) or step == 0:
        raise refusal(f"index: the step of a slice must be an integer other than 0, got {step}")
    last = extent if step > 0 else extent - 1
    first, end = (0, extent) if step > 0 else (extent - 1, -1)
    start: Any = first if entry.start is None else _within(entry.start, extent, last)
    stop = end if entry.stop is None else _within(entry.stop, extent, last)
    if (start > stop) if step > 0 else (start < stop):
        return 0, 0, 1
    return start, stop, step


def _within(part: Any, extent: int, last: int) -> int:
    """A bound as a place in front of, on or behind the axis."""
    part = part if is_extent(part) else index(part)
    at = part + extent if part < 0 else part
    low = last - extent
    if at < low:
        return low
    return at if at <= last else last


def count_of(start: int, stop: int, step: int) -> int:
    """The number of places from start, by steps, before stop."""
    if not any(map(is_extent, (start, stop))):
        return len(range(start, stop, step))
    sign = 1 if step > 0 else -1
    return (sign * (stop - start) + abs(step) - 1) // abs(step)


def _shaped(x: Tracer, entries: list[Any]) -> Tracer:
    """x without the axes of integers, and with the new axes of None."""
    extents = iter(x.shape)
    shape: list[int] = []
    for entry in entries:
        if entry is None:
            shape.append(1)
        elif isinstance(entry, Tracer):
            shape += [next(extents) for _ in range(entry.ndim)]
        else:
            extent = next(extents)
            shape += [] if isinstance(entry, ONE) else [extent]
    if same_shape(shape, x.shape):
        return x
    return emit_one(ReshapeOp, x, type=tensor(shape, element(x)))
