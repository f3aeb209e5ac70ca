"""ONNX's operators that make arrays and move elements: views, joins, parts, pads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import ceil, prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.onnx_rules.arguments import (
    INT64,
    OnnxRules,
    axes_of,
    axis_of,
    counted,
    numbers,
    require_small,
)
from gradir.frontends.imported.onnx_rules.types import element_of_code
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import constant, element

RULES = OnnxRules()


# Arrays of known values.


@RULES.onnx("Constant", note="of numbers")
def _constant(
    call: Any, value: Any = None, value_float: float | None = None, value_int: int | None = None,
    value_floats: Any = None, value_ints: Any = None,
) -> Any:  # fmt: skip
    if value is not None:
        return constant(value)
    if value_float is not None or value_floats is not None:
        return constant(
            np.asarray(value_floats if value_float is None else value_float, np.float32)
        )
    return constant(np.asarray(value_ints if value_int is None else value_int, np.int64))


@RULES.onnx("Shape")
def _shape(call: Any, x: Any, start: int = 0, end: int | None = None) -> Any:
    return constant(np.array(x.shape[slice(start, end)], np.int64))


@RULES.onnx("Size")
def _size(call: Any, x: Any) -> Any:
    return constant(np.array(x.size, np.int64))


@RULES.onnx("ConstantOfShape", static=[0])
def _filled(call: Any, shape: Any, value: Any = None) -> Any:
    given = np.zeros(1, np.float32) if value is None else np.asarray(value)
    return gnp.broadcast_to(gnp.reshape(constant(given), ()), numbers(shape))


@RULES.onnx("Range", static=[0, 1, 2])
def _range(call: Any, start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = (float(a.reshape(())) for a in (start, limit, delta))
    if step == 0 or not np.isfinite([first, last, step]).all():
        what = f"Range: no numbers go from {first} to {last} by {step}"
        raise refusal(what, ImportedProgramError)
    steps = counted(max(ceil((last - first) / step), 0)).astype(start.dtype)
    return constant((start.reshape(()) + steps * delta.reshape(())).astype(start.dtype))


@RULES.onnx("EyeLike")
def _eye(call: Any, x: Any, dtype: int | None = None, k: int = 0) -> Any:
    kind = element(x) if dtype is None else element_of_code(dtype)
    require_small("elements of an identity", *x.shape)
    made = np.eye(*x.shape, k=k)
    return converted(constant(made), kind) if not is_bool(kind) else constant(made != 0)


# Views.


@RULES.onnx("Reshape", static=[1])
def _reshaped(call: Any, x: Any, shape: Any, allowzero: int = 0) -> Any:
    kept = [x.shape[k] if d == 0 and not allowzero else d for k, d in enumerate(numbers(shape))]
    if -1 in kept:
        rest = prod(d for d in kept if d != -1)
        kept[kept.index(-1)] = x.size // rest if rest else 0
    return gnp.reshape(x, kept)


@RULES.onnx("Transpose")
def _transposed(call: Any, x: Any, perm: Sequence[int] | None = None) -> Any:
    return gnp.permute_dims(x, list(range(x.ndim))[::-1] if perm is None else list(perm))


@RULES.onnx("Squeeze", static=[1])
def _squeezed(call: Any, x: Any, given: Any = None, axes: Any = None) -> Any:
    axes = axes if given is None else given
    found = [k for k, d in enumerate(x.shape) if d == 1] if axes is None else axes_of(x, axes)
    return gnp.squeeze(x, tuple(found)) if found else x


@RULES.onnx("Unsqueeze", static=[1])
def _unsqueezed(call: Any, x: Any, given: Any = None, axes: Any = None) -> Any:
    found = numbers(axes if given is None else given)
    rank = x.ndim + len(found)
    places = {a % rank for a in found}
    rest = iter(x.shape)
    return gnp.reshape(x, [1 if k in places else next(rest) for k in range(rank)])


@RULES.onnx("Flatten")
def _flattened(call: Any, x: Any, axis: int = 1) -> Any:
    axis = axis + x.ndim if axis < 0 else axis
    return gnp.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


@RULES.onnx("Expand", static=[1])
def _expanded(call: Any, x: Any, shape: Any) -> Any:
    return gnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(numbers(shape))))


@RULES.onnx("DepthToSpace")
def _to_space(call: Any, x: Any, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        parts = gnp.permute_dims(gnp.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = gnp.permute_dims(gnp.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return gnp.reshape(parts, (n, c // b**2, h * b, w * b))


@RULES.onnx("SpaceToDepth")
def _to_depth(call: Any, x: Any, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = gnp.permute_dims(gnp.reshape(x, (n, c, h // b, b, w // b, b)), order)
    return gnp.reshape(parts, (n, c * b * b, h // b, w // b))


# Joins and parts.


@RULES.onnx("Concat")
def _joined(call: Any, *arrays: Any, axis: int) -> Any:
    return op.concat(list(arrays), axis=axis_of(arrays[0], axis))


@RULES.onnx("Split", static=[1])
def _split(
    call: Any, x: Any, given: Any = None, axis: int = 0, split: Any = None,
    num_outputs: int | None = None,
) -> Any:  # fmt: skip
    axis = axis_of(x, axis)
    sizes = split if given is None else given
    if sizes is None:
        count = len(call["outputs"]) if num_outputs is None else num_outputs
        part = -(-x.shape[axis] // count)
        sizes = [max(min(part, x.shape[axis] - k * part), 0) for k in range(count)]
    ends = list(accumulate(numbers(sizes)))
    return [_part(x, axis, start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _part(x: Any, axis: int, start: int, end: int, step: int | None = None) -> Any:
    return x[(*[slice(None)] * axis, slice(start, end, step))]


@RULES.onnx("Slice", static=[1, 2, 3, 4])
def _sliced(
    call: Any, x: Any, starts_: Any = None, ends_: Any = None, axes_: Any = None,
    steps: Any = None, starts: Any = None, ends: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    first = numbers(starts if starts_ is None else starts_)
    last = numbers(ends if ends_ is None else ends_)
    axes = axes if axes_ is None else axes_
    places = axes_of(x, range(len(first)) if axes is None else axes)
    by = [1] * len(first) if steps is None else numbers(steps)
    key = [slice(None)] * x.ndim
    for axis, start, end, step in zip(places, first, last, by, strict=True):
        key[axis] = _bounds(x.shape[axis], start, end, step)
    return x[tuple(key)]


def _bounds(count: int, start: int, end: int, step: int) -> slice:
    """A slice of Python; an end before the first element is None there."""
    start, end = (v + count if v < 0 else v for v in (start, end))
    if step > 0:
        return slice(min(max(start, 0), count), min(max(end, 0), count), step)
    start, end = min(max(start, 0), count - 1), min(max(end, -1), count - 1)
    return slice(start, None if end < 0 else end, step)


@RULES.onnx("Tile", static=[1])
def _tiled(call: Any, x: Any, repeats: Any) -> Any:
    return gnp.tile(x, tuple(numbers(repeats)))


@RULES.onnx("Pad", static=[1, 3])
def _padded(
    call: Any, x: Any, given: Any = None, value_: Any = None, axes: Any = None,
    mode: str = "constant", pads: Any = None, value: float = 0.0,
) -> Any:  # fmt: skip
    widths = numbers(pads if given is None else given)
    places = axes_of(x, axes)
    sides = [(0, 0)] * x.ndim
    for k, axis in enumerate(places):
        sides[axis] = widths[k], widths[k + len(places)]
    cut = tuple(slice(max(-a, 0), d - max(-b, 0)) for (a, b), d in zip(sides, x.shape, strict=True))
    x, sides = x[cut], [(max(a, 0), max(b, 0)) for a, b in sides]
    if mode != "constant":
        for d, (a, b) in zip(x.shape, sides, strict=True):
            require_small("places of an axis", d + a + b if a + b else 0)
        return gnp.pad(x, sides, mode=mode)
    filling = value if value_ is None else gnp.reshape(value_, ())
    whole = tuple(d + a + b for d, (a, b) in zip(x.shape, sides, strict=True))
    inside = tuple(slice(a, a + d) for d, (a, _) in zip(x.shape, sides, strict=True))
    if isinstance(filling, float):
        return gnp.pad(x, sides, constant_values=filling if x.dtype.kind != "b" else bool(filling))
    base = gnp.broadcast_to(filling, whole)
    return base.at[inside].set(x) if not is_bool(element(x)) else _padded_bools(base, inside, x)


def _padded_bools(base: Any, inside: tuple[slice, ...], x: Any) -> Any:
    wide = converted(base, INT64).at[inside].set(converted(x, INT64))
    return op.not_equal(wide, 0)


@RULES.onnx("Trilu", static=[1])
def _triangle(call: Any, x: Any, k: Any = None, upper: int = 1) -> Any:
    number = 0 if k is None else int(k.reshape(()))
    return (gnp.triu if upper else gnp.tril)(x, number)


@RULES.onnx("ReverseSequence", static=[1])
def _reversed(call: Any, x: Any, lengths: Any, batch_axis: int = 1, time_axis: int = 0) -> Any:
    steps = counted(x.shape[time_axis])[:, None]
    ends = np.asarray(lengths)[None, :]
    places = np.where(steps < ends, ends - 1 - steps, steps)
    places = places if time_axis < batch_axis else places.T
    shape = [1] * x.ndim
    shape[time_axis], shape[batch_axis] = x.shape[time_axis], x.shape[batch_axis]
    index = gnp.broadcast_to(constant(places.reshape(shape).astype(np.int64)), x.shape)
    return gnp.take_along_axis(x, index, time_axis)


@RULES.onnx("CenterCropPad", static=[1])
def _centered(call: Any, x: Any, shape: Any, axes: Any = None) -> Any:
    for axis, size in zip(axes_of(x, axes), numbers(shape), strict=True):
        rest = size - x.shape[axis]
        if rest <= 0:
            start = -rest // 2
            x = _part(x, axis, start, start + size)
        else:
            sides = [(0, 0)] * x.ndim
            sides[axis] = rest // 2, rest - rest // 2
            x = gnp.pad(x, sides)
    return x
