"""PyTorch's ops that move elements: views, joins, parts, pads. Views are new values here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.torch_rules.arguments import (
    AtenRules,
    Function,
    axis_of,
    typed,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element

RULES = AtenRules()


@RULES.aten("view", "reshape", "_unsafe_view", "flatten", "unflatten", "ravel", "squeeze",
            "unsqueeze", "view_as", "reshape_as", "_reshape_alias", "squeeze_copy", "view_copy",
            "unsqueeze_copy", "_reshape_copy", "atleast_1d", "atleast_2d", "atleast_3d",
            note="views are values")  # fmt: skip
def _reshaped(call: Any, x: Any, *_: Any, **__: Any) -> Any:
    if isinstance(x, (list, tuple)):
        raise refusal(f"{call.op}: of a list of tensors")
    if converted(x, call.element) is not x:
        raise refusal("view: the bits of elements as another dtype are not there")
    return gnp.reshape(x, call.type.shape)


@RULES.aten("expand", "expand_as", "broadcast_to", "expand_copy")
def _expanded(call: Any, x: Any, *_: Any, **__: Any) -> Any:
    return gnp.broadcast_to(x, call.type.shape)


@RULES.aten("broadcast_tensors")
def _broadcast(call: Any, tensors: Sequence[Any]) -> Any:
    return list(gnp.broadcast_arrays(*tensors))


@RULES.aten("permute", "permute_copy")
def _permuted(call: Any, x: Any, dims: Sequence[int]) -> Any:
    return gnp.permute_dims(x, [d % x.ndim for d in dims]) if x.ndim else x


def _swapped(x: Any, first: int, second: int) -> Any:
    if not x.ndim:
        return x
    order = list(range(x.ndim))
    a, b = first % x.ndim, second % x.ndim
    order[a], order[b] = b, a
    return gnp.permute_dims(x, order)


@RULES.aten("transpose", "transpose_copy", "swapaxes", "swapdims")
def _transposed(
    call: Any, x: Any, dim0: int = 0, dim1: int = 1, axis0: int | None = None,
    axis1: int | None = None,
) -> Any:  # fmt: skip
    return _swapped(x, dim0 if axis0 is None else axis0, dim1 if axis1 is None else axis1)


@RULES.aten("t", "t_copy", "numpy_T", "matrix_H", "mT", "mH", "adjoint")
def _turned(call: Any, x: Any) -> Any:
    if x.ndim < 2:
        return x
    is_matrix = call.op in ("matrix_H", "mT", "mH", "adjoint")
    return _swapped(x, -2, -1) if is_matrix else gnp.transpose(x)


@RULES.aten("movedim", "moveaxis")
def _moved(call: Any, x: Any, source: Any, destination: Any) -> Any:
    return gnp.moveaxis(x, source, destination)


# Parts.


def key_of(x: Any, dim: int, key: Any) -> tuple[Any, ...]:
    """A key of one axis."""
    return (*[slice(None)] * (dim % x.ndim), key)


@RULES.aten("select", "select_copy")
def _selected(call: Any, x: Any, dim: int, index: int) -> Any:
    return x[key_of(x, dim, index)]


def bounds(n: int, start: int | None, end: int | None) -> tuple[int, int]:
    """The ends of a slice as in PyTorch: negative ones count from the last, all are clamped."""
    first = 0 if start is None else start + n if start < 0 else start
    last = n if end is None else end + n if end < 0 else end
    first = min(max(first, 0), n)
    return first, min(max(last, first), n)


@RULES.aten("slice", "slice_copy")
def _sliced(
    call: Any, x: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    first, last = bounds(x.shape[dim], start, end)
    if (first, last, step) == (0, x.shape[dim], 1):
        return x
    return x[key_of(x, dim, slice(first, last, step))]


@RULES.aten("narrow", "narrow_copy")
def _narrowed(call: Any, x: Any, dim: int, start: int, length: int) -> Any:
    first = start + x.shape[dim] if start < 0 else start
    return x[key_of(x, dim, slice(first, first + length))]


def _in_parts(x: Any, dim: int, sizes: Sequence[int]) -> list[Any]:
    starts = np.cumsum([0, *sizes])
    return [
        x[key_of(x, dim, slice(int(a), int(a) + n))] for a, n in zip(starts, sizes, strict=False)
    ]


@RULES.aten("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def _split_sizes(call: Any, x: Any, split_sizes: Sequence[int], dim: int = 0) -> Any:
    return _in_parts(x, dim, split_sizes)


@RULES.aten("split", "split_copy", "unsafe_split")
def _split(call: Any, x: Any, split_size: Any = None, dim: int = 0, split_sizes: Any = None) -> Any:
    sizes = split_size if split_sizes is None else split_sizes
    return (
        _in_parts(x, dim, sizes)
        if isinstance(sizes, (list, tuple))
        else _equal_parts(x, dim, sizes)
    )


def _equal_parts(x: Any, dim: int, size: int) -> list[Any]:
    n = x.shape[dim]
    if size == 0:
        return [x]
    count = max(-(-n // size), 1)
    return _in_parts(x, dim, [min(size, n - k * size) for k in range(count)])


@RULES.aten("chunk", "unsafe_chunk")
def _chunks(call: Any, x: Any, chunks: int, dim: int = 0) -> Any:
    n = x.shape[dim]
    size = -(-n // chunks)
    return _equal_parts(x, dim, size) if size else [x] * chunks


@RULES.aten("tensor_split")
def _tensor_split(
    call: Any, x: Any, sections: Any = None, dim: int = 0, indices: Any = None,
    tensor_indices_or_sections: Any = None,
) -> Any:  # fmt: skip
    if tensor_indices_or_sections is not None:
        raise refusal("tensor_split: its places depend on values")
    given = sections if indices is None else list(indices)
    return list(gnp.array_split(x, given, axis=axis_of(x, dim)))


@RULES.aten("hsplit", "vsplit", "dsplit")
def _split_axis(call: Any, x: Any, sections: Any = None, indices: Any = None) -> Any:
    axis = {"hsplit": 1 if x.ndim > 1 else 0, "vsplit": 0, "dsplit": 2}[call.op]
    return list(gnp.array_split(x, sections if indices is None else list(indices), axis=axis))


@RULES.aten("unbind", "unbind_copy")
def _unbound(call: Any, x: Any, dim: int = 0) -> Any:
    return list(gnp.unstack(x, axis=dim))


@RULES.aten("diagonal", "diagonal_copy", "linalg_diagonal")
def _diagonal(
    call: Any, x: Any, offset: int = 0, dim1: int | None = None, dim2: int | None = None
) -> Any:
    first, second = (-2, -1) if call.op == "linalg_diagonal" else (0, 1)
    return gnp.diagonal(
        x, offset, first if dim1 is None else dim1, second if dim2 is None else dim2
    )


@RULES.aten("diag")
def _diag(call: Any, x: Any, diagonal: int = 0) -> Any:
    return gnp.diag(x, diagonal)


@RULES.aten("diag_embed")
def _diag_embed(call: Any, x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    n = x.shape[-1]
    rows = np.arange(n) + max(-offset, 0)
    made = spread(0, (*x.shape[:-1], n + abs(offset), n + abs(offset)), element(x))
    made = made.at[..., rows, rows + offset].set(x)
    return gnp.moveaxis(made, (-2, -1), (dim1, dim2))


@RULES.aten("unfold", "unfold_copy")
def _windows(call: Any, x: Any, dimension: int, size: int, step: int) -> Any:
    if not x.ndim:
        return gnp.reshape(x, (1,))[:size]
    count = (x.shape[dimension] - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    axis = axis_of(x, dimension)
    return gnp.moveaxis(gnp.take(x, places, axis), axis + 1, -1)


@RULES.aten("as_strided", "as_strided_copy", note="of tensors whose elements lie in order")
def _strided(
    call: Any, x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    places = np.full(tuple(size), storage_offset or 0)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        line = [1] * len(size)
        line[axis] = n
        places = places + (np.arange(n) * step).reshape(line)
    if places.size and places.max() >= x.size:
        raise refusal("as_strided: it reads behind the elements of the tensor")
    return gnp.take(gnp.ravel(x), places)


# Joins.


@RULES.aten("cat", "concat", "concatenate")
def _joined(call: Any, tensors: Sequence[Any], dim: int = 0) -> Any:
    rank = len(call.type.shape)
    kept = [x for x in tensors if x.shape != (0,) or rank == 1]  # as in old programs
    kept = typed(call, *kept)
    if not kept:
        return spread(0, call.type.shape, call.element)
    return kept[0] if len(kept) == 1 else op.concat(kept, axis=dim % rank)


@RULES.aten("stack")
def _stacked(call: Any, tensors: Sequence[Any], dim: int = 0) -> Any:
    return op.stack(typed(call, *tensors), axis=dim % len(call.type.shape))


@RULES.aten("hstack", "vstack", "dstack", "column_stack", "row_stack")
def _stacked_axis(call: Any, tensors: Sequence[Any]) -> Any:
    name = "vstack" if call.op == "row_stack" else call.op
    return getattr(gnp, name)(typed(call, *tensors))


@RULES.aten("block_diag")
def _block_diagonal(call: Any, tensors: Sequence[Any]) -> Any:
    blocks = [x if x.ndim == 2 else gnp.reshape(x, (1, -1)) for x in typed(call, *tensors)]
    made = spread(0, call.type.shape, call.element)
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        if block.size:
            made = made.at[row : row + rows, column : column + columns].set(block)
        row, column = row + rows, column + columns
    return made


# Repeats, orders.


@RULES.aten("repeat", "tile")
def _repeated(call: Any, x: Any, repeats: Any = None, dims: Any = None) -> Any:
    counts = list(repeats if dims is None else dims)
    return gnp.tile(x, counts)


@RULES.aten("repeat_interleave", note="by numbers that are known")
def _interleaved(
    call: Any, x: Any, repeats: Any = None, dim: int | None = None, output_size: Any = None
) -> Any:
    if not isinstance(repeats, int):
        raise refusal("repeat_interleave: counts that are tensors are not there")
    return gnp.repeat(x, repeats, axis=dim if x.ndim else None)


@RULES.aten("flip", "fliplr", "flipud")
def _flipped(call: Any, x: Any, dims: Any = None) -> Any:
    named = {"fliplr": [1], "flipud": [0]}.get(call.op, dims)
    return op.flip(x, axis=[d % x.ndim for d in cast(Any, named)]) if x.ndim and named else x


@RULES.aten("roll")
def _rolled(call: Any, x: Any, shifts: Any, dims: Any = ()) -> Any:
    if not x.size or not x.ndim:
        return x
    if not dims:
        return gnp.roll(x, shifts[0] if isinstance(shifts, (list, tuple)) else shifts)
    return gnp.roll(x, list(shifts), axis=tuple(dims))


@RULES.aten("rot90")
def _rotated(call: Any, x: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    return gnp.rot90(x, k, tuple(dims))


def _triangle(function: Function) -> Function:
    return lambda call, x, diagonal=0: _of_numbers(lambda y: function(y, diagonal), x)


def _of_numbers(function: Function, x: Any) -> Any:
    """A function of numbers on bools as well."""
    if is_bool(element(x)):
        return op.not_equal(function(gnp.astype(x, "uint8")), 0)
    return function(x)


RULES.aten("tril")(_triangle(gnp.tril))
RULES.aten("triu")(_triangle(gnp.triu))


@RULES.aten("sum_to_size")
def _summed(call: Any, x: Any, size: Sequence[int]) -> Any:
    first = x.ndim - len(size)
    axes = [*range(first), *(first + k for k, n in enumerate(size) if n == 1 != x.shape[first + k])]
    return gnp.reshape(gnp.sum(x, axis=tuple(axes)) if axes else x, list(size))


@RULES.aten("meshgrid")
def _meshes(call: Any, tensors: Sequence[Any], indexing: str = "ij") -> Any:
    return list(gnp.meshgrid(*tensors, indexing=indexing))


# Pads.


@RULES.aten("constant_pad_nd")
def _padded(call: Any, x: Any, pad: Sequence[int], value: Any = 0) -> Any:
    return pad_constant(x, pad, value)


def pad_constant(x: Any, pad: Sequence[int], value: Any) -> Any:
    """x with numbers beside its last axes, pairs of counts from the last one; negative ones cut."""
    low, high = [0] * x.ndim, [0] * x.ndim
    for k in range(len(pad) // 2):
        low[-1 - k], high[-1 - k] = pad[2 * k], pad[2 * k + 1]
    key = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, x.shape, strict=True)
    )
    if any(n < 0 for n in (*low, *high)):
        x = x[key]
    low, high = ([max(n, 0) for n in side] for side in (low, high))
    if not any((*low, *high)):
        return x
    number = bool(value) if is_bool(element(x)) else value
    if is_bool(element(x)):
        made = op.pad(gnp.astype(x, "uint8"), low=low, high=high, value=int(number))
        return op.not_equal(made, 0)
    return op.pad(x, low=low, high=high, value=number)


@RULES.aten("pad")
def _padded_by(
    call: Any, x: Any, pad: Sequence[int], mode: str = "constant", value: Any = None
) -> Any:
    if mode == "constant":
        return pad_constant(x, pad, 0 if value is None else value)
    return nn.pad(x, list(pad), mode=mode)


def _padded_as(mode: str) -> Function:
    return lambda call, x, padding: nn.pad(x, list(padding), mode=mode)


for _rank in (1, 2, 3):
    RULES.aten(f"reflection_pad{_rank}d")(_padded_as("reflect"))
    RULES.aten(f"replication_pad{_rank}d")(_padded_as("replicate"))


@RULES.aten("_pad_circular")
def _padded_circular(call: Any, x: Any, pad: Sequence[int]) -> Any:
    return nn.pad(x, list(pad), mode="circular")


@RULES.aten("pixel_shuffle")
def _pixel_shuffle(call: Any, x: Any, upscale_factor: int) -> Any:
    return nn.pixel_shuffle(x, upscale_factor)


@RULES.aten("pixel_unshuffle")
def _pixel_unshuffle(call: Any, x: Any, downscale_factor: int) -> Any:
    return nn.pixel_unshuffle(x, downscale_factor)


@RULES.aten("channel_shuffle", "native_channel_shuffle")
def _channel_shuffle(call: Any, x: Any, groups: int) -> Any:
    return nn.channel_shuffle(x, groups)


@RULES.aten("trace")
def _trace(call: Any, x: Any) -> Any:
    return converted(gnp.trace(x), call.element)


@RULES.aten("trapezoid", "trapz")
def _trapezoid(call: Any, y: Any, x: Any = None, dx: Any = 1, dim: int = -1) -> Any:
    return gnp.trapezoid(y, x, dx, axis_of(y, dim))


@RULES.aten("diff")
def _differences(
    call: Any, x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    return gnp.diff(x, n=n, axis=axis_of(x, dim), prepend=prepend, append=append)
