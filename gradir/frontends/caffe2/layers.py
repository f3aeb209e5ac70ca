"""Operator types with weights, windows or state: products, convolutions, pools, normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.shapes import as_matrix
from gradir.frontends.caffe2.table import operator_type


@operator_type("FC", inputs=(2, 3), reads=("in0", "in1"))
def fully_connected(x: Any, w: Any, b: Any = None, *, axis: int = 1, axis_w: int = 1) -> Any:
    """x w^T + b, with x and w as matrices whose rows are the axes before `axis` and `axis_w`."""
    rows, weights = as_matrix(x, axis), as_matrix(w, axis_w)
    if rows.shape[1] != weights.shape[1]:
        raise ArgumentError(
            f"a row of x has {rows.shape[1]} elements, a row of w {weights.shape[1]}"
        )
    y = nn.linear(rows, weights, None if b is None else gnp.reshape(b, [b.size]))
    return gnp.reshape(y, [*x.shape[: axis if axis >= 0 else x.ndim + axis], weights.shape[0]])


@operator_type("MatMul", inputs=2)
def matmul(
    x: Any, y: Any, *, trans_a: int = 0, trans_b: int = 0, axis_a: int = 1, axis_b: int = 1
) -> Any:
    """The product of two matrices, transposed or not."""
    left, right = as_matrix(x, axis_a), as_matrix(y, axis_b)
    return gnp.matmul(left.T if trans_a else left, right.T if trans_b else right)


@operator_type("BatchMatMul", inputs=2)
def batch_matmul(x: Any, y: Any, *, trans_a: int = 0, trans_b: int = 0, broadcast: int = 0) -> Any:
    """Products of the matrices in the last two axes; the other axes are equal, or broadcast."""
    if not broadcast and x.shape[:-2] != y.shape[:-2]:
        raise ArgumentError(
            f"axes before the last two must be equal, got {list(x.shape)} and {list(y.shape)}; "
            "broadcast=1 broadcasts"
        )
    return gnp.matmul(x.mT if trans_a else x, y.mT if trans_b else y)


# Windows.


def _pair(what: str, one: Any, h: Any, w: Any, several: Sequence[int], default: int) -> list[int]:
    """Extents of both axes of an image, given as one, as two, or as a list."""
    found: list[Any]
    if several:
        found = list(several) if len(several) > 1 else [several[0], several[0]]
    elif h is not None or w is not None:
        found = [h if h is not None else w, w if w is not None else h]
    else:
        found = [default if one is None else one] * 2
    if len(found) != 2 or any(not isinstance(n, int) or n < 0 for n in found):
        raise ArgumentError(f"{what}: expected numbers for two axes, got {found}")
    return found


def _padding(pad: int | None, pads: Sequence[int], sides: Sequence[int | None]) -> list[int]:
    """Top, left, bottom, right."""
    if pads:
        if len(pads) not in (1, 4):
            raise ArgumentError(f"pads: expected 4 numbers, got {list(pads)}")
        return list(pads) * (4 // len(pads))
    return [(pad or 0) if side is None else side for side in sides]


def _layout(order: str) -> str:
    if order not in ("NCHW", "NHWC"):
        raise ArgumentError(f'order: expected "NCHW" or "NHWC", got {order!r}')
    return order


@operator_type("Conv", inputs=(2, 3), reads=("in0", "in1"))
def conv(
    x: Any, w: Any, b: Any = None, *,
    kernel: int | None = None, kernels: Sequence[int] = (), kernel_h: int | None = None,
    kernel_w: int | None = None, stride: int | None = None, strides: Sequence[int] = (),
    stride_h: int | None = None, stride_w: int | None = None, pad: int | None = None,
    pads: Sequence[int] = (), pad_t: int | None = None, pad_l: int | None = None,
    pad_b: int | None = None, pad_r: int | None = None, dilation: int | None = None,
    dilations: Sequence[int] = (), dilation_h: int | None = None, dilation_w: int | None = None,
    group: int = 1, order: str = "NCHW", no_bias: int = 0,
) -> Any:  # fmt: skip
    """Convolution of images; w [M, C / group, kh, kw], or [M, kh, kw, C / group] in NHWC."""
    layout = _layout(order)
    window = list(w.shape[2:4] if layout == "NCHW" else w.shape[1:3])
    if kernel is not None or kernels or kernel_h is not None or kernel_w is not None:
        wanted = _pair("kernel", kernel, kernel_h, kernel_w, kernels, 0)
        if wanted != window:
            raise ArgumentError(f"kernel: the filter has {window}, the arguments say {wanted}")
    weight = w if layout == "NCHW" else gnp.transpose(w, (1, 2, 3, 0))
    return nn.conv2d(
        x, weight, b, layout=layout, groups=group,
        stride=_pair("stride", stride, stride_h, stride_w, strides, 1),
        padding=_padding(pad, pads, (pad_t, pad_l, pad_b, pad_r)),
        dilation=_pair("dilation", dilation, dilation_h, dilation_w, dilations, 1),
    )  # fmt: skip


def _pool(
    x: Any, is_global: int, order: str, kernel: list[int], stride: list[int], padding: list[int]
) -> dict[str, Any]:
    """The arguments of gradir's pools."""
    layout = _layout(order)
    if is_global:
        window = list(x.shape[2:4] if layout == "NCHW" else x.shape[1:3])
        return {"kernel": window, "stride": 1, "padding": 0, "layout": layout}
    if 0 in kernel:
        raise ArgumentError("kernel: expected the extents of a window")
    return {"kernel": kernel, "stride": stride, "padding": padding, "layout": layout}


@operator_type("MaxPool", inputs=1, reads=("in0", "out0"))
def max_pool(
    x: Any, *,
    kernel: int | None = None, kernels: Sequence[int] = (), kernel_h: int | None = None,
    kernel_w: int | None = None, stride: int | None = None, strides: Sequence[int] = (),
    stride_h: int | None = None, stride_w: int | None = None, pad: int | None = None,
    pads: Sequence[int] = (), pad_t: int | None = None, pad_l: int | None = None,
    pad_b: int | None = None, pad_r: int | None = None, order: str = "NCHW",
    global_pooling: int = 0,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    window = _pair("kernel", kernel, kernel_h, kernel_w, kernels, 0)
    steps = _pair("stride", stride, stride_h, stride_w, strides, 1)
    padding = _padding(pad, pads, (pad_t, pad_l, pad_b, pad_r))
    return nn.max_pool2d(x, **_pool(x, global_pooling, order, window, steps, padding))


@operator_type("AveragePool", inputs=1, reads=NOTHING)
def average_pool(
    x: Any, *,
    kernel: int | None = None, kernels: Sequence[int] = (), kernel_h: int | None = None,
    kernel_w: int | None = None, stride: int | None = None, strides: Sequence[int] = (),
    stride_h: int | None = None, stride_w: int | None = None, pad: int | None = None,
    pads: Sequence[int] = (), pad_t: int | None = None, pad_l: int | None = None,
    pad_b: int | None = None, pad_r: int | None = None, order: str = "NCHW",
    global_pooling: int = 0, count_include_pad: int = 0,
) -> Any:  # fmt: skip
    """The mean of each window, of what is no padding unless `count_include_pad`."""
    window = _pair("kernel", kernel, kernel_h, kernel_w, kernels, 0)
    steps = _pair("stride", stride, stride_h, stride_w, strides, 1)
    padding = _padding(pad, pads, (pad_t, pad_l, pad_b, pad_r))
    made = _pool(x, global_pooling, order, window, steps, padding)
    return nn.avg_pool2d(x, count_include_pad=bool(count_include_pad), **made)


# State and chance.


@operator_type("SpatialBN", inputs=5, outputs=(1, 5), differentiable=(0, 1, 2),
               reads=("in0", "in1", "out3", "out4"))  # fmt: skip
def spatial_bn(
    x: Any, scale: Any, bias: Any, mean: Any, var: Any, *,
    is_test: int = 0, epsilon: float = 1e-5, momentum: float = 0.9, order: str = "NCHW",
) -> Any:  # fmt: skip
    """Batch normalization: y, the next mean and variance, the batch's mean and 1 / deviation."""
    return nn.batch_norm(
        x, scale, bias, mean, var, eps=float(epsilon), momentum=1 - float(momentum),
        training=not is_test, layout=_layout(order),
    )  # fmt: skip


@operator_type("Dropout", inputs=1, outputs=(1, 2), reads=("out1",))
def dropout(x: Any, *, number: int, ratio: float = 0.5, is_test: int = 0, seed: int = 0) -> Any:
    """x / (1 - ratio) where the mask holds, else 0; x with `is_test`.

    The mask is a function of `seed` and of the operator's place in the net.
    """
    if is_test:
        return gnp.positive(x), gnp.full(x.shape, True)
    return nn.dropout(x, seed, number, p=float(ratio))
