"""x.at[key] of traced arrays: another array, with new values where x[key] reads.

`x.at[key].set(values)`, `.add`, `.subtract`, `.multiply`, `.divide`, `.power`, `.min`, `.max`.
Keys are as in x[key]. A donated x, or one that nothing else reads, is changed in place by native
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i64

from gradir.dialects.array.arithmetic import PowOp
from gradir.dialects.array.creation import IotaOp
from gradir.dialects.array.dynamic_slices import DynamicUpdateSliceOp
from gradir.dialects.array.elementwise import (
    AddOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
)
from gradir.dialects.array.gather_scatter import IndexUpdateOp
from gradir.dialects.array.indexing import ScatterAddOp, TakeOp
from gradir.dialects.array.movement import FlipOp, ReshapeOp
from gradir.dialects.array.slicing import SliceOp
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import same_shape, tensor
from gradir.frontends.functions.indexing import ONE, bounds_of, count_of, entries_of, has_several
from gradir.frontends.functions.lattice import kind_of
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.out_of_range import cut, default_fill, inside, is_checked
from gradir.frontends.functions.promotion import operand, result_element, spread
from gradir.frontends.functions.segments import extremes, products
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted
from gradir.nearest import unknown_argument


class At:
    """x.at, to which [key] says a place."""

    __slots__ = ("_x",)

    def __init__(self, x: Tracer):
        self._x = x.copy()

    @public
    def __getitem__(self, key: Any) -> Place:
        return Place(self._x, key)


class Place:
    """x.at[key]: each method gives x with other values there.

    The values broadcast to the shape of x[key] and take the element type of x. Where an array of
    indices names a place several times, all its values are added, multiplied and so on, and `set`
    keeps the last; `power` takes arrays that are known while tracing and name no place twice.
    `multiply` and `divide` of others take time in the square of their number.
    Gradients flow to x and to the values.

    An index out of range is an error; with JAX's option `mode="drop"` its values are left out (and
    `get` gives `fill_value`), with "clip" they go to the nearest place.
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tracer, key: Any):
        self._x, self._key = x, key

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of x[key]."""
        entries = entries_of(self._x, self._key)
        return tuple(_shape(entries, _axes(self._x, entries)))

    @public
    def get(self, *, mode: Any = None, fill_value: Any = None, **promises: Any) -> Tracer:
        """x[key]; with mode "fill" the fill value, nan or an extreme integer, out of range."""
        _require_promises(promises)
        if is_checked(mode):
            return self._x[self._key]
        fill = default_fill(self._x) if fill_value is None else fill_value
        x, key = inside(self._x, self._key, mode, fill)
        return x[key]

    @public
    def apply(self, function: Callable[[Any], Any], **options: Any) -> Tracer:
        """x with the function of its elements at key, where no place is named twice."""
        return self.set(function(self.get(**options)), **options)

    @public
    def set(self, values: Any, **options: Any) -> Tracer:
        """x with the values at key."""
        return self._updated(None, values, **options)

    @public
    def add(self, values: Any, **options: Any) -> Tracer:
        """x with the values added at key."""
        return self._updated(AddOp, values, **options)

    @public
    def subtract(self, values: Any, **options: Any) -> Tracer:
        """x with the values subtracted at key."""
        return self._updated(SubtractOp, values, **options)

    @public
    def multiply(self, values: Any, **options: Any) -> Tracer:
        """x with its elements at key times the values."""
        return self._updated(MultiplyOp, values, **options)

    mul = multiply

    @public
    def divide(self, values: Any, **options: Any) -> Tracer:
        """x with its elements at key over the values."""
        return self._updated(DivideOp, values, **options)

    @public
    def power(self, values: Any, **options: Any) -> Tracer:
        """x with its elements at key to the power of the values."""
        return self._updated(PowOp, values, **options)

    @public
    def min(self, values: Any, **options: Any) -> Tracer:
        """x with the smaller of its elements at key and the values."""
        return self._updated(MinimumOp, values, **options)

    @public
    def max(self, values: Any, **options: Any) -> Tracer:
        """x with the larger of its elements at key and the values."""
        return self._updated(MaximumOp, values, **options)

    def _updated(
        self, combine: type[TensorOp] | None, values: Any, *, mode: Any = None, **promises: Any
    ) -> Tracer:
        _require_promises(promises)
        if not is_checked(mode):
            made = Place(*inside(self._x, self._key, mode))._updated(combine, values)
            return cut(made, self._x.shape)
        x, entries = self._x, entries_of(self._x, self._key)
        # a number that the type of x cannot hold is refused, as x + values would
        given = operand(values)
        if kind_of(result_element([x, given])[0]) > kind_of(element(x)):
            raise refusal(
                f"x.at[...]: values must be of the kind of x or a lower one, got {given!r} for "
                f"{type_text(x.type)}; convert with .astype"
            )
        if has_several(entries) or (combine not in _ADDING and _has_array(self._key)):
            return _put_at_numbers(x, self._key, given, combine)
        axes = _axes(x, entries)
        part = spread(given, _shape(entries, axes), element(x))
        if 0 in part.shape:
            return x.copy()
        kept = [n for axis in axes for n in axis.extents]
        if not same_shape(part.shape, kept):
            part = emit_one(ReshapeOp, part, type=tensor(kept, element(x)))
        return _put(x, axes, part, combine)


def _require_promises(given: Iterable[str]) -> None:
    """TraceError for other options than JAX's promises about indices, which nothing here needs."""
    known = ("mode", "fill_value", "indices_are_sorted", "unique_indices")
    wrong = unknown_argument("x.at[...]", given, known)
    if any(name not in known[2:] for name in given):
        raise refusal(wrong or "x.at[...]: fill_value is an option of get")


_ADDING = (None, AddOp, SubtractOp)


_ARRAYS = (list, np.ndarray, Tracer)


def _is_known(key: Any) -> bool:
    """Whether an array is in a key, and all of it is known while tracing."""
    parts = cast(tuple[Any, ...], key if isinstance(key, tuple) else (key,))
    is_array = [isinstance(p, (list, np.ndarray)) and np.ndim(cast(Any, p)) > 0 for p in parts]
    return any(is_array) and not any(isinstance(part, Tracer) for part in parts)


def _has_array(key: Any) -> bool:
    parts = cast(tuple[Any, ...], key if isinstance(key, tuple) else (key,))
    return any(np.ndim(p) > 0 for p in parts if isinstance(cast(object, p), _ARRAYS))


def _put_at_numbers(x: Tracer, key: Any, values: Any, combine: type[TensorOp] | None) -> Tracer:
    """Put in at the numbers of the elements that x[key] reads."""
    every: Any = numbers(x.size)
    every = every.reshape(x.shape)
    is_known = not isinstance(every, Tracer) and _is_known(key)
    is_unique = is_known and len(np.unique(every[key])) == every[key].size
    places = lifted(every)[key]
    part = spread(values, places.shape, element(x))
    if not part.size:
        return x
    lines = [emit_one(ReshapeOp, v, type=tensor([v.size], element(v))) for v in (x, places, part)]
    flat, at, part = lines
    if combine is not None and combine not in _ADDING:
        if not is_unique:
            if combine in (MaximumOp, MinimumOp):
                made = extremes(combine is MaximumOp, flat, at, part)
                return emit_one(ReshapeOp, made, type=x.type)
            if combine is PowOp:
                raise refusal(f"x.at[...]: {_TWICE}")
            part = products(part, at)
        old = apply(TakeOp, {"x": flat, "indices": at, "axis": 0})
        part, combine = apply(combine, _operands(combine, old, part)), None
    made = _scattered(flat, 0, at, part, combine)
    return emit_one(ReshapeOp, made, type=x.type)


def numbers(count: int) -> Any:
    """0, 1, ..., known while tracing if their number is."""
    if is_extent(count):
        return emit_one(IotaOp, type=tensor([count], i64), axis=0)
    return np.arange(count)


_TWICE = (
    "with an array of indices that may name a place twice power is not there; give an array that "
    "is known while tracing and names none twice"
)


@dataclass
class _Axis:
    """What a key selects of one axis: an array, a traced integer, or a range of places."""

    entry: Any
    extent: int
    number: int

    @property
    def places(self) -> tuple[int, int, int]:
        """The first of the places that an integer or a slice selects, their step and number."""
        start, stop, step = bounds_of(self.entry, self.extent, self.number)
        return start, step, count_of(start, stop, step)

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the values along the axis: an integer's is 1, a traced one has none."""
        return self.entry.shape if isinstance(self.entry, Tracer) else (self.places[2],)

    @property
    def is_whole(self) -> bool:
        if isinstance(self.entry, Tracer):
            return False
        return same_shape(self.places, (0, 1, self.extent))


def _axes(x: Tracer, entries: Sequence[Any]) -> list[_Axis]:
    of_axes = zip([e for e in entries if e is not None], x.shape, strict=True)
    return [_Axis(entry, n, d) for d, (entry, n) in enumerate(of_axes)]


def _shape(entries: Sequence[Any], axes: Sequence[_Axis]) -> list[int]:
    """The shape of x[key]."""
    rest = iter(axes)
    shape: list[int] = []
    for entry in entries:
        extents = (1,) if entry is None else next(rest).extents
        shape += [] if isinstance(entry, ONE) else extents
    return shape


def _put(x: Tracer, axes: list[_Axis], part: Tracer, combine: type[TensorOp] | None) -> Tracer:
    """x with part, which has the axes' extents, put in or combined; integers and slices first."""
    left = [d for d, axis in enumerate(axes) if not axis.is_whole]
    if not left:
        return part if combine is None else apply(combine, _operands(combine, x, part))
    # an array comes last, so that places that it names twice are added twice
    number = min(left, key=lambda d: (_is_array(axes[d]), d))
    axis = axes[number]
    if isinstance(axis.entry, Tracer):
        if axis.entry.ndim:
            return _scattered(x, number, axis.entry, part, combine)
        return _put_at(x, axes, number, part, combine)
    return _put_slice(x, axes, number, part, combine)


def _is_array(axis: _Axis) -> bool:
    return isinstance(axis.entry, Tracer) and axis.entry.ndim > 0


def _operands(op: type[TensorOp], x: Tracer, part: Tracer) -> dict[str, Any]:
    names = [name for name, _ in op.get_irdl_definition().operands]
    return dict(zip(names, (x, part), strict=True))


def _put_slice(
    x: Tracer, axes: list[_Axis], number: int, part: Tracer, combine: type[TensorOp] | None
) -> Tracer:
    first, step, count = axes[number].places
    if step < 0:
        at = sum(len(axis.extents) for axis in axes[:number])
        part = apply(FlipOp, {"x": part, "axis": [at]})
        first, step = first + (count - 1) * step, -step
    whole = [(0, n, 1) for n in x.shape]
    end = first + (count - 1) * step + 1
    chosen = [*whole[:number], (first, end, step), *whole[number + 1 :]]
    start, stop, steps = (list(part) for part in zip(*chosen, strict=True))
    bounds = {"start": start, "stop": stop, "step": steps}
    inner = [*axes[:number], _Axis(slice(None), count, number), *axes[number + 1 :]]
    part = _put(apply(SliceOp, {"x": x, **bounds}), inner, part, combine)
    if step > 1 and count > 1:
        indices = numbers(count) * step + first
        return apply(IndexUpdateOp, {"x": x, "indices": indices, "updates": part, "axis": number})
    starts = [lifted(n if is_extent(n) else np.int64(n)) for n in start]
    return apply(DynamicUpdateSliceOp, {"x": x, "update": part, "starts": starts})


def _put_at(
    x: Tracer, axes: list[_Axis], number: int, part: Tracer, combine: type[TensorOp] | None
) -> Tracer:
    """Put in at a traced integer."""
    where = {"x": x, "indices": axes[number].entry, "axis": number}
    part = _put(apply(TakeOp, where), [*axes[:number], *axes[number + 1 :]], part, combine)
    return apply(IndexUpdateOp, {**where, "updates": part})


def _scattered(
    x: Tracer, number: int, indices: Tracer, part: Tracer, combine: type[TensorOp] | None
) -> Tracer:
    where = {"x": x, "indices": indices, "updates": part, "axis": number}
    if combine is None:
        return apply(IndexUpdateOp, where)
    if combine is SubtractOp:
        where["updates"] = -part
    else:
        assert combine is AddOp
    return apply(ScatterAddOp, where)
