"""x[...] of traced arrays: integers, slices with steps, ..., None, and arrays of integers.

Integers and slices become one array.slice; a negative step reverses first. Traced integers and
arrays of integers become array.take along their axis; one array may be combined with slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, cast

import numpy as np

from gradir.dialects.array.data_dependent import BooleanMaskOp
from gradir.dialects.array.indexing import TakeOp
from gradir.dialects.array.movement import FlipOp, ReshapeOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.shapes import is_bool, is_float, tensor
from gradir.errors import IndexOutOfRange
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.tracing.memory import as_view
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted


def get(x: Tracer, key: Any) -> Tracer:
    """x[key]; a view unless it has an array of indices, or is one number."""
    entries = entries_of(x, key)
    require_one_array(entries)
    made = _read(x, entries)
    keys = cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,)
    if any(isinstance(e, Tracer) and e.ndim for e in entries):
        return made
    if not made.shape and not any(k is Ellipsis for k in keys):
        return made
    # the numbers among the keys as they are now
    kept = tuple(k.copy() if isinstance(k, Tracer) else k for k in keys)

    def write(base: Tracer, value: Tracer) -> Tracer:
        return base.at[kept].set(value)

    return as_view(x, made, lambda base: _read(base, entries_of(base, kept)), write, key)


def _read(x: Tracer, entries: list[Any]) -> Tracer:
    return _shaped(_sliced(x, [e for e in entries if e is not None]), entries)


def require_one_array(entries: Sequence[Any]) -> None:
    """TraceError if an array of indices stands beside integers or another array."""
    arrays = [e for e in entries if isinstance(e, Tracer) and e.ndim]
    if arrays and len([e for e in entries if isinstance(e, Tracer | int)]) > 1:
        raise refusal(
            "index: one array of indices beside slices expected, got more; "
            "use gradir.numpy.gather_nd, or index in several steps"
        )


def entries_of(x: Tracer, key: Any) -> list[Any]:
    """One entry per axis, and None for new ones."""
    keys = cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,)
    given = [_entry(k) for k in keys]
    used = len([g for g in given if g is not None and g is not Ellipsis])
    if len([g for g in given if g is Ellipsis]) > 1 or used > x.ndim:
        raise refusal(f"index: at most {x.ndim} entries and one ... expected, got {len(given)}")
    at = next((k for k, g in enumerate(given) if g is Ellipsis), len(given))
    entries = [*given[:at], *[slice(None)] * (x.ndim - used), *given[at + 1 :]]
    extents = iter(x.shape)
    return [e if e is None else _unmasked(e, next(extents)) for e in entries]


def is_mask(key: Any) -> bool:
    """Whether a key is a mask of rank 1 whose values are known: it stands for indices."""
    return (
        isinstance(key, list | np.ndarray)
        and all(isinstance(k, bool | np.bool_) for k in cast(Any, key))
        and len(cast(Any, key)) > 0
    )


def _unmasked(entry: Any, extent: int) -> Any:
    """An entry; for a mask the indices of its true elements."""
    if not isinstance(entry, np.ndarray):
        return entry
    mask = cast(np.ndarray[Any, Any], entry)
    if len(mask) != extent:
        raise refusal(f"index: a mask of {extent} elements expected, got one of {len(mask)}")
    return lifted(np.flatnonzero(mask))


def _entry(key: Any) -> Any:
    """None, ..., a slice, an int, a mask, or a traced array of integers."""
    is_array = isinstance(key, list | np.ndarray) and np.ndim(cast(Any, key)) > 0
    if key is None or key is Ellipsis or isinstance(key, slice):
        return cast(Any, key)
    if isinstance(key, bool | np.bool_):
        raise refusal("index: expected integers, slices, ... or None, got a bool")
    if is_array:
        if is_mask(key):
            return np.asarray(cast(Any, key))
        key = lifted(cast(Any, key))
    if not isinstance(key, Tracer):
        try:
            return index(cast(Any, key))
        except TypeError:
            kind = type(cast(Any, key)).__name__
            raise refusal(f"index: expected integers, slices, ... or None, got {kind}") from None
    if is_bool(element(key)):
        apply(BooleanMaskOp, {})
    if is_float(element(key)):
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
    if any(b != (0, n, 1) for b, n in zip(bounds, x.shape, strict=True)):
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
    if isinstance(entry, int):
        if not -extent <= entry < extent:
            message = f"index {entry} is out of range for axis {axis} of extent {extent}"
            raise refusal(message, IndexOutOfRange)
        return entry % extent, entry % extent + 1, 1
    for part in (entry.start, entry.stop, entry.step):
        if isinstance(part, Tracer):
            raise refusal(
                "index: slices must be known while tracing; use gradir.numpy.dynamic_slice"
            )
    try:
        chosen = range(*entry.indices(extent))
    except (TypeError, ValueError) as error:
        raise refusal(f"index: {error}") from None
    if not chosen:
        return 0, 0, 1
    return chosen[0], chosen[-1] + (1 if chosen.step > 0 else -1), chosen.step


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
            shape += [] if isinstance(entry, int) else [extent]
    if tuple(shape) == x.shape:
        return x
    return emit_one(ReshapeOp, x, type=tensor(shape, element(x)))
