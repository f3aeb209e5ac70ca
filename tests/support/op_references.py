"""What ops compute, written plainly in NumPy and independently of the ops, in float64."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod, sqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Reference = Callable[..., Any]


def _as_axis(axis: Any, x: Array) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def erf(x: Array) -> Array:
    """By quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    half = np.expand_dims(x, -1) / 2
    return 2 / sqrt(pi) * np.sum(half * weights * np.exp(-((half * (nodes + 1)) ** 2)), -1)


def mean(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    axes = _as_axis(axis, x)
    count = prod(x.shape[a] for a in axes)
    return np.sum(x, axis=axes, keepdims=keepdims) / np.float64(count)


def summed(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.sum(x, axis=_as_axis(axis, x), keepdims=keepdims)


def largest(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.max(x, axis=_as_axis(axis, x), keepdims=keepdims)


def smallest(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.min(x, axis=_as_axis(axis, x), keepdims=keepdims)


def logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.log(np.sum(np.exp(x), axis=_as_axis(axis, x), keepdims=keepdims))


def softmax(x: Array, axis: int = -1) -> Array:
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int = -1) -> Array:
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


def _picked(x: Array, axis: int, places: range) -> Array:
    return np.take(x, np.array(places, np.int64), axis=axis)


def flip(x: Array, axis: Any = None) -> Array:
    for a in _as_axis(axis, x):
        x = _picked(x, a, range(x.shape[a] - 1, -1, -1))
    return x


def slice_(x: Array, start: Any = 0, stop: Any = None, step: Any = 1) -> Array:
    bounds = (np.broadcast_to(b, x.ndim) for b in (start, x.shape if stop is None else stop, step))
    for a, (n, first, last, by) in enumerate(zip(x.shape, *bounds, strict=True)):
        first, last = first % n if first < 0 else first, last % n if last < 0 else last
        x = _picked(x, a, range(first, last, by))
    return x


def pad(x: Array, low: Any, high: Any, value: float = 0.0) -> Array:
    low, high = np.broadcast_to(low, x.ndim), np.broadcast_to(high, x.ndim)
    shape = [lo + n + hi for lo, n, hi in zip(low, x.shape, high, strict=True)]
    result = np.full(shape, value)
    result[tuple(slice(lo, lo + n) for lo, n in zip(low, x.shape, strict=True))] = x
    return result


def scatter_add(x: Array, indices: Array, updates: Array, axis: int = 0) -> Array:
    axis %= x.ndim
    result = np.moveaxis(np.array(x), axis, 0)
    k = indices.ndim
    rows = np.moveaxis(updates, range(axis, axis + k), range(k)).reshape(-1, *result.shape[1:])
    for i, row in zip(indices.ravel(), rows, strict=True):
        result[i] += row
    return np.moveaxis(result, 0, axis)


def take_along_axis(x: Array, indices: Array, axis: int = 0) -> Array:
    result = np.zeros(indices.shape)
    for place in np.ndindex(*indices.shape):
        source = list(place)
        source[axis] = indices[place]
        result[place] = x[tuple(source)]
    return result


def take_along_axis_backward(shape: tuple[int, ...]) -> Reference:
    def function(ct: Array, indices: Array, axis: int = 0) -> Array:
        result = np.zeros(shape)
        for place in np.ndindex(*indices.shape):
            target = list(place)
            target[axis] = indices[place]
            result[tuple(target)] += ct[place]
        return result

    return function


def nll_loss(
    log_probs: Array,
    targets: Array,
    weights: Array | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """One target after the other, as PyTorch's documentation defines it."""
    table = log_probs if log_probs.ndim == 1 else np.moveaxis(log_probs, 1, -1)
    classes = table.shape[-1]
    scale = np.ones(classes) if weights is None else weights
    losses, total = np.zeros(targets.shape), 0.0
    for place in np.ndindex(*targets.shape):
        t = int(targets[place])
        if t == ignore_index:
            continue
        line = table[place]
        losses[place] = -(1 - label_smoothing) * scale[t] * line[t]
        losses[place] -= label_smoothing / classes * float(np.sum(scale * line))
        total += scale[t]
    if reduction == "none":
        return losses
    return np.sum(losses) / (np.float64(total) if reduction == "mean" else 1)


def cross_entropy(logits: Array, *others: Any, **attributes: Any) -> Any:
    axis = 0 if logits.ndim == 1 else 1
    return nll_loss(log_softmax(logits, axis), *others, **attributes)


def nll_loss_backward(shape: tuple[int, ...]) -> Reference:
    def function(ct: Array, *others: Any, **attributes: Any) -> Array:
        """The loss is linear in the log probabilities: its transpose, column by column."""
        units = np.eye(prod(shape)).reshape(prod(shape), *shape)
        columns = [np.sum(ct * nll_loss(u, *others, **attributes)) for u in units]
        return np.array(columns).reshape(shape)

    return function
