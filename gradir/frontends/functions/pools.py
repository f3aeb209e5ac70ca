"""nn: pools with the places of their maxima, their inverses, and pools of powers.

As PyTorch has them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.pools import AVG_POOL_OPS, MAX_POOL_LAYER_OPS
from gradir.dialects.spatial.pooling import MAX_POOL_OPS
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.distances import power
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.rearrangements import per_axis, several
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def _max_pool(dims: int) -> Callable[..., Any]:
    op = MAX_POOL_LAYER_OPS[dims]

    def max_pool(
        x: Any, kernel: Any, stride: Any = None, padding: Any = None, ceil_mode: Any = None,
        layout: Any = None, dilation: Any = None, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        settings = {
            "kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
            "layout": layout, "dilation": dilation,
        }  # fmt: skip

        y = apply(op, {"x": x, **settings})
        if not return_indices:
            return y
        places = apply(MAX_POOL_OPS[dims][0], {"x": x, "y": y, **settings})
        return y, gnp.astype(places, "int64")

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{dims}d"
    max_pool.__doc__ = (
        f"{op.__doc__}\n    return_indices: (y, where in x's spatial axes, as one row, each is); a "
        f"nan is at its last place.\n\n    The op is {op.name}.\n    "
    )
    return max_pool


def _max_unpool(name: str, dims: int, x: Any, indices: Any, kernel: Any, stride: Any,
                padding: Any, output_size: Any) -> Tracer:  # fmt: skip
    x, places = floating(x), lifted(indices)
    if x.ndim not in (dims + 1, dims + 2) or places.shape != x.shape:
        raise refusal(f"nn.{name}: x and indices must be [N, C, d...] or [C, d...], with {dims} "
                      f"spatial axes, got {x!r} and {places!r}")  # fmt: skip
    first = x.ndim - dims
    kernels = per_axis(kernel, dims, f"nn.{name}: kernel")
    strides = per_axis(kernel if stride is None else stride, dims, f"nn.{name}: stride")
    pads = per_axis(padding, dims, f"nn.{name}: padding")
    if output_size is None:
        output_size = [
            (n - 1) * s - 2 * p + k
            for n, k, s, p in zip(x.shape[first:], kernels, strides, pads, strict=True)
        ]
    if len(several(output_size, 1)) == x.ndim:
        output_size = several(output_size, 1)[first:]
    sizes = per_axis(output_size, dims, f"nn.{name}: output_size")
    if min(sizes) < 1:
        raise refusal(f"nn.{name}: the result must not be empty, got extents {sizes}")
    rows, count = prod(x.shape[:first]), prod(x.shape[first:])
    zeros = gnp.zeros((rows, prod(sizes)), dtype=x.dtype)
    places = gnp.reshape(places, (rows, count))
    put: Any = zeros.at[gnp.arange(rows)[:, None], places].set(gnp.reshape(x, (rows, count)))
    return gnp.reshape(put, (*x.shape[:first], *sizes))


def max_unpool1d(
    x: Any, indices: Any, kernel: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tracer:
    """Zeros with x [N, C, L] or [C, L] at the `indices` that max_pool1d returned.

    output_size: the spatial extents, or x's whole shape with these; without it (L - 1) * stride -
    2 * padding + kernel. Of several elements at one place the last stays. vjp: ct at the indices
    """
    return _max_unpool("max_unpool1d", 1, x, indices, kernel, stride, padding, output_size)


def max_unpool2d(
    x: Any, indices: Any, kernel: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tracer:
    """As max_unpool1d, of x [N, C, H, W] or [C, H, W] and max_pool2d."""
    return _max_unpool("max_unpool2d", 2, x, indices, kernel, stride, padding, output_size)


def max_unpool3d(
    x: Any, indices: Any, kernel: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tracer:
    """As max_unpool1d, of x [N, C, D, H, W] or [C, D, H, W] and max_pool3d."""
    return _max_unpool("max_unpool3d", 3, x, indices, kernel, stride, padding, output_size)


def _lp_pool(dims: int, x: Any, p: float, kernel: Any, stride: Any, ceil_mode: bool) -> Tracer:
    name = f"nn.lp_pool{dims}d"
    if not p > 0:
        raise refusal(f"{name}: p must be > 0, got {p!r}")
    kernels = per_axis(kernel, dims, f"{name}: kernel")
    settings = {"kernel": kernels, "stride": stride, "ceil_mode": ceil_mode or None}
    x = floating(x)
    powers = gnp.pow(wide(x), p)
    total: Any = apply(AVG_POOL_OPS[dims], {"x": powers, **settings})
    # a negative sum, of odd powers, has no root: 0, as in PyTorch
    made = power(gnp.where(total <= 0, 0, total * prod(kernels)), 1 / p)
    return converted(made, element(x))


def lp_pool1d(
    x: Any, p: float, kernel: Any, stride: Any = None, ceil_mode: bool = False
) -> Tracer:  # fmt: skip
    """(sum of x ** p) ** (1 / p) of each window of x [N, C, L]; 0, with derivative 0, of sums <= 0.

    With ceil_mode a window that reaches out of x has the mean of its elements in place of others.
    """
    return _lp_pool(1, x, p, kernel, stride, ceil_mode)


def lp_pool2d(
    x: Any, p: float, kernel: Any, stride: Any = None, ceil_mode: bool = False
) -> Tracer:  # fmt: skip
    """As lp_pool1d, of x [N, C, H, W]."""
    return _lp_pool(2, x, p, kernel, stride, ceil_mode)


def lp_pool3d(
    x: Any, p: float, kernel: Any, stride: Any = None, ceil_mode: bool = False
) -> Tracer:  # fmt: skip
    """As lp_pool1d, of x [N, C, D, H, W]."""
    return _lp_pool(3, x, p, kernel, stride, ceil_mode)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *map(_max_pool, (1, 2, 3)), max_unpool1d, max_unpool2d, max_unpool3d,
    lp_pool1d, lp_pool2d, lp_pool3d,
)  # fmt: skip
