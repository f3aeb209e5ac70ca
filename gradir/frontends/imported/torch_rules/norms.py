"""PyTorch's norms of layers, groups and batches, with their running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn as layers
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import spread
from gradir.frontends.imported.torch_rules.arguments import AtenRules
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element

RULES = AtenRules()
nn: Any = layers


def _last_axes(x: Any, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(x.ndim - len(shape), x.ndim))


@RULES.aten("layer_norm")
def _layer_norm(
    call: Any, input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    return nn.layer_norm(input, weight, bias, axes=_last_axes(input, normalized_shape), eps=eps)


@RULES.aten("native_layer_norm")
def _native_layer_norm(
    call: Any, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> Any:
    axes = _last_axes(input, normalized_shape)
    y = nn.layer_norm(input, weight, bias, axes=axes, eps=eps)
    return y, *_moments(call, input, axes, eps)


def _moments(call: Any, x: Any, axes: Sequence[int], eps: float) -> list[Any]:
    """The mean, and 1 / the deviation, where the program reads them."""
    if not {1, 2} & set(call["used"]):
        return [None, None]
    mean = op.mean(x, axis=list(axes), keepdims=True)
    var = op.var(x, axis=list(axes), keepdims=True)
    return [mean, op.rsqrt(op.add(var, eps))]


@RULES.aten("rms_norm")
def _rms_norm(
    call: Any, input: Any, normalized_shape: Sequence[int], weight: Any = None,
    eps: float | None = None,
) -> Any:  # fmt: skip
    least = float(np.finfo(_wide(input)).eps) if eps is None else eps
    return nn.rms_norm(input, weight, axes=_last_axes(input, normalized_shape), eps=least)


def _wide(x: Any) -> str:
    return "float64" if str(x.dtype) == "float64" else "float32"


@RULES.aten("_fused_rms_norm", note="its first result")
def _fused_rms_norm(
    call: Any, input: Any, normalized_shape: Sequence[int], weight: Any, eps: float | None
) -> Any:
    return _rms_norm(call, input, normalized_shape, weight, eps), None


@RULES.aten("group_norm")
def _group_norm(
    call: Any, input: Any, num_groups: int, weight: Any = None, bias: Any = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    return nn.group_norm(input, weight, bias, groups=num_groups, eps=eps)


@RULES.aten("native_group_norm")
def _native_group_norm(
    call: Any, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    shaped = input if input.ndim > 1 else gnp.reshape(input, (N, C, HxW))
    y = gnp.reshape(nn.group_norm(shaped, weight, bias, groups=group, eps=eps), input.shape)
    rows = gnp.reshape(input, (N, group, C // group * HxW))
    moments = _moments(call, rows, (2,), eps)
    return y, *(None if m is None else gnp.reshape(m, (N, group)) for m in moments)


@RULES.aten("instance_norm")
def _instance_norm(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    if not use_input_stats:
        return _normed(input, weight, bias, running_mean, running_var, False, momentum, eps)[0]
    return nn.instance_norm(input, weight, bias, eps=eps)


@RULES.aten("instance_norm_statistics", note="the running statistics of instance_norm after a step")
def _instance_norm_statistics(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    axes = list(range(2, input.ndim))
    moments = op.mean(input, axis=axes), op.var(input, axis=axes, correction=1)
    pairs = zip((running_mean, running_var), moments, strict=True)
    return [old * (1 - momentum) + momentum * op.mean(new, axis=[0]) for old, new in pairs]


# Batch norm.


def _normed(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any]:
    """y and the next state; without running statistics any state, which is not read."""
    if x.ndim < 2:
        raise refusal("batch_norm: there is no axis of channels")
    kind, count = element(x), x.shape[1]
    scale = spread(1, (count,), kind) if weight is None else weight
    offset = spread(0, (count,), kind) if bias is None else bias
    state = (
        spread(0, (count,), kind) if mean is None else mean,
        spread(1, (count,), kind) if var is None else var,
    )
    given = x if x.ndim > 2 else gnp.reshape(x, (*x.shape, 1))
    trains = training or mean is None
    y, state = nn.batch_norm(
        given,
        scale,
        offset,
        state,
        training=trains,
        momentum=momentum if training else 0.1,
        eps=eps,
    )
    return gnp.reshape(y, x.shape), state


@RULES.aten("batch_norm", note="running statistics are further results")
def _batch_norm(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    state = running_mean, running_var
    return _normed(input, weight, bias, *state, training, momentum, eps)[0]


@RULES.aten("batch_norm_statistics", note="the running statistics of batch_norm after a step")
def _batch_norm_statistics(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    state = running_mean, running_var
    return list(_normed(input, weight, bias, *state, training, momentum, eps)[1])


def _saved(call: Any, x: Any, eps: float, training: bool) -> list[Any]:
    """The statistics of the batch, which PyTorch keeps for its derivative."""
    if not training:
        return [spread(0, (0,), element(x))] * 2
    axes = [d for d in range(x.ndim) if d != 1]
    return [
        None if m is None else gnp.reshape(m, (x.shape[1],)) for m in _moments(call, x, axes, eps)
    ]


@RULES.aten("_native_batch_norm_legit", "native_batch_norm", "_native_batch_norm_legit_no_training",
            "_native_batch_norm_legit_functional")  # fmt: skip
def _native_batch_norm(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any = None,
    running_var: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    state = running_mean, running_var
    y, after = _normed(input, weight, bias, *state, training, momentum, eps)
    saved = _saved(call, input, eps, training or running_mean is None)
    return (y, *saved, *after) if call.op.endswith("functional") else (y, *saved)


@RULES.aten("_batch_norm_with_update_functional", "_batch_norm_no_update")
def _batch_norm_with_update(
    call: Any, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    trains = call.op.endswith("functional")
    y, after = _normed(input, weight, bias, running_mean, running_var, trains, momentum, eps)
    reserve = spread(0, (0,), element(input))
    made = (y, *_saved(call, input, eps, trains), reserve)
    return (*made, *after) if trains else made


@RULES.aten("local_response_norm")
def _local_response_norm(
    call: Any, input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    return nn.local_response_norm(input, size, alpha=alpha, beta=beta, k=k)


@RULES.aten("renorm")
def _renorm(call: Any, x: Any, p: float, dim: int, maxnorm: float) -> Any:
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    size: Any = gnp.linalg.vector_norm(x, ord=p, axis=others, keepdims=True)
    return gnp.where(size > maxnorm, x * (maxnorm / (size + 1e-7)), x)
