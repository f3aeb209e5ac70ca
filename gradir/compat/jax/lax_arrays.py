"""jax.lax on whole arrays: slices at traced places, reductions, products, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import gradir.numpy as gnp
from gradir.compat.jax.arrays import giving_arrays
from gradir.frontends.transforms.scans import associative_scan

_slice = slice


@giving_arrays
def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """The array in another dtype."""
    return gnp.astype(gnp.asarray(operand), new_dtype)


@giving_arrays
def reshape(operand: Any, new_sizes: Sequence[int]) -> Any:
    """The elements in another shape."""
    return gnp.reshape(operand, tuple(new_sizes))


@giving_arrays
def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays behind each other along an axis."""
    return gnp.concatenate(operands, axis=dimension)


@giving_arrays
def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Parts of these sizes along an axis."""
    return list(gnp.split(operand, list(accumulate(sizes))[:-1], axis=axis))


@giving_arrays
def select_n(which: Any, *cases: Any) -> Any:
    """The case that `which` numbers, element by element."""
    made = cases[0]
    for number, case in enumerate(cases[1:], 1):
        made = gnp.where(gnp.equal(which, bool(number) if len(cases) == 2 else number), case, made)
    return made


# Slices.


def _starts(operand: Any, given: Any) -> list[Any]:
    """The first indices of a part; negative ones count from the end."""
    sizes = gnp.shape(operand)
    return [
        gnp.where(gnp.less(start, 0), gnp.add(start, size), start)
        for start, size in zip(given, sizes, strict=True)
    ]


@giving_arrays
def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Any:
    """A part of fixed sizes at traced places, moved inside as JAX does."""
    return gnp.dynamic_slice(operand, _starts(operand, start_indices), tuple(slice_sizes))


@giving_arrays
def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """The array with a part at traced places replaced."""
    return gnp.dynamic_update_slice(operand, update, _starts(operand, start_indices))


def _along(operand: Any, start: Any, axis: int, size: int) -> tuple[list[Any], list[int]]:
    """The first indices and the sizes of a part along an axis."""
    sizes = list(gnp.shape(operand))
    starts: list[Any] = [0] * len(sizes)
    starts[axis], sizes[axis] = start, size
    return starts, sizes


@giving_arrays
def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A part of a fixed size along an axis, at a traced place."""
    return dynamic_slice(operand, *_along(operand, start_index, axis, slice_size))


@giving_arrays
def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """The array with a part along an axis replaced, at a traced place."""
    return dynamic_update_slice(operand, update, _along(operand, start_index, axis, 1)[0])


@giving_arrays
def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The part of one traced index along an axis."""
    made = dynamic_slice_in_dim(operand, index, 1, axis)
    return made if keepdims else gnp.squeeze(made, axis=axis)


@giving_arrays
def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """The array with the part of one traced index along an axis replaced."""
    if len(gnp.shape(update)) < len(gnp.shape(operand)):
        update = gnp.expand_dims(update, axis)
    return dynamic_update_slice_in_dim(operand, update, index, axis)


@giving_arrays
def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """operand[start:limit:stride, ...]."""
    ends = zip(start_indices, limit_indices, strides or [1] * len(start_indices), strict=True)
    return gnp.asarray(operand)[tuple(_slice(*each) for each in ends)]


@giving_arrays
def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Any:
    """operand[start:limit:stride] along an axis."""
    places = [_slice(None)] * len(gnp.shape(operand))
    places[axis] = _slice(start_index, limit_index, stride)
    return gnp.asarray(operand)[tuple(places)]


@giving_arrays
def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The part of one index along an axis."""
    return gnp.take(operand, gnp.array([index]) if keepdims else index, axis=axis)


# Reductions and scans.


@giving_arrays
def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The places of the largest elements along an axis."""
    return gnp.astype(gnp.argmax(operand, axis=axis), index_dtype)


@giving_arrays
def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The places of the smallest elements along an axis."""
    return gnp.astype(gnp.argmin(operand, axis=axis), index_dtype)


def _scanning(scan: Any, name: str) -> Any:
    def cumulative(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        if not reverse:
            return scan(operand, axis=axis)
        return gnp.flip(scan(gnp.flip(operand, axis), axis=axis), axis)

    cumulative.__name__ = cumulative.__qualname__ = name
    cumulative.__doc__ = f"{name} along an axis, from the end if `reverse`."
    return giving_arrays(cumulative)


def _reducing(reduce: Any, name: str) -> Any:
    def reduction(operand: Any, axes: Sequence[int]) -> Any:
        return reduce(operand, axis=tuple(axes))

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"{name.removeprefix('reduce_')} over some axes."
    return giving_arrays(reduction)


cumsum, cumprod = _scanning(gnp.cumsum, "cumsum"), _scanning(gnp.cumprod, "cumprod")
cummax, cummin, cumlogsumexp = (
    _scanning(partial(associative_scan, function), name)
    for function, name in (
        (gnp.maximum, "cummax"),
        (gnp.minimum, "cummin"),
        (gnp.logaddexp, "cumlogsumexp"),
    )
)
reduce_sum, reduce_prod = _reducing(gnp.sum, "reduce_sum"), _reducing(gnp.prod, "reduce_prod")
reduce_max, reduce_min = _reducing(gnp.max, "reduce_max"), _reducing(gnp.min, "reduce_min")
reduce_and, reduce_or = _reducing(gnp.all, "reduce_and"), _reducing(gnp.any, "reduce_or")


@giving_arrays
def top_k(operand: Any, k: int) -> Any:
    """The k largest elements of each row, and their places."""
    # -x of the least integer, and of unsigned ones, is no smaller than others
    is_float = gnp.asarray(operand).dtype.kind == "f"
    falling = gnp.negative(operand) if is_float else gnp.bitwise_not(operand)
    places = gnp.argsort(falling, axis=-1)[..., :k]
    return gnp.take_along_axis(operand, places, axis=-1), places


@giving_arrays
def sort(operand: Any, dimension: int = -1) -> Any:
    """The elements in order along an axis."""
    return gnp.sort(operand, axis=dimension)


@giving_arrays
def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The elements from the last to the first along some axes."""
    return gnp.flip(operand, tuple(dimensions))


# Products.


@giving_arrays
def dot(lhs: Any, rhs: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The product of vectors and matrices."""
    del precision
    return _in_type(gnp.dot(lhs, rhs), preferred_element_type)


@giving_arrays
def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Products of matrices."""
    del precision
    return gnp.matmul(lhs, rhs)


def _in_type(x: Any, dtype: Any) -> Any:
    return x if dtype is None else gnp.astype(x, dtype)


class Precision(Enum):
    """What `precision` may be; products have the precision of their types, whatever it is."""

    DEFAULT, HIGH, HIGHEST = range(3)


@giving_arrays
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Sums of products over pairs of axes, ((contracted, contracted), (batch, batch))."""
    del precision
    (left, right), (left_rows, right_rows) = dimension_numbers
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    of_left = [next(letters) for _ in gnp.shape(lhs)]
    of_right = [next(letters) for _ in gnp.shape(rhs)]
    for k, other in zip((*left, *left_rows), (*right, *right_rows), strict=True):
        of_right[other] = of_left[k]
    rows = [of_left[k] for k in left_rows]
    free = [x for k, x in enumerate(of_left) if k not in (*left, *left_rows)]
    free += [x for k, x in enumerate(of_right) if k not in (*right, *right_rows)]
    equation = f"{''.join(of_left)},{''.join(of_right)}->{''.join([*rows, *free])}"
    return _in_type(gnp.einsum(equation, lhs, rhs), preferred_element_type)


# Constants and shapes.


@giving_arrays
def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array of one value."""
    return gnp.full(tuple(shape), fill_value, dtype=dtype)


@giving_arrays
def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """An array of one value, with the dtype and the shape of another unless they are given."""
    return gnp.full(gnp.shape(x) if shape is None else shape, fill_value, dtype or x.dtype)


@giving_arrays
def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1."""
    return gnp.arange(size, dtype=dtype)


@giving_arrays
def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """The index along an axis, at all places."""
    return broadcast_in_dim(gnp.arange(shape[dimension], dtype=dtype), shape, (dimension,))


@giving_arrays
def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """The array repeated along new axes in front."""
    return gnp.broadcast_to(operand, (*sizes, *gnp.shape(operand)))


@giving_arrays
def broadcast_in_dim(
    operand: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Any:
    """The array in a larger shape, its axes at the given ones."""
    between = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, gnp.shape(operand), strict=True):
        between[axis] = size
    return gnp.broadcast_to(gnp.reshape(operand, between), tuple(shape))


@giving_arrays
def population_count(x: Any) -> Any:
    """The number of bits that are 1, in the dtype of x."""
    return gnp.astype(gnp.bitwise_count(x), gnp.result_type(x))


@giving_arrays
def sort_key_val(keys: Any, values: Any, dimension: int = -1) -> tuple[Any, Any]:
    """Keys in order along an axis, and values in the order of theirs."""
    places = gnp.argsort(keys, axis=dimension, stable=True)
    return tuple(gnp.take_along_axis(x, places, axis=dimension) for x in (keys, values))


@giving_arrays
def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The axes from one to another as one axis."""
    shape = gnp.shape(operand)
    first, last, _ = _slice(start_dimension, stop_dimension).indices(len(shape))
    return gnp.reshape(operand, (*shape[:first], prod(shape[first:last]), *shape[last:]))


@giving_arrays
def optimization_barrier(operand: Any) -> Any:
    """The operand; what is computed does not change by optimization."""
    return operand


__all__ = [
    "Precision", "argmax", "argmin", "batch_matmul", "broadcast", "broadcast_in_dim",
    "broadcasted_iota", "collapse", "concatenate", "convert_element_type", "cumlogsumexp",
    "cummax", "cummin", "cumprod", "cumsum", "dot", "dot_general", "dynamic_index_in_dim",
    "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim", "full", "full_like", "index_in_dim",
    "iota", "optimization_barrier", "population_count", "reduce_and", "reduce_max", "reduce_min",
    "reduce_or", "reduce_prod", "reduce_sum", "reshape", "rev", "select_n", "slice",
    "slice_in_dim", "sort",
    "sort_key_val", "split", "top_k",
]  # fmt: skip
