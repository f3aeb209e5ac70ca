"""ONNX's normalizations, and Dropout."""

from __future__ import annotations

from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.errors import ImportedProgramError
from gradir.frontends.imported.onnx_rules.arguments import OnnxRules, axis_of, known
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element

RULES = OnnxRules()


def _by_channel(x: Any, part: Any) -> Any:
    return gnp.reshape(part, (1, -1, *[1] * (x.ndim - 2)))


@RULES.onnx("BatchNormalization", state=[3, 4])
def _batch_norm(
    call: Any, x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0, spatial: int = 1,
) -> Any:  # fmt: skip
    moving: list[Any] = []
    if training_mode:
        axes = tuple(k for k in range(x.ndim) if k != 1)
        here, wide = gnp.mean(x, axis=axes), gnp.var(x, axis=axes)
        moving = [_moved(old, new, momentum) for old, new in ((mean, here), (var, wide))]
        mean, var = here, wide
    root = op.sqrt(var + epsilon)
    made = (x - _by_channel(x, mean)) / _by_channel(x, root) * _by_channel(x, scale)
    return [converted(made + _by_channel(x, bias), element(x)), *moving]


def _moved(old: Any, new: Any, momentum: float) -> Any:
    return converted(old * momentum + new * (1 - momentum), element(old))


def _normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    """(x - mean) / sqrt(var + epsilon) along axes, the mean, and 1 / the root."""
    mean = gnp.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    inverse = op.rsqrt(gnp.mean(op.square(centered), axis=axes, keepdims=True) + epsilon)
    return centered * inverse, mean, inverse


@RULES.onnx("InstanceNormalization")
def _instance_norm(call: Any, x: Any, scale: Any, bias: Any, epsilon: float = 1e-5) -> Any:
    made, _, _ = _normalized(x, tuple(range(2, x.ndim)), epsilon)
    return made * _by_channel(x, scale) + _by_channel(x, bias)


@RULES.onnx("LayerNormalization")
def _layer_norm(
    call: Any, x: Any, scale: Any, bias: Any = None, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Any:  # fmt: skip
    axes = tuple(range(axis_of(x, axis), x.ndim))
    wide = converted(x, _stash(x, stash_type))
    made, mean, inverse = _normalized(wide, axes, epsilon)
    made = converted(made, element(x)) * scale
    return [made if bias is None else made + bias, mean, inverse]


def _stash(x: Any, code: int) -> Any:
    """The type of mean and variance: float32, or that of x if it is wider."""
    return element(x) if element(x) == ELEMENTS["float64"] or code != 1 else ELEMENTS["float32"]


@RULES.onnx("RMSNormalization")
def _rms_norm(
    call: Any, x: Any, scale: Any, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    axes = tuple(range(axis_of(x, axis), x.ndim))
    wide = converted(x, _stash(x, stash_type))
    inverse = op.rsqrt(gnp.mean(op.square(wide), axis=axes, keepdims=True) + epsilon)
    return converted(wide * inverse, element(x)) * scale


@RULES.onnx("GroupNormalization")
def _group_norm(
    call: Any, x: Any, scale: Any, bias: Any, num_groups: int, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Any:  # fmt: skip
    rows = gnp.reshape(x, (x.shape[0], num_groups, -1))
    made, _, _ = _normalized(converted(rows, _stash(x, stash_type)), (2,), epsilon)
    made = gnp.reshape(converted(made, element(x)), x.shape)
    if scale.shape[0] == num_groups != x.shape[1]:  # before version 21
        scale, bias = (gnp.repeat(p, x.shape[1] // num_groups) for p in (scale, bias))
    return made * _by_channel(x, scale) + _by_channel(x, bias)


@RULES.onnx("MeanVarianceNormalization")
def _mean_variance(call: Any, x: Any, axes: Any = (0, 2, 3)) -> Any:
    places = tuple(axis_of(x, a) for a in axes)
    centered = x - gnp.mean(x, axis=places, keepdims=True)
    return centered / (op.sqrt(gnp.mean(op.square(centered), axis=places, keepdims=True)) + 1e-9)


@RULES.onnx("Dropout", note="of inference; in training its random numbers are not there")
def _dropout(
    call: Any, x: Any, ratio: Any = None, training_mode: Any = None, seed: int | None = None
) -> Any:
    is_training = training_mode is not None and bool(known(call, training_mode, 2))
    if is_training and (ratio is None or float(known(call, ratio, 1) or 0.0) != 0.0):
        raise refusal(
            "Dropout: training_mode with a ratio draws random numbers that are not there; export "
            "the model for inference",
            ImportedProgramError,
        )
    return [x, spread(True, x.shape, ELEMENTS["bool"])]
