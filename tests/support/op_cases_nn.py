"""Rows of the table: activations, losses and norms of the nn dialect, and plain references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf, nan, pi, sqrt
from typing import Any

import numpy as np
from op_cases import Case, unary
from op_references import Array, Reference
from xdsl.dialects.builtin import DenseArrayBase, i32

from gradir.dialects.base.attributes import Plain

_erf = np.vectorize(erf, otypes=[np.float64])


def _gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + _erf(x / sqrt(2)))


def _softplus(x: Array, beta: float = 1.0) -> Array:
    return np.log(1 + np.exp(beta * x)) / beta


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def _celu(x: Array, alpha: float = 1.0) -> Array:
    return np.maximum(x, 0) + np.minimum(0, alpha * (np.exp(x / alpha) - 1))


def _selu(x: Array) -> Array:
    return 1.0507009873554805 * _elu(x, 1.6732632423543772)


def _leaky_relu(x: Array, slope: float = 0.01) -> Array:
    return np.maximum(x, 0) + slope * np.minimum(x, 0)


def _hardsigmoid(x: Array) -> Array:
    return np.where(x <= -3, 0, np.where(x >= 3, 1, x / 6 + 0.5))


def _activations() -> list[Case]:
    return [
        *unary("nn.leaky_relu", _leaky_relu, kinks=[0]),
        Case("nn.leaky_relu", [(3, 4)], {"slope": 0.3}, _leaky_relu, kinks=[0]),
        Case("nn.leaky_relu", [(3, 4)], {"slope": -2.0}, _leaky_relu, kinks=[0]),
        *unary("nn.elu", _elu, kinks=[0]),
        Case("nn.elu", [(3, 4)], {"alpha": 0.7}, _elu, kinks=[0]),
        *unary("nn.selu", _selu, kinks=[0]),
        *unary("nn.celu", _celu, kinks=[0]),
        Case("nn.celu", [(3, 4)], {"alpha": 0.7}, _celu, kinks=[0]),
        *unary("nn.gelu", _gelu, (-4, 4)),
        *unary("nn.gelu", _gelu, (-4, 4), attributes={"approximate": "tanh"}),
        *unary("nn.silu", lambda x: x / (1 + np.exp(-x)), (-6, 6)),
        *unary("nn.mish", lambda x: x * np.tanh(np.log(1 + np.exp(x))), (-6, 6)),
        *unary("nn.softplus", _softplus, (-6, 6)),
        Case("nn.softplus", [(3, 4)], {"beta": 2.5}, _softplus),
        *unary("nn.softsign", lambda x: x / (1 + np.sqrt(x * x)), kinks=[0]),
        *unary("nn.hardtanh", lambda x: np.where(x > 1, 1, np.where(x < -1, -1, x)),
               kinks=[-1, 1]),
        *unary("nn.hardsigmoid", _hardsigmoid, (-5, 5), kinks=[-3, 3]),
        *unary("nn.hardswish", lambda x: x * _hardsigmoid(x), (-5, 5), kinks=[-3, 3]),
        *unary("nn.logsigmoid", lambda x: -np.log(1 + np.exp(-x)), (-6, 6)),
        *_gated(),
    ]  # fmt: skip


def _gated() -> list[Case]:
    def prelu(x: Array, weight: Array) -> Array:
        if weight.size == 1:
            return np.maximum(x, 0) + weight[0] * np.minimum(x, 0)
        slopes = np.expand_dims(weight, tuple(range(1, x.ndim - 1)))
        return np.maximum(x, 0) + slopes * np.minimum(x, 0)

    def glu(x: Array, axis: int = -1) -> Array:
        lines = np.moveaxis(x, axis, 0)
        n = len(lines) // 2
        return np.moveaxis(lines[:n] / (1 + np.exp(-lines[n:])), 0, axis)

    shapes = [((3, 4), (4,)), ((3, 4), (1,)), ((2, 3, 2, 2), (3,)), ((5,), (1,)), ((), (1,)),
              ((2, 1, 3), (1,)), ((0, 4), (4,)), ((3, 0), (0,))]  # fmt: skip
    return [
        *(Case("nn.prelu", pair, reference=prelu, kinks=[0]) for pair in shapes),
        Case("nn.glu", [(3, 4)], {}, glu),
        Case("nn.glu", [(2, 3, 4)], {"axis": 0}, glu),
        Case("nn.glu", [(3, 6, 2)], {"axis": -2}, glu),
        Case("nn.glu", [(34,)], {}, glu),
        Case("nn.glu", [(0, 2)], {}, glu),
        Case("nn.glu", [(3, 0)], {}, glu),
    ]


Each = Callable[..., Array]


def _reduced(each: Each) -> Reference:
    """A loss from each element's loss."""

    def function(x: Array, target: Array, reduction: str = "mean", **settings: float) -> Any:
        losses = each(x, target, **settings)
        if reduction == "none":
            return losses
        return np.sum(losses) / (np.float64(losses.size) if reduction == "mean" else 1)

    return function


def _huber(x: Array, target: Array, delta: float = 1.0) -> Array:
    far = np.maximum(np.abs(x - target) - delta, 0)
    near = np.minimum(np.abs(x - target), delta)
    return near**2 / 2 + delta * far


def _smooth_l1(x: Array, target: Array, beta: float = 1.0) -> Array:
    return _huber(x, target, beta) / beta if beta else np.abs(x - target)


def _mse(x: Array, target: Array) -> Array:
    return (x - target) ** 2


def _l1(x: Array, target: Array) -> Array:
    return np.abs(x - target)


def _bce(x: Array, target: Array) -> Array:
    return -target * np.log(x) - (1 - target) * np.log(1 - x)


def _bce_with_logits(x: Array, target: Array) -> Array:
    return _bce(1 / (1 + np.exp(-x)), target)


def _kl_div(x: Array, target: Array) -> Array:
    return np.where(target > 0, target * np.log(np.where(target > 0, target, 1)), 0) - target * x


def _loss(
    op: str, each: Each, settings: Sequence[Plain] = (), name: str = "", **rest: Any
) -> list[Case]:
    """Rows of a loss: reductions, shapes, values of its own attribute."""
    rows: list[tuple[tuple[int, ...], dict[str, Plain]]] = [
        ((3, 4), {}),
        ((3, 4), {"reduction": "sum"}),
        ((3, 4), {"reduction": "none"}),
        ((), {}),
        ((17,), {}),
        ((0, 3), {"reduction": "sum"}),
        ((0, 3), {"reduction": "none"}),
        *(((3, 4), {name: value}) for value in settings),
        *(((2, 3), {name: value, "reduction": "none"}) for value in settings),
    ]
    return [Case(op, [s, s], a, _reduced(each), **rest) for s, a in rows]


def _losses() -> list[Case]:
    return [
        *_loss("nn.mse_loss", _mse),
        Case("nn.mse_loss", [(0, 3), (0, 3)], {}, np.array(nan), is_derivative=False),
        *_loss("nn.l1_loss", _l1),
        *_loss("nn.huber_loss", _huber, (0.7, 2), "delta"),
        *_loss("nn.smooth_l1_loss", _smooth_l1, (0.7, 0.0), "beta"),
        *_loss("nn.bce_loss", _bce, domain=(0.1, 0.9)),
        *_loss("nn.bce_with_logits", _bce_with_logits),
        *_loss("nn.kl_div", _kl_div, domain=(0.1, 2)),
    ]  # fmt: skip


def _affine(x: Array, others: Sequence[Array], lines: Sequence[int], attributes: Any) -> Array:
    """x scaled and moved by parameters that go along the axes `lines`."""
    places = [d for d in range(x.ndim) if d not in lines]
    parameters = [np.expand_dims(p, places) for p in others]
    if "operandSegmentSizes" in attributes:
        return x + parameters[0]
    for operate, parameter in zip((np.multiply, np.add), parameters, strict=False):
        x = operate(x, parameter)
    return x


def _layer_norm(x: Array, *others: Array, axes: Any = -1, eps: float = 1e-5, **rest: Any) -> Array:
    lines = sorted(a % x.ndim for a in ([axes] if isinstance(axes, int) else axes))
    over = tuple(lines)
    if not x.size:
        return x
    y = (x - np.mean(x, over, keepdims=True)) / np.sqrt(np.var(x, over, keepdims=True) + eps)
    return _affine(y, others, lines, rest)


def _rms_norm(x: Array, *others: Array, axes: Any = -1, eps: float = 2**-52, **rest: Any) -> Array:
    lines = sorted(a % x.ndim for a in ([axes] if isinstance(axes, int) else axes))
    if not x.size:
        return x
    y = x / np.sqrt(np.mean(x**2, tuple(lines), keepdims=True) + eps)
    return _affine(y, others, lines, rest)


def _group_norm(
    x: Array, *others: Array, groups: int, layout: str = "NCHW", eps: float = 1e-5, **rest: Any
) -> Array:
    """One example and group after the other."""
    axis = 1 if layout == "NCHW" else x.ndim - 1
    y = np.moveaxis(np.array(x), axis, 1)
    size = y.shape[1] // groups
    for n in range(len(y)):
        for group in range(groups):
            part = y[n, group * size : (group + 1) * size]
            y[n, group * size : (group + 1) * size] = _layer_norm(
                part, axes=range(part.ndim), eps=eps
            )
    return _affine(np.moveaxis(y, 1, axis), others, [axis], rest)


def _instance_norm(x: Array, *others: Array, layout: str = "NCHW", **rest: Any) -> Array:
    channels = x.shape[1] if layout == "NCHW" else x.shape[-1]
    return _group_norm(x, *others, groups=channels, layout=layout, **rest)


BIAS_ONLY: dict[str, Plain] = {"operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, 1])}
Row = tuple[Sequence[tuple[int, ...]], dict[str, Plain]]


def _norms() -> list[Case]:
    along_axes: list[Row] = [
        ([(3, 4), (4,), (4,)], {}),
        ([(3, 4), (4,)], {}),
        ([(3, 4)], {}),
        ([(3, 4), (4,)], BIAS_ONLY),
        ([(2, 3, 4), (3, 4), (3, 4)], {"axes": [1, 2]}),
        ([(2, 3, 4), (2, 4), (2, 4)], {"axes": [-1, 0], "eps": 0.1}),
        ([(17,), (17,), (17,)], {"axes": 0}),
        ([(3, 40), (40,), (40,)], {}),
        ([(0, 4), (4,), (4,)], {}),
        ([(3, 0), (0,), (0,)], {}),
    ]
    along_groups: list[Row] = [
        ([(2, 4, 3), (4,), (4,)], {"groups": 2}),
        ([(2, 4, 3, 2), (4,)], {"groups": 1, "eps": 0.1}),
        ([(2, 4)], {"groups": 2}),
        ([(2, 4, 3), (4,)], {"groups": 2, **BIAS_ONLY}),
        ([(2, 3, 4), (4,), (4,)], {"groups": 2, "layout": "NHWC"}),
        ([(2, 6, 3), (6,), (6,)], {"groups": 6}),
    ]
    along_space: list[Row] = [
        ([(2, 3, 4), (3,), (3,)], {}),
        ([(2, 3, 2, 2), (3,)], {"eps": 0.1}),
        ([(2, 3, 4)], {}),
        ([(2, 3, 4), (3,)], BIAS_ONLY),
        ([(2, 2, 2, 3), (3,), (3,)], {"layout": "NHWC"}),
    ]
    return [
        Case(op, operands, attributes, reference)
        for op, rows, reference in (
            ("nn.layer_norm", along_axes, _layer_norm),
            ("nn.rms_norm", along_axes, _rms_norm),
            ("nn.group_norm", along_groups, _group_norm),
            ("nn.instance_norm", along_space, _instance_norm),
        )
        for operands, attributes in rows
    ]


def _batch_norm(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    var: Array,
    training: bool = False,
    momentum: float = 0.1,
    layout: str = "NCHW",
    eps: float = 1e-5,
) -> tuple[Array, ...]:
    """One channel after the other."""
    axis = 1 if layout == "NCHW" else x.ndim - 1
    y, m, v = np.array(np.moveaxis(x, axis, 0)), np.array(mean), np.array(var)
    after = np.array(mean), np.array(var)
    for c, channel in enumerate(y):
        if training:
            m[c], v[c] = np.mean(channel), np.mean(channel**2) - np.mean(channel) ** 2
            after[0][c] += momentum * (m[c] - after[0][c])
            after[1][c] += momentum * (np.var(channel, ddof=1) - after[1][c])
        y[c] = scale[c] * (channel - m[c]) / np.sqrt(v[c] + eps) + bias[c]
    return np.moveaxis(y, 0, axis), *after, m, 1 / np.sqrt(v + eps)


def _batch_norms() -> list[Case]:
    rows: list[tuple[tuple[int, ...], int, dict[str, Plain]]] = [
        ((4, 3), 3, {}),
        ((4, 3), 3, {"training": True}),
        ((2, 3, 4, 2), 3, {"training": True, "momentum": 0.3, "eps": 0.1}),
        ((2, 3, 4, 2), 3, {"eps": 0.1}),
        ((2, 4, 3), 3, {"training": True, "layout": "NHWC"}),
        ((2, 4, 3), 3, {"layout": "NHWC"}),
        ((0, 3), 3, {}),
    ]
    # the state has no derivative: tests/dialects/test_batch_norm.py looks at y's
    return [
        Case("nn.batch_norm", [shape, *[(c,)] * 4], attributes, _batch_norm, domain=(0.1, 3),
             is_derivative=False)
        for shape, c, attributes in rows
    ]  # fmt: skip


CASES: tuple[Case, ...] = (*_activations(), *_losses(), *_norms(), *_batch_norms())
