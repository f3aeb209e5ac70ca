"""JAX's gather and scatter, with its modes for places out of range.

Both are read as: some axes of the operand are indexed, the others are whole. The indexed ones come
first, so that rows are taken or written; a window along an indexed axis is a row for each place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i64

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.jax_rules.reductions import greatest, least
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import constant_value_of

RULES = RuleTable("JAX")

MOST_KNOWN = 1 << 20
"""The most indices whose values are looked at: a text can ask for more than there is memory."""


@dataclass
class _Places:
    """Where windows of some sizes begin in an array: for each axis a start, or None for 0.

    `batch` are the extents of the starts; `valid` tells which windows are inside, None for all.
    """

    extents: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: list[Any]
    batch: tuple[int, ...]
    valid: Any

    @property
    def indexed(self) -> list[int]:
        """The axes of which a window is a part."""
        pairs = zip(self.sizes, self.extents, strict=True)
        return [d for d, (size, n) in enumerate(pairs) if size != n]

    @property
    def whole(self) -> list[int]:
        return [d for d in range(len(self.extents)) if d not in self.indexed]

    @property
    def windows(self) -> list[int]:
        """The extents of windows along indexed axes."""
        return [self.sizes[d] for d in self.indexed]

    def indices(self) -> list[Any]:
        """For each indexed axis the places [batch, windows]."""
        rank, found = len(self.batch), cast(list[Any], [])
        for k, d in enumerate(self.indexed):
            start, shape = self.starts[d], [1] * (rank + len(self.indexed))
            place: Any = lifted(np.int64(0))
            if start is not None:
                place = gnp.reshape(start, [*start.shape, *[1] * len(self.indexed)])
            if self.sizes[d] > 1:
                shape[rank + k] = self.sizes[d]
                place = place + gnp.reshape(gnp.arange(self.sizes[d]), shape)
            found.append(gnp.broadcast_to(place, [*self.batch, *self.windows]))
        return found

    def numbers(self) -> Any:
        """The number [batch, windows] of each place among the indexed axes, in row-major order."""
        made: Any = None
        for d, place in zip(self.indexed, self.indices(), strict=True):
            made = place if made is None else made * self.extents[d] + place
        if made is None:
            return spread(0, self.batch, i64)
        return made


def _places(
    extents: Sequence[int], sizes: Sequence[int], indices: Any, axes: Sequence[int],
    batching: Sequence[tuple[int, int]], mode: str,
) -> _Places:  # fmt: skip
    """The windows that begin at indices [batch, axes], clamped; batching are pairs of axes."""
    batch = tuple(indices.shape[:-1])
    starts: list[Any] = [None] * len(extents)
    valid: Any = None
    wide = converted(indices, i64)
    for k, d in enumerate(axes):
        start, last = wide[..., k], extents[d] - sizes[d]
        known = constant_value_of(start) if start.size <= MOST_KNOWN else None
        if known is None or ((known < 0) | (known > last)).any():
            if mode == "drop":
                is_in = op.logical_and(op.greater_equal(start, 0), op.less_equal(start, last))
                valid = is_in if valid is None else op.logical_and(valid, is_in)
            start = op.clip(start, min=0, max=max(last, 0))
        starts[d] = start
    for d, axis in batching:
        line = [1] * len(batch)
        line[axis] = batch[axis]
        starts[d] = gnp.broadcast_to(gnp.reshape(gnp.arange(batch[axis]), line), batch)
    return _Places(tuple(extents), tuple(sizes), starts, batch, valid)


def _mode_of(call: Any) -> str:
    """What becomes of windows that are not inside: "drop", or "clip"."""
    mode = str(getattr(call["mode"], "name", call["mode"]))
    return "drop" if mode in ("FILL_OR_DROP", "ONE_HOT") else "clip"


# Reading.


@RULES.rule("gather")
def _gather(call: Any, x: Any, indices: Any) -> Any:
    numbers, sizes = call["dimension_numbers"], tuple(call["slice_sizes"])
    batching = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    if not prod(call.type.shape):
        return spread(0, call.type.shape, element(x))
    places = _places(
        x.shape, sizes, indices, numbers.start_index_map, list(batching), _mode_of(call)
    )
    removed = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    kept = [d for d in range(x.ndim) if d not in removed]
    made = _taken(x, places)
    labels = [("batch", k) for k in range(len(places.batch))]
    labels += [("axis", d) for d in (*places.indexed, *places.whole)]
    made = _filled(made, places, call.params.get("fill_value"))
    batch = iter(range(len(places.batch)))
    axes = iter(kept)
    if [len(kept), len(places.batch)] != [
        len(numbers.offset_dims), len(call.type.shape) - len(numbers.offset_dims)
    ]:  # fmt: skip
        raise refusal(
            f"{call.op}: {len(kept)} axes of windows and {len(places.batch)} of indices "
            f"do not make {call.type}"
        )
    wanted = [
        ("axis", next(axes)) if d in numbers.offset_dims else ("batch", next(batch))
        for d in range(len(call.type.shape))
    ]
    # axes that are left out have one element
    order = [labels.index(label) for label in (*wanted, *(x for x in labels if x not in wanted))]
    return gnp.reshape(gnp.permute_dims(made, order), call.type.shape)


def _taken(x: Any, places: _Places) -> Any:
    """The windows [batch, windows of indexed axes, whole axes]."""
    shape = [*places.batch, *places.windows, *(x.shape[d] for d in places.whole)]
    if prod(places.batch) == 1 and all(s is None or s.size == 1 for s in places.starts):
        made = _at(x, places)
        return gnp.reshape(gnp.permute_dims(made, [*places.indexed, *places.whole]), shape)
    rows = gnp.permute_dims(x, [*places.indexed, *places.whole])
    if not places.indexed:
        return gnp.broadcast_to(rows, shape)
    if len(places.indexed) == 1:
        return op.take(rows, places.indices()[0], axis=0)
    return op.gather_nd(rows, op.stack(places.indices(), axis=-1))


def _at(x: Any, places: _Places) -> Any:
    """The only window."""
    if not places.indexed:
        return x
    return op.dynamic_slice(x, _starts(places), sizes=list(places.sizes))


def _starts(places: _Places) -> list[Any]:
    return [
        lifted(np.int64(0)) if s is None else gnp.reshape(converted(s, i64), ())
        for s in places.starts
    ]


def _filled(made: Any, places: _Places, fill: Any) -> Any:
    """The windows, those that are not inside filled with a number, JAX's where it is None."""
    if places.valid is None:
        return made
    kind = element(made)
    if fill is None:
        is_unsigned = made.dtype.kind == "u"
        special = greatest(kind) if is_unsigned or is_bool(kind) else least(kind)
        fill = np.nan if made.dtype.kind not in "iub" else special
    valid = gnp.reshape(places.valid, [*places.batch, *[1] * (made.ndim - len(places.batch))])
    return gnp.where(valid, made, converted(fill, kind))


# Writing.


@RULES.rule("scatter", "scatter_add", "scatter-add", "scatter_sub", "scatter-sub", "scatter_mul",
            "scatter-mul", "scatter_min", "scatter-min", "scatter_max", "scatter-max",
            note="of updates of one place, set keeps the last; mul of others takes time in the "
            "square of their number")  # fmt: skip
def _scatter(call: Any, x: Any, indices: Any, updates: Any) -> Any:
    kind = call.op.replace("-", "_").removeprefix("scatter").removeprefix("_") or "set"
    if kind == "set":
        _require_assignment(call)
    if not updates.size:
        return x
    numbers = call["dimension_numbers"]
    removed = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    kept, rank = [d for d in range(x.ndim) if d not in removed], updates.ndim
    sizes = [1] * x.ndim
    for d, place in zip(kept, sorted(numbers.update_window_dims), strict=True):
        sizes[d] = updates.shape[place]
    pairs = zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    axes = numbers.scatter_dims_to_operand_dims
    places = _places(x.shape, sizes, indices, axes, list(pairs), _write_mode(call))
    windows = sorted(numbers.update_window_dims)
    batch = [d for d in range(rank) if d not in windows]
    of_axis = dict(zip(kept, windows, strict=True))
    inner = [*places.indexed, *places.whole]
    order = [*batch, *(of_axis[d] for d in inner if d in of_axis)]
    shape = [*places.batch, *(sizes[d] for d in inner)]
    updates = gnp.reshape(gnp.permute_dims(updates, order), shape)
    return _written(kind, x, places, updates, bool(call["unique_indices"]))


def _write_mode(call: Any) -> str:
    mode = str(getattr(call["mode"], "name", call["mode"]))
    return "clip" if mode == "CLIP" else "drop"


def _require_assignment(call: Any) -> None:
    """An update may be a program: only the one that takes the new value is there."""
    for graph in call.graphs:
        if graph.nodes or graph.outputs[0] is not graph.inputs[1]:
            raise refusal("scatter: updates by a function (.at[].apply) are not there; write "
                          "x.at[i].set(f(x[i]))")  # fmt: skip


_NEUTRAL: dict[str, Callable[[Any], Any]] = {
    "add": lambda _: 0, "sub": lambda _: 0, "mul": lambda _: 1, "min": greatest, "max": least,
}  # fmt: skip
_JOINS: dict[str, Callable[..., Any]] = {
    "add": op.add, "sub": op.subtract, "mul": op.multiply, "min": op.minimum, "max": op.maximum,
    "set": lambda _, new: new,
}  # fmt: skip
_METHODS = {"mul": "multiply", "min": "min", "max": "max"}


def _written(kind: str, x: Any, places: _Places, updates: Any, is_unique: bool) -> Any:
    """x with the updates [batch, windows of indexed axes, whole axes] at places."""
    order = [*places.indexed, *places.whole]
    if prod(places.batch) == 1:
        return _written_once(kind, x, places, updates, order)
    rows = prod(x.shape[d] for d in places.indexed)
    width = prod(x.shape[d] for d in places.whole)
    table = gnp.reshape(gnp.permute_dims(x, order), (rows, width))
    numbers = gnp.reshape(places.numbers(), -1)
    updates = gnp.reshape(updates, (numbers.size, width))
    valid = None
    if places.valid is not None:
        count = prod(places.windows)
        valid = gnp.broadcast_to(gnp.reshape(places.valid, (-1, 1)), (prod(places.batch), count))
        valid = gnp.reshape(valid, -1)
    made = _rows_written(kind, table, numbers, updates, valid, is_unique)
    shape = [x.shape[d] for d in order]
    back = sorted(range(len(order)), key=lambda k: order[k])
    return gnp.permute_dims(gnp.reshape(made, shape), back)


def _rows_written(
    kind: str, table: Any, numbers: Any, updates: Any, valid: Any, is_unique: bool
) -> Any:
    if valid is not None and kind != "set":
        neutral = converted(_NEUTRAL[kind](element(table)), element(table))
        updates = gnp.where(valid[:, None], updates, neutral)
    if kind in ("add", "sub"):
        updates = updates if kind == "add" else op.negative(updates)
        return op.scatter_add(table, numbers, updates, axis=0)
    if kind == "set":
        return _rows_set(table, numbers, updates, valid)
    if is_unique:
        made = _JOINS[kind](op.take(table, numbers, axis=0), updates)
        # those that are left out all write to row 0, or another one, what was there
        return _rows_set(table, numbers, made, valid)
    return getattr(gnp.copy(table).at[numbers], _METHODS[kind])(updates)


def _rows_set(table: Any, numbers: Any, updates: Any, valid: Any) -> Any:
    """Rows replaced; what is left out goes to one more row, which is cut off."""
    if valid is None:
        return op.index_update(table, numbers, updates, axis=0)
    count = table.shape[0]
    more = spread(0, (1, table.shape[1]), element(table))
    longer = op.concat([table, more], axis=0)
    made = op.index_update(longer, gnp.where(valid, numbers, count), updates, axis=0)
    return made[:count]


def _written_once(kind: str, x: Any, places: _Places, updates: Any, order: list[int]) -> Any:
    """x with one window written."""
    back = sorted(range(len(order)), key=lambda k: order[k])
    shape = [places.sizes[d] for d in order]
    new = gnp.permute_dims(gnp.reshape(updates, shape), back)
    old = _at(x, places)
    new = _JOINS[kind](old, new)
    if places.valid is not None:
        new = gnp.where(gnp.reshape(places.valid, ()), new, old)
    if not places.indexed:
        return new
    return op.dynamic_update_slice(x, new, _starts(places))
