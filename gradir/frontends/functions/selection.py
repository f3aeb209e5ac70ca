"""gradir.numpy: elements chosen by conditions and places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i64

from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.shapes import is_bool, ui64
from gradir.frontends.functions.arguments import axis_of, known, one_of
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import common_shape, converted, result_element
from gradir.frontends.functions.shapes import concatenate, stack
from gradir.frontends.functions.sugar import (
    take as _take,
)
from gradir.frontends.functions.sugar import (
    take_along_axis,
)
from gradir.frontends.functions.sugar import (
    where as _where,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    moveaxis,
    reshape,
)
from gradir.frontends.functions.wide import as_indices
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import value_of, values_in

MODES = ("raise", "wrap", "clip")


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition (bool) holds, else y; all three broadcast.   vjp: ct, 0 elsewhere

    Without x and y it is `nonzero`, for conditions with values.
    """
    if x is None or y is None:
        if x is not y:
            raise refusal("where: both or neither of x and y must be given")
        found = values_in([condition], value_of)
        if found is not None:
            return tuple(map(lifted, np.nonzero(found[0])))
        raise refusal(
            "where: of a condition alone the shape of the result must not depend on values; "
            "choose between two arrays with where(condition, x, y)"
        )
    return _where(condition, x, y)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tracer:
    """The choice of the first condition that holds, else the default."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise refusal(
            f"select: as many choices as conditions expected, got {len(choicelist)} and "
            f"{len(condlist)}"
        )
    made: Any = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        if not is_bool(element(lifted(condition))):
            raise refusal(f"select: conditions must be bool, got {lifted(condition)!r}")
        made = _where(condition, choice, made)
    return made


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tracer:
    """By the last condition that holds, its function of x, or number; else one more, or 0.

    A function gets all of x, with an element that its condition chooses in place of the others, so
    that these have no part in its derivative.
    """
    value = lifted(x)
    conditions = [condlist] if isinstance(condlist, Tracer) or np.ndim(condlist) == 0 else condlist
    given: list[Any] = [_broad(c, value) for c in conditions]
    functions = list(funclist)
    if len(functions) == len(given) + 1:
        rest: Any = lifted(True)
        for condition in given:
            rest = op.logical_and(rest, op.logical_not(condition))
        functions = [functions[-1], *functions[:-1]]
        given = [_broad(rest, value), *given]
    if len(functions) != len(given):
        raise refusal(
            f"piecewise: {len(given)} or {len(given) + 1} functions expected, got {len(functions)}"
        )
    made: Any = broadcast_to(converted(0, element(value)), value.shape)
    for condition, function in zip(given, functions, strict=True):
        part: Any = function
        if callable(function):
            part = function(_elsewhere(value, condition), *args, **kw)
        made = _where(condition, part, made)
    return converted(made, element(value))


def _broad(condition: Any, x: Tracer) -> Tracer:
    return broadcast_to(op.logical_and(lifted(condition), True), x.shape)


def _elsewhere(x: Any, condition: Any) -> Any:
    """x, with one of the chosen elements where the condition does not hold."""
    if not x.size:
        return x
    chosen = reshape(x, -1)[op.argmax(converted(reshape(condition, -1), i64))]
    return _where(condition, x, chosen)


def take(
    a: Any, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise"
) -> Tracer:
    """Elements along `axis`, of the flattened array where None, at integer indices.

    The axis is replaced by the shape of the indices. mode: an index beyond the end is an error
    (raise), counted on from the other end (wrap), or the last (clip). vjp: ct added at the indices
    """
    x = lifted(a)
    if axis is None:
        x, axis = reshape(x, -1), 0
    at = axis_of(x, axis)
    return _take(x, places_of(indices, x.shape[at], mode, "take"), at)


def places_of(indices: Any, extent: int, mode: str, name: str) -> Any:
    """Indices brought into range as `mode` says."""
    one_of(mode, f"{name}: mode", MODES)
    if mode == "raise":
        return indices
    if mode == "wrap":
        return _wrapped(indices, extent)
    return op.clip(as_indices(indices), min=0, max=extent - 1)


def _wrapped(indices: Any, extent: int) -> Any:
    given = lifted(indices)
    # of unsigned integers of 64 bits the rest is one, and they themselves are none of int64
    places = given if element(given) == ui64 else as_indices(given)
    return op.remainder(places, extent)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Tracer:
    """The elements of the choices that a numbers; all broadcast."""
    arrays = [lifted(c) for c in choices]
    places = lifted(a)
    shape = common_shape("choose", [places, *arrays])
    kind = result_element(arrays)[0]
    rows = stack([broadcast_to(converted(c, kind), shape) for c in arrays])
    at: Any = places_of(broadcast_to(places, shape), len(arrays), mode, "choose")
    return take_along_axis(rows, expand_dims(at, 0), 0)[0]


def compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Tracer:
    """The elements along `axis` where a condition, known while tracing, holds."""
    return take(a, np.flatnonzero(_static(condition, "compress")), axis)


def extract(condition: Any, arr: Any) -> Tracer:
    """The elements, in row-major order, where a condition, known while tracing, holds."""
    return take(arr, np.flatnonzero(_static(condition, "extract")))


def _static(condition: Any, name: str) -> Any:
    if isinstance(condition, Tracer):
        value = value_of(condition)
        if value is None:
            raise refusal(
                f"{name}: the shape of the result must not depend on values, and the condition is "
                "traced; choose with where(condition, x, 0)"
            )
        return value
    return known(condition, f"{name}: condition")


def delete(arr: Any, obj: Any, axis: int | None = None) -> Tracer:
    """arr without the places `obj`, known while tracing, along `axis`."""
    x = lifted(arr)
    if axis is None:
        x, axis = reshape(x, -1), 0
    at = axis_of(x, axis)
    places = cast(Any, obj if isinstance(obj, slice) else _at(obj, "delete"))
    kept = np.delete(np.arange(x.shape[at]), places)
    return _take(x, kept, at)


def _at(obj: Any, name: str) -> Any:
    places = known(obj, f"{name}: places")
    return places[()] if places.ndim == 0 else places.astype(places.dtype if places.size else int)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tracer:
    """arr with values before the places `obj`, known while tracing, along `axis`."""
    x = lifted(arr)
    if axis is None:
        x, axis = reshape(x, -1), 0
    at = axis_of(x, axis)
    n = x.shape[at]
    places: Any = cast(Any, obj) if isinstance(obj, slice) else _at(obj, "insert")
    new: Any = converted(lifted(values), element(x))
    count = len(np.arange(n)[places]) if isinstance(places, slice) else np.size(places)
    if not isinstance(places, slice) and np.ndim(places) == 0 and new.ndim:
        # as NumPy: at one place the first axis of the values is that along which they go in
        new = reshape(new, [*[1] * (x.ndim - new.ndim), *new.shape])
        new = moveaxis(new, 0, at)
        count = new.shape[at]
    rows = broadcast_to(new, [count if d == at else e for d, e in enumerate(x.shape)])
    order = cast(Any, np).insert(np.arange(n), places, n + np.arange(count))
    return _take(concatenate([x, rows], at), order, at)


# Numbers of places.


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tracer, ...]:
    """The places along each axis of elements that are numbered in row-major order."""
    one_of(order, "unravel_index: order", ("C", "F"))
    rest: Any = as_indices(indices)
    extents = as_shape(shape)
    found: list[Any] = []
    for n in extents if order == "F" else extents[::-1]:
        found.append(op.remainder(rest, n))
        rest = op.floor_divide(rest, n)
    return tuple(found if order == "F" else found[::-1])


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Tracer:
    """The numbers in row-major order of elements at places along each axis.

    A traced place that is out of range is not found out here, but where the number is used.
    """
    one_of(order, "ravel_multi_index: order", ("C", "F"))
    extents = as_shape(dims)
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    entries: Sequence[Any] = [lifted(m) for m in multi_index]
    _require_countable(extents)
    if len(entries) != len(extents):
        raise refusal(f"ravel_multi_index: {len(extents)} arrays expected, got {len(entries)}")
    number: Any = 0
    pairs = list(zip(entries, extents, modes, strict=True))
    for places, n, how in pairs if order == "C" else pairs[::-1]:
        number = number * n + as_indices(places_of(places, n, how, "ravel_multi_index"))
    return lifted(number)


def _require_countable(extents: Sequence[Any]) -> None:
    """TraceError where int64 does not number all elements."""
    known = [n for n in extents if not is_extent(n)]
    if prod(known) > np.iinfo(np.int64).max:
        raise refusal(f"ravel_multi_index: an array of extents {extents} has more than 2**63 - 1 "
                      "elements")  # fmt: skip


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    where, select, piecewise, take, choose, compress, extract,
    delete, insert, unravel_index, ravel_multi_index,
)  # fmt: skip
