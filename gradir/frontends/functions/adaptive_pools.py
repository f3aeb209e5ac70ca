"""nn: pools whose number of windows is given, as PyTorch has them.

Of an axis of extent n, window i of m is [floor(i * n / m), ceil((i + 1) * n / m)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.pools import AdaptiveAvgPool2dOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.rearrangements import per_axis, several
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted


def _sizes(name: str, x: Any, dims: int, size: Any) -> tuple[Any, list[int]]:
    x = floating(x)
    if x.ndim not in (dims + 1, dims + 2):
        raise refusal(f"nn.{name}: x must be [N, C, d...] or [C, d...] with {dims} spatial axes, "
                      f"got {x!r}")  # fmt: skip
    extents = x.shape[x.ndim - dims :]
    given = several(size, dims)
    if len(given) == dims:
        given = [n if s is None else s for n, s in zip(extents, given, strict=True)]
    sizes = per_axis(given, dims, f"nn.{name}: size")
    if 0 in extents or min(sizes) < 1:
        raise refusal(f"nn.{name}: extents must be >= 1, got {x!r} and size {size!r}")
    return x, sizes


def _windows(extent: int, count: int) -> tuple[Any, Any]:
    """The places of each window, [count, widest], and which of these are in it. Others repeat its
    last place."""
    at = np.arange(count)
    start, stop = at * extent // count, -((at + 1) * -extent // count)
    places = start[:, None] + np.arange(int((stop - start).max()))
    return np.minimum(places, stop[:, None] - 1), places < stop[:, None]


def adaptive_mean(x: Any, sizes: Sequence[int]) -> Any:
    """The means of the windows of the last axes, one axis after the other."""
    for d, count in enumerate(sizes, x.ndim - len(sizes)):
        before, n, after = x.shape[:d], x.shape[d], x.shape[d + 1 :]
        if n % count == 0:
            x = gnp.mean(gnp.reshape(x, (*before, count, n // count, *after)), axis=d + 1)
            continue
        places, inside = _windows(n, count)
        shares = inside / inside.sum(1, keepdims=True)
        shares = shares.reshape(*shares.shape, *[1] * len(after))
        x = gnp.sum(gnp.take(x, places, d) * gnp.astype(lifted(shares), x.dtype), axis=d + 1)
    return x


def adaptive_avg_pool1d(x: Any, size: Any) -> Tracer:
    """The means of `size` windows of x [N, C, L] or [C, L]."""
    return adaptive_mean(*_sizes("adaptive_avg_pool1d", x, 1, size))


def adaptive_avg_pool2d(x: Any, size: Any, layout: Any = None) -> Tracer:
    """The means of windows of x [N, C, H, W] or [C, H, W]; a None in `size` is x's extent.

    layout: "NHWC" has the channels last. The op is nn.adaptive_avg_pool2d.
    """
    x, given = floating(x), several(size, 2)
    if None in given and len(given) == 2:
        extents = x.shape[-3:-1] if layout == "NHWC" else x.shape[-2:]
        size = [n if s is None else s for n, s in zip(extents, given, strict=True)]
    return apply(AdaptiveAvgPool2dOp, {"x": x, "size": size, "layout": layout})


def adaptive_avg_pool3d(x: Any, size: Any) -> Tracer:
    """The means of windows of x [N, C, D, H, W] or [C, D, H, W]; a None in `size` is x's extent."""
    return adaptive_mean(*_sizes("adaptive_avg_pool3d", x, 3, size))


def _adaptive_max(name: str, x: Any, dims: int, size: Any, return_indices: bool) -> Any:
    x, sizes = _sizes(name, x, dims, size)
    extents = x.shape[x.ndim - dims :]
    numbers: Any = np.zeros((1,) * (2 * dims), np.int64)
    for d, (n, count) in enumerate(zip(extents, sizes, strict=True)):
        places, _ = _windows(n, count)
        shape = [1] * (2 * dims)
        shape[d], shape[dims + d] = places.shape
        numbers = numbers * n + places.reshape(shape)
    # which elements of the flat image each window has, in row-major order
    numbers = numbers.reshape(prod(sizes), -1)
    flat = gnp.reshape(x, (*x.shape[: x.ndim - dims], prod(extents)))
    best = gnp.argmax(gnp.take(flat, numbers, flat.ndim - 1), axis=-1)
    chosen = lifted(numbers)[np.arange(prod(sizes)), best]
    shape = (*x.shape[: x.ndim - dims], *sizes)
    y = gnp.reshape(gnp.take_along_axis(flat, chosen, -1), shape)
    return (y, gnp.reshape(chosen, shape)) if return_indices else y


def adaptive_max_pool1d(x: Any, size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of `size` windows of x [N, C, L] or [C, L].

    return_indices: (y, where in x's spatial axes, as one row, each is). vjp: ct to the first of the
    largest elements
    """
    return _adaptive_max("adaptive_max_pool1d", x, 1, size, return_indices)


def adaptive_max_pool2d(x: Any, size: Any, return_indices: bool = False) -> Any:
    """As adaptive_max_pool1d, of x [N, C, H, W] or [C, H, W]; a None in `size` is x's extent."""
    return _adaptive_max("adaptive_max_pool2d", x, 2, size, return_indices)


def adaptive_max_pool3d(x: Any, size: Any, return_indices: bool = False) -> Any:
    """As adaptive_max_pool2d, of x [N, C, D, H, W] or [C, D, H, W]."""
    return _adaptive_max("adaptive_max_pool3d", x, 3, size, return_indices)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d,
    adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d,
)  # fmt: skip
