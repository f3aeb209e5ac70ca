"""Operator types with weights or state: products, normalization, dropout."""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.batch_norm import BatchNormOp
from gradir.dialects.nn.dropout import DropoutOp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import one_integer
from gradir.frontends.caffe2.shapes import as_matrix
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.caffe2.windows import layout_named
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply_all


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


# State, neighbours and chance.


@operator_type("SpatialBN", inputs=5, outputs=(1, 5), differentiable=(0, 1, 2),
               reads=("in0", "in1", "out3", "out4"))  # fmt: skip
def spatial_bn(
    x: Any, scale: Any, bias: Any, mean: Any, var: Any, *,
    is_test: int = 0, epsilon: float = 1e-5, momentum: float = 0.9, order: str = "NCHW",
) -> Any:  # fmt: skip
    """Batch normalization: y, the next mean and variance, the batch's mean and 1 / deviation."""
    return tuple(apply_all(BatchNormOp, {
        "x": x, "scale": scale, "bias": bias, "mean": mean, "var": var, "eps": float(epsilon),
        "momentum": 1 - float(momentum), "training": not is_test, "layout": layout_named(order),
    }))  # fmt: skip


@operator_type("LRN", inputs=1, outputs=(1, 2), reads=("in0", "out0"))
def local_response_norm(
    x: Any, *, size: int, alpha: float, beta: float, bias: float = 1.0, order: str = "NCHW"
) -> Any:
    """x / s^beta, and s: bias plus alpha times the mean square of the channels around each."""
    if x.ndim != 4 or size < 1 or size % 2 == 0:
        raise ArgumentError(f"expected rank 4 and an odd size, got {list(x.shape)} and {size}")
    axis = 1 if layout_named(order) == "NCHW" else 3
    count, beside = x.shape[axis], [*x.shape]
    beside[axis] = half = min(size // 2, count)  # channels that are further away are none
    zeros = gnp.zeros(beside, x.dtype)
    wide = gnp.concat([zeros, gnp.square(x), zeros], axis=axis)
    sizes = [[k, count, 2 * half - k] for k in range(2 * half + 1)]
    around = [op.split(wide, axis=axis, sizes=each)[1] for each in sizes]
    scale = sum(around[1:], around[0]) * (float(alpha) / size) + float(bias)
    return x * gnp.pow(scale, -float(beta)), scale


@operator_type("Dropout", inputs=(1, 2), outputs=(1, 2), reads=("out1",), differentiable=(0,))
def dropout(
    x: Any, step: Any = None, *, number: int, ratio: float = 0.5, is_test: int = 0, seed: int = 0
) -> Any:
    """x / (1 - ratio) where the mask holds, else 0; x with `is_test`.

    The mask is a function of `seed`, of the operator's place in the net, and of the second input,
    an integer, if there is one: a count of steps gives each run another mask.
    """
    if is_test:
        return gnp.positive(x), gnp.full(x.shape, True)
    key = seed if step is None else gnp.astype(one_integer(step, "step"), "int64") + seed
    operands = {"x": x, "key": key, "counter": number}
    return tuple(apply_all(DropoutOp, operands | {"p": float(ratio)}))
