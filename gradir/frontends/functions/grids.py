"""nn.grid_sample and nn.affine_grid: images read at computed places, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import floating, number, one_of
from gradir.frontends.functions.interpolation import cubic_weights
from gradir.frontends.functions.promotion import converted, result_element
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.default_precision import in_own_precision
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")
# Places beyond this, and nan, are outside of every image.
_FAR = 2.0**30


@in_own_precision
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Tracer:
    """The grid of grid_sample that affine maps make: [N, H, W, 2] of theta [N, 2, 3] and `size`
    [N, C, H, W], or [N, D, H, W, 3] of [N, 3, 4] and [N, C, D, H, W].
    """
    theta = floating(theta)
    extents = [number(n, "nn.affine_grid: size") for n in size][2:]
    dims = len(extents)
    if dims not in (2, 3) or theta.shape != (size[0], dims, dims + 1) or min(extents) < 1:
        raise refusal(
            "nn.affine_grid: theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with "
            f"[N, C, D, H, W], expected, got {theta!r} and {list(size)}"
        )
    lines = [_line(n, align_corners) for n in extents]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    base = np.stack([*mesh, np.ones(extents)], axis=-1).reshape(-1, dims + 1)
    grid = gnp.matmul(gnp.astype(lifted(base), theta.dtype), gnp.swapaxes(theta, 1, 2))
    return gnp.reshape(grid, (size[0], *extents, dims))


def _line(extent: int, align: bool) -> Any:
    if extent == 1:
        return np.zeros(1)
    return np.linspace(-1, 1, extent) * (1 if align else (extent - 1) / extent)


def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tracer:  # fmt: skip
    """x [N, C, H, W] at the places of grid [N, H', W', 2], (x, y) in [-1, 1]: [N, C, H', W'].

    Also x [N, C, D, H, W] and grid [N, D', H', W', 3], (x, y, z). mode: "bilinear" (of volumes
        trilinear), "nearest", or "bicubic" of images.
    padding_mode: outside of x are "zeros", its "border", or its "reflection".
    align_corners: -1 and 1 are the centers of the outermost elements; else they are their edges.
    vjp: ct times the weights added at the places, and to the grid by the slopes of the weights, 0
    beyond the border
    """
    x, grid = floating(x), floating(grid)
    one_of(mode, "nn.grid_sample: mode", _MODES)
    one_of(padding_mode, "nn.grid_sample: padding_mode", _PADDINGS)
    dims = x.ndim - 2
    fits = grid.ndim == x.ndim and (grid.shape[0], grid.shape[-1]) == (x.shape[0], dims)
    if dims not in (2, 3) or not fits or 0 in x.shape[2:] or (mode == "bicubic" and dims == 3):
        raise refusal(
            "nn.grid_sample: x [N, C, H, W] and grid [N, H', W', 2], or x [N, C, D, H, W] and grid "
            f"[N, D', H', W', 3] and no bicubic, expected, got {x!r} and {grid!r}"
        )
    kind = element(x) if mode == "nearest" else result_element([x, grid])[0]
    grid = wide(grid)
    axes: list[list[tuple[Any, Any]]] = []
    for d, n in enumerate(x.shape[2:]):
        at = grid[..., dims - 1 - d]
        at = (at + 1) / 2 * (n - 1) if align_corners else ((at + 1) * n - 1) / 2
        axes.append(_taps(at, n, mode, padding_mode, align_corners))
    return converted(_sampled(x, axes, padding_mode == "zeros"), kind)


def _taps(at: Any, n: int, mode: str, padding: str, align: bool) -> list[tuple[Any, Any]]:
    """The elements of an axis that are mixed, as floats, and their weights (None is 1)."""
    if mode != "bicubic":
        at = _inside(at, n, padding, align)
    if mode == "nearest":
        return [(gnp.round(at), None)]
    low = gnp.floor(at)
    share = at - low
    if mode == "bilinear":
        return [(low, 1 - share), (low + 1, share)]
    weights = cubic_weights(share)
    return [(_inside(low + k - 1, n, padding, align), w) for k, w in enumerate(weights)]


def _inside(at: Any, n: int, padding: str, align: bool) -> Any:
    """Places moved into the image, unless there are zeros outside."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        first, span = (0.0, n - 1.0) if align else (-0.5, float(n))
        if not span:
            return at * 0
        size = gnp.abs(at - first)
        flips = gnp.floor(size / span)
        extra = size - flips * span
        is_even = gnp.remainder(flips, 2) == 0
        at = gnp.where(is_even, extra + first, span - extra + first)
    # a nan is at the first element, as in PyTorch
    return gnp.where(at > 0, gnp.where(at >= n - 1, n - 1, at), 0)


def _sampled(x: Any, axes: Sequence[Sequence[tuple[Any, Any]]], has_outside: bool) -> Any:
    batch, channels, *extents = x.shape
    table = gnp.reshape(gnp.moveaxis(x, 1, -1), (batch * prod(extents), channels))
    first = gnp.reshape(np.arange(batch), (batch, *[1] * len(extents))) * prod(extents)
    total: Any = None
    for corner in product(*axes):
        row: Any = 0
        weight: Any = None
        is_in: Any = None
        for (at, share), n in zip(corner, extents, strict=True):
            here = gnp.where(gnp.abs(at) < _FAR, at, -1)
            place = gnp.astype(here, "int64")
            valid = (place >= 0) & (place < n)
            is_in = valid if is_in is None else is_in & valid
            row = row * n + gnp.clip(place, 0, n - 1)
            if share is not None:
                weight = share if weight is None else weight * share
        part = gnp.take(table, row + first, 0)
        if weight is not None:
            part = part * gnp.expand_dims(weight, -1)
        if has_outside:
            part = gnp.where(gnp.expand_dims(is_in, -1), part, 0)
        total = part if total is None else total + part
    return gnp.moveaxis(total, -1, 1)


FUNCTIONS: tuple[Callable[..., Any], ...] = (affine_grid, grid_sample)
