"""nn: dropout of elements and of whole channels, and dropout that keeps mean and variance.

They are PyTorch's, but that they draw by a key and a counter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.dropout import DropoutOp
from gradir.frontends.functions.arguments import floating
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.parts import is_complex_array
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted

# The limit of selu below, negated: scale * alpha.
_LEAST = 1.7580993408473766


HINT = (
    "; draws come from a key, as of gradir.random.key(0), and a counter, such as the number of the "
    "step: dropout(x, key, counter, p), without training"
)


def dropout(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """x / (1 - p), or 0 for dropped elements; each is dropped with probability p, in [0, 1].

    key: an integer, as of gradir.random.key(0). counter: an integer, such as the number of the
    step; the same key and counter drop the same elements. The op is nn.dropout.
    """
    if isinstance(key, float):
        raise refusal(f"nn.dropout: key must be an integer, got {key}{HINT}")
    if is_complex_array(lifted(x)):
        return _dropped(lifted(x), lifted(x).shape, key, counter, p)
    return apply(DropoutOp, {"x": x, "key": key, "counter": counter, "p": p})


def _kept(x: Tracer, shape: Sequence[int], key: Any, counter: Any, p: float) -> Any:
    """1 / (1 - p) where kept, 0 where dropped."""
    ones = gnp.ones(shape, dtype=x.dtype)
    return apply(DropoutOp, {"x": ones, "key": key, "counter": counter, "p": p})


def _dropped(x: Tracer, shape: Sequence[int], key: Any, counter: Any, p: float) -> Any:
    """x / (1 - p), or 0 for dropped elements; `shape`, which broadcasts, is that of the draws."""
    kept = _kept(gnp.real(x), shape, key, counter, p)
    return gnp.where(kept > 0, x * kept, 0)


def _channels(x: Any, key: Any, counter: Any, p: float, dims: int) -> Tracer:
    x = floating(x)
    if x.ndim not in (dims + 1, dims + 2):
        raise refusal(
            f"nn.dropout{dims}d: x must have channels and {dims} further axes, and may have a "
            f"batch axis, got {x!r}"
        )
    first = x.ndim - dims
    return _dropped(x, (*x.shape[:first], *[1] * dims), key, counter, p)


def dropout1d(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """x [N, C, L] or [C, L] / (1 - p), or 0 in dropped channels, each of probability p."""
    return _channels(x, key, counter, p, 1)


def dropout2d(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """x [N, C, H, W] or [C, H, W] / (1 - p), or 0 in dropped channels, each of probability p."""
    return _channels(x, key, counter, p, 2)


def dropout3d(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """x [N, C, D, H, W] or [C, D, H, W] / (1 - p), or 0 in dropped channels."""
    return _channels(x, key, counter, p, 3)


def alpha_dropout(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """Dropped elements are selu's limit below; all are then scaled and moved, so that a mean of 0
    and a variance of 1 stay.   vjp: the scale where kept
    """
    x = floating(x)
    return _selu_dropped(x, _kept(x, x.shape, key, counter, p), p)


def feature_alpha_dropout(x: Any, key: Any, counter: Any, p: float = 0.5) -> Tracer:
    """alpha_dropout of whole channels of x [N, C, d...]."""
    x = floating(x)
    if x.ndim < 2:
        raise refusal(f"nn.feature_alpha_dropout: x must be [N, C, d...], got {x!r}")
    shape = (*x.shape[:2], *[1] * (x.ndim - 2))
    return _selu_dropped(x, _kept(x, shape, key, counter, p), p)


def _selu_dropped(x: Tracer, kept: Any, p: float) -> Tracer:
    if p == 1:
        return gnp.zeros(x.shape, dtype=x.dtype)
    scale = 1 / sqrt((_LEAST**2 * p + 1) * (1 - p))
    return gnp.where(kept > 0, x * scale, -_LEAST * scale) + _LEAST * scale * p


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    dropout, dropout1d, dropout2d, dropout3d, alpha_dropout, feature_alpha_dropout,
)  # fmt: skip
