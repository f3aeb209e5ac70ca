"""PyTorch's convolutions, pools, and images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions import nn
from gradir.frontends.imported.torch_rules.arguments import AtenRules, Function
from gradir.frontends.tracing.source_locations import refusal

RULES = AtenRules()


def several(given: Any, count: int) -> list[int]:
    """One number for each axis."""
    values = list(given) if isinstance(given, (list, tuple)) else [given]
    return values * count if len(values) == 1 else values


# Convolutions.


def _conv(rank: int) -> Function:
    function: Any = getattr(nn, f"conv{rank}d")

    def rule(
        call: Any, input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        pads = padding if isinstance(padding, str) else several(padding, rank)
        return function(input, weight, bias, several(stride, rank), pads, several(dilation, rank),
                        groups)  # fmt: skip

    return rule


def _conv_transpose(rank: int) -> Function:
    function: Any = getattr(nn, f"conv_transpose{rank}d")

    def rule(
        call: Any, input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        return function(
            input, weight, bias, several(stride, rank), several(padding, rank),
            several(dilation, rank), groups, output_padding=several(output_padding, rank),
        )  # fmt: skip

    return rule


_CONV = {rank: _conv(rank) for rank in (1, 2, 3)}
_TRANSPOSE = {rank: _conv_transpose(rank) for rank in (1, 2, 3)}
for _rank in (1, 2, 3):
    RULES.aten(f"conv{_rank}d")(_CONV[_rank])
    RULES.aten(f"conv_transpose{_rank}d")(_TRANSPOSE[_rank])


@RULES.aten("convolution", "_convolution", note="up to 3 spatial axes")
def _convolution(
    call: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, **_: Any,
) -> Any:  # fmt: skip
    rank = weight.ndim - 2
    if rank not in _CONV:
        raise refusal(f"convolution: of 1 to 3 spatial axes, got {rank}")
    if transposed:
        rule = _TRANSPOSE[rank]
        return rule(call, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _CONV[rank](call, input, weight, bias, stride, padding, dilation, groups)


@RULES.aten("im2col")
def _columns(call: Any, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return nn.unfold(x, kernel_size, stride, padding, dilation)


@RULES.aten("col2im")
def _from_columns(
    call: Any, x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    return nn.fold(x, list(output_size), kernel_size, stride, padding, dilation)


# Pools.


def _max_pool(rank: int, has_places: bool) -> Function:
    function: Any = getattr(nn, f"max_pool{rank}d")

    def rule(
        call: Any, x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        kernel = several(kernel_size, rank)
        steps = several(stride, rank) if stride not in ((), [], None) else kernel
        given, is_single = _with_batch(x, rank)
        places = has_places and 1 in call["used"]
        made = function(given, kernel, steps, several(padding, rank), ceil_mode,
                        dilation=several(dilation, rank), return_indices=places)  # fmt: skip
        parts = list(made) if places else [made]
        parts = [gnp.reshape(y, y.shape[1:]) if is_single else y for y in parts]
        return parts if not has_places else [*parts, *[None] * (2 - len(parts))]

    return rule


def _with_batch(x: Any, rank: int) -> tuple[Any, bool]:
    is_single = x.ndim == rank + 1
    return (gnp.reshape(x, (1, *x.shape)) if is_single else x), is_single


def _avg_pool(rank: int) -> Function:
    function: Any = getattr(nn, f"avg_pool{rank}d")

    def rule(
        call: Any, x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        kernel = several(kernel_size, rank)
        steps = several(stride, rank) if stride not in ((), [], None) else kernel
        given, is_single = _with_batch(x, rank)
        made = function(
            given, kernel, steps, several(padding, rank), ceil_mode,
            count_include_pad=count_include_pad, divisor_override=divisor_override,
        )  # fmt: skip
        return gnp.reshape(made, call.type.shape) if is_single else made

    return rule


def _adaptive_avg(rank: int) -> Function:
    def rule(call: Any, x: Any, output_size: Any) -> Any:
        given, is_single = _with_batch(x, rank)
        function: Any = getattr(nn, f"adaptive_avg_pool{rank}d")
        made = function(given, several(output_size, rank))
        return gnp.reshape(made, call.type.shape) if is_single else made

    return rule


for _rank in (1, 2, 3):
    RULES.aten(f"max_pool{_rank}d")(_max_pool(_rank, False))
    RULES.aten(f"max_pool{_rank}d_with_indices")(_max_pool(_rank, True))
    RULES.aten(f"avg_pool{_rank}d")(_avg_pool(_rank))
    RULES.aten(f"adaptive_avg_pool{_rank}d", f"_adaptive_avg_pool{_rank}d")(_adaptive_avg(_rank))


def _adaptive_max(rank: int) -> Function:
    def rule(call: Any, x: Any, output_size: Any) -> Any:
        given, is_single = _with_batch(x, rank)
        function: Any = getattr(nn, f"adaptive_max_pool{rank}d")
        made = function(given, several(output_size, rank), return_indices=True)
        return [gnp.reshape(y, y.shape[1:]) if is_single else y for y in made]

    return rule


for _rank in (1, 2, 3):
    RULES.aten(f"adaptive_max_pool{_rank}d")(_adaptive_max(_rank))


@RULES.aten("max_unpool2d", "max_unpool3d", note="of elements of one place the last is kept")
def _unpooled(call: Any, x: Any, indices: Any, output_size: Any, *_: Any, **__: Any) -> Any:
    count = prod(output_size)
    rows = gnp.reshape(indices, (prod(indices.shape[: indices.ndim - len(output_size)]), -1))
    empty = gnp.zeros((rows.shape[0], count), dtype=x.dtype)
    numbers = gnp.reshape(gnp.arange(rows.shape[0]), (-1, 1))
    return gnp.reshape(empty.at[numbers, rows].set(gnp.reshape(x, rows.shape)), call.type.shape)


# Images of other sizes.


def _resized(mode: str, alignable: bool) -> Function:
    def rule(
        call: Any, x: Any, output_size: Any = None, align_corners: bool = False,
        scale_factors: Any = None, scales: Any = None, scales_d: Any = None, scales_h: Any = None,
        scales_w: Any = None,
    ) -> Any:  # fmt: skip
        rank = x.ndim - 2
        size = list(call.type.shape[2:])
        found = scale_factors
        if found is None:
            named = [scales_d, scales_h, scales_w if scales is None else scales][-rank:]
            found = None if any(s is None for s in named) else named
        sized: dict[str, Any] = {"size": size} if found is None else {"scale_factor": list(found)}
        if alignable:
            sized["align_corners"] = align_corners
        made = nn.interpolate(x, mode=mode, **sized)
        if list(made.shape[2:]) != size:
            raise refusal(f"{call.op}: its sizes and its scales do not agree")
        return made

    return rule


for _mode, _names in {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": tuple(f"_upsample_nearest_exact{r}d" for r in (1, 2, 3)),
    "linear": ("upsample_linear1d",), "bilinear": ("upsample_bilinear2d",),
    "bicubic": ("upsample_bicubic2d",), "trilinear": ("upsample_trilinear3d",),
}.items():  # fmt: skip
    RULES.aten(*_names)(_resized(_mode, not _mode.startswith("nearest")))


@RULES.aten("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "cudnn_grid_sampler")
def _sampled(
    call: Any, input: Any, grid: Any, interpolation_mode: int = 0, padding_mode: int = 0,
    align_corners: bool = False,
) -> Any:  # fmt: skip
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    return nn.grid_sample(input, grid, mode, padding, align_corners)


@RULES.aten("affine_grid_generator")
def _grid(call: Any, theta: Any, size: Sequence[int], align_corners: bool) -> Any:
    return nn.affine_grid(theta, list(size), align_corners)
