"""ONNX's operators on images and signals: convolutions, pools, other sizes, sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.onnx_rules.arguments import (
    INT64,
    OnnxRules,
    counted,
    is_real,
    numbers,
    require_small,
)
from gradir.frontends.imported.onnx_rules.products import shifted
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import constant, element

RULES = OnnxRules()


@dataclass(frozen=True)
class ImageWindows:
    """The windows of a convolution or pool: one number for each spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls, x: Any, kernel: Sequence[int], strides: Any, dilations: Any, pads: Any, auto_pad: str
    ) -> ImageWindows:
        """By the attributes of an operator; its padding by name follows from the sizes."""
        rank = len(kernel)
        steps = tuple(strides or [1] * rank)
        wide = tuple(dilations or [1] * rank)
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            sides = [
                _same(d, k, s, w, auto_pad == "SAME_UPPER")
                for d, k, s, w in zip(x.shape[2:], kernel, steps, wide, strict=True)
            ]
        else:
            given = list(pads or [0] * 2 * rank) if auto_pad == "NOTSET" else [0] * 2 * rank
            sides = list(zip(given[:rank], given[rank:], strict=True))
        return cls(tuple(kernel), steps, wide, tuple(sides))

    def ends(self, shape: Sequence[int]) -> list[int]:
        """The further elements at the end that a rounded-up count of windows reads."""
        found: list[int] = []
        for d, k, s, w, (a, b) in zip(
            shape, self.kernel, self.strides, self.dilations, self.pads, strict=True
        ):
            rest = d + a + b - ((k - 1) * w + 1)
            count = -(-rest // s) + 1
            if (count - 1) * s >= d + a:  # no window begins in the padding at the end
                count -= 1
            found.append(max((count - 1) * s - rest, 0))
        return found


def _same(size: int, kernel: int, step: int, wide: int, is_upper: bool) -> tuple[int, int]:
    total = max((-(-size // step) - 1) * step + (kernel - 1) * wide + 1 - size, 0)
    return (total // 2, total - total // 2) if is_upper else (total - total // 2, total // 2)


def _of_rank(name: str, rank: int) -> Any:
    if not 1 <= rank <= 3:
        raise refusal(f"of 1 to 3 spatial axes, got {rank}")
    return getattr(nn, f"{name}{rank}d")


def _is_even(windows: ImageWindows) -> bool:
    return all(a == b for a, b in windows.pads)


def _padded(x: Any, pads: Sequence[tuple[int, int]], value: float = 0.0) -> Any:
    return gnp.pad(x, [(0, 0), (0, 0), *pads], constant_values=value)


@RULES.onnx("Conv", note="up to 3 spatial axes")
def _convolution(
    call: Any, x: Any, weight: Any, bias: Any = None, auto_pad: str = "NOTSET",
    dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, weight.shape[2:], strides, dilations, pads, auto_pad)
    return convolved(x, weight, bias, windows, group)


def convolved(x: Any, weight: Any, bias: Any, windows: ImageWindows, group: int) -> Any:
    """A convolution with sides that may differ."""
    function = _of_rank("conv", len(windows.kernel))
    sides = [a for a, _ in windows.pads]
    if not _is_even(windows):
        x, sides = _padded(x, windows.pads, 0), [0] * len(sides)
    return function(x, weight, bias, list(windows.strides), sides, list(windows.dilations), group)


@RULES.onnx("ConvTranspose", note="up to 3 spatial axes")
def _transposed(
    call: Any, x: Any, weight: Any, bias: Any = None, auto_pad: str = "NOTSET",
    dilations: Any = None, group: int = 1, kernel_shape: Any = None, output_padding: Any = None,
    output_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    rank = weight.ndim - 2
    steps, wide = list(strides or [1] * rank), list(dilations or [1] * rank)
    more = list(output_padding or [0] * rank)
    full = [
        (d - 1) * s + (k - 1) * w + 1 + m
        for d, s, k, w, m in zip(x.shape[2:], steps, weight.shape[2:], wide, more, strict=True)
    ]
    sides = _cut_sides(x, full, steps, auto_pad, output_shape, pads)
    function = _of_rank("conv_transpose", rank)
    # the whole result, whose sides are cut; further rows at the end hold the bias alone
    made = function(x, weight, None, steps, [0] * rank, wide, group)
    lacking = [(0, max(f - m, 0)) for f, m in zip(full, made.shape[2:], strict=True)]
    lacking = [
        (max(-a, 0), lack + max(-b, 0)) for (a, b), (_, lack) in zip(sides, lacking, strict=True)
    ]
    if any(any(side) for side in lacking):
        made = _padded(made, lacking)
    starts = [max(a, 0) for a, _ in sides]
    sizes = [f - a - b for f, (a, b) in zip(full, sides, strict=True)]
    made = made[
        (slice(None), slice(None), *(slice(a, a + n) for a, n in zip(starts, sizes, strict=True)))
    ]
    return made if bias is None else op.add(made, gnp.reshape(bias, (-1, *[1] * rank)))


def _cut_sides(
    x: Any, full: Sequence[int], steps: Sequence[int], auto_pad: str, output_shape: Any, pads: Any
) -> list[tuple[int, int]]:
    """The elements to cut at both sides of each spatial axis."""
    rank = len(full)
    if output_shape is not None:
        wanted = list(output_shape)[-rank:]
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [d * s for d, s in zip(x.shape[2:], steps, strict=True)]
    else:
        given = list(pads or [0] * 2 * rank) if auto_pad == "NOTSET" else [0] * 2 * rank
        return list(zip(given[:rank], given[rank:], strict=True))
    totals = [f - w for f, w in zip(full, wanted, strict=True)]
    if auto_pad == "SAME_UPPER":
        return [(t // 2, t - t // 2) for t in totals]
    return [(t - t // 2, t // 2) for t in totals]


@RULES.onnx("ConvInteger")
def _integer_convolution(
    call: Any, x: Any, weight: Any, x_zero: Any = None, w_zero: Any = None,
    auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1, kernel_shape: Any = None,
    pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, weight.shape[2:], strides, dilations, pads, auto_pad)
    if w_zero is not None and w_zero.ndim:
        w_zero = gnp.reshape(w_zero, (-1, *[1] * (weight.ndim - 1)))
    wide = [
        converted(shifted(a, z), ELEMENTS["float64"]) for a, z in ((x, x_zero), (weight, w_zero))
    ]
    return converted(convolved(wide[0], wide[1], None, windows, group), ELEMENTS["int32"])


# Pools.


@RULES.onnx("MaxPool", note="up to 3 spatial axes")
def _max_pool(
    call: Any, x: Any, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Any = None, pads: Any = None, storage_order: int = 0, strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, kernel_shape, strides, dilations, pads, auto_pad)
    sides = [(a, b) for a, b in windows.pads]
    if ceil_mode:
        sides = [
            (a, b + more) for (a, b), more in zip(sides, windows.ends(x.shape[2:]), strict=True)
        ]
    kind = element(x)
    lowest = -np.inf if is_real(x) else int(np.iinfo(x.dtype).min)
    given = _padded(x, sides, lowest) if any(map(any, sides)) else x
    wide = given if is_real(x) else converted(given, ELEMENTS["float32"])
    wants_places = len(call["outputs"]) > 1
    function = _of_rank("max_pool", len(windows.kernel))
    made = function(wide, list(windows.kernel), list(windows.strides), [0] * len(sides), False,
                    dilation=list(windows.dilations), return_indices=wants_places)  # fmt: skip
    if not wants_places:
        return converted(made, kind)
    values, places = made
    whole = _unpadded_places(places, x.shape, given.shape, sides, bool(storage_order))
    return [converted(values, kind), whole]


def _unpadded_places(
    places: Any, shape: Sequence[int], padded: Sequence[int], sides: Any, is_column_major: bool
) -> Any:
    """Places in the whole tensor without its padding, from places in each padded image."""
    rest, coordinates = converted(places, INT64), list[Any]()
    for d, (a, _) in zip(padded[:1:-1], sides[::-1], strict=True):
        coordinates.insert(0, rest % d - a)
        rest = rest // d
    spatial = shape[2:]
    order = range(len(spatial))[::-1] if is_column_major else range(len(spatial))
    made: Any = 0
    for k in order:
        made = made * spatial[k] + coordinates[k]
    images = counted(prod(shape[:2])).reshape([*shape[:2], *[1] * len(spatial)])
    return made + constant(images) * prod(spatial)


@RULES.onnx("AveragePool", note="up to 3 spatial axes")
def _average_pool(
    call: Any, x: Any, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, kernel_shape, strides, dilations, pads, auto_pad)
    ends = windows.ends(x.shape[2:]) if ceil_mode else [0] * len(windows.kernel)
    total = _window_sums(x, windows, ends)
    padded = [d + a + b for d, (a, b) in zip(x.shape[2:], windows.pads, strict=True)]
    require_small("elements of a padded image", *padded)
    ones = np.ones((1, 1, *x.shape[2:]))
    if count_include_pad:
        ones = np.pad(ones, [(0, 0), (0, 0), *windows.pads], constant_values=1.0)
        windows = ImageWindows(windows.kernel, windows.strides, windows.dilations,
                          tuple((0, 0) for _ in windows.pads))  # fmt: skip
    counts = _window_sums(converted(constant(ones), element(x)), windows, ends)
    return op.divide(total, counts)


def _window_sums(x: Any, windows: ImageWindows, ends: Sequence[int]) -> Any:
    """The sum in each window: a convolution with ones of each channel."""
    pads = tuple((a, b + more) for (a, b), more in zip(windows.pads, ends, strict=True))
    images = gnp.reshape(x, (-1, 1, *x.shape[2:]))
    require_small("elements of a window", *windows.kernel)
    ones = converted(constant(np.ones((1, 1, *windows.kernel))), element(x))
    made = convolved(
        images,
        ones,
        None,
        ImageWindows(windows.kernel, windows.strides, windows.dilations, pads),
        1,
    )
    return gnp.reshape(made, (*x.shape[:2], *made.shape[2:]))


@RULES.onnx("LpPool", note="up to 3 spatial axes")
def _power_pool(
    call: Any, x: Any, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Any = None, p: int = 2, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    windows = ImageWindows.of(x, kernel_shape, strides, dilations, pads, auto_pad)
    ends = windows.ends(x.shape[2:]) if ceil_mode else [0] * len(windows.kernel)
    return _root(_window_sums(op.pow(op.abs(x), p), windows, ends), p)


def _global(function: Any) -> Any:
    def rule(call: Any, x: Any) -> Any:
        return function(x, axis=tuple(range(2, x.ndim)), keepdims=True)

    return rule


RULES.onnx("GlobalAveragePool")(_global(gnp.mean))
RULES.onnx("GlobalMaxPool")(_global(gnp.max))


@RULES.onnx("GlobalLpPool")
def _global_power(call: Any, x: Any, p: int = 2) -> Any:
    total = gnp.sum(op.pow(op.abs(x), p), axis=tuple(range(2, x.ndim)), keepdims=True)
    return _root(total, p)


def _root(total: Any, p: int) -> Any:
    """total ** (1 / p) of a total of at least 0; its derivative is 0 at 0."""
    return op.pow(gnp.where(op.equal(total, 0), 0, total), 1.0 / p)


@RULES.onnx("MaxUnpool", static=[2])
def _unpooled(
    call: Any, x: Any, places: Any, shape: Any = None, kernel_shape: Any = (), pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    rank = len(kernel_shape)
    steps, given = list(strides or [1] * rank), list(pads or [0] * 2 * rank)
    sizes = [
        (d - 1) * s - given[k] - given[k + rank] + n
        for k, (d, s, n) in enumerate(zip(x.shape[2:], steps, kernel_shape, strict=True))
    ]
    inferred = [*x.shape[:2], *sizes]
    whole = inferred if shape is None else numbers(shape)
    flat = converted(gnp.ravel(places), INT64)
    if list(whole) != inferred:  # the places are those of the inferred size
        parts, rest = list[Any](), flat
        for d in inferred[::-1]:
            parts.insert(0, rest % d)
            rest = rest // d
        flat = parts[0]
        for d, part in zip(whole[1:], parts[1:], strict=True):
            flat = flat * d + part
    empty = gnp.zeros((prod(whole),), dtype=x.dtype)
    return gnp.reshape(empty.at[flat].set(gnp.ravel(x)), whole)


@RULES.onnx("LRN")
def _local_norm(
    call: Any, x: Any, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0
) -> Any:
    before = (size - 1) // 2
    square = op.square(x)
    sides = [(0, 0)] * x.ndim
    sides[1] = before, size - 1 - before
    wide = gnp.pad(square, sides)
    total: Any = wide[:, : x.shape[1]]
    for k in range(1, size):
        total = total + wide[:, k : k + x.shape[1]]
    return x / op.pow(total * (alpha / size) + bias, beta)


@RULES.onnx("Col2Im", static=[1, 2], note="of two spatial axes")
def _from_columns(
    call: Any, x: Any, image: Any, block: Any, dilations: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    size, kernel = numbers(image), numbers(block)
    rank = len(size)
    if rank != 2:
        raise refusal(f"Col2Im: of 2 spatial axes, got {rank}")
    sides = list(pads or [0] * 2 * rank)
    whole = [d + sides[k] + sides[k + rank] for k, d in enumerate(size)]
    made = nn.fold(x, whole, kernel, list(strides or [1] * rank), 0, list(dilations or [1] * rank))
    return made[
        (slice(None), slice(None), *(slice(sides[k], sides[k] + d) for k, d in enumerate(size)))
    ]


@RULES.onnx("GridSample", note="of two and three spatial axes")
def _sampled(
    call: Any, x: Any, grid: Any, align_corners: int = 0, mode: str = "linear",
    padding_mode: str = "zeros",
) -> Any:  # fmt: skip
    names = {"linear": "bilinear", "cubic": "bicubic"}
    return nn.grid_sample(x, grid, names.get(mode, mode), padding_mode, bool(align_corners))


@RULES.onnx("AffineGrid", static=[1])
def _grid(call: Any, theta: Any, size: Any, align_corners: int = 0) -> Any:
    return nn.affine_grid(theta, numbers(size), bool(align_corners))
