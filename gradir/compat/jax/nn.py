"""jax.nn: activations with JAX's defaults, and initializers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradir.nn as own
import gradir.numpy as gnp
from gradir.compat.jax import absent, initializers
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
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x**2 + b)) / 2."""
    return (x + gnp.sqrt(gnp.square(x) + b)) / 2


@giving_arrays
def identity(x: Any) -> Any:
    """x."""
    return gnp.asarray(x)


@giving_arrays
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)), for x > 0."""
    near = x < 0.6931471805599453
    small, large = gnp.where(near, x, 1.0), gnp.where(near, 1.0, x)
    return gnp.where(near, gnp.log(-gnp.expm1(-small)), gnp.log1p(-gnp.exp(-large)))


@giving_arrays
def sparse_plus(x: Any) -> Any:
    """0 up to -1, x from 1 on, and (x + 1)**2 / 4 between."""
    return gnp.where(x <= -1, 0.0, gnp.where(x >= 1, x, (x + 1) ** 2 / 4))


@giving_arrays
def sparse_sigmoid(x: Any) -> Any:
    """0 up to -1, 1 from 1 on, and (x + 1) / 2 between."""
    return 0.5 * gnp.clip(x + 1.0, 0.0, 2.0)


@giving_arrays
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
) -> Any:
    """Attention of arrays [..., T, heads, H] over keys and values [..., S, heads, H]."""
    q, k, v = (gnp.swapaxes(x, -3, -2) for x in (query, key, value))
    made = own.scaled_dot_product_attention(q, k, v, mask, is_causal, scale)
    return gnp.swapaxes(made, -3, -2)


@giving_arrays
def standardize(x: Any, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along an axis."""
    centered = x - gnp.mean(x, axis=axis, keepdims=True)
    return centered / gnp.sqrt(gnp.mean(centered**2, axis=axis, keepdims=True) + epsilon)


__all__ = [
    *_SAME, "dot_product_attention", "gelu", "glu", "identity", "initializers", "log1mexp",
    "log_softmax", "logsumexp", "one_hot", "softmax", "sparse_plus", "sparse_sigmoid", "squareplus",
    "standardize", "tanh",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.nn", {}, lambda: __all__)
else:

    def __getattr__(name: str) -> Any: ...
