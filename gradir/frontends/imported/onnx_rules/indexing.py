"""ONNX's operators that read and write elements at places."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.onnx_rules.arguments import (
    INT64,
    OnnxRules,
    axis_of,
    counted,
    places_of,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import constant, element

RULES = OnnxRules()


@RULES.onnx("Gather")
def _gathered(call: Any, x: Any, index: Any, axis: int = 0) -> Any:
    axis = axis_of(x, axis)
    return gnp.take(x, places_of(index, x.shape[axis]), axis)


@RULES.onnx("GatherElements")
def _along(call: Any, x: Any, index: Any, axis: int = 0) -> Any:
    axis = axis_of(x, axis)
    return x[_places_along(x, index, axis)]


def _places_along(x: Any, index: Any, axis: int) -> tuple[Any, ...]:
    """A key that names an element of x for each one of an index along an axis."""
    places: list[Any] = []
    for k in range(x.ndim):
        if k == axis:
            places.append(places_of(index, x.shape[axis]))
        else:
            row = counted(index.shape[k]).reshape([-1 if j == k else 1 for j in range(x.ndim)])
            places.append(gnp.broadcast_to(constant(row), index.shape))
    return tuple(places)


@RULES.onnx("GatherND")
def _gathered_nd(call: Any, x: Any, index: Any, batch_dims: int = 0) -> Any:
    return x[_places_nd(x, index, batch_dims)]


def _places_nd(x: Any, index: Any, batch_dims: int = 0) -> tuple[Any, ...]:
    depth, rank = index.shape[-1], index.ndim - 1
    rows = [
        constant(counted(x.shape[k]).reshape([-1 if j == k else 1 for j in range(rank)]))
        for k in range(batch_dims)
    ]
    named = [places_of(index[..., k], x.shape[batch_dims + k]) for k in range(depth)]
    shape = index.shape[:-1]
    return tuple(gnp.broadcast_to(part, shape) for part in [*rows, *named])


def _updated(x: Any, key: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """x with elements changed; bools as numbers."""
    methods = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}
    if reduction not in methods:
        raise refusal(f"reduction {reduction!r} is not there")
    if is_bool(element(x)):
        wide = converted(x, INT64).at[key].set(converted(updates, INT64))
        return op.not_equal(wide, 0)
    return getattr(x.at[key], methods[reduction])(updates)


@RULES.onnx("ScatterElements", "Scatter", note="of places named several times the last is kept")
def _scattered(
    call: Any, x: Any, index: Any, updates: Any, axis: int = 0, reduction: str = "none"
) -> Any:
    axis = axis_of(x, axis)
    return _updated(x, _places_along(x, index, axis), updates, reduction)


@RULES.onnx("ScatterND", note="of places named several times the last is kept")
def _scattered_nd(call: Any, x: Any, index: Any, updates: Any, reduction: str = "none") -> Any:
    return _updated(x, _places_nd(x, index), updates, reduction)


@RULES.onnx("TensorScatter")
def _written(
    call: Any, past: Any, update: Any, starts: Any = None, axis: int = -2, mode: str = "linear"
) -> Any:
    axis, count = axis_of(past, axis), past.shape[0]
    first = spread(0, (count,), INT64) if starts is None else converted(starts, INT64)
    shape = [1] * past.ndim
    shape[0] = count
    steps = counted(update.shape[axis]).reshape([-1 if k == axis else 1 for k in range(past.ndim)])
    places = gnp.reshape(first, shape) + constant(steps)
    places = places % past.shape[axis] if mode == "circular" else places
    key = _places_along(past, gnp.broadcast_to(places, update.shape), axis)
    return past.at[key].set(update)


@RULES.onnx("OneHot", static=[1])
def _one_hot(call: Any, index: Any, depth: Any, values: Any, axis: int = -1) -> Any:
    count = int(depth.reshape(()))
    places = places_of(index, count)
    rank = index.ndim + 1
    axis = axis % rank
    row = counted(count).reshape([-1 if k == axis else 1 for k in range(rank)])
    hit = op.equal(gnp.expand_dims(places, axis), constant(row))
    return gnp.where(hit, values[1], values[0])


@RULES.onnx("Compress", static=[1])
def _chosen(call: Any, x: Any, condition: Any, axis: int | None = None) -> Any:
    places = np.flatnonzero(condition).astype(np.int64)
    if axis is None:
        return gnp.take(gnp.ravel(x), constant(places), 0)
    return gnp.take(x, constant(places), axis_of(x, axis))


@RULES.onnx("NonZero", static=[0])
def _nonzero(call: Any, x: Any) -> Any:
    return constant(np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1))


@RULES.onnx("Unique", static=[0])
def _unique(call: Any, x: Any, axis: int | None = None, sorted: int = 1) -> Any:
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = np.asarray(inverse).reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    places = [part.astype(np.int64) for part in (first, inverse, counts)]
    return [constant(values), *map(constant, places)]
