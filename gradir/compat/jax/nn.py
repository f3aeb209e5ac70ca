"""jax.nn: activations with JAX's defaults, and the initializers that are used most."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import gradir.nn as own
import gradir.numpy as gnp
import gradir.random as random
from gradir.compat.jax import absent
from gradir.compat.jax.arrays import giving_arrays

_SAME = {
    name: giving_arrays(getattr(own, ours))
    for name, ours in {
        "relu": "relu", "relu6": "relu6", "sigmoid": "sigmoid", "softplus": "softplus",
        "soft_sign": "softsign", "silu": "silu", "swish": "silu", "log_sigmoid": "logsigmoid",
        "elu": "elu", "selu": "selu", "celu": "celu", "leaky_relu": "leaky_relu", "mish": "mish",
        "hard_tanh": "hardtanh", "hard_sigmoid": "hardsigmoid", "hard_swish": "hardswish",
        "hard_silu": "hardswish",
    }.items()
}  # fmt: skip
globals().update(_SAME)
tanh, logsumexp = giving_arrays(gnp.tanh), giving_arrays(gnp.logsumexp)


@giving_arrays
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis."""
    return own.softmax(x, axis=axis)


@giving_arrays
def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax."""
    return own.log_softmax(x, axis=axis)


@giving_arrays
def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution's cdf, by tanh unless `approximate` is False."""
    return own.gelu(x, approximate="tanh" if approximate else "none")


@giving_arrays
def glu(x: Any, axis: int = -1) -> Any:
    """The first half times the sigmoid of the second."""
    return own.glu(x, axis=axis)


@giving_arrays
def one_hot(x: Any, num_classes: int, dtype: Any = None, axis: int = -1) -> Any:
    """1 at the classes x, else 0."""
    made = gnp.astype(own.one_hot(x, num_classes), dtype or float)
    return gnp.moveaxis(made, -1, axis)


@giving_arrays
def standardize(x: Any, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along an axis."""
    centered = x - gnp.mean(x, axis=axis, keepdims=True)
    return centered / gnp.sqrt(gnp.mean(centered**2, axis=axis, keepdims=True) + epsilon)


Initializer = Callable[..., Any]


def _scaled(factor: float, by: str, of: str) -> Callable[[], Initializer]:
    """Random weights of variance factor / fan, for layers x @ w."""

    def make() -> Initializer:
        def init(key: Any, shape: tuple[int, ...], dtype: Any = float) -> Any:
            fan_in, fan_out = shape[-2], shape[-1]
            fan = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[by]
            scale = sqrt(factor / fan)
            if of == "normal":
                return (
                    random.truncated_normal(key, -2, 2, shape, dtype) * scale / 0.87962566103423978
                )
            limit = sqrt(3.0) * scale
            return random.uniform(key, shape, dtype, -limit, limit)

        return giving_arrays(init)

    return make


def _normal(stddev: float = 1e-2) -> Initializer:
    def init(key: Any, shape: tuple[int, ...], dtype: Any = float) -> Any:
        return random.normal(key, shape, dtype) * stddev

    return giving_arrays(init)


initializers = SimpleNamespace(
    glorot_normal=_scaled(1.0, "avg", "normal"),
    glorot_uniform=_scaled(1.0, "avg", "uniform"),
    he_normal=_scaled(2.0, "in", "normal"),
    he_uniform=_scaled(2.0, "in", "uniform"),
    lecun_normal=_scaled(1.0, "in", "normal"),
    lecun_uniform=_scaled(1.0, "in", "uniform"),
    normal=_normal,
    zeros=giving_arrays(lambda key, shape, dtype=float: gnp.zeros(shape, dtype=dtype)),
    ones=giving_arrays(lambda key, shape, dtype=float: gnp.ones(shape, dtype=dtype)),
)

__all__ = [
    *_SAME, "gelu", "glu", "initializers", "log_softmax", "logsumexp", "one_hot", "softmax",
    "standardize", "tanh",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.nn", {}, lambda: __all__)
else:

    def __getattr__(name: str) -> Any: ...
