"""Integers in a range, signs, categories, and elements and orders of arrays.

No derivative flows to what decides; one flows to the elements that are chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f64, i1, i64

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import axis_of, floating
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.random.continuous import standard_gumbel
from gradir.frontends.random.draws import (
    finished,
    integer_kind,
    integer_range,
    key_of,
    parameters,
    result_shape,
    unit,
    words,
    working,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape, element_named, type_text
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import values_in

_LOW = 2**32 - 1


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None) -> Tracer:
    """Integers in [minval, maxval), minval where that is not below maxval; int64 without a dtype.

    Bounds beyond the dtype are cut to its range.
    The upper half of a product of 64 random bits and the number of integers: their probabilities
    differ by less than that number / 2**64 of themselves.
    """
    kind = integer_kind("randint", dtype)
    bounds = [_whole("randint", v) for v in (minval, maxval)]
    low, high = parameters("randint", shape, i64, *bounds)
    if kind != i64:
        least, most = integer_range(kind)
        low, high = gnp.clip(low, least, most), gnp.clip(high, least, most + 1)
    drawn = _upper_half(words(key_of(key), 0, low.shape), high - low)
    return finished(gnp.where(low < high, low + drawn, low), kind)


def _whole(name: str, value: Any) -> Any:
    made = lifted(value, what=f"{name}: ")
    if element(made) == i1 or not np.issubdtype(made.dtype, np.integer):
        raise refusal(f"{name}: bounds must be integers, got {value!r}")
    return made


def _upper_half(x: Any, y: Any) -> Any:
    """The upper 64 bits of the product of numbers of 64 bits without a sign."""

    def halves(v: Any) -> tuple[Any, Any]:
        low = gnp.bitwise_and(v, _LOW)
        return low, gnp.bitwise_and(gnp.right_shift(v, 32), _LOW)

    (x0, x1), (y0, y1) = halves(x), halves(y)
    (low, carry), (a, b) = halves(x0 * y1), halves(x1 * y0)
    _, first = halves(x0 * y0)
    _, middle = halves(first + low + a)
    return x1 * y1 + carry + b + middle


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tracer:
    """True with probability p, as bool: 0 is never true, 1 always."""
    given = floating(p)
    kind = working(element(given))
    extents = result_shape("bernoulli", shape, given.shape)
    return unit(key_of(key), 0, extents, kind) < spread(given, extents, kind)


def rademacher(key: Any, shape: Any = (), dtype: Any = None) -> Tracer:
    """-1 or 1, each with probability 1/2; int64 without a dtype, which may be a floating one."""
    kind = i64 if dtype is None else element_named(dtype)
    if str(kind) in ("i1", "ui8"):
        raise refusal(f"rademacher: dtype must have -1, got {dtype!r}")
    is_one = words(key_of(key), 0, as_shape(shape)) < 0
    return finished(gnp.where(is_one, 1, -1), kind)


def categorical(
    key: Any, logits: Any, axis: int = -1, shape: Any = None, replace: bool = True
) -> Tracer:
    """Indices along an axis, with probabilities proportional to exp(logits), as int64.

    The result has `shape`; the shape of the logits without the axis must broadcast to it. Without
    replacement `shape` ends in the shape of the logits without the axis, and the indices along the
    extents in front of it differ. By the largest of logits + Gumbel numbers.
    """
    given: Any = floating(logits)
    place = axis_of(given, axis)
    rows = gnp.moveaxis(given, place, -1)
    batch, count = rows.shape[:-1], rows.shape[-1]
    extents = result_shape("categorical", shape, batch)
    if not count:
        raise refusal(f"categorical: logits must have categories, got {type_text(given.type)}")
    kind, at = working(element(given)), key_of(key)
    if replace:
        noise = standard_gumbel(at, 0, (*extents, count), kind)
        return gnp.argmax(noise + rows, axis=-1)
    ahead = extents[: len(extents) - len(batch)]
    if extents[len(ahead) :] != batch or prod(ahead) > count:
        raise refusal(
            "categorical: without replacement, shape must be numbers of draws, at most "
            f"{count} in all, and then {list(batch)}, got {list(extents)}"
        )
    noise = standard_gumbel(at, 0, (*batch, count), kind)
    order = gnp.argsort(-(noise + rows), axis=-1)[..., : prod(ahead)]
    return gnp.moveaxis(order, -1, 0).reshape(extents)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Tracer:
    """x with its slices along an axis in random order; 0, ..., x - 1 for an integer x.

    `independent`: each line along the axis has an order of its own. An order sorts random
    words of 64 bits.   vjp: ct in the order before
    """
    given = _places_or_array("permutation", x)
    if not given.ndim:
        raise refusal(f"permutation: x must be an integer that is known, or an array, got {x!r}")
    place, at = axis_of(given, axis), key_of(key)
    if independent:
        order = gnp.argsort(words(at, 0, given.shape), axis=place)
        return gnp.take_along_axis(given, order, axis=place)
    return gnp.take(given, _order(at, given.shape[place]), axis=place)


def _order(key: Any, count: int) -> Any:
    return gnp.argsort(words(key, 0, (count,)), axis=0)


def _places_or_array(name: str, value: Any) -> Any:
    """0, ..., n - 1 for a known integer n; else the array."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        return lifted(value, what=f"{name}: ")
    if value < 0:
        raise refusal(f"{name}: a number of places must not be negative, got {value}")
    return gnp.arange(int(cast(Any, value)))


def choice(
    key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0
) -> Tracer:
    """Slices of a along an axis, of 0, ..., a - 1 for an integer a, at `shape` random places.

    `p` [n] are their probabilities, divided by their sum; all are equal without it. Without
    replacement no place is drawn twice. There must be as many places of a probability above 0 as
    draws: TraceError otherwise where p is known; of a traced p all those are drawn, then others.
    """
    given = _places_or_array("choice", a)
    if not given.ndim:
        raise refusal(f"choice: a must be an integer that is known, or an array, got {a!r}")
    place, extents = axis_of(given, axis), as_shape(shape)
    count, draws = given.shape[place], prod(extents)
    if draws > (count if not replace or not count else draws):
        raise refusal(f"choice: expected at most {count} draws of {count} places, got {draws}")
    if not replace:
        _require_places(p, draws)
    indices = _places(key_of(key), count, draws, replace, p)
    return gnp.take(given, indices.reshape(extents), axis=place)


def _require_places(p: Any, draws: int) -> None:
    """TraceError where p is known and has fewer numbers above 0 than are drawn."""
    found = None if p is None else values_in([p], lambda _: None)
    count = draws if found is None else np.count_nonzero(np.asarray(found[0], np.float64) > 0)
    if count < draws:
        raise refusal(
            f"choice: without replacement, p must be above 0 for as many places as draws, {draws}, "
            f"got {count}"
        )


def _check_choice(shape: Any = (), replace: bool = True, p: Any = None, **_: Any) -> None:
    if not replace:
        _require_places(p, prod(as_shape(shape)))


def _places(key: Any, count: int, draws: int, replace: bool, p: Any) -> Any:
    if p is None:
        return randint(key, (draws,), 0, count) if replace else _order(key, count)[:draws]
    shares: Any = converted(lifted(p, what="choice: p: "), f64)
    if shares.shape != (count,):
        raise refusal(f"choice: p must have shape [{count}], got {list(shares.shape)}")
    if not replace:
        logarithms = gnp.where(shares > 0, gnp.log(gnp.where(shares > 0, shares, 1.0)), -np.inf)
        return categorical(key, logarithms, shape=(draws,), replace=False)
    ends = gnp.cumulative_sum(shares, axis=0)
    reached = ends[-1] * (1 - unit(key, 0, (draws,)))
    return gnp.searchsorted(ends, reached)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    randint, bernoulli, rademacher, categorical, permutation, choice,
)  # fmt: skip

CHECKS: dict[str, Callable[..., None]] = {"choice": _check_choice}
"""What is asked of the values of arguments, where they are known: outside of a trace."""
