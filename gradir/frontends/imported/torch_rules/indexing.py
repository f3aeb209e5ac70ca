"""PyTorch's ops that read and write elements at places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions import nn as layers
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.torch_rules.arguments import (
    AtenRules,
    Function,
    as_array,
    axis_of,
    is_whole,
)
from gradir.frontends.imported.torch_rules.shapes import bounds, key_of
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element, lifted
from gradir.frontends.tracing.values import constant_value_of, value_of

RULES = AtenRules()
nn: Any = layers
_INT64 = ELEMENTS["int64"]


def _updated(x: Any, key: Any, method: str, values: Any) -> Any:
    """x with some elements changed; bools as numbers."""
    if is_bool(element(x)):
        made = (
            gnp.astype(x, "uint8")
            .at[key]
            .set(converted(as_array(values, element(x)), ELEMENTS["uint8"]))
        )
        return op.not_equal(made, 0)
    return getattr(x.at[key], method)(as_array(values, element(x)))


# A key of tensors: integers, masks, and None for whole axes.


@RULES.aten("index", "_unsafe_index", note="masks of values that are not known are refused")
def _indexed(call: Any, x: Any, indices: Sequence[Any]) -> Any:
    return x[_key(call, indices)]


def _key(call: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else _place(call, i) for i in indices)


def _place(call: Any, index: Any) -> Any:
    if not is_bool(element(index)) and index.dtype.kind != "u":
        return converted(index, _INT64)
    known = value_of(index)
    if known is None:
        raise refusal(f"{call.op}: the shape of the result depends on a mask's values; torch.where "
                      "has a fixed shape")  # fmt: skip
    return np.asarray(known, bool)


@RULES.aten("index_put", "_unsafe_index_put", "_index_put_impl",
            note="of places named several times the last is kept")  # fmt: skip
def _index_put(
    call: Any, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False,
    unsafe: bool = False,
) -> Any:  # fmt: skip
    masks = [i for i in indices if i is not None]
    if len(masks) == 1 and is_bool(element(masks[0])) and constant_value_of(masks[0]) is None:
        return _masked_put(call, x, indices, masks[0], values, accumulate)
    return _updated(x, _key(call, indices), "add" if accumulate else "set", values)


def _masked_put(
    call: Any, x: Any, indices: Sequence[Any], mask: Any, values: Any, accumulate: bool
) -> Any:
    """One value for all elements under a mask."""
    first = next(k for k, i in enumerate(indices) if i is not None)
    rest = x.ndim - first - mask.ndim
    if values.ndim > rest or (values.ndim and values.shape[0] != 1 and values.ndim > rest):
        if values.size != 1:
            raise refusal(f"{call.op}: a value for each element under a mask is not there; "
                          "torch.where has a fixed shape")  # fmt: skip
        values = gnp.reshape(values, ())
    wide = gnp.reshape(mask, (*mask.shape, *[1] * rest))
    values = converted(values, element(x))
    return gnp.where(wide, op.add(x, values) if accumulate else values, x)


@RULES.aten("put")
def _put(call: Any, x: Any, index: Any = None, source: Any = None, accumulate: bool = False,
         other: Any = None, third: Any = None) -> Any:  # fmt: skip
    places, values = (index, source) if index is not None else (other, third)
    flat = _updated(
        gnp.ravel(x), gnp.ravel(places), "add" if accumulate else "set", gnp.ravel(values)
    )
    return gnp.reshape(flat, x.shape)


@RULES.aten("take")
def _taken(call: Any, x: Any, index: Any) -> Any:
    return gnp.take(gnp.ravel(x), index)


# Along an axis.


@RULES.aten("index_select")
def _rows(call: Any, x: Any, dim: int, index: Any) -> Any:
    if not x.ndim:
        return gnp.reshape(gnp.take(gnp.reshape(x, (1,)), gnp.reshape(index, (-1,))), ())
    return gnp.take(x, gnp.reshape(index, (-1,)), axis_of(x, dim))


def grid(index: Any, dim: int) -> tuple[Any, ...]:
    """The key of an array whose place `dim` is an index of its rank, the others its own places."""
    key: list[Any] = [
        gnp.reshape(gnp.arange(n), [-1 if d == k else 1 for d in range(index.ndim)])
        for k, n in enumerate(index.shape)
    ]
    key[dim % index.ndim] = converted(index, _INT64)
    return tuple(key)


@RULES.aten("gather")
def _gather(call: Any, x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    if not index.size:
        return spread(0, index.shape, element(x))
    if not x.ndim:
        return gnp.reshape(gnp.take(gnp.reshape(x, (1,)), gnp.ravel(index)), index.shape)
    if not index.ndim:
        return gnp.reshape(gnp.take(x, gnp.reshape(index, (1,)), axis_of(x, dim)), ())
    axis = axis_of(x, dim)
    same = all(
        a == b for d, (a, b) in enumerate(zip(x.shape, index.shape, strict=True)) if d != axis
    )
    if same:
        return gnp.take_along_axis(x, converted(index, _INT64), axis)
    return x[grid(index, dim)]


@RULES.aten("take_along_dim")
def _take_along(call: Any, x: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None or not x.ndim:
        return gnp.reshape(gnp.take(gnp.ravel(x), gnp.ravel(indices)), call.type.shape)
    axis = axis_of(x, dim)
    of_x, of_indices = list(call.type.shape), list(call.type.shape)
    of_x[axis], of_indices[axis] = x.shape[axis], indices.shape[axis]
    return gnp.take_along_axis(
        gnp.broadcast_to(x, of_x), gnp.broadcast_to(indices, of_indices), axis
    )


_METHODS = {
    None: "set", "add": "add", "sum": "add", "multiply": "multiply", "prod": "multiply",
    "amax": "max", "amin": "min",
}  # fmt: skip
_STARTS = {"add": 0, "multiply": 1}


def _start(x: Any, method: str) -> Any:
    """What changes nothing."""
    if method in _STARTS:
        return _STARTS[method]
    if is_whole(x):
        limits = np.iinfo(x.dtype)
        return limits.min if method == "max" else limits.max
    return -np.inf if method == "max" else np.inf


@RULES.aten("scatter", "scatter_add", "scatter_reduce",
            note="of elements of one place the last is kept")  # fmt: skip
def _scattered(
    call: Any, x: Any, dim: int, index: Any, src: Any = None, reduce: str | None = None,
    value: Any = None, include_self: bool = True,
) -> Any:  # fmt: skip
    given = src if src is not None else value
    if not index.size:
        return x
    if not x.ndim:
        flat = [gnp.reshape(as_array(y, k), (-1,)) for y, k in
                ((x, element(x)), (index, _INT64), (given, element(x)))]  # fmt: skip
        made = _scattered(call, flat[0], 0, flat[1], flat[2], reduce, None, include_self)
        return gnp.reshape(made, ())
    if not index.ndim:
        index = gnp.reshape(index, (1,))
        given = gnp.reshape(as_array(given, element(x)), (1,))
    given = as_array(given, element(x))
    if given.ndim:
        given = given[tuple(slice(n) for n in index.shape)]
    key = grid(index, dim)
    if reduce == "mean":
        return _scattered_mean(x, key, index, given, include_self)
    method = "add" if call.op == "scatter_add" else _METHODS[reduce]
    if not include_self:
        x = _updated(x, key, "set", _start(x, method))
    return _updated(x, key, method, given)


def _scattered_mean(x: Any, key: Any, index: Any, given: Any, include_self: bool) -> Any:
    ones = spread(1, index.shape, element(x))
    counts = _updated(spread(0, x.shape, element(x)), key, "add", ones)
    start = x if include_self else gnp.where(op.greater(counts, 0), converted(0, element(x)), x)
    total = _updated(start, key, "add", given)
    divisor = op.maximum(op.add(counts, 1 if include_self else 0), 1)
    return op.floor_divide(total, divisor) if is_whole(x) else op.divide(total, divisor)


def _indexed_rows(method: str) -> Function:
    """index_copy, index_fill and index_add."""

    def rule(
        call: Any, x: Any, dim: int, index: Any, source: Any = None, alpha: Any = 1,
        value: Any = None,
    ) -> Any:  # fmt: skip
        given = as_array(value if source is None else source, element(x))
        given = given if alpha == 1 else op.multiply(given, alpha)
        if not x.ndim:
            one = rule(call, gnp.reshape(x, (1,)), 0, index, gnp.reshape(given, (-1,)) if source
                       is not None else given)  # fmt: skip
            return gnp.reshape(one, ())
        if source is not None and given.ndim != x.ndim:
            given = gnp.reshape(
                given, [1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)]
            )
        key = key_of(x, dim, gnp.reshape(converted(index, _INT64), (-1,)))
        return _updated(x, key, method, given)

    return rule


RULES.aten("index_copy")(_indexed_rows("set"))
RULES.aten("index_fill")(_indexed_rows("set"))
RULES.aten("index_add")(_indexed_rows("add"))


@RULES.aten("index_reduce")
def _reduced_rows(
    call: Any, x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True
) -> Any:
    if reduce == "mean":
        raise refusal("index_reduce: of prod, amax and amin")
    if not x.ndim:
        x, index, source = (gnp.reshape(each, (1,)) for each in (x, index, source))
        made = _reduced_rows(call, x, 0, index, source, reduce, include_self)
        return gnp.reshape(made, ())
    method = _METHODS[reduce]
    key = key_of(x, dim, converted(index, _INT64))
    if not include_self:
        x = _updated(x, key, "set", _start(x, method))
    return _updated(x, key, method, source)


# Writing to parts.


@RULES.aten("select_scatter")
def _select_scatter(
    call: Any, x: Any, src: Any = None, dim: int = 0, index: int = 0, other: Any = None
) -> Any:
    part = src if other is None else other
    return _updated(x, key_of(x, dim, index), "set", part)


@RULES.aten("slice_scatter")
def _slice_scatter(
    call: Any, x: Any, src: Any = None, dim: int = 0, start: int | None = None,
    end: int | None = None, step: int = 1, other: Any = None,
) -> Any:  # fmt: skip
    part = src if other is None else other
    first, last = bounds(x.shape[dim], start, end)
    if (first, last, step) == (0, x.shape[dim], 1):
        return spread(part, x.shape, element(x))
    if first == last:
        return x
    return _updated(x, key_of(x, dim, slice(first, last, step)), "set", part)


@RULES.aten("diagonal_scatter")
def _diagonal_scatter(
    call: Any, x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    turned = gnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows = np.arange(src.shape[-1]) + max(-offset, 0)
    made = _updated(turned, (..., rows, rows + offset), "set", src)
    return gnp.moveaxis(made, (-2, -1), (dim1, dim2))


@RULES.aten("as_strided_scatter")
def _strided_scatter(
    call: Any, x: Any, src: Any, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:  # fmt: skip
    places = np.full(tuple(size), storage_offset or 0)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        places = places + (np.arange(n) * step).reshape(
            [-1 if d == axis else 1 for d in range(len(size))]
        )
    flat = _updated(gnp.ravel(x), places.reshape(-1), "set", gnp.ravel(src))
    return gnp.reshape(flat, x.shape)


@RULES.aten("masked_scatter")
def _masked_scatter(call: Any, x: Any, mask: Any, source: Any) -> Any:
    x, mask = gnp.broadcast_arrays(x, mask)
    places = op.maximum(gnp.cumsum(gnp.ravel(converted(mask, _INT64))) - 1, 0)
    return gnp.where(mask, gnp.reshape(gnp.take(gnp.ravel(source), places), x.shape), x)


# Tables.


@RULES.aten("embedding", note="the gradient is dense")
def _embedding(
    call: Any, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    if scale_grad_by_freq:
        raise refusal("embedding: scale_grad_by_freq is not there")
    return nn.embedding(weight, indices, padding_idx=None if padding_idx < 0 else padding_idx)


@RULES.aten("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only",
            note="its first result")  # fmt: skip
def _embedding_bag(
    call: Any, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False,
    mode: int = 0, sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    if scale_grad_by_freq:
        raise refusal("embedding_bag: scale_grad_by_freq is not there")
    made = nn.embedding_bag(
        weight, indices, offsets[:-1] if include_last_offset else offsets,
        mode=("sum", "mean", "max")[mode], weights=per_sample_weights,
        padding_idx=None if padding_idx is None or padding_idx < 0 else padding_idx,
    )  # fmt: skip
    return made, None, None, None


@RULES.aten("one_hot", note="of a known number of classes")
def _one_hot(call: Any, x: Any, num_classes: int = -1) -> Any:
    if num_classes < 0:
        raise refusal("one_hot: give the number of classes")
    return converted(nn.one_hot(x, num_classes), call.element)


@RULES.aten("isin")
def _is_in(
    call: Any, x: Any, test_elements: Any = None, assume_unique: bool = False, invert: bool = False,
    test_element: Any = None,
) -> Any:  # fmt: skip
    tested = test_elements if test_elements is not None else lifted(np.asarray(test_element))
    return gnp.isin(x, gnp.ravel(tested), invert=invert)
