"""A row for each type of operators: what it computes of some arrays, by NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

RNG = np.random.default_rng(5)
M, N, K = (RNG.uniform(0.3, 1.4, size=(3, 4)) * RNG.choice([-1, 1], size=(3, 4)) for _ in "123")
P = np.abs(M)
V = RNG.normal(size=4)
C = RNG.normal(size=3)
W, B = RNG.normal(size=(5, 4)), RNG.normal(size=5)
T = RNG.normal(size=(2, 3, 4))
IMAGE, FILTER = RNG.normal(size=(2, 4, 6, 5)), RNG.normal(size=(6, 2, 3, 2))
ROWS = np.array([2, 0, 2])
LABELS = np.array([1, 3, 0])
TRUE, FALSE = np.array([True, False]), np.array([False, False])


@dataclass(frozen=True)
class Row:
    """`active` are the inputs with a gradient; a test of the gradient needs one."""

    type: str
    inputs: Sequence[Any]
    reference: Callable[..., Any]
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    active: Sequence[int] = (0,)
    outputs: int = 1
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.type}{'-' if self.note else ''}{self.note}"


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _rows_of(x: Any) -> Any:
    return x.reshape(x.shape[0], -1)


def _flat_softmax(x: Any) -> Any:
    return softmax(_rows_of(x)).reshape(x.shape)


def windows(x: Any, kernel: Any, stride: Any, pads: Any, fill: float) -> Any:
    """The windows of images [N, C, H, W]: [N, C, H', W', kh, kw]."""
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))
    return found[:, :, :: stride[0], :: stride[1]]


def _conv(x: Any, w: Any, b: Any) -> Any:
    parts = windows(x, (3, 2), (2, 1), (1, 0, 1, 1), 0.0)
    halves = [
        np.einsum("nchwkl,ockl->nohw", parts[:, 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3])
        for g in range(2)
    ]
    return np.concatenate(halves, axis=1) + b[:, None, None]


def _conv_last(x: Any, w: Any) -> Any:
    parts = windows(x.transpose(0, 3, 1, 2), (3, 2), (1, 1), (0, 0, 0, 0), 0.0)
    return np.einsum("nchwkl,oklc->nhwo", parts, w)


def _max_pool(x: Any) -> Any:
    return windows(x, (2, 2), (2, 1), (0, 1, 0, 1), -np.inf).max((-1, -2))


def _average_pool(x: Any) -> Any:
    return np.nanmean(windows(x, (3, 3), (2, 2), (1, 1, 1, 1), np.nan), (-1, -2))


def _normalized(x: Any, scale: Any, bias: Any, mean: Any, var: Any) -> Any:
    shape = (1, -1, 1, 1)
    at, spread = (f((0, 2, 3)) for f in (x.mean, x.var))
    y = (x - at.reshape(shape)) / np.sqrt(spread.reshape(shape) + 1e-3)
    count = x.size / x.shape[1]
    after = 0.8 * mean + 0.2 * at, 0.8 * var + 0.2 * spread * count / (count - 1)
    inverse = 1 / np.sqrt(spread + 1e-3)
    return y * scale.reshape(shape) + bias.reshape(shape), *after, at, inverse


def _added_rows(indices: Any, values: Any, like: Any) -> Any:
    made = np.zeros((like.shape[0], *values.shape[1:]))
    np.add.at(made, indices, values)
    return made


def _scattered(x: Any, indices: Any, values: Any) -> Any:
    return x + _added_rows(indices, values, x)


def cross_entropy(x: Any, labels: Any) -> Any:
    return -np.log(np.take_along_axis(x, labels.reshape(-1, 1), 1)[:, 0])


def _softmax_with_loss(x: Any, labels: Any, *weights: Any) -> Any:
    p = softmax(x)
    share = weights[0] if weights else np.ones(len(x))
    return p, 2.0 * np.sum(cross_entropy(p, labels) * share) / np.sum(share)


def _soft_labels(x: Any, labels: Any) -> Any:
    p = softmax(x)
    return p, -np.mean(np.sum(labels * np.log(p), 1))


INT = partial(np.array, dtype=np.int32)
STATE = [np.abs(RNG.normal(size=4)) + 0.5 for _ in range(4)]
BOTH = (0, 1)


def _neighbours(x: Any, axis: int = 1) -> Any:
    """Local response normalization over 3 channels, and its scale."""
    x = np.moveaxis(x, axis, -1)
    wide = np.pad(x * x, [(0, 0)] * 3 + [(1, 1)])
    scale = 0.5 + 0.2 * (wide[..., :-2] + wide[..., 1:-1] + wide[..., 2:])
    return tuple(np.moveaxis(y, -1, axis) for y in (x / scale**0.75, scale))


def _all_channels(x: Any) -> Any:
    """Local response normalization over more channels than there are."""
    scale = 1 + np.broadcast_to((x * x).sum(1, keepdims=True), x.shape)
    return x / np.sqrt(scale), scale


OPERATORS: tuple[Row, ...] = (
    Row("Add", [M, N], np.add, active=BOTH),
    Row("Add", [M, V], np.add, active=BOTH, note="numpy"),
    Row("Add", [M, V], np.add, {"broadcast": 1}, BOTH, note="broadcast"),
    Row("Add", [M, C], lambda x, y: x + y[:, None], {"broadcast": 1, "axis": 0}, BOTH, note="axis"),
    Row("Sub", [M, N], np.subtract, active=BOTH),
    Row("Sub", [V, M], np.subtract, active=BOTH, note="numpy"),
    Row("Sub", [M, C], lambda x, y: x - y[:, None], {"broadcast": 1, "axis": 0}, BOTH, note="axis"),
    Row("Mul", [M, N], np.multiply, active=BOTH),
    Row("Mul", [T, C], lambda x, y: x * y[:, None], {"broadcast": 1, "axis": 1}, BOTH, note="axis"),
    Row("Div", [M, N], np.divide, active=BOTH),
    Row("Div", [M, V], np.divide, active=BOTH, note="numpy"),
    Row("LT", [M, N], np.less, active=()),
    Row("LE", [ROWS, ROWS], np.less_equal, active=()),
    Row("GT", [M, V], np.greater, {"broadcast": 1}, ()),
    Row("GE", [M, N], np.greater_equal, active=()),
    Row("EQ", [ROWS, LABELS], np.equal, active=()),
    Row("NE", [ROWS, LABELS], np.not_equal, active=()),
    Row("And", [TRUE, ~FALSE], np.logical_and, active=()),
    Row("Or", [TRUE, FALSE], np.logical_or, active=()),
    Row("Not", [TRUE], np.logical_not, active=()),
    Row("Relu", [M], _relu),
    Row("LeakyRelu", [M], lambda x: np.where(x > 0, x, 0.01 * x)),
    Row("LeakyRelu", [M], lambda x: np.where(x > 0, x, 0.3 * x), {"alpha": 0.3}, note="alpha"),
    Row("Sigmoid", [M], lambda x: 1 / (1 + np.exp(-x))),
    Row("Tanh", [M], np.tanh),
    Row("Exp", [M], np.exp),
    Row("Log", [P], np.log),
    Row("Sqr", [M], np.square),
    Row("Sqrt", [P], np.sqrt),
    Row("Abs", [M], np.abs),
    Row("Sin", [M], np.sin),
    Row("Cos", [M], np.cos),
    Row("Negative", [M], np.negative),
    Row("Floor", [M], np.floor, active=()),
    Row("Clip", [M], lambda x: np.clip(x, -0.7, 0.9), {"min": -0.7, "max": 0.9}),
    Row("Clip", [M], lambda x: np.minimum(x, 0.9), {"max": 0.9}, note="max"),
    Row("Pow", [M], lambda x: x**3, {"exponent": 3.0}),
    Row("Pow", [P], lambda x: x**-1.5, {"exponent": -1.5}, note="negative"),
    Row("Pow", [P, V], np.power, {"broadcast": 1}, BOTH, note="two"),
    Row("Scale", [M], lambda x: -2.5 * x, {"scale": -2.5}),
    Row("Sum", [M, N, K], lambda x, y, z: x + y + z, active=(0, 1, 2)),
    Row("WeightedSum", [M, C[:1], N, C[1:2]], lambda x, a, y, b: x * a + y * b, active=range(4)),
    Row("Cast", [M], lambda x: x.astype(np.int64), {"to": "int64"}, ()),
    Row("Cast", [M], lambda x: x, {"to": 13}, note="double"),
    Row("Cast", [M], lambda x: x.astype(np.int16), {"to": 9}, (), note="int16"),
    Row("StopGradient", [M], lambda x: x, active=()),
    Row("Copy", [M], lambda x: x),
    Row("Alias", [M], lambda x: x),
    Row("EnsureDense", [M], lambda x: x),
    Row("Concat", [M, N], lambda x, y: (np.concatenate([x, y], 1), INT([4, 4])), {}, BOTH, 2),
    Row("Concat", [M, N], lambda x, y: (np.stack([x, y], 0), INT([1, 1])),
        {"axis": 0, "add_axis": 1}, BOTH, 2, "new"),
    Row("Split", [M], lambda x: (x[:, :2], x[:, 2:]), outputs=2),
    Row("Split", [M], lambda x: (x[:1], x[1:]), {"axis": 0, "split": [1, 2]}, outputs=2, note="0"),
    Row("Reshape", [T], lambda x: (x.reshape(2, 12), np.array([2, 3, 4])), {"shape": [0, -1]},
        outputs=2),
    Row("Transpose", [T], lambda x: x.T),
    Row("Transpose", [T], lambda x: x.transpose(1, 0, 2), {"axes": [1, 0, 2]}, note="axes"),
    Row("Flatten", [T], _rows_of),
    Row("Flatten", [T], lambda x: x.reshape(6, 4), {"axis": 2}, note="axis"),
    Row("Squeeze", [T[:1]], lambda x: x[0], {"dims": [0]}),
    Row("ExpandDims", [M], lambda x: x[:, None], {"dims": [1]}),
    Row("Gather", [M, ROWS], lambda x, i: x[i]),
    Row("Gather", [M, ROWS[:2].reshape(1, 2)], lambda x, i: x[i], note="matrix"),
    Row("Gather", [M, ROWS], lambda x, i: x[i], {"dense_gradient": 1}, note="dense"),
    Row("SparseToDense", [ROWS, M, W], _added_rows, active=(1,)),
    Row("SparseToDense", [ROWS, M], lambda i, v: _added_rows(i, v, W), {"output_first_dim": 5},
        active=(1,), note="dim"),
    Row("ScatterAdd", [M, ROWS, N], _scattered, active=(0, 2)),
    Row("SumReduceLike", [M, V], lambda x, like: x.sum(0)),
    Row("FC", [M, W, B], lambda x, w, b: x @ w.T + b, active=(0, 1, 2)),
    Row("FC", [T, W, B], lambda x, w, b: x @ w.T + b, {"axis": 2}, (0, 1, 2), note="axis"),
    Row("FC", [T.reshape(2, 3, 2, 2), W], lambda x, w: x.reshape(2, 3, 4) @ w.T, {"axis": 2}, BOTH,
        note="flat"),
    Row("MatMul", [M, W], lambda x, y: x @ y.T, {"trans_b": 1}, BOTH),
    Row("MatMul", [M, N], lambda x, y: x.T @ y, {"trans_a": 1}, BOTH, note="a"),
    Row("BatchMatMul", [T, T], lambda x, y: x @ y.swapaxes(1, 2), {"trans_b": 1}, BOTH),
    Row("BatchMatMul", [T, W.T], np.matmul, {"broadcast": 1}, BOTH, note="broadcast"),
    Row("Conv", [IMAGE, FILTER, RNG.normal(size=6)], _conv,
        {"kernel_h": 3, "kernel_w": 2, "stride_h": 2, "stride_w": 1, "pad_t": 1, "pad_l": 0,
         "pad_b": 1, "pad_r": 1, "group": 2}, (0, 1, 2)),
    Row("Conv", [IMAGE, RNG.normal(size=(3, 3, 2, 5))], _conv_last,
        {"kernels": [3, 2], "order": "NHWC"}, BOTH, note="last"),
    Row("MaxPool", [IMAGE], _max_pool, {"kernel": 2, "strides": [2, 1], "pads": [0, 1, 0, 1]}),
    Row("MaxPool", [IMAGE], lambda x: x.max((2, 3), keepdims=True), {"global_pooling": 1},
        note="global"),
    Row("AveragePool", [IMAGE], _average_pool, {"kernel": 3, "stride": 2, "pad": 1}),
    Row("AveragePool", [IMAGE], lambda x: x.mean((2, 3), keepdims=True), {"global_pooling": 1},
        note="global"),
    Row("SpatialBN", [IMAGE, *STATE], _normalized, {"epsilon": 1e-3, "momentum": 0.8}, (0, 1, 2),
        5),
    Row("Dropout", [M], lambda x: (x, np.ones(x.shape, bool)), {"is_test": 1}, outputs=2),
    Row("Softmax", [M], softmax),
    Row("Softmax", [T], _flat_softmax, note="flat"),
    Row("Softmax", [T], softmax, {"axis": 2}, note="axis"),
    Row("Softmax", [V], softmax, note="vector"),
    Row("AveragedLoss", [M], np.mean),
    Row("SumElements", [M], np.sum),
    Row("SumElements", [M], np.mean, {"average": 1}, note="average"),
    Row("DotProduct", [M, N], lambda x, y: (x * y).sum(-1), active=BOTH),
    Row("SquaredL2Distance", [M, N], lambda x, y: 0.5 * ((x - y) ** 2).sum(-1), active=BOTH),
    Row("LabelCrossEntropy", [P, LABELS], cross_entropy),
    Row("SoftmaxWithLoss", [M, LABELS], _softmax_with_loss, {"scale": 2.0}, outputs=2),
    Row("SoftmaxWithLoss", [M, LABELS.reshape(3, 1), np.abs(C)], _softmax_with_loss, {"scale": 2.0},
        outputs=2, note="weights"),
    Row("SoftmaxWithLoss", [M, softmax(N)], _soft_labels, {"label_prob": 1}, outputs=2,
        note="soft"),
    Row("ArgMax", [M], lambda x: x.argmax(-1, keepdims=True), active=()),
    Row("Accuracy", [M, LABELS], lambda x, i: np.mean(x.argmax(-1) == i), active=()),
    Row("LRN", [IMAGE], _neighbours, {"size": 3, "alpha": 0.6, "beta": 0.75, "bias": 0.5},
        outputs=2),
    Row("LRN", [IMAGE], partial(_neighbours, axis=3),
        {"size": 3, "alpha": 0.6, "beta": 0.75, "bias": 0.5, "order": "NHWC"}, outputs=2,
        note="last"),
    Row("LRN", [IMAGE], _all_channels, {"size": 2**31 - 1, "alpha": 2.0**31 - 1, "beta": 0.5},
        outputs=2, note="all"),
    Row("ConstantFill", [], lambda: np.full((2, 3), 0.5), {"shape": [2, 3], "value": 0.5}, ()),
    Row("ConstantFill", [ROWS], lambda x: np.full(3, 7), {"value": 7.0}, (), note="like"),
    Row("ConstantFill", [ROWS], lambda x: np.full((3, 2), 7), {"value": 7.0, "extra_shape": [2]},
        (), note="extra"),
    Row("ConstantFill", [], lambda: INT([1, 1]), {"shape": [2], "value": 1, "dtype": 2}, (),
        note="int"),
    Row("GivenTensorFill", [], lambda: np.array([[0.1], [2.0]]),
        {"shape": [2, 1], "values": [0.1, 2.0]}, ()),
    Row("GivenTensorDoubleFill", [], lambda: np.array([0.1]), {"values": [0.1]}, ()),
    Row("GivenTensorIntFill", [], lambda: INT([3, 4]), {"values": [3, 4]}, ()),
    Row("GivenTensorInt64Fill", [], lambda: np.array([3, 4]), {"values": [3, 4]}, ()),
    Row("GivenTensorBoolFill", [], lambda: TRUE, {"values": [True, False]}, ()),
    Row("CreateScope", [], lambda: np.array(0), active=()),
    Row("HasScope", [np.array(0)], lambda x: np.array(False), active=()),
)  # fmt: skip
