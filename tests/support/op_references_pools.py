"""What pooling and resizing compute, window by window and element by element, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import floor, prod
from typing import Any

import numpy as np
from op_references import Array, Reference


def _list(value: Any, count: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def _places(
    extent: int, size: int, stride: int, low: int, high: int, dilation: int, ceil: bool
) -> Iterator[list[int]]:  # fmt: skip
    """For each window along an axis its places, those in the padding included."""
    reach = dilation * (size - 1) + 1
    count = (extent + low + high - reach + (stride - 1 if ceil else 0)) // stride + 1
    if ceil and (count - 1) * stride >= extent + low:
        count -= 1
    for o in range(count):
        first = o * stride - low
        yield [first + k * dilation for k in range(size)]


def _axis_windows(
    shape: Sequence[int], spatial: int, attributes: dict[str, Any]
) -> tuple[list[list[list[int]]], list[int]]:  # fmt: skip
    """The windows along each spatial axis, and the padding behind x."""
    kernel = _list(attributes["kernel"], spatial)
    stride = _list(attributes.get("stride", kernel), spatial)
    padding = _list(attributes.get("padding", 0), spatial)
    low, high = padding[:spatial], padding[-spatial:]
    dilation = _list(attributes.get("dilation", 1), spatial)
    ceil = attributes.get("ceil_mode", False)
    rows = zip(shape, kernel, stride, low, high, dilation, strict=True)
    return [list(_places(n, k, s, lo, hi, d, ceil)) for n, k, s, lo, hi, d in rows], high


def _pool(spatial: int, of_window: Callable[..., Any]) -> Reference:
    """`of_window(x, places, high, attributes)` of the places of each window."""

    def function(x: Array, **attributes: Any) -> Array:
        is_last = attributes.get("layout", "NCHW") == "NHWC"
        x = np.moveaxis(x, -1, -1 - spatial) if is_last else x
        extents = x.shape[-spatial:]
        windows, high = _axis_windows(extents, spatial, attributes)
        result = np.zeros((*x.shape[:-spatial], *map(len, windows)))
        for place in np.ndindex(*result.shape[-spatial:]):
            sides = _sides(windows, place)
            result[(..., *place)] = of_window(x, sides, high, attributes)
        return np.moveaxis(result, -1 - spatial, -1) if is_last else result

    return function


def _sides(windows: Sequence[list[list[int]]], place: Sequence[int]) -> list[list[int]]:
    """The places along each axis of one window."""
    return [w[o] for w, o in zip(windows, place, strict=True)]


def _inside(x: Array, sides: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    extents = x.shape[-len(sides) :]
    places = product(*sides)
    return [p for p in places if all(0 <= i < n for i, n in zip(p, extents, strict=True))]


def _largest(x: Array, sides: Any, high: Any, attributes: Any) -> Array:
    return np.max([x[(..., *place)] for place in _inside(x, sides)], axis=0)


def _average(x: Array, sides: Any, high: Any, attributes: Any) -> Array:
    places, extents = _inside(x, sides), x.shape[-len(sides) :]
    count = len(places)
    if attributes.get("count_include_pad", True):
        rows = zip(sides, extents, high, strict=True)
        count = prod(sum(p < n + h for p in side) for side, n, h in rows)
    return np.sum([x[(..., *place)] for place in places], axis=0) / count


def max_pool(spatial: int) -> Reference:
    return _pool(spatial, _largest)


def avg_pool(spatial: int) -> Reference:
    return _pool(spatial, _average)


def transpose_of(function: Reference, shape: Sequence[int]) -> Reference:
    """Of a linear map of one operand, column by column."""

    def transposed(ct: Array, **attributes: Any) -> Array:
        units = np.eye(prod(shape)).reshape(prod(shape), *shape)
        columns = [np.sum(ct * function(u, **attributes)) for u in units]
        return np.array(columns).reshape(shape)

    return transposed


def max_pool_indices(spatial: int) -> Reference:
    def function(x: Array, y: Array, **attributes: Any) -> Array:
        extents = x.shape[-spatial:]
        windows, _ = _axis_windows(extents, spatial, attributes)
        result = np.zeros(y.shape, np.int32)
        for place in np.ndindex(*y.shape):
            outer, inner = place[:-spatial], place[-spatial:]
            sides = _sides(windows, inner)
            inside = _inside(x, sides)
            values = [x[(*outer, *p)] for p in inside]
            picked = inside[values.index(y[place])]
            result[place] = np.ravel_multi_index(picked, extents)
        return result

    return function


def max_pool_at(spatial: int) -> Reference:
    """For channels first and places that their windows cover."""

    def function(x: Array, places: Array, **attributes: Any) -> Array:
        flat = x.reshape(*x.shape[:-spatial], -1)
        picked = np.take_along_axis(flat, places.reshape(*places.shape[:-spatial], -1), -1)
        return picked.reshape(places.shape)

    return function


def max_pool_backward(spatial: int, shape: Sequence[int]) -> Reference:
    def function(ct: Array, places: Array, **attributes: Any) -> Array:
        result = np.zeros((prod(shape[:-spatial]), prod(shape[-spatial:])))
        rows = zip(ct.reshape(len(result), -1), places.reshape(len(result), -1), strict=True)
        for line, (values, at) in zip(result, rows, strict=True):
            np.add.at(line, at, values)
        return result.reshape(shape)

    return function


def _part(o: int, extent: int, size: int) -> slice:
    return slice(floor(o * extent / size), -floor(-(o + 1) * extent / size))


def adaptive_avg_pool(x: Array, size: Any, layout: str = "NCHW") -> Array:
    if layout == "NHWC":
        return np.moveaxis(adaptive_avg_pool(np.moveaxis(x, -1, -3), size), -3, -1)
    sizes = _list(size, 2)
    result = np.zeros((*x.shape[:-2], *sizes))
    for i, j in np.ndindex(*sizes):
        cut = [_part(int(o), n, m) for o, n, m in zip((i, j), x.shape[-2:], sizes, strict=True)]
        result[..., i, j] = np.mean(x[(..., *cut)], axis=(-2, -1))
    return result


def resize(x: Array, size: Any, mode: str = "nearest", layout: str = "NCHW") -> Array:
    if layout == "NHWC":
        return np.moveaxis(resize(np.moveaxis(x, -1, -3), size, mode), -3, -1)
    for axis, m in zip((-2, -1), _list(size, 2), strict=True):
        n = x.shape[axis]
        if mode == "nearest":
            x = np.take(x, [floor(i * n / m) for i in range(m)], axis)
            continue
        at = [max((i + 0.5) * n / m - 0.5, 0) for i in range(m)]
        low = np.take(x, [floor(p) for p in at], axis)
        high = np.take(x, [min(floor(p) + 1, n - 1) for p in at], axis)
        part = np.array([p - floor(p) for p in at])
        part = part.reshape(-1, 1) if axis == -2 else part
        x = low * (1 - part) + high * part
    return x


def pixel_shuffle(x: Array, factor: int) -> Array:
    *batch, channels, height, width = x.shape
    result = np.zeros((*batch, channels // factor**2, height * factor, width * factor))
    for c, i, j in np.ndindex(*result.shape[-3:]):
        source = (c * factor + i % factor) * factor + j % factor
        result[..., c, i, j] = x[..., source, i // factor, j // factor]
    return result
