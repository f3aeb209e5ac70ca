"""ONNX's Resize: each axis by a matrix that holds the weights of its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.onnx_rules.arguments import (
    OnnxRules,
    axes_of,
    counted,
    numbers,
    require_small,
)
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import constant, element

RULES = OnnxRules()
Array = np.ndarray[Any, Any]


@RULES.onnx("Resize", static=[1, 2, 3])
def _resized(
    call: Any, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, antialias: int = 0,
    axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    places = axes_of(x, axes)
    factors, lengths = _factors(x, places, scales, sizes, keep_aspect_ratio_policy)
    kind, made = element(x), x
    rows = None if roi is None or not roi.size else roi.reshape(2, -1)
    for k, axis in enumerate(places):
        window = None if rows is None else (float(rows[0, k]), float(rows[1, k]))
        line = _Line(
            x.shape[axis], lengths[k], factors[k], coordinate_transformation_mode, window,
        )  # fmt: skip
        weights, outside = line.weights(
            mode, nearest_mode, cubic_coeff_a, bool(exclude_outside), bool(antialias)
        )
        if line.is_unchanged(mode, weights):
            continue
        made = _along(made, axis, weights)
        if outside.any():
            shape = [-1 if j == axis else 1 for j in range(x.ndim)]
            made = gnp.where(constant(outside.reshape(shape)), extrapolation_value, made)
    return converted(made, kind)


def _factors(
    x: Any, axes: tuple[int, ...], scales: Any, sizes: Any, policy: str
) -> tuple[list[float], list[int]]:
    extents = [x.shape[a] for a in axes]
    if scales is not None and scales.size:
        factors = [float(s) for s in scales.reshape(-1)]
        return factors, [int(np.floor(d * s)) for d, s in zip(extents, factors, strict=True)]
    lengths = numbers(sizes)
    factors = [n / d for n, d in zip(lengths, extents, strict=True)]
    if policy == "stretch":
        return factors, lengths
    factor = (min if policy == "not_larger" else max)(factors)
    return [factor] * len(axes), [int(np.floor(d * factor + 0.5)) for d in extents]


def _along(x: Any, axis: int, weights: Array) -> Any:
    """Each line along an axis times a matrix; a matrix of ones at single places only reads."""
    if ((weights == 0) | (weights == 1)).all() and (weights.sum(axis=1) == 1).all():
        return gnp.take(x, constant(weights.argmax(axis=1)), axis)
    kind = element(x) if x.dtype.kind == "f" else ELEMENTS["float32"]
    rows = gnp.moveaxis(converted(x, kind), axis, -1)
    made = gnp.matmul(rows, converted(constant(np.ascontiguousarray(weights.T)), kind))
    return gnp.moveaxis(made, -1, axis)


LINE_COST = 16
"""Each line of weights is made in Python: it counts as so many."""


class _Line:
    """An axis of `size` elements that is resized to `length`."""

    def __init__(self, size: int, length: int, scale: float, mode: str, roi: Any):
        self.size, self.scale, self.mode, self.roi = size, scale, mode, roi
        self.length = length
        require_small("weights of an axis", LINE_COST * length, size)
        if mode == "tf_crop_and_resize" and roi is not None and length > 1:
            self.at = roi[0] * (size - 1) + counted(length) * (roi[1] - roi[0]) * (size - 1) / (
                length - 1
            )
        elif mode == "tf_crop_and_resize" and roi is not None:
            self.at = np.array([0.5 * (roi[0] + roi[1]) * (size - 1)])
        else:
            self.at = self._places()

    def _places(self) -> Array:
        x, scale = counted(self.length, np.float64), self.scale
        wanted = scale * self.size
        match self.mode:
            case "asymmetric":
                return x / scale
            case "align_corners":
                return np.zeros(1) if wanted == 1 else x * (self.size - 1) / (wanted - 1)
            case "pytorch_half_pixel":
                return np.full(1, -0.5) if wanted == 1 else (x + 0.5) / scale - 0.5
            case "half_pixel_symmetric":
                adjusted = self.length / wanted
                return self.size / 2 * (1 - adjusted) + (x + 0.5) / scale - 0.5
            case "half_pixel":
                return (x + 0.5) / scale - 0.5
            case _:
                raise refusal(f"Resize: there is no mode {self.mode!r} of coordinates")

    def is_unchanged(self, mode: str, weights: Array) -> bool:
        """Whether the matrix is the identity."""
        return weights.shape[0] == weights.shape[1] and bool((weights == np.eye(self.size)).all())

    def weights(
        self, mode: str, nearest: str, a: float, is_exclusive: bool, is_wide: bool
    ) -> tuple[Array, Array]:
        """The matrix (length, size), and which of its rows lie outside of the elements."""
        made = np.zeros((self.length, self.size))
        outside = np.zeros(self.length, bool)
        for row, at in enumerate(self.at):
            if self.mode == "tf_crop_and_resize":
                outside[row] = at < 0 or at > self.size - 1
            if mode == "nearest":
                made[row, np.clip(_nearest(at, nearest), 0, self.size - 1)] = 1
                continue
            places, parts = _neighbours(at, mode, self.scale if is_wide else 1.0, a)
            if is_exclusive:
                parts = np.where((places < 0) | (places >= self.size), 0, parts)
                parts = parts / parts.sum()
            np.add.at(made[row], np.clip(places, 0, self.size - 1), parts)
        return made, outside


def _nearest(at: float, mode: str) -> int:
    match mode:
        case "round_prefer_ceil":
            return int(np.floor(at + 0.5))
        case "floor":
            return int(np.floor(at))
        case "ceil":
            return int(np.ceil(at))
        case _:
            return int(np.ceil(at - 0.5))


def _neighbours(at: float, mode: str, scale: float, a: float) -> tuple[Array, Array]:
    """The places that a result reads, and their weights; more where the scale is below 1."""
    narrow = min(scale, 1.0)
    reach = (1 if mode == "linear" else 2) / narrow
    places = np.arange(int(np.ceil(at - reach)), int(np.floor(at + reach)) + 1)
    distance = np.abs(places - at) * narrow
    parts = np.maximum(1 - distance, 0) if mode == "linear" else _cubic(distance, a)
    return places, parts / parts.sum()


def _cubic(t: Array, a: float) -> Array:
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


@RULES.onnx("Upsample", static=[1])
def _upsampled(call: Any, x: Any, scales: Any = None, mode: str = "nearest") -> Any:
    return _resized(call, x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric",
                    nearest_mode="floor")  # fmt: skip
