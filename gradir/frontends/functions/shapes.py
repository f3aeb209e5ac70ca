"""gradir.numpy: arrays joined, cut, turned and repeated, with NumPy's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import (
    axes_of,
    axis_of,
    integers,
    is_one,
    known,
    number,
    one_of,
    with_dtype,
)
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.sugar import (
    take,
)
from gradir.frontends.functions.views import (
    broadcast_to,
    expand_dims,
    moveaxis,
    transpose,
)
from gradir.frontends.functions.views import flip as _flip
from gradir.frontends.functions.views import ravel as _ravel
from gradir.frontends.functions.views import (
    reshape as _reshape,
)
from gradir.frontends.functions.views import squeeze as _squeeze
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted


def reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Tracer:
    """The elements under another shape; one extent may be -1.   vjp: reshape back

    order: "C" takes and places them in row-major order, "F" in column-major order.
    """
    one_of(order, "reshape: order", ("C", "F", "A"))
    if order != "F":
        return _reshape(a, shape)
    extents = [shape] if isinstance(shape, int) else list(shape)
    return transpose(_reshape(transpose(lifted(a)), extents[::-1]))


def ravel(a: Any, order: str = "C") -> Tracer:
    """All elements as a vector."""
    return _ravel(a) if order == "C" else reshape(a, -1, order)


def squeeze(a: Any, axis: Any = None) -> Tracer:
    """x without the axes `axis`, all of extent 1 where None.   vjp: reshape"""
    x = lifted(a)
    if axis is None:
        return _reshape(x, [n for n in x.shape if n != 1])
    return _squeeze(x, axis=list(axes_of(x, axis)))


def swapaxes(a: Any, axis1: int, axis2: int) -> Tracer:
    """Two axes exchanged."""
    x = lifted(a)
    first, second = axis_of(x, axis1), axis_of(x, axis2)
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return transpose(x, axes)


def rollaxis(a: Any, axis: int, start: int = 0) -> Tracer:
    """The axis before the axis `start`."""
    x = lifted(a)
    at = axis_of(x, axis)
    if not -x.ndim <= start <= x.ndim:
        raise refusal(f"rollaxis: start must be in [{-x.ndim}, {x.ndim}], got {start}")
    to = start + x.ndim if start < 0 else start
    return moveaxis(x, at, to - 1 if at < to else to)


def _at_least(rank: int, shaped: Callable[[Any], Any]) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        made = tuple(shaped(lifted(a)) for a in arys)
        return made[0] if len(made) == 1 else made

    at_least.__name__ = f"atleast_{rank}d"
    at_least.__doc__ = f"The arrays with axes of extent 1 up to rank {rank}; a tuple of several."
    return at_least


atleast_1d = _at_least(1, lambda x: x if x.ndim else _reshape(x, 1))
atleast_2d = _at_least(2, lambda x: x if x.ndim > 1 else _reshape(x, (1, x.size)))
atleast_3d = _at_least(
    3,
    lambda x: x if x.ndim > 2
    else _reshape(x, (1, x.size, 1)) if x.ndim < 2
    else _reshape(x, (*x.shape, 1)),
)  # fmt: skip


# Joined.


def several(arrays: Any, what: str) -> list[Tracer]:
    """Arrays in a sequence, or the rows of one array."""
    if isinstance(arrays, Tracer | np.ndarray):
        rows: Any = lifted(cast(Any, arrays))
        return [rows[k] for k in range(len(rows))]
    if not isinstance(arrays, Sequence):
        raise refusal(f"{what}: expected a sequence of arrays, got {type(arrays).__name__}")
    return [lifted(a) for a in cast(Sequence[Any], arrays)]


def concatenate(
    arrays: Any, axis: int | None = 0, out: None = None, *, dtype: Any = None
) -> Tracer:
    """The arrays one after the other along `axis`, flattened where None.   vjp: slices of ct"""
    xs = several(arrays, "concatenate")
    if axis is None:
        xs, axis = [_reshape(x, -1) for x in xs], 0
    return with_dtype(op.concat(xs, axis=axis), dtype)


def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None) -> Tracer:
    """The arrays along a new axis at the place `axis` of the result."""
    return with_dtype(op.stack(several(arrays, "stack"), axis=axis), dtype)


def vstack(tup: Any, *, dtype: Any = None) -> Tracer:
    """Rows, or matrices, below each other."""
    return concatenate([atleast_2d(x) for x in several(tup, "vstack")], 0, dtype=dtype)


def hstack(tup: Any, *, dtype: Any = None) -> Tracer:
    """Arrays one after the other along their second axis; vectors along the first."""
    xs = [atleast_1d(x) for x in several(tup, "hstack")]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype=dtype)


def dstack(tup: Any) -> Tracer:
    """Arrays one after the other along their third axis."""
    return concatenate([atleast_3d(x) for x in several(tup, "dstack")], 2)


def column_stack(tup: Any) -> Tracer:
    """Vectors as columns, and matrices, beside each other."""
    xs = several(tup, "column_stack")
    return concatenate([x if x.ndim > 1 else _reshape(x, (x.size, 1)) for x in xs], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Tracer:
    """The values after the array along `axis`; both flattened where None."""
    return concatenate([lifted(arr), lifted(values)], axis)


def block(arrays: Any) -> Tracer:
    """An array of nested lists of blocks: the innermost lists along the last axis."""

    def depth(part: Any) -> int:
        return 1 + max(map(depth, cast(Any, part))) if isinstance(part, list) else 0

    def rank(part: Any) -> int:
        return max(map(rank, cast(Any, part))) if isinstance(part, list) else lifted(part).ndim

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))

    def join_level(part: Any, level: int) -> Any:
        if isinstance(part, list):
            inner = [join_level(each, level + 1) for each in cast(list[Any], part)]
            return concatenate(inner, ndim - levels + level)
        x = lifted(part)
        return _reshape(x, (*[1] * (ndim - x.ndim), *x.shape))

    return join_level(arrays, 0)


# Cut.


def _cut(x: Tracer, ends: Sequence[int], at: int) -> list[Tracer]:
    whole = [slice(None)] * at
    starts = [0, *ends]
    return [x[(*whole, slice(a, b))] for a, b in zip(starts, [*ends, None], strict=True)]


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """As `split`; the first parts have one element more where the number does not divide."""
    x, at = lifted(ary), axis_of(lifted(ary), axis)
    given = known(indices_or_sections, "split: indices_or_sections")
    if given.ndim:
        return _cut(x, [int(k) for k in integers(given)], at)
    count = number(given, "split: indices_or_sections")
    if count < 1:
        raise refusal(f"split: the number of parts must be at least 1, got {count}")
    each, more = divmod(x.shape[at], count)
    sizes = [each + 1] * more + [each] * (count - more)
    return _cut(x, list(accumulate(sizes))[:-1], at)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """Parts along `axis`: a number of equal ones, or those between the given places."""
    x = lifted(ary)
    given = known(indices_or_sections, "split: indices_or_sections")
    if not given.ndim and x.shape[axis_of(x, axis)] % max(number(given, "split: parts"), 1):
        raise refusal(
            f"split: {given} parts must divide the extent {x.shape[axis_of(x, axis)]}; "
            "array_split makes parts that differ"
        )
    return array_split(x, given, axis)


def _split_along(name: str, least: int, axis: Callable[[Tracer], int]) -> Callable[..., Any]:
    def parts(ary: Any, indices_or_sections: Any) -> list[Tracer]:
        x = lifted(ary)
        if x.ndim < least:
            raise refusal(f"{name}: expected an array of rank >= {least}, got {x!r}")
        return split(x, indices_or_sections, axis(x))

    parts.__name__, parts.__doc__ = name, f"`split` along the axis of {name[0]}stack."
    return parts


hsplit = _split_along("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
vsplit, dsplit = _split_along("vsplit", 2, lambda x: 0), _split_along("dsplit", 3, lambda x: 2)


# Turned and repeated.


def flip(m: Any, axis: Any = None) -> Tracer:
    """x reversed along `axis` (all axes where None).   vjp: flip"""
    x = lifted(m)
    axes = axes_of(x, axis)
    return _flip(x, axis=list(axes)) if axes else x[...]


def fliplr(m: Any) -> Tracer:
    """The second axis reversed."""
    return flip(m, 1)


def flipud(m: Any) -> Tracer:
    """The first axis reversed."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tracer:
    """The plane of two axes turned by k right angles, the first axis towards the second."""
    x = lifted(m)
    plane = axes_of(x, list(axes))
    if len(plane) != 2 or plane[0] == plane[1]:
        raise refusal(f"rot90: axes must be two different ones, got {axes!r}")
    first, second = plane
    match number(k, "rot90: k") % 4:
        case 0:
            return x
        case 1:
            return swapaxes(flip(x, second), first, second)
        case 2:
            return flip(x, plane)
        case _:
            return flip(swapaxes(x, first, second), second)


def roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    """x moved by `shift` places along `axis`, flattened where None.   vjp: ct rolled back"""
    x = lifted(a)
    shifts = integers(known(shift, "roll: shift"))
    if axis is None:
        return op.roll(x, shift=shifts[0] if len(shifts) == 1 else sum(shifts))
    axes = integers(axis)
    count = max(len(shifts), len(axes))
    if len({len(shifts), len(axes), 1, count}) > 2:
        raise refusal(f"roll: as many shifts as axes expected, got {shift!r} and {axis!r}")
    for amount, at in zip(shifts * (count // len(shifts)), axes * (count // len(axes)),
                          strict=True):  # fmt: skip
        x = op.roll(x, shift=amount, axis=axis_of(x, at))
    return x


def repeat(
    a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Tracer:
    """Each element `repeats` times in a row along `axis`; of the flattened array where None.

    vjp: the sum of the cotangents of each element's copies
    """
    x = lifted(a)
    if axis is None:
        x, axis = _reshape(x, -1), 0
    at = axis_of(x, axis)
    counts = known(repeats, "repeat: repeats")
    if counts.size == 1 and total_repeat_length in (None, counts.item() * x.shape[at]):
        return op.repeat(x, count=int(counts.item()), axis=at)
    places = np.repeat(np.arange(x.shape[at]), counts)
    if total_repeat_length is not None:
        missing = max(total_repeat_length - len(places), 0)
        places = np.pad(places, (0, missing), "edge")[:total_repeat_length]
    return take(x, places, at)


def tile(A: Any, reps: Any) -> Tracer:
    """reps[d] copies of A one after the other along each axis d.   vjp: the copies of ct added"""
    return op.tile(lifted(A), repeats=integers(known(reps, "tile: reps")))


def resize(a: Any, new_shape: Any) -> Tracer:
    """The elements, repeated as often as needed, in row-major order under another shape."""
    x, shape = lifted(a), as_shape(new_shape)
    count = prod(shape)
    if not x.size:
        return broadcast_to(lifted(0).astype(x.dtype), shape)
    flat = tile(_reshape(x, -1), -(-count // x.size))
    return _reshape(cast(Any, flat)[:count], shape)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """func(a, axis) for one axis after the other; a result without the axis gets it back."""
    made = lifted(a)
    for axis in [axes] if is_one(axes) else axes:
        at = axis_of(made, axis)
        found = lifted(func(made, at))
        made = expand_dims(found, at) if found.ndim < made.ndim else found
    return made


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    reshape, ravel, squeeze, swapaxes, rollaxis, atleast_1d, atleast_2d, atleast_3d, concatenate,
    stack, vstack, hstack, dstack, column_stack, append, block, array_split, split, hsplit, vsplit,
    dsplit, flip, fliplr, flipud, rot90, roll, repeat, tile, resize,
    apply_over_axes,
)  # fmt: skip
