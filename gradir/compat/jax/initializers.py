"""jax.nn.initializers: functions (key, shape, dtype) of the first weights of a layer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import prod, sqrt
from typing import Any

import gradir.numpy as gnp
import gradir.random as random
from gradir.compat.jax.arrays import giving_arrays
from gradir.errors import ArgumentError

Initializer = Callable[..., Any]


def constant(value: Any, dtype: Any = float) -> Initializer:
    """One value at all places."""

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        del key
        return gnp.full(shape, value, dtype=dtype)

    return giving_arrays(init)


zeros, ones = constant(0.0), constant(1.0)


def uniform(scale: float = 1e-2, dtype: Any = float) -> Initializer:
    """Uniform in [0, scale)."""

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        return random.uniform(key, shape, dtype) * scale

    return giving_arrays(init)


def normal(stddev: float = 1e-2, dtype: Any = float) -> Initializer:
    """Normal of mean 0."""

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        return random.normal(key, shape, dtype) * stddev

    return giving_arrays(init)


def truncated_normal(
    stddev: float = 1e-2, dtype: Any = float, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Normal of mean 0 between bounds, which are times stddev."""

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        return random.truncated_normal(key, lower, upper, shape, dtype) * stddev

    return giving_arrays(init)


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: int = -2,
    out_axis: int = -1,
    dtype: Any = float,
) -> Initializer:
    """Variance scale / fan, of the fan of the `mode`: other axes than in and out are a window."""
    draws = {"truncated_normal": _truncated, "normal": normal, "uniform": _symmetric}
    if mode not in _FANS or distribution not in draws:
        known = f"mode one of {', '.join(_FANS)}, distribution one of {', '.join(draws)}"
        raise ArgumentError(f"variance_scaling: expected {known}, got {mode!r}, {distribution!r}")

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        window = prod(shape) / shape[in_axis] / shape[out_axis]
        fan = _FANS[mode](shape[in_axis] * window, shape[out_axis] * window)
        return draws[distribution](sqrt(scale / fan))(key, shape, dtype)

    return giving_arrays(init)


_FANS: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
}


def _truncated(deviation: float) -> Initializer:
    """What truncated_normal has to be scaled by to have the deviation."""
    return truncated_normal(deviation / 0.87962566103423978)


def _symmetric(deviation: float) -> Initializer:
    limit = sqrt(3.0) * deviation
    return lambda key, shape, dtype: random.uniform(key, shape, dtype, -limit, limit)


def orthogonal(scale: float = 1.0, column_axis: int = -1, dtype: Any = float) -> Initializer:
    """Rows or columns that are orthogonal to each other and of length `scale`."""

    def init(key: Any, shape: tuple[int, ...], dtype: Any = dtype) -> Any:
        rows = shape[column_axis]
        others = [n for k, n in enumerate(shape) if k != column_axis % len(shape)]
        columns = prod(others)
        drawn = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
        q, r = gnp.linalg.qr(drawn)
        q = q * gnp.sign(gnp.diagonal(r))
        q = gnp.swapaxes(q, 0, 1) if rows < columns else q
        return scale * gnp.moveaxis(gnp.reshape(q, (rows, *others)), 0, column_axis)

    return giving_arrays(init)


glorot_normal = partial(variance_scaling, 1.0, "fan_avg", "truncated_normal")
glorot_uniform = partial(variance_scaling, 1.0, "fan_avg", "uniform")
he_normal = partial(variance_scaling, 2.0, "fan_in", "truncated_normal")
he_uniform = partial(variance_scaling, 2.0, "fan_in", "uniform")
lecun_normal = partial(variance_scaling, 1.0, "fan_in", "truncated_normal")
lecun_uniform = partial(variance_scaling, 1.0, "fan_in", "uniform")
xavier_normal, xavier_uniform = glorot_normal, glorot_uniform
kaiming_normal, kaiming_uniform = he_normal, he_uniform

sys.modules["gradir.compat.jax.nn.initializers"] = sys.modules[__name__]
