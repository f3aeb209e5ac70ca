"""Operator types that reduce, and losses."""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import INPUT, NOTHING, OUTPUT
from gradir.frontends.caffe2.shapes import as_matrix
from gradir.frontends.caffe2.table import operator_type

# Caffe2 keeps probabilities from being smaller before it takes the logarithm.
_LEAST_PROBABILITY = 1e-20


@operator_type("Softmax", inputs=1, reads=OUTPUT)
def softmax(x: Any, *, axis: int | None = None) -> Any:
    """Softmax of the rows of x as a matrix, which are its axes from `axis` on."""
    if x.ndim < 2 and axis in (None, 1, -1):
        return nn.softmax(x)
    matrix = as_matrix(x, 1 if axis is None else axis)
    return gnp.reshape(nn.softmax(matrix, axis=1), x.shape)


@operator_type("AveragedLoss", inputs=1, reads=INPUT)
def averaged_loss(x: Any) -> Any:
    """The mean of all elements."""
    return gnp.mean(x)


@operator_type("SumElements", inputs=1, reads=INPUT)
def sum_elements(x: Any, *, average: int = 0) -> Any:
    """The sum of all elements, or their mean."""
    return gnp.mean(x) if average else gnp.sum(x)


@operator_type("DotProduct", inputs=2)
def dot_product(x: Any, y: Any) -> Any:
    """The sums of products along the last axis."""
    _require_equal(x, y)
    return gnp.vecdot(x, y)


@operator_type("SquaredL2Distance", inputs=2)
def squared_l2_distance(x: Any, y: Any) -> Any:
    """Half the sums of squared differences along the last axis."""
    _require_equal(x, y)
    return gnp.sum(gnp.square(x - y), axis=-1) * 0.5


def _require_equal(x: Any, y: Any) -> None:
    if x.shape != y.shape or not x.ndim:
        raise ArgumentError(
            f"inputs must have one shape of rank >= 1, got {list(x.shape)} and {list(y.shape)}"
        )


def _classes(labels: Any, count: int) -> Any:
    """Labels [N] or [N, 1] as a vector."""
    if labels.shape not in ((count,), (count, 1)):
        raise ArgumentError(f"labels: expected one for each of {count} rows, got {labels!r}")
    return gnp.reshape(labels, [count])


@operator_type("LabelCrossEntropy", inputs=2, differentiable=(0,))
def label_cross_entropy(x: Any, labels: Any) -> Any:
    """-log of the probability that each row of x gives its label."""
    rows = as_matrix(x, 1)
    at = gnp.reshape(_classes(labels, rows.shape[0]), [rows.shape[0], 1])
    chosen = gnp.take_along_axis(rows, at, axis=1)
    return -gnp.log(gnp.maximum(gnp.reshape(chosen, [rows.shape[0]]), _LEAST_PROBABILITY))


@operator_type("SoftmaxWithLoss", inputs=(2, 3), outputs=2, reads=("ins", "out0"),
               differentiable=(0,))  # fmt: skip
def softmax_with_loss(
    x: Any, labels: Any, weights: Any = None, *, axis: int = 1, scale: float = 1.0,
    label_prob: int = 0,
) -> Any:  # fmt: skip
    """Softmax of the rows of x, and the mean of their cross entropies times `scale`.

    With weights, which have no gradient: the weighted mean. With `label_prob` labels are
    probabilities of all classes.
    """
    rows = as_matrix(x, axis)
    p = gnp.reshape(nn.softmax(rows, axis=1), x.shape)
    if label_prob:
        losses = -gnp.sum(as_matrix(labels, axis) * nn.log_softmax(rows, axis=1), axis=1)
    else:
        targets = _classes(labels, rows.shape[0])
        # a label that no class has is an error, whatever it is
        losses = nn.cross_entropy(rows, targets, reduction="none", ignore_index=-(2**31))
    if weights is None:
        return p, _scaled(gnp.mean(losses), scale)
    share = gnp.reshape(weights, [rows.shape[0]])
    return p, _scaled(gnp.sum(losses * share) / gnp.sum(share), scale)


def _scaled(x: Any, scale: float) -> Any:
    return x if scale == 1 else x * scale


@operator_type("ArgMax", inputs=1, reads=NOTHING, differentiable=())
def arg_max(x: Any, *, axis: int = -1, keepdims: int = 1) -> Any:
    """The place of the largest element along an axis."""
    return gnp.argmax(x, axis=axis, keepdims=bool(keepdims))


@operator_type("Accuracy", inputs=2, reads=NOTHING, differentiable=())
def accuracy(x: Any, labels: Any) -> Any:
    """The share of rows of x whose largest element is at their label."""
    best = gnp.argmax(as_matrix(x, 1), axis=1)
    right = gnp.equal(best, gnp.astype(_classes(labels, x.shape[0]), best.dtype))
    return gnp.mean(gnp.astype(right, x.dtype))
