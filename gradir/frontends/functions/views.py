"""gradir.numpy: the elements of an array in another shape or order, as views where NumPy has them.

Assigning to the base changes its views, and assigning to a view changes the base.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from gradir.dialects.array.movement import (
    BroadcastToOp,
    ExpandDimsOp,
    FlipOp,
    PermuteDimsOp,
    ReshapeOp,
    SqueezeOp,
)
from gradir.dialects.base.extents import is_same
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import same_shape, tensor
from gradir.frontends.functions.axes import axes_of
from gradir.frontends.functions.op_functions import apply, function_of
from gradir.frontends.functions.promotion import common_shape
from gradir.frontends.tracing.memory import Read, Write, as_kin, as_view
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, emit_one, lifted

Axes = int | Sequence[int]


def _view(base: Tracer, read: Read, write: Write | None) -> Tracer:
    return as_view(base, read(base), read, write)


def _shaped(x: Tracer, shape: Sequence[int]) -> Tracer:
    if same_shape(x.shape, shape):
        return x.copy()
    return emit_one(ReshapeOp, x, type=tensor(shape, element(x)))


def _shaped_back(base: Tracer, value: Tracer) -> Tracer:
    return _shaped(value, base.shape)


@public
def reshape(x: Any, shape: Sequence[int] | int) -> Tracer:
    """The elements in row-major order under another shape; one extent may be -1.

    vjp: reshape back
    """
    value = lifted(x)
    extents = _extents(value, shape)
    if not _splits(value.shape, extents):
        return as_kin(value, _shaped(value, extents))
    return _view(value, lambda base: _shaped(base, extents), _shaped_back)


def reshaped(x: Tracer, shape: Sequence[int]) -> Tracer:
    """A view of an array that is known to lie in row-major order in memory."""
    return _view(x, lambda base: _shaped(base, shape), _shaped_back)


def _splits(shape: Sequence[int], into: Sequence[int]) -> bool:
    """Whether the new shape only splits axes, so that NumPy makes a view for any layout."""
    rest = [n for n in into if not is_same(n, 1)]
    for extent in (n for n in shape if not is_same(n, 1)):
        count = next((k for k in range(1, len(rest) + 1) if is_same(prod(rest[:k]), extent)), None)
        if count is None:
            return False
        rest = rest[count:]
    return True


def _extents(x: Tracer, shape: Any) -> tuple[int, ...]:
    """A shape with -1, if any, replaced by the remaining extent."""
    if isinstance(shape, Tracer):
        raise refusal(f"reshape: the shape must be known while tracing, got {shape!r}")
    extents = list(cast(Any, shape)) if isinstance(shape, (Sequence, np.ndarray)) else [shape]
    if extents.count(-1) == 1:
        rest = prod(as_shape([n for n in extents if n != -1]))
        if rest == 0 or x.size % rest:
            raise refusal(f"reshape: {extents} must hold {x.size} elements, got {x!r}")
        extents[extents.index(-1)] = x.size // rest
    return as_shape(extents)


@public
def ravel(x: Any) -> Tracer:
    """The elements in row-major order, of rank 1."""
    value = lifted(x)
    made = _shaped(value, [value.size])
    if value.ndim == 1 and value.view_of is None:
        return _view(value, lambda base: _shaped(base, [base.size]), _shaped_back)
    return as_kin(value, made)


@public
def flatten(x: Any) -> Tracer:
    """A copy of the elements in row-major order, of rank 1."""
    value = lifted(x)
    return _shaped(value, [value.size])


@public
def broadcast_to(x: Any, shape: Sequence[int] | int) -> Tracer:
    """x repeated to a shape, read-only.   vjp: sum over the repeated axes"""
    extents = as_shape(shape)

    def read(base: Tracer) -> Tracer:
        if same_shape(extents, base.shape):
            return base.copy()
        return emit_one(BroadcastToOp, base, type=tensor(extents, element(base)))

    return _view(lifted(x), read, None)


@public
def broadcast_arrays(*arrays: Any) -> tuple[Tracer, ...]:
    """The arrays, each repeated to their common broadcast shape, read-only."""
    values = [lifted(a) for a in arrays]
    shape = common_shape("broadcast_arrays", values)
    return tuple(broadcast_to(v, shape) for v in values)


@public
def expand_dims(x: Any, axis: Axes = 0) -> Tracer:
    """New axes of extent 1 at the places `axis` of the result.   vjp: reshape"""
    return _view(lifted(x), lambda x: apply(ExpandDimsOp, {"x": x, "axis": axis}), _shaped_back)


def _viewing(op: type[TensorOp], write: Callable[..., Tracer]) -> Callable[..., Any]:
    """The function of an op on x alone whose result NumPy has as a view."""
    made = function_of(op, "gradir.numpy")
    inner = cast(Any, made).__wrapped__

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        def read(base: Tracer) -> Tracer:
            return inner(base, *args, **kwargs)

        def back(base: Tracer, value: Tracer) -> Tracer:
            return write(base, value, *args, **kwargs)

        return _view(lifted(x), read, back)

    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__signature__"):
        setattr(function, name, getattr(inner, name))
    return public(function)


def _flipped_back(base: Tracer, value: Tracer, *args: Any, **kwargs: Any) -> Tracer:
    return function_of(FlipOp, "gradir.numpy")(value, *args, **kwargs)


def _squeezed_back(base: Tracer, value: Tracer, *args: Any, **kwargs: Any) -> Tracer:
    return _shaped_back(base, value)


squeeze, flip = _viewing(SqueezeOp, _squeezed_back), _viewing(FlipOp, _flipped_back)


@public
def permute_dims(x: Any, axes: Sequence[int]) -> Tracer:
    """The axes in another order: axis k of the result is axis axes[k] of x.   vjp: permuted back"""

    def write(base: Tracer, value: Tracer) -> Tracer:
        order = axes_of(base.ndim, axes)
        return apply(PermuteDimsOp, {"x": value, "axes": [int(k) for k in np.argsort(order)]})

    return _view(lifted(x), lambda base: apply(PermuteDimsOp, {"x": base, "axes": axes}), write)


@public
def transpose(x: Any, axes: Sequence[int] | None = None) -> Tracer:
    """The axes in another order, reversed where None.   vjp: permuted back"""
    value = lifted(x)
    order = range(value.ndim)[::-1] if axes is None else axes
    return permute_dims(value, list(order))


@public
def matrix_transpose(x: Any) -> Tracer:
    """The last two axes exchanged.   vjp: exchanged back"""
    value = lifted(x)
    if value.ndim < 2:
        raise refusal(f"matrix_transpose: expected an array of rank >= 2, got {value!r}")
    return transpose(value, [*range(value.ndim - 2), value.ndim - 1, value.ndim - 2])


@public
def moveaxis(x: Any, source: Axes, destination: Axes) -> Tracer:
    """The axes `source` at the places `destination`, the others in their order."""
    value = lifted(x)
    froms, tos = axes_of(value.ndim, source), axes_of(value.ndim, destination)
    if len(froms) != len(tos):
        raise refusal(f"moveaxis: as many places as axes expected, got {len(tos)} and {len(froms)}")
    order = [d for d in range(value.ndim) if d not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return transpose(value, order)


@public
def unstack(x: Any, axis: int = 0) -> tuple[Tracer, ...]:
    """The slices of x along an axis, without that axis."""
    value = lifted(x)
    [at] = axes_of(value.ndim, axis)
    moved = moveaxis(value, at, 0)
    return tuple(cast(Any, moved)[k] for k in range(moved.shape[0]))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    reshape,
    ravel,
    broadcast_to,
    broadcast_arrays,
    expand_dims,
    squeeze,
    flip,
    permute_dims,
    transpose,
    matrix_transpose,
    moveaxis,
    unstack,
)
