"""Operator types that move elements: joining, splitting, shapes, rows by number."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.functions.array_ops import op
from gradir.frontends.tracing.tracing import element


def place(axis: int, rank: int) -> int:
    """An axis counted from the front; ArgumentError where there is none such."""
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ArgumentError(f"axis: expected one in [{-rank}, {rank}), got {axis}")
    return axis % rank


@operator_type("Concat", inputs=(1, None), outputs=(1, 2), reads=NOTHING, shapes=("out1",))
def concat(*xs: Any, axis: int = 1, add_axis: int = 0) -> Any:
    """Arrays one after the other along an axis, a new one with `add_axis`; and their extents."""
    at = place(axis, xs[0].ndim + (1 if add_axis else 0))
    parts = [gnp.expand_dims(x, at) for x in xs] if add_axis else list(xs)
    sizes = gnp.asarray([part.shape[at] for part in parts], "int32")
    return gnp.concat(parts, axis=at), sizes


@operator_type("Split", inputs=1, outputs=(1, None), reads=NOTHING)
def split(x: Any, *, outputs: int, axis: int = 1, split: Sequence[int] = ()) -> Any:
    """Pieces along an axis, of the extents `split`, or of one extent."""
    at = place(axis, x.ndim)
    sizes = list(split) or [x.shape[at] // outputs] * outputs
    if len(sizes) != outputs or sum(sizes) != x.shape[at]:
        raise ArgumentError(f"split: {outputs} extents of sum {x.shape[at]} expected, got {sizes}")
    return op.split(x, axis=at, sizes=sizes)


@operator_type("Reshape", inputs=1, outputs=(1, 2), reads=NOTHING, shapes=("out1",))
def reshape(x: Any, *, shape: Sequence[int]) -> Any:
    """x in another shape: 0 keeps an extent, -1 takes the remaining elements; and the old shape."""
    for k, n in enumerate(shape):
        if n == 0 and k >= x.ndim:
            raise ArgumentError(f"shape: extent {k} is 0, and x has rank {x.ndim}")
    extents = [x.shape[k] if n == 0 else n for k, n in enumerate(shape)]
    return gnp.reshape(x, extents), gnp.asarray(list(x.shape), "int64")


@operator_type("Transpose", inputs=1, reads=NOTHING)
def transpose(x: Any, *, axes: Sequence[int] | None = None) -> Any:
    """The axes in another order, reversed without `axes`."""
    return gnp.transpose(x, axes)


@operator_type("Flatten", inputs=1, reads=NOTHING, shapes=("in0",))
def flatten(x: Any, *, axis: int = 1) -> Any:
    """x as a matrix, whose rows are the axes before `axis`."""
    return as_matrix(x, axis)


def as_matrix(x: Any, axis: int) -> Any:
    """x with the axes before `axis` as one, and the others as one."""
    at = axis if axis == x.ndim else place(axis, x.ndim)
    return gnp.reshape(x, [prod(x.shape[:at]), prod(x.shape[at:])])


@operator_type("Squeeze", inputs=1, reads=NOTHING, shapes=("in0",))
def squeeze(x: Any, *, dims: Sequence[int]) -> Any:
    """x without these axes, of extent 1."""
    return gnp.squeeze(x, axis=list(dims))


@operator_type("ExpandDims", inputs=1, reads=NOTHING)
def expand_dims(x: Any, *, dims: Sequence[int]) -> Any:
    """x with new axes of extent 1."""
    return gnp.expand_dims(x, list(dims))


@operator_type("EnsureDense", inputs=1, reads=NOTHING, forwards=(0,))
def ensure_dense(x: Any) -> Any:
    """x, whose gradient is dense."""
    return x


# Rows by number.


def _has_slices(op: Operator) -> bool:
    return not op.args.get("dense_gradient")


@operator_type(
    "Gather", inputs=2, reads=NOTHING, differentiable=(0,), 
    slices=_has_slices,
)  # fmt: skip
def gather(x: Any, indices: Any, *, dense_gradient: int = 0) -> Any:
    """The rows of x, which are its items along the first axis, at indices of any shape."""
    return gnp.take(x, indices, axis=0)


def as_rows(indices: Any, values: Any) -> tuple[Any, Any]:
    """Row numbers as a vector, and their rows one after the other."""
    return gnp.reshape(indices, [indices.size]), rows_for(indices, values)


def rows_for(indices: Any, values: Any) -> Any:
    """Rows one after the other; of their numbers only the shape is used."""
    row = list(values.shape[indices.ndim :])
    if values.shape[: indices.ndim] != indices.shape:
        raise ArgumentError(
            f"values must begin with the shape of the indices, {list(indices.shape)}, got "
            f"{list(values.shape)}"
        )
    return gnp.reshape(values, [indices.size, *row])


@operator_type("SparseToDense", inputs=(2, 3), reads=("in0",), differentiable=(1,))
def sparse_to_dense(
    indices: Any, values: Any, like: Any = None, *, output_first_dim: int = 0
) -> Any:
    """Zeros to which rows are added, as many as `like` has, or `output_first_dim`."""
    at, rows = as_rows(indices, values)
    count = output_first_dim if like is None else like.shape[0]
    if count <= 0 and like is None:
        raise ArgumentError("expected a third input, or output_first_dim, to say how many rows")
    return gnp.scatter_add(gnp.zeros([count, *rows.shape[1:]], rows.dtype), at, rows, axis=0)


@operator_type("ScatterAdd", inputs=3, reads=("in1",), differentiable=(0, 2))
def scatter_add(x: Any, indices: Any, values: Any) -> Any:
    """x, to which rows are added at indices."""
    at, rows = as_rows(indices, values)
    return gnp.scatter_add(x, at, rows, axis=0)


# Sums of gradients.


@operator_type("SumReduceLike", inputs=2, reads=NOTHING, shapes=("in0",), differentiable=(0,))
def sum_reduce_like(x: Any, like: Any) -> Any:
    """x summed to the shape that was broadcast to x's."""
    return fitted(x, like)


def fitted(x: Any, like: Any) -> Any:
    """x summed over the axes along which `like` was broadcast, or broadcast itself, to its shape.

    Floating elements take the type of `like`.
    """
    if x.shape != like.shape:
        extra = x.ndim - like.ndim
        summed = [
            k for k in range(x.ndim)
            if k < extra or (like.shape[k - extra] == 1 and x.shape[k] != 1)
        ]  # fmt: skip
        x = gnp.sum(x, axis=summed, keepdims=True) if summed else x
        x = gnp.reshape(x, x.shape[extra:]) if extra > 0 else x
        x = gnp.broadcast_to(x, like.shape)
    kind = element(like)
    return gnp.astype(x, like.dtype) if is_float(kind) and element(x) != kind else x
