"""nn.interpolate: images of another size, as PyTorch has them.

Each axis is resampled by itself: a place of the result mixes a few elements at places, and with
weights, that only the extents tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.nn.resize import Resize2dOp
from gradir.frontends.functions.adaptive_pools import adaptive_mean
from gradir.frontends.functions.arguments import floating, one_of
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.rearrangements import per_axis, several
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted

# The numbers of spatial axes that each mode takes.
_MODES: dict[str, Sequence[int]] = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,),
    "bicubic": (2,), "trilinear": (3,), "area": (1, 2, 3),
}  # fmt: skip
_ALIGNABLE = ("linear", "bilinear", "bicubic", "trilinear")
# Keys's parameter of the cubic convolution.
_CUBIC = -0.75


def interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool = False, recompute_scale_factor: bool = False,
) -> Tracer:  # fmt: skip
    """x [N, C, d...] with the spatial extents `size`, or floor(extent * scale_factor).

    mode: "nearest", "nearest-exact" and "area" (means, as adaptive_avg_pool) of 1 to 3 spatial
        axes; "linear" of one, "bilinear" and "bicubic" of two, "trilinear" of three.
    align_corners: the first and last elements stay at the ends; else the edges of the image do.
    recompute_scale_factor: places by the ratio of the extents, not by scale_factor.
    vjp: the same weights, transposed
    """
    x = floating(x)
    dims = x.ndim - 2
    one_of(mode, "nn.interpolate: mode", tuple(_MODES))
    if dims not in _MODES[mode]:
        raise refusal(f"nn.interpolate: mode {mode!r} takes {_counted(mode)}, got {x!r}")
    if align_corners and mode not in _ALIGNABLE:
        raise refusal(f"nn.interpolate: align_corners is for {', '.join(_ALIGNABLE)}, not {mode}")
    sizes, scales = _sizes(x.shape[2:], size, scale_factor)
    if 0 in x.shape[2:] or min(sizes) < 1:
        raise refusal(f"nn.interpolate: extents must be >= 1, got {x!r} and {sizes}")
    if mode == "area":
        return adaptive_mean(x, sizes)
    if recompute_scale_factor or scale_factor is None:
        scales = [n / m for n, m in zip(x.shape[2:], sizes, strict=True)]
        if mode in ("nearest", "bilinear") and dims == 2 and not align_corners:
            return apply(Resize2dOp, {"x": x, "size": sizes, "mode": mode})
    for d, (count, scale) in enumerate(zip(sizes, scales, strict=True)):
        places, weights = _taps(mode, x.shape[2 + d], count, scale, align_corners)
        x = _mixed(x, 2 + d, places, weights)
    return x


def _counted(mode: str) -> str:
    return f"x [N, C, d...] with {' or '.join(map(str, _MODES[mode]))} spatial axes"


def _sizes(extents: Sequence[int], size: Any, factor: Any) -> tuple[list[int], list[float]]:
    """The new extents, and the step in x of a step in the result."""
    if (size is None) == (factor is None):
        raise refusal("nn.interpolate: give size or scale_factor, and not both")
    if factor is None:
        return per_axis(size, len(extents), "nn.interpolate: size"), []
    factors = several(factor, len(extents))
    if len(factors) != len(extents) or not all(f > 0 for f in factors):
        raise refusal(
            f"nn.interpolate: scale_factor must be one number > 0 or {len(extents)}, got {factor!r}"
        )
    sizes = [floor(n * f) for n, f in zip(extents, factors, strict=True)]
    return sizes, [1 / f for f in factors]


def _taps(mode: str, extent: int, count: int, scale: float, align: bool) -> tuple[Any, Any]:
    """The places in x that each place of the result mixes, and their weights: [count, taps]."""
    at = np.arange(count, dtype=np.float64)
    if mode.startswith("nearest"):
        moved = at + 0.5 if mode == "nearest-exact" else at
        return np.minimum(np.floor(moved * scale), extent - 1)[:, None].astype(int), None
    if align:
        at = at * ((extent - 1) / (count - 1) if count > 1 else 0)
    else:
        at = (at + 0.5) * scale - 0.5
    if mode != "bicubic":
        at = np.clip(at, 0, extent - 1)
    low = np.floor(at)
    share = at - low
    steps = range(-1, 3) if mode == "bicubic" else range(2)
    weights = cubic_weights(share) if mode == "bicubic" else [1 - share, share]
    places = np.stack([np.clip(low + s, 0, extent - 1) for s in steps], axis=1)
    return places.astype(int), np.stack(weights, axis=1)


def cubic_weights(share: Any) -> list[Any]:
    """The weights of the four neighbours of a place, `share` behind the second of them."""

    def near(d: Any) -> Any:
        return ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC

    return [far(share + 1), near(share), near(1 - share), far(2 - share)]


def _mixed(x: Any, axis: int, places: Any, weights: Any) -> Any:
    if weights is None:
        return gnp.take(x, places[:, 0], axis)
    line = [-1 if d == axis else 1 for d in range(x.ndim)]
    total: Any = None
    for k in range(places.shape[1]):
        part = gnp.take(x, places[:, k], axis)
        part = part * gnp.astype(lifted(weights[:, k].reshape(line)), x.dtype)
        total = part if total is None else total + part
    return total


FUNCTIONS: tuple[Callable[..., Any], ...] = (interpolate,)
