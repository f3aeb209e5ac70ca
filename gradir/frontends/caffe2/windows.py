"""Operator types with windows over images: convolutions and pools."""

from __future__ import annotations

from typing import Any, cast

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.table import operator_type

SIDES = ("pad_t", "pad_l", "pad_b", "pad_r")
POOL = (
    *("kernel", "kernels", "kernel_h", "kernel_w", "stride", "strides", "stride_h", "stride_w"),
    *("pad", "pads", *SIDES),
)
CONVOLUTION = (*POOL, "dilation", "dilations", "dilation_h", "dilation_w")
"""The arguments that say where windows lie."""


def layout_named(order: str) -> str:
    """The layout of images; ArgumentError for another word."""
    if order not in ("NCHW", "NHWC"):
        raise ArgumentError(f'order: expected "NCHW" or "NHWC", got {order!r}')
    return order


def _extents(window: dict[str, Any], what: str, default: int) -> list[int]:
    """Numbers for both axes of an image, given as one, as two, or as a list."""
    listed = cast("tuple[int, ...]", window.get(f"{what}s", ()))
    h, w = window.get(f"{what}_h"), window.get(f"{what}_w")
    if listed:
        found = [*listed] if len(listed) > 1 else [*listed] * 2
    elif h is not None or w is not None:
        found = [w if h is None else h, h if w is None else w]
    else:
        found = [window.get(what, default)] * 2
    if len(found) != 2 or any(not isinstance(n, int) or n < 0 for n in found):
        raise ArgumentError(f"{what}: expected numbers for two axes, got {found}")
    return cast("list[int]", found)


def _padding(window: dict[str, Any]) -> list[int]:
    """Top, left, bottom, right."""
    listed = cast("tuple[int, ...]", window.get("pads", ()))
    if listed:
        if len(listed) not in (1, 4):
            raise ArgumentError(f"pads: expected 4 numbers, got {list(listed)}")
        return [*listed] * (4 // len(listed))
    return [window.get(side, window.get("pad", 0)) for side in SIDES]


def _image(shape: tuple[int, ...], layout: str) -> list[int]:
    """Height and width, of images or of a filter."""
    if len(shape) != 4:
        raise ArgumentError(f"expected an array of rank 4, got one of shape {list(shape)}")
    return list(shape[2:] if layout == "NCHW" else shape[1:3])


@operator_type("Conv", inputs=(2, 3), reads=("in0", "in1"), arguments=CONVOLUTION)
def conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    group: int = 1,
    order: str = "NCHW",
    no_bias: int = 0,
    **window: Any,
) -> Any:
    """Convolution of images; w [M, C / group, kh, kw], or [M, kh, kw, C / group] in NHWC."""
    layout = layout_named(order)
    extents = _image(w.shape, layout)
    if any(name.startswith("kernel") for name in window):
        wanted = _extents(window, "kernel", 0)
        if wanted != extents:
            raise ArgumentError(f"kernel: the filter has {extents}, the arguments say {wanted}")
    return nn.conv2d(
        x,
        w if layout == "NCHW" else gnp.transpose(w, (1, 2, 3, 0)),
        b,
        layout=layout,
        groups=group,
        stride=_extents(window, "stride", 1),
        padding=_padding(window),
        dilation=_extents(window, "dilation", 1),
    )


def _pool(x: Any, is_global: int, order: str, window: dict[str, Any]) -> dict[str, Any]:
    """The arguments of gradir's pools."""
    layout = layout_named(order)
    if is_global:
        return {"kernel": _image(x.shape, layout), "stride": 1, "layout": layout}
    kernel = _extents(window, "kernel", 0)
    if 0 in kernel:
        raise ArgumentError("kernel: expected the extents of a window")
    stride = _extents(window, "stride", 1)
    return {"kernel": kernel, "stride": stride, "padding": _padding(window), "layout": layout}


@operator_type("MaxPool", inputs=1, reads=("in0", "out0"), arguments=POOL)
def max_pool(x: Any, *, order: str = "NCHW", global_pooling: int = 0, **window: Any) -> Any:
    """The largest element of each window."""
    return nn.max_pool2d(x, **_pool(x, global_pooling, order, window))


@operator_type("AveragePool", inputs=1, reads=NOTHING, arguments=POOL)
def average_pool(
    x: Any,
    *,
    order: str = "NCHW",
    global_pooling: int = 0,
    count_include_pad: int = 0,
    **window: Any,
) -> Any:
    """The mean of each window; padding is left out unless `count_include_pad`."""
    pool = _pool(x, global_pooling, order, window)
    return nn.avg_pool2d(x, count_include_pad=bool(count_include_pad), **pool)
