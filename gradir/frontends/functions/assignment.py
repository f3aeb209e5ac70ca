"""Assignment to traced arrays, with NumPy's meaning: y[key] = v, y += v, out=y.

Each computes the whole new value, by the functions that make new arrays, and stores it.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.shapes import is_bool, is_inexact
from gradir.errors import ForeignCodeError
from gradir.frontends.functions.promotion import common_shape, converted, spread
from gradir.frontends.functions.sugar import where
from gradir.frontends.functions.updates import Place
from gradir.frontends.functions.views import reshape
from gradir.frontends.tracing.memory import root_of, store
from gradir.frontends.tracing.object_arrays import is_object_array
from gradir.frontends.tracing.source_locations import is_called_by_code, location, refusal
from gradir.frontends.tracing.spec import type_text
from gradir.frontends.tracing.tracer import FUNCTIONS, Tracer
from gradir.frontends.tracing.tracing import element, is_number, lifted
from gradir.frontends.tracing.values import value_of


def assign(target: Tracer, key: Any, value: Any) -> None:
    """target[key] = value: the value is cast to the target's type, whatever its own."""
    _require_array(target)
    if _is_written(target, key, value):
        return
    _require_kept(target, value)
    given = _cast(value, element(target))
    mask = _mask(key)
    if mask is not None:
        return store(target, _masked(target, mask, given))
    place = Place(target.copy(), key)
    return store(target, place.set(_trimmed(given, len(place.shape))))


def _require_array(target: Tracer) -> None:
    if not target.is_array:
        raise refusal(
            "assignment: a traced array of rank 0 is a number, as NumPy's results of rank 0, and "
            "does not change; write y = value, or make an array with y = gradir.numpy.array(y)"
        )


def _require_kept(target: Tracer, value: Any) -> None:
    """TraceError where code outside of Python exchanges rows, which it takes for copies.

    numpy.random's shuffle does so to objects other than NumPy's arrays, and would lose rows.
    """
    if not isinstance(value, Tracer) or value.view_of is None or not _is_made_here(value):
        return
    if root_of(value) is root_of(target) and is_called_by_code():
        raise refusal(
            "assignment: rows of this array are exchanged by code that is not written in Python, "
            "as numpy.random's shuffle; choose them in another order, x[rng.permutation(len(x))]"
        )


def _is_made_here(value: Tracer) -> bool:
    """Whether an array was made by the running public call, or by others at its place."""
    owner = value.ssa.owner
    return isinstance(owner, Operation) and owner.location == location()


def _is_written(target: Tracer, key: Any, value: Any) -> bool:
    """Whether the value is target[key] itself: `y[key] += v` has written to that already."""
    keys = cast(tuple[Any, ...], key) if isinstance(key, tuple) else (key,)
    return (
        isinstance(value, Tracer)
        and value.view_of is not None
        and value.view_of.base is target
        and value.view_of.key is key
        and not any(isinstance(each, Tracer) for each in keys)
    )


def _cast(value: Any, kind: Attribute) -> Tracer:
    """A value as an array of a type, as NumPy's assignment casts it."""
    if is_number(value) and isinstance(value, float) and not is_inexact(kind) and not is_bool(kind):
        if not isfinite(value):
            raise refusal(f"assignment: {value} is no element of an array of integers")
        value = int(value)
    return converted(value if is_number(value) else lifted(value), kind)


def _trimmed(value: Tracer, rank: int) -> Tracer:
    """A value without the leading axes of extent 1 by which it exceeds a rank."""
    extra = value.ndim - rank
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        return reshape(value, value.shape[extra:])
    return value


def _mask(key: Any) -> Tracer | None:
    """A key that is a mask; one of rank 1 with values is an array of indices."""
    if isinstance(key, (list, np.ndarray)) and np.ndim(cast(Any, key)) > 1:
        array = np.asarray(cast(Any, key))
        return lifted(array) if array.dtype == bool else None
    return key if isinstance(key, Tracer) and is_bool(element(key)) else None


def _masked(target: Tracer, mask: Tracer, value: Tracer) -> Tracer:
    """The target with a value where the mask holds: one for all places, or of a known mask each."""
    rest = target.shape[mask.ndim :]
    if mask.shape != target.shape[: mask.ndim]:
        raise refusal(
            f"assignment: a mask must have the leading extents of {type_text(target.type)}, got "
            f"{type_text(mask.type)}"
        )
    value = _trimmed(value, len(rest))
    if value.ndim > len(rest):
        places = value_of(mask)
        if places is None:
            raise refusal(
                "assignment: a value for each true element of a mask needs their number, which is "
                "not known; write y[...] = gradir.numpy.where(mask, values, y) with values of y's "
                "shape"
            )
        return Place(target.copy(), places).set(value)
    mask = reshape(mask, (*mask.shape, *(1 for _ in rest)))
    return where(mask, spread(value, rest, element(target)), target)


def _into_objects(target: Any, made: Tracer) -> Any:
    """A result written into an array of traced numbers, element by element."""
    if made.shape not in ((), target.shape):
        made = spread(made, target.shape, element(made))
    target[...] = np.asarray(made.copy(), object)
    return target


def updated(target: Tracer, name: str, other: Any) -> Tracer:
    """target += other and the like, by the function of a name."""
    into("assignment", target, FUNCTIONS[name](target, other), is_spread=False)
    return target


def into(what: str, target: Any, made: Tracer, is_spread: bool) -> Tracer:
    """A result written into an array, cast to its type within kinds; it may be spread."""
    if is_object_array(target):
        return _into_objects(target, made)
    if not isinstance(target, Tracer):
        raise refusal(
            f"{what}: an array made by numpy cannot hold traced values; make it with "
            "gradir.numpy.zeros or numpy.zeros_like(x) of a traced x, or write y = y + x for "
            "y += x",
            ForeignCodeError,
        )
    _require_array(target)
    if is_spread and common_shape(what, [target, made]) == target.shape:
        made = spread(made, target.shape, element(made))
    if made.shape != target.shape:
        raise refusal(
            f"{what}: a result of shape {list(made.shape)} does not fit into "
            f"{type_text(target.type)}"
        )
    both = element(made), element(target)
    if not all(map(is_inexact, both)) and not np.can_cast(made.dtype, target.dtype, "same_kind"):
        raise refusal(
            f"{what}: {made.dtype} values do not go into {type_text(target.type)}; convert with "
            ".astype"
        )
    store(target, converted(made, element(target)))
    return target
