"""nn: norms, distances and similarities of vectors, and layers made of them, as PyTorch has them.

The derivative of a norm at 0 is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.pools import AvgPool2dOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted
from gradir.frontends.functions.wide import wide
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element


def norm_along(x: Any, p: float, axis: Any, keepdims: bool = False) -> Tracer:
    """The p-norm along an axis, inf too; its derivative is 0 where it is 0."""
    return gnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=p)


def power(x: Any, p: float) -> Any:
    """x ** p of x >= 0; derivative 0 at 0."""
    safe = gnp.where(x == 0, 1, x)
    return gnp.where(x == 0, 0, gnp.sqrt(safe) if p == 0.5 else gnp.pow(safe, p))


def normalize(x: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tracer:
    """x / max(norm of x along `axis`, eps)."""
    x = floating(x)
    return x / gnp.maximum(norm_along(x, p, axis, keepdims=True), eps)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Tracer:
    """The cosine of the angle between vectors along `axis`; norms are at least eps."""
    x1, x2 = gnp.broadcast_arrays(floating(x1), floating(x2))
    return gnp.sum(normalize(x1, 2, axis, eps) * normalize(x2, 2, axis, eps), axis=axis)


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tracer:
    """The p-norms of x1 - x2 + eps along the last axis."""
    return norm_along(floating(x1) - floating(x2) + eps, p, -1, keepdims)


def pdist(x: Any, p: float = 2.0) -> Tracer:
    """The p-norms of x[i] - x[j] of the rows i < j of x [N, D], in row-major order of (i, j)."""
    x = floating(x)
    if x.ndim != 2:
        raise refusal(f"nn.pdist: x must have rank 2, got {x!r}")
    first, second = np.triu_indices(x.shape[0], 1)
    return norm_along(gnp.take(x, first, 0) - gnp.take(x, second, 0), p, -1)


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Tracer:
    """y[..., o] = x1[..., i] * weight[o, i, j] * x2[..., j], summed over i and j, + bias[o]."""
    left = gnp.tensordot(floating(x1), floating(weight), ([-1], [1]))
    y = gnp.squeeze(left @ gnp.expand_dims(floating(x2), -1), -1)
    return y if bias is None else y + bias


def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tracer:
    """x [N, C, d...] / (k + alpha * the mean of x ** 2 of `size` channels around each) ** beta.

    Channels outside of x count as 0 in the mean.
    """
    x = floating(x)
    if x.ndim < 3 or size < 1:
        raise refusal(f"nn.local_response_norm: x must be [N, C, d...], size >= 1, got {x!r}")
    n, channels = x.shape[:2]
    image = gnp.reshape(gnp.square(wide(x)), (n, 1, channels, prod(x.shape[2:])))
    image = gnp.pad(image, ((0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)))
    settings = {"kernel": [size, 1], "stride": [1, 1]}
    mean = gnp.reshape(apply(AvgPool2dOp, {"x": image, **settings}), x.shape)
    return converted(wide(x) / gnp.pow(mean * alpha + k, beta), element(x))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    normalize, cosine_similarity, pairwise_distance, pdist, bilinear, local_response_norm,
)  # fmt: skip
