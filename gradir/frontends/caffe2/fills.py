"""Operator types that draw random numbers: fills of blobs, as those that begin training."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elementwise import NOTHING
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import element

_FILL: dict[str, Any] = {"inputs": (0, 1), "reads": NOTHING, "differentiable": ()}
"""They take their shape and type from an input, else from `shape`, in float32.

The numbers are a function of `seed` and of the operator's place in the net.
"""


def _type(like: Any, shape: Sequence[int]) -> tuple[tuple[int, ...], Any]:
    """The shape and the type of a fill."""
    if like is None:
        return tuple(shape), "float32"
    return like.shape, like.dtype if is_float(element(like)) else "float32"


def _fan(shape: Sequence[int], axis: int) -> int:
    """The elements of a weight for each index of an axis."""
    if len(shape) <= axis:
        raise ArgumentError(f"expected a shape of rank {axis + 1} or more, got {list(shape)}")
    return max(prod(n for k, n in enumerate(shape) if k != axis), 1)


def _uniform(of: tuple[Any, Any], seed: int, number: int, low: float, high: float) -> Any:
    if not low <= high:
        raise ArgumentError(f"expected min <= max, got {low} and {high}")
    return gnp.uniform(seed, number, *of, low=low, high=high)


def _normal(of: tuple[Any, Any], seed: int, number: int, mean: float, deviation: float) -> Any:
    return gnp.normal(seed, number, *of) * deviation + mean


@operator_type("UniformFill", **_FILL)
def uniform_fill(
    like: Any = None, *, number: int, shape: Sequence[int] = (), min: float = 0.0,
    max: float = 1.0, seed: int = 0,
) -> Any:  # fmt: skip
    """Numbers uniformly distributed in [min, max)."""
    return _uniform(_type(like, shape), seed, number, float(min), float(max))


@operator_type("GaussianFill", **_FILL)
def gaussian_fill(
    like: Any = None, *, number: int, shape: Sequence[int] = (), mean: float = 0.0,
    std: float = 1.0, seed: int = 0,
) -> Any:  # fmt: skip
    """Normally distributed numbers."""
    return _normal(_type(like, shape), seed, number, float(mean), float(std))


@operator_type("XavierFill", **_FILL)
def xavier_fill(like: Any = None, *, number: int, shape: Sequence[int] = (), seed: int = 0) -> Any:
    """Uniformly distributed numbers of variance 1 / n, where n are the elements of x[0]."""
    of = _type(like, shape)
    bound = sqrt(3 / _fan(of[0], 0))
    return _uniform(of, seed, number, -bound, bound)


@operator_type("MSRAFill", **_FILL)
def msra_fill(like: Any = None, *, number: int, shape: Sequence[int] = (), seed: int = 0) -> Any:
    """Normally distributed numbers of variance 2 / n, where n are the elements of x[:, 0]."""
    of = _type(like, shape)
    return _normal(of, seed, number, 0.0, sqrt(2 / _fan(of[0], 1)))
