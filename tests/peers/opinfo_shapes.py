"""Torch's functions of shapes, as functions of ours."""

from __future__ import annotations

from itertools import combinations as pairs_of
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np
from opinfo_bind import Function, listed, torch, updated

import gradir.numpy as gnp
from gradir import nn


def reshape(x: Any, *shape: Any) -> Any:
    return gnp.reshape(x, [int(n) for n in listed(shape)])


def permute(x: Any, *dims: Any) -> Any:
    return gnp.transpose(x, listed(dims)) if x.ndim else x * 1


def expand(x: Any, *shape: Any) -> Any:
    sizes = listed(shape)
    first = len(sizes) - x.ndim
    wanted = [x.shape[k - first] if n == -1 else n for k, n in enumerate(sizes)]
    return gnp.broadcast_to(x, wanted)


def sum_to_size(x: Any, *shape: Any) -> Any:
    sizes = listed(shape)
    first = x.ndim - len(sizes)
    axes = [
        *range(first),
        *(first + k for k, n in enumerate(sizes) if n == 1 != x.shape[first + k]),
    ]
    return gnp.reshape(gnp.sum(x, axis=tuple(axes)), sizes)


def key_of(x: Any, dim: int, key: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % x.ndim), key)


def narrow(x: Any, dim: int, start: Any, length: int) -> Any:
    first = int(start)
    first += x.shape[dim] if first < 0 else 0
    return x[key_of(x, dim, slice(first, first + length))]


def sliced(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[key_of(x, dim, slice(start, end, step))] * 1


def unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    if not x.ndim:
        return gnp.reshape(x, (1,))[:size]
    count = (x.shape[dimension] - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    windows = gnp.take(x, places, dimension)
    return gnp.moveaxis(windows, dimension % x.ndim + 1, -1)


def strided(x: Any, size: Any, stride: Any, storage_offset: int = 0) -> Any:
    places = np.full(tuple(size), storage_offset)
    for axis, (n, step) in enumerate(zip(size, stride, strict=True)):
        line = [1] * len(size)
        line[axis] = n
        places = places + (np.arange(n) * step).reshape(line)
    return gnp.take(gnp.ravel(x), places)


def split(x: Any, sizes: Any, dim: int = 0) -> Any:
    n = x.shape[dim]
    if isinstance(sizes, int):
        places = list(range(sizes, n, sizes)) if sizes else []
    else:
        places = list(np.cumsum(sizes[:-1]))
    return gnp.split(x, places, axis=dim)


def chunk(x: Any, chunks: int, dim: int = 0) -> Any:
    return split(x, max(-(-x.shape[dim] // chunks), 1), dim)


def tensor_split(x: Any, given: Any, dim: int = 0) -> Any:
    known = (
        given
        if isinstance(given, int)
        else [int(n) for n in given]
        if np.ndim(given)
        else int(given)
    )
    return gnp.array_split(x, known, axis=dim)


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if not x.ndim:
        return gnp.reshape(x, (1,))
    first, last = start_dim % x.ndim, end_dim % x.ndim
    shape = [*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :]]
    return gnp.reshape(x, shape)


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    axis = dim % x.ndim
    known = prod(n for n in sizes if n != -1)
    split_ = [x.shape[axis] // known if n == -1 else n for n in sizes]
    return gnp.reshape(x, [*x.shape[:axis], *split_, *x.shape[axis + 1 :]])


def squeeze(x: Any, dim: Any = None) -> Any:
    if dim is None:
        return gnp.squeeze(x)
    axes = [d % max(x.ndim, 1) for d in ([dim] if isinstance(dim, int) else dim)]
    return gnp.squeeze(x, tuple(d for d in axes if d < x.ndim and x.shape[d] == 1))


def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    n = x.shape[-1]
    rows = np.arange(n) + max(-offset, 0)
    made = gnp.zeros((*x.shape[:-1], n + abs(offset), n + abs(offset)), dtype=x.dtype)
    return gnp.moveaxis(updated(made, (..., rows, rows + offset), "set", x), (-2, -1), (dim1, dim2))


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return gnp.diagonal(x, offset, dim1, dim2)


def broadcasting(function: Function) -> Function:
    """Of arrays one by one, or in one list."""
    return lambda *xs, **k: function(
        list(xs[0]) if isinstance(xs[0], (list, tuple)) else list(xs), **k
    )


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Any:
    pick = combinations_with_replacement if with_replacement else pairs_of
    places = np.array(list(pick(range(x.shape[0]), r)), np.int64).reshape(-1, r)
    return gnp.take(x, places[:, 0] if r == 1 else places) if r != 1 else gnp.take(x, places)


def cartesian(*xs: Any) -> Any:
    if len(xs) == 1:
        return xs[0] * 1
    places = np.array(list(product(*(range(x.shape[0]) for x in xs))), np.int64).reshape(
        -1, len(xs)
    )
    return gnp.stack([gnp.take(x, places[:, k]) for k, x in enumerate(xs)], axis=1)


def roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    return gnp.roll(
        x, shifts, axis=dims if dims is None or isinstance(dims, int) else tuple(dims) or None
    )


def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    return gnp.diff(x, n=n, axis=dim, prepend=prepend, append=append)


def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    return gnp.trapezoid(y, x, dx, dim)


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    n = y.shape[dim]
    both = narrow(y, dim, 0, n - 1) + narrow(y, dim, 1, n - 1)
    width: Any = dx
    if x is not None:
        width = gnp.diff(x, axis=dim if x.ndim > 1 else -1)
        if x.ndim == 1:
            width = gnp.reshape(width, [-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
    return gnp.cumsum(both * width / 2, axis=dim)


def gradient(x: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    axes = None if dim is None else dim if isinstance(dim, int) else tuple(dim)
    spaces: list[Any] = []
    if spacing is not None:
        spaces = [spacing] if isinstance(spacing, int | float) else list(spacing)
    found = gnp.gradient(x, *spaces, axis=axes, edge_order=edge_order)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    return gnp.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def torch_cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    # in float64: the samples' weights are float32, and torch computes in that
    weights = None if aweights is None else aweights.double()
    return torch.cov(x, correction=correction, fweights=fweights, aweights=weights)


def renorm(x: Any, p: float, dim: int, maxnorm: float) -> Any:
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    size: Any = gnp.linalg.vector_norm(x, ord=p, axis=others, keepdims=True)
    return gnp.where(size > maxnorm, x * (maxnorm / (size + 1e-7)), x)


def shifted(x: Any, dim: Any, more: int) -> Any:
    axes = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return gnp.roll(
        x,
        [(x.shape[d] + more) // 2 if not more else -(x.shape[d] // 2) for d in axes],
        axis=tuple(axes),
    )


def _block_diag(*xs: Any) -> Any:
    from gradir.scipy import linalg

    return linalg.block_diag(*xs)


def _pad(x: Any, pad: Any, value: Any) -> Any:

    return nn.pad(x, pad, value=value)


SAME = """
    fliplr flipud rot90 tril triu trace ravel hstack vstack dstack column_stack tile
    atleast_1d atleast_2d atleast_3d hsplit vsplit dsplit meshgrid broadcast_to
""".split()


SHAPES: dict[str, Function | tuple[Function, Function]] = {
    **{
        name: getattr(gnp, name)
        for name in SAME
        if name
        not in (
            "atleast_1d",
            "atleast_2d",
            "atleast_3d",
            "meshgrid",
            "hstack",
            "vstack",
            "dstack",
            "column_stack",
            "hsplit",
            "vsplit",
            "dsplit",
            "broadcast_to",
            "tile",
        )
    },
    **{
        name: broadcasting(getattr(gnp, name))
        for name in ("hstack", "vstack", "dstack", "column_stack")
    },
    **{
        name: (lambda f: lambda *xs: f(*(xs[0] if isinstance(xs[0], (list, tuple)) else xs)))(
            getattr(gnp, name)
        )
        for name in ("atleast_1d", "atleast_2d", "atleast_3d")
    },
    **{
        name: (lambda f: lambda x, n: f(x, n if isinstance(n, int) else list(n)))(
            getattr(gnp, name)
        )
        for name in ("hsplit", "vsplit", "dsplit")
    },
    "where": lambda x, condition, y: gnp.where(condition, x, y),
    "meshgrid": lambda *xs, indexing="ij": gnp.meshgrid(
        *(xs[0] if isinstance(xs[0], (list, tuple)) else xs), indexing=indexing
    ),
    "broadcast_to": lambda x, shape: gnp.broadcast_to(x, tuple(shape)),
    "broadcast_tensors": lambda *xs: gnp.broadcast_arrays(*xs),
    "tile": lambda x, *reps: gnp.tile(x, listed(reps)),
    "repeat": lambda x, *reps: gnp.tile(x, listed(reps)),
    "stack": lambda xs, dim=0: gnp.stack(list(xs), axis=dim),
    "cat": lambda xs, dim=0: gnp.concatenate(
        [x for x in xs if x.shape != (0,)] or list(xs), axis=dim
    ),
    "block_diag": lambda *xs: _block_diag(*xs),
    "combinations": combinations,
    "cartesian_prod": cartesian,
    "flip": lambda x, dims: gnp.flip(x, tuple(dims)) if dims else x * 1,
    "roll": roll,
    "diff": diff,
    "trapezoid": trapezoid,
    "trapz": trapezoid,
    "cumulative_trapezoid": cumulative_trapezoid,
    "gradient": gradient,
    "cov": (cov, torch_cov),
    "corrcoef": gnp.corrcoef,
    "reshape": reshape,
    "view": reshape,
    "view_copy": reshape,
    "reshape_as": lambda x, y: gnp.reshape(x, y.shape),
    "view_as": lambda x, y: gnp.reshape(x, y.shape),
    "permute": permute,
    "permute_copy": permute,
    "expand": expand,
    "expand_copy": expand,
    "expand_as": lambda x, y: gnp.broadcast_to(x, y.shape),
    "sum_to_size": sum_to_size,
    "narrow": narrow,
    "narrow_copy": narrow,
    "slice": sliced,
    "unfold": unfold,
    "unfold_copy": unfold,
    "as_strided": strided,
    "as_strided_copy": strided,
    "select": lambda x, dim, index: x[key_of(x, dim, index)] * 1,
    "split": split,
    "split_with_sizes": split,
    "split_with_sizes_copy": split,
    "unsafe_split": split,
    "chunk": chunk,
    "unsafe_chunk": chunk,
    "tensor_split": tensor_split,
    "unbind": lambda x, dim=0: gnp.unstack(x, axis=dim),
    "unbind_copy": lambda x, dim=0: gnp.unstack(x, axis=dim),
    "flatten": flatten,
    "unflatten": unflatten,
    "squeeze": squeeze,
    "squeeze_copy": squeeze,
    "unsqueeze": lambda x, dim: gnp.expand_dims(x, dim),
    "unsqueeze_copy": lambda x, dim: gnp.expand_dims(x, dim),
    "movedim": lambda x, a, b: gnp.moveaxis(x, a, b),
    "transpose": lambda x, a, b: gnp.swapaxes(x, a, b) if x.ndim else x * 1,
    "transpose_copy": lambda x, a, b: gnp.swapaxes(x, a, b) if x.ndim else x * 1,
    "t": lambda x: gnp.transpose(x) * 1,
    "t_copy": lambda x: gnp.transpose(x) * 1,
    "T": lambda x: gnp.transpose(x) * 1,
    "H": lambda x: gnp.conj(gnp.transpose(x)) * 1,
    "mT": lambda x: gnp.matrix_transpose(x),
    "mH": lambda x: gnp.conj(gnp.matrix_transpose(x)),
    "diagflat": lambda x, offset=0: gnp.diagflat(x, offset),
    "diag": lambda x, diagonal=0: gnp.diag(x, diagonal) * 1,
    "diag_embed": diag_embed,
    "diagonal": diagonal,
    "diagonal_copy": diagonal,
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: gnp.diagonal(x, offset, dim1, dim2),
    "constant_pad_nd": lambda x, pad, value=0: _pad(x, pad, value),
    "renorm": renorm,
    "fft.fftshift": lambda x, dim=None: shifted(x, dim, 0),
    "fft.ifftshift": lambda x, dim=None: shifted(x, dim, 1),
}
