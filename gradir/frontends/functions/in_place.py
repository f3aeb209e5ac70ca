"""gradir.numpy: NumPy's functions and methods that change an array: put, fill_diagonal, x.sort.

A traced array gets a new value (`assignment`), NumPy's own arrays are changed by NumPy. With
`inplace=False` the changed array is returned instead, and the argument stays, as in jax.numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any, cast

import numpy as np

from gradir.dialects.base.extents import is_extent, is_same
from gradir.frontends.functions.arguments import axis_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.assignment import assign, into
from gradir.frontends.functions.ordering import partition
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.functions.selection import places_of, take
from gradir.frontends.functions.sugar import where
from gradir.frontends.functions.updates import Place, numbers
from gradir.frontends.functions.views import broadcast_to, reshape
from gradir.frontends.functions.wide import as_indices
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracer import FUNCTIONS as REGISTERED
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, holds_tracers, is_number, lifted


def _changing(own: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes its first argument into what `made` gives; `own` is NumPy's."""
    given = signature(made)
    inplace = Parameter("inplace", Parameter.KEYWORD_ONLY, default=True)

    def change(*args: Any, inplace: bool = True, **kwargs: Any) -> Any:
        bound = given.bind(*args, **kwargs)
        array: Any = bound.args[0]
        rest = bound.args[1:]
        if not isinstance(array, Tracer) and not holds_tracers([*rest, *bound.kwargs.values()]):
            if inplace and not isinstance(array, np.ndarray):
                raise refusal(
                    f"{name}: expected an array, which is changed, got {type(array).__name__}; "
                    "inplace=False gives another one"
                )
            target = array if inplace else np.array(array)
            own(target, *rest, **bound.kwargs)
            return None if inplace else target
        new = made(lifted(array), *rest, **bound.kwargs)
        if not inplace:
            return new
        into(name, array, new, is_spread=False)
        return None

    name = change.__name__ = own.__name__
    change.__doc__ = f"{made.__doc__}\n\n    `inplace=False`: x stays, the result is the new array."
    typed: Any = change
    typed.__signature__ = given.replace(parameters=[*given.parameters.values(), inplace])
    return change


def _cycled(values: Any, count: int, name: str) -> Tracer:
    """The values in row-major order, again from the first one where they are too few."""
    flat = reshape(lifted(values), -1)
    if is_same(flat.size, 0):
        raise refusal(f"{name}: expected at least one value, got none")
    if is_same(flat.size, 1):
        return broadcast_to(flat, [count])
    return flat if is_same(flat.size, count) else take(flat, numbers(count) % flat.size)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> Tracer:
    """The elements with the numbers `ind`, in row-major order, become v, which is repeated."""
    places = reshape(lifted(places_of(ind, a.size, mode, "put")), -1)
    if not places.size or (not isinstance(v, Tracer) and not np.size(v)):
        return a.copy()
    key = places if isinstance(ind, Tracer) or mode != "raise" else np.ravel(ind)
    values = converted(_cycled(v, places.size, "put"), element(a))
    return reshape(Place(reshape(a, -1), key).set(values), a.shape)


def _place(arr: Any, mask: Any, vals: Any) -> Tracer:
    """The elements where a mask of as many elements holds become vals, one after the other."""
    holds = _flat_mask(arr, mask, "place")
    values = reshape(lifted(vals), -1)
    if not values.size:
        raise refusal("place: expected at least one value, got none")
    order: Any = REGISTERED["cumsum"](holds) - 1
    return _chosen(arr, holds, take(values, op.remainder(order, values.size)))


def _putmask(a: Any, mask: Any, values: Any) -> Tracer:
    """The elements where a mask holds, from `values` at the same place; `values` is repeated."""
    if not isinstance(values, Tracer) and not np.size(values):
        return a.copy()
    return _chosen(a, _flat_mask(a, mask, "putmask"), _cycled(values, a.size, "putmask"))


def _flat_mask(x: Any, mask: Any, name: str) -> Any:
    holds: Any = lifted(mask)
    if not is_same(holds.size, x.size):
        raise refusal(f"{name}: expected a mask of {x.size} elements, got {holds!r}")
    return reshape(holds, -1) != 0


def _chosen(x: Any, holds: Any, values: Any) -> Tracer:
    return reshape(where(holds, converted(values, element(x)), reshape(x, -1)), x.shape)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> Tracer:
    """The elements at indices of arr's rank along `axis` become the values."""
    if axis is None:
        flat = _put_along_axis(reshape(arr, -1), indices, values, 0)
        return reshape(flat, arr.shape)
    at = axis_of(arr, axis)
    places: Any = as_indices(indices)
    if places.ndim != arr.ndim:
        raise refusal(f"put_along_axis: indices of rank {arr.ndim} expected, got {places!r}")
    extent = arr.shape[at]
    if not isinstance(indices, Tracer) and not is_extent(extent):
        wrong = [int(i) for i in np.ravel(indices) if not -extent <= i < extent]
        if wrong:
            raise refusal(
                f"put_along_axis: index {wrong[0]} is out of range for axis {at} of extent {extent}"
            )
    rest = [places.shape[d] if d == at else n for d, n in enumerate(arr.shape)]
    along: Any = broadcast_to(where(places < 0, places + extent, places), rest)
    stride, flat = 1, cast(Any, 0)
    for d in reversed(range(arr.ndim)):
        own = along
        if d != at:
            own = numbers(arr.shape[d]).reshape([-1 if k == d else 1 for k in range(arr.ndim)])
        flat, stride = flat + own * stride, stride * arr.shape[d]
    # an index out of range is one of no element, not of another row's
    flat = where((along >= 0) & (along < extent), flat, arr.size)
    updates = broadcast_to(converted(lifted(values), element(arr)), rest)
    lines = [reshape(each, -1) for each in (flat, updates)]
    return reshape(op.index_update(reshape(arr, -1), *lines, axis=0), arr.shape)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Tracer:
    """The elements of the diagonal become val, which is repeated."""
    mask = np.zeros(a.shape, bool)
    try:
        np.fill_diagonal(mask, True, wrap)
    except ValueError as error:
        raise refusal(f"fill_diagonal: {error}") from None
    places = np.flatnonzero(mask)
    part = converted(_cycled(val, len(places), "fill_diagonal"), element(a))
    return reshape(op.index_update(reshape(a, -1), places, part, axis=0), a.shape)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    _changing(np.put, _put),
    _changing(np.place, _place),
    _changing(np.putmask, _putmask),
    _changing(np.put_along_axis, _put_along_axis),
    _changing(np.fill_diagonal, _fill_diagonal),
)
OUTSIDE: dict[str, Callable[..., Any]] = {function.__name__: function for function in FUNCTIONS}
"""What answers outside of traced functions: nothing is run again for other arrays."""


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """src into dst, where a mask holds."""
    if casting not in ("same_kind", "unsafe"):
        raise refusal(f'copyto: casting must be "same_kind" or "unsafe", got {casting!r}')
    value = lifted(src, element(dst) if isinstance(dst, Tracer) and is_number(src) else None)
    if isinstance(dst, Tracer) and casting == "unsafe":
        value = converted(value, element(dst))
    if where is not None and where is not True:
        value = REGISTERED["where"](where, value, dst)
    into("numpy.copyto", dst, value, is_spread=True)


# Methods.


def put(x: Tracer, indices: Any, values: Any, mode: str = "raise") -> None:
    """numpy.put with the names of ndarray.put."""
    REGISTERED["put"](x, indices, values, mode)


def fill(x: Tracer, value: Any) -> None:
    """Give every element of x a value."""
    assign(x, ..., value)


def sort(
    x: Tracer, axis: int = -1, kind: Any = None, order: None = None, *, stable: Any = None
) -> None:
    """Sort the elements along an axis."""
    del kind, stable
    _no_order("sort", order)
    assign(x, ..., REGISTERED["sort"](x, axis))


def partition_in_place(
    x: Tracer, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None
) -> None:
    """Sort the elements along an axis, which is one of the orders that NumPy allows."""
    del kind
    _no_order("partition", order)
    assign(x, ..., partition(x, kth, axis))


def _no_order(name: str, order: object) -> None:
    if order is not None:
        raise refusal(f"{name}: order is for structured arrays, got {order!r}")


def item(x: Tracer, *place: Any) -> Tracer:
    """One element as a number: the only one, or by its number in row-major order or its place."""
    if not place and x.size != 1:
        raise refusal(f"item: expected an array of one element, or its place, got {x!r}")
    key: Any = place[0] if len(place) == 1 else place or 0
    is_number_of_all = not isinstance(key, tuple)
    found = (reshape(x.copy(), -1) if is_number_of_all else x)[key]
    if found.ndim:
        raise refusal(f"item: expected the place of an element, got {key!r} for {x!r}")
    return _number(found)


def tolist(x: Tracer) -> Any:
    """The elements as numbers in nested lists."""
    return [tolist(row) for row in x] if x.ndim else _number(x)


def _number(x: Tracer) -> Tracer:
    """An element as one of Python's numbers, which take the type of arrays beside them."""
    return Tracer(x.made_in, x.ssa, weak=True)


class Flat:
    """x.flat: the elements of a traced array in row-major order."""

    __slots__ = ("_x",)

    def __init__(self, x: Tracer):
        self._x = x

    def _elements(self) -> Any:
        return reshape(self._x.copy(), -1)

    @public
    def __getitem__(self, key: Any) -> Any:
        return self._elements()[key].copy()

    @public
    def __setitem__(self, key: Any, values: Any) -> None:
        if isinstance(key, int) and np.ndim(values) > 0 and np.size(values) != 1:
            raise refusal(f"assignment: one element expected, got {np.size(values)}")
        flat = Place(self._elements(), key)
        new = spread(_fitting(values, flat), flat.shape, element(self._x))
        into("assignment", self._x, reshape(flat.set(new), self._x.shape), is_spread=False)

    @public
    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements())

    def __len__(self) -> int:
        return self._x.size

    @property
    def base(self) -> Tracer:
        """The array."""
        return self._x

    @public
    def copy(self) -> Any:
        """A copy of the elements, of rank 1."""
        return self._elements()

    def __gradir_array__(self) -> Any:
        return self._elements()


def _fitting(values: Any, place: Place) -> Tracer:
    """Values for a place of x.flat: as many as it has, repeated if they are fewer."""
    count = int(np.prod(place.shape, dtype=int))
    return reshape(_cycled(values, count, "assignment"), place.shape)
