"""Torch's functions of places, as functions of ours."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from opinfo_bind import Function, updated
from opinfo_shapes import key_of

import gradir
import gradir.numpy as gnp


def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    turned = gnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows = np.arange(src.shape[-1]) + max(-offset, 0)
    return gnp.moveaxis(
        updated(turned, (..., rows, rows + offset), "set", src), (-2, -1), (dim1, dim2)
    )


def grid(index: Any, dim: int) -> tuple[Any, ...]:
    """The key of x whose place `dim` is an index of x's rank, and the others its own places."""
    axes = [gnp.arange(n) for n in index.shape]
    key = [
        gnp.reshape(a, [-1 if d == k else 1 for d in range(index.ndim)]) for k, a in enumerate(axes)
    ]
    key[dim % index.ndim] = index
    return tuple(key)


def gather(x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    if not index.size:
        return gnp.zeros(index.shape, dtype=x.dtype) + 0 * gnp.sum(x)
    if not x.ndim:
        return gnp.reshape(gnp.take(gnp.reshape(x, (1,)), gnp.ravel(index)), index.shape)
    if not index.ndim:
        return gnp.reshape(gnp.take(x, gnp.reshape(index, (1,)), dim), ())
    return x[grid(index, dim)]


def scattered(kind: str | None) -> Function:
    """scatter and scatter_add, scatter_reduce without the mean."""

    def wrapper(
        x: Any,
        dim: int,
        index: Any,
        src: Any = None,
        reduce: Any = None,
        *,
        value: Any = None,
        include_self: bool = True,
    ) -> Any:
        method = (
            kind
            or {
                None: "set",
                "add": "add",
                "sum": "add",
                "multiply": "multiply",
                "prod": "multiply",
                "amax": "max",
                "amin": "min",
            }[reduce]
        )
        given = src if src is not None else value
        if not x.ndim:
            one = wrapper(
                gnp.reshape(x, (1,)),
                0,
                gnp.reshape(index, (-1,)),
                gnp.reshape(given, (-1,))
                if np.ndim(given) == 0 and hasattr(given, "shape")
                else given,
                reduce,
                include_self=include_self,
            )
            return gnp.reshape(one, ())
        if hasattr(given, "ndim") and given.ndim:
            given = given[tuple(slice(n) for n in index.shape)]
        key = grid(index, dim)
        if not include_self:
            start = {"add": 0.0, "multiply": 1.0, "max": -np.inf, "min": np.inf}[method]
            x = updated(x, key, "set", start)
        return updated(x, key, method, given)

    return wrapper


def scatter_mean(
    x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    if not x.ndim:
        x, index, src = (gnp.reshape(each, (1,)) for each in (x, index, src))
        return gnp.reshape(scatter_mean(x, 0, index, src, reduce, include_self=include_self), ())
    ones = gnp.ones(src.shape, dtype=x.dtype)
    counts = scattered("add")(gnp.zeros(x.shape, dtype=x.dtype), dim, index, ones)
    start = x if include_self else gnp.where(counts > 0, 0.0, x)
    total = scattered("add")(start, dim, index, src)
    return total / gnp.maximum(counts + (1 if include_self else 0), 1)


def index_key(x: Any, dim: int, index: Any) -> tuple[Any, ...]:
    return key_of(x, dim, gnp.reshape(index, (-1,)))


def indexed(method: str) -> Function:
    """index_copy, index_fill and index_add."""

    def wrapper(
        x: Any, dim: int, index: Any, source: Any = None, *, alpha: float = 1, value: Any = None
    ) -> Any:
        given = value if source is None else source
        given = given if alpha == 1 else alpha * given
        if not x.ndim:
            flat = wrapper(gnp.reshape(x, (1,)), 0, index, given)
            return gnp.reshape(flat, ())
        if method != "fill" and given.ndim != x.ndim:
            given = gnp.reshape(
                given, [1 if d == dim % x.ndim else n for d, n in enumerate(x.shape)]
            )
        return updated(x, index_key(x, dim, index), "set" if method == "fill" else method, given)

    return wrapper


def index_select(x: Any, dim: int, index: Any) -> Any:
    if not x.ndim:
        return gnp.take(gnp.reshape(x, (1,)), gnp.reshape(index, (-1,)))[0]
    return gnp.take(x, gnp.reshape(index, (-1,)), dim)


def index_reduce(
    x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    method = {"prod": "multiply", "amax": "max", "amin": "min"}[reduce]
    if not x.ndim:
        flat = index_reduce(
            gnp.reshape(x, (1,)),
            0,
            index,
            gnp.reshape(source, (1,)),
            reduce,
            include_self=include_self,
        )
        return gnp.reshape(flat, ())
    key = index_key(x, dim, index)
    if not include_self:
        x = updated(x, key, "set", {"multiply": 1.0, "max": -np.inf, "min": np.inf}[method])
    return updated(x, key, method, source)


def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    return updated(x, tuple(indices), "add" if accumulate else "set", values)


def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    places = gnp.ravel(index)
    flat = updated(gnp.ravel(x), places, "add" if accumulate else "set", gnp.ravel(source))
    return gnp.reshape(flat, x.shape)


def take(x: Any, index: Any) -> Any:
    return gnp.take(gnp.ravel(x), index)


def take_along(x: Any, indices: Any, dim: Any = None) -> Any:
    if dim is None or not x.ndim:
        return (
            gnp.take(gnp.ravel(x), gnp.ravel(indices))
            if dim is None
            else gnp.reshape(gnp.take(gnp.ravel(x), indices), indices.shape)
        )
    axis = dim % x.ndim
    others = [
        (n, m) for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis
    ]
    shape = [max(pair) if 0 not in pair else 0 for pair in others]
    of_x, of_indices = ([*shape[:axis], y.shape[axis], *shape[axis:]] for y in (x, indices))
    return gnp.take_along_axis(
        gnp.broadcast_to(x, of_x), gnp.broadcast_to(indices, of_indices), axis
    )


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    x, mask = gnp.broadcast_arrays(x, mask)
    places = gnp.maximum(gnp.cumsum(gnp.ravel(gnp.astype(mask, "int64"))) - 1, 0)
    return gnp.where(mask, gnp.reshape(gnp.take(gnp.ravel(source), places), x.shape), x)


def masked_select(x: Any, mask: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, mask.shape, (1,))
    return gnp.broadcast_to(x, shape)[np.broadcast_to(np.asarray(mask), shape)]


def repeat_interleave(x: Any, repeats: Any, dim: Any = None, output_size: Any = None) -> Any:
    counts = repeats if isinstance(repeats, int) else np.asarray(repeats)
    return gnp.repeat(x, counts, axis=dim if x.ndim else None)


def select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    return updated(x, key_of(x, dim, index), "set", src)


def slice_scatter(
    x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    return updated(x, key_of(x, dim, slice(start, end, step)), "set", src)


def searchsorted(
    a: Any,
    v: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    sorter: Any = None,
) -> Any:
    which = "right" if right or side == "right" else "left"
    if sorter is not None:
        a = gnp.take_along_axis(a, sorter, -1)
    if a.ndim > 1:
        rows = gnp.reshape(a, (prod(a.shape[:-1]), a.shape[-1]))
        wanted = gnp.reshape(v, (rows.shape[0], v.shape[-1]))
        found = gradir.vmap(lambda a, v: gnp.searchsorted(a, v, side=which))(rows, wanted)
        found = gnp.reshape(found, v.shape)
    else:
        found = gnp.searchsorted(a, v, side=which)
    return gnp.astype(found, "int32" if out_int32 else "int64")


PLACES: dict[str, Function | tuple[Function, Function]] = {
    "diagonal_scatter": diagonal_scatter,
    "gather": gather,
    "scatter": scattered(None),
    "scatter_add": scattered("add"),
    "scatter_reduce[sum]": scattered(None),
    "scatter_reduce[prod]": scattered(None),
    "scatter_reduce[amin]": scattered(None),
    "scatter_reduce[amax]": scattered(None),
    "index_select": index_select,
    "index_copy": indexed("set"),
    "index_fill": indexed("fill"),
    "index_add": indexed("add"),
    "index_reduce[prod]": index_reduce,
    "index_reduce[amin]": index_reduce,
    "index_reduce[amax]": index_reduce,
    "scatter_reduce[mean]": scatter_mean,
    "index_put": index_put,
    "put": put,
    "take": take,
    "take_along_dim": take_along,
    "__getitem__": lambda x, key: (
        x[
            tuple(key)
            if isinstance(key, list) and any(isinstance(k, slice | np.ndarray) for k in key)
            else key
        ]
        * 1
    ),
    "masked_fill": lambda x, mask, value: gnp.where(
        mask, gnp.astype(value, str(x.dtype)) if hasattr(value, "dtype") else value, x
    ),
    "masked_scatter": masked_scatter,
    "masked_select": masked_select,
    "repeat_interleave": repeat_interleave,
    "select_scatter": select_scatter,
    "slice_scatter": slice_scatter,
    "bucketize": lambda x, edges, **k: searchsorted(edges, x, **k),
    "searchsorted": searchsorted,
}
