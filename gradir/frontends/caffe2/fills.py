"""Operator types that draw random numbers: fills of blobs, as those that begin training."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import dtype_named
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.sources import filled_shape
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import element

_FILL: dict[str, Any] = {
    "inputs": (0, 1),
    "reads": NOTHING,
    "differentiable": (),
    "is_typed": True,
    "arguments": ("shape", "extra_shape", "input_as_shape", "seed", "dtype"),
}
"""They take their shape and type from an input, else from `shape`, in float32.

The numbers are a function of `seed` and of the operator's place in the net.
"""


class _Drawn(NamedTuple):
    """What a draw is a function of."""

    seed: int
    number: int
    shape: list[int]
    dtype: Any


def _drawn(
    like: Any, number: int, *, shape: Sequence[int] = (), extra_shape: Sequence[int] = (),
    input_as_shape: int = 0, seed: int = 0, dtype: int | str | None = None,
) -> _Drawn:  # fmt: skip
    if not isinstance(seed, int):
        raise ArgumentError(f"seed: expected an integer, got {seed!r}")
    kind: Any = np.dtype("float32")
    if dtype is not None:
        kind = dtype_named(dtype)
    elif like is not None and not like.weak and is_float(element(like)):
        kind = like.dtype
    if kind.kind in "iub":
        raise ArgumentError(f"dtype: expected a floating type, got {kind.name}")
    return _Drawn(seed, number, filled_shape(like, shape, extra_shape, input_as_shape), kind)


def _fan(shape: Sequence[int], axis: int) -> int:
    """The elements of a weight for each index of an axis."""
    if len(shape) <= axis:
        raise ArgumentError(f"expected a shape of rank {axis + 1} or more, got {list(shape)}")
    return max(prod(n for k, n in enumerate(shape) if k != axis), 1)


def _uniform(drawn: _Drawn, low: float, high: float) -> Any:
    if not low <= high:
        raise ArgumentError(f"expected min <= max, got {low} and {high}")
    return gnp.uniform(*drawn, low=low, high=high)


def _normal(drawn: _Drawn, mean: float, deviation: float) -> Any:
    if not deviation >= 0:
        raise ArgumentError(f"std: expected 0 or more, got {deviation}")
    return gnp.normal(*drawn) * deviation + mean


@operator_type("UniformFill", **_FILL)
def uniform_fill(
    like: Any = None, *, number: int, min: float = 0.0, max: float = 1.0, **given: Any
) -> Any:
    """Numbers uniformly distributed in [min, max)."""
    return _uniform(_drawn(like, number, **given), float(min), float(max))


@operator_type("GaussianFill", **_FILL)
def gaussian_fill(
    like: Any = None, *, number: int, mean: float = 0.0, std: float = 1.0, **given: Any
) -> Any:
    """Normally distributed numbers."""
    return _normal(_drawn(like, number, **given), float(mean), float(std))


@operator_type("XavierFill", **_FILL)
def xavier_fill(like: Any = None, *, number: int, **given: Any) -> Any:
    """Uniformly distributed numbers of variance 1 / n, where n are the elements of x[0]."""
    drawn = _drawn(like, number, **given)
    bound = sqrt(3 / _fan(drawn.shape, 0))
    return _uniform(drawn, -bound, bound)


@operator_type("MSRAFill", **_FILL)
def msra_fill(like: Any = None, *, number: int, **given: Any) -> Any:
    """Normally distributed numbers of variance 2 / n, where n are the elements of x[:, 0]."""
    drawn = _drawn(like, number, **given)
    return _normal(drawn, 0.0, sqrt(2 / _fan(drawn.shape, 1)))
