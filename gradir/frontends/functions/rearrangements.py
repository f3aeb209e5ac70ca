"""nn: elements moved, padded and cut into windows, as PyTorch has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import number, one_of
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted

# The place in an axis of extent n that each place of a mode's result is.
_PLACES: dict[str, Callable[[Any, int], Any]] = {
    "reflect": lambda at, n: n - 1 - abs(n - 1 - abs(at)),
    "replicate": lambda at, n: np.clip(at, 0, n - 1),
    "circular": lambda at, n: at % n,
}


def several(given: Any, count: int) -> list[Any]:
    """What is given, as a list; one value `count` times."""
    if isinstance(given, Sequence):
        return list(cast(Sequence[Any], given))
    return [given] * count


def per_axis(given: Any, count: int, what: str) -> list[int]:
    """One integer for each of `count` axes; one number stands for all."""
    listed = several(given, count)
    if len(listed) != count:
        raise refusal(f"{what} must be one number or {count}, got {given!r}")
    return [number(each, what) for each in listed]


def pixel_unshuffle(x: Any, factor: int) -> Tracer:
    """x [..., C, H * r, W * r] as [..., C * r * r, H, W], r = `factor`: pixel_shuffle's inverse."""
    x, r = lifted(x), number(factor, "nn.pixel_unshuffle: factor")
    if x.ndim < 3 or r < 1 or x.shape[-1] % r or x.shape[-2] % r:
        raise refusal(
            f"nn.pixel_unshuffle: x must be [..., C, H, W] with H and W multiples of factor >= 1, "
            f"got {x!r} and {r}"
        )
    *batch, c, h, w = x.shape
    first = len(batch)
    split = gnp.reshape(x, (*batch, c, h // r, r, w // r, r))
    order = (*range(first), first, first + 2, first + 4, first + 1, first + 3)
    return gnp.reshape(gnp.permute_dims(split, order), (*batch, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Tracer:
    """x [N, C, d...] with channel k * (C / groups) + i moved to i * groups + k."""
    x, groups = lifted(x), number(groups, "nn.channel_shuffle: groups")
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise refusal(
            f"nn.channel_shuffle: groups must divide the channels of x [N, C, d...], got {groups} "
            f"and {x!r}"
        )
    n, c, *rest = x.shape
    split = gnp.reshape(x, (n, groups, c // groups, *rest))
    return gnp.reshape(gnp.swapaxes(split, 1, 2), x.shape)


def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tracer:
    """x with pad = (before, after) elements around its last axis, then the one before it, ...

    mode: "constant" (`value`), "reflect", "replicate" or "circular". A negative number cuts.
    vjp: the sum of each element's copies
    """
    x = lifted(x)
    one_of(mode, "nn.pad: mode", ("constant", *_PLACES))
    pairs = [number(each, "nn.pad: pad") for each in pad]
    if len(pairs) % 2 or len(pairs) > 2 * x.ndim:
        raise refusal(f"nn.pad: pad must be pairs for at most {x.ndim} axes, got {pad!r}")
    widths = [(0, 0)] * x.ndim
    for k in range(len(pairs) // 2):
        widths[-1 - k] = (pairs[2 * k], pairs[2 * k + 1])
    if any(low + n + high < 0 for (low, high), n in zip(widths, x.shape, strict=True)):
        raise refusal(f"nn.pad: pad cuts more than {x!r} has, got {pad!r}")
    if mode == "circular":
        # the copies are of what negative numbers leave
        x = x[tuple(slice(max(-a, 0), n - max(-b, 0))
                    for (a, b), n in zip(widths, x.shape, strict=True))]  # fmt: skip
        widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode != "constant":
        for axis, ((low, high), n) in enumerate(zip(widths, x.shape, strict=True)):
            if max(low, high) > _most(mode, n):
                raise refusal(f"nn.pad: mode {mode!r} takes up to {_most(mode, n)} elements of an "
                              f"axis of extent {n}, got {(low, high)}")  # fmt: skip
            if low or high:
                x = gnp.take(x, _PLACES[mode](np.arange(-low, n + high), n), axis)
        return x
    # outer elements first, so that what a negative number cuts may be padding
    x = gnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)
    cuts = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True)]
    return x[tuple(cuts)]


def _most(mode: str, extent: int) -> Any:
    """The most elements that a mode puts on one side of an axis."""
    if mode == "replicate":
        return np.inf if extent else 0
    return max(extent - 1, 0) if mode == "reflect" else extent


class _Blocks:
    """The windows of an image of some axes: kernel, stride, padding and dilation of each."""

    def __init__(
        self, name: str, extents: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
    ):
        self.extents = per_axis(extents, 2, f"{name}: output_size")
        self.kernel = per_axis(kernel, 2, f"{name}: kernel")
        self.stride = per_axis(stride, 2, f"{name}: stride")
        self.padding = per_axis(padding, 2, f"{name}: padding")
        self.dilation = per_axis(dilation, 2, f"{name}: dilation")
        if min(*self.kernel, *self.stride, *self.dilation) < 1 or min(self.padding) < 0:
            raise refusal(
                f"{name}: kernel, stride and dilation must be >= 1 and padding >= 0, got "
                f"{kernel!r}, {stride!r}, {dilation!r} and {padding!r}"
            )
        self.counts = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(
                self.extents, self.kernel, self.stride, self.padding, self.dilation, strict=True
            )
        ]
        if min(self.counts) < 1:
            raise refusal(f"{name}: no window fits an image of extents {self.extents}")

    @property
    def map(self) -> Any:
        """The element of the image that each place of each window is."""
        (s, t), (d, e), (u, v) = self.stride, self.dilation, self.padding
        return lambda n, c, i, j, p, q: (n, c, p * s + i * d - u, q * t + j * e - v)


def unfold(
    x: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tracer:  # fmt: skip
    """The windows of x [N, C, H, W], or [C, H, W], as columns: [N, C * KH * KW, windows].

    Places in the padding are 0. vjp: fold of ct
    """
    x = lifted(x)
    if x.ndim not in (3, 4):
        raise refusal(f"nn.unfold: x must be [N, C, H, W] or [C, H, W], got {x!r}")
    if x.ndim == 3:
        return unfold(x[None], kernel, stride, padding, dilation)[0]
    n, c, *extents = x.shape
    blocks = _Blocks("nn.unfold", extents, kernel, stride, padding, dilation)
    shape = (n, c, *blocks.kernel, *blocks.counts)
    windows = gnp.affine_gather(x, blocks.map, shape, pad=0)
    return gnp.reshape(windows, (n, c * prod(blocks.kernel), prod(blocks.counts)))


def fold(
    x: Any, output_size: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tracer:
    """The sums of windows, the columns of x [N, C * KH * KW, windows], at their places in an image
    [N, C, *output_size]; x may lack N.   vjp: unfold of ct
    """
    x = lifted(x)
    if x.ndim not in (2, 3):
        raise refusal(f"nn.fold: x must be [N, C * kernel, windows], got {x!r}")
    if x.ndim == 2:
        return fold(x[None], output_size, kernel, stride, padding, dilation)[0]
    blocks = _Blocks("nn.fold", output_size, kernel, stride, padding, dilation)
    n, rows, count = x.shape
    if rows % prod(blocks.kernel) or count != prod(blocks.counts):
        raise refusal(
            f"nn.fold: x must be [N, C * {prod(blocks.kernel)}, {prod(blocks.counts)}], got {x!r}"
        )
    c = rows // prod(blocks.kernel)
    windows = gnp.reshape(x, (n, c, *blocks.kernel, *blocks.counts))
    return gnp.affine_scatter_add(windows, blocks.map, (n, c, *blocks.extents), drop=True)


def one_hot(ids: Any, num_classes: int) -> Tracer:
    """Vectors [..., num_classes] of int64 with 1 at the places of ids; ids outside are an error."""
    return gnp.one_hot(ids, depth=num_classes, dtype="int64")


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    pixel_unshuffle, channel_shuffle, pad, unfold, fold, one_hot,
)  # fmt: skip
