"""torch.nn.functional's layers, as functions of gradir.nn."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from opinfo_bind import Function, bound, torch

import gradir.numpy as gnp
from gradir import nn


def conv(rank: int) -> Function:
    function = getattr(nn, f"conv{rank}d")

    def called(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return function(
            x, weight, bias, _numbers(stride), _numbers(padding), _numbers(dilation), groups
        )

    return called


def conv_transpose(rank: int) -> Function:
    function = getattr(nn, f"conv_transpose{rank}d")

    def called(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        return function(
            x,
            weight,
            bias,
            stride=_numbers(stride),
            padding=_numbers(padding),
            output_padding=_numbers(output_padding),
            groups=groups,
            dilation=_numbers(dilation),
        )

    return called


def _numbers(given: Any) -> Any:
    return list(given) if isinstance(given, list | tuple) else given


def max_pool(rank: int) -> Function:
    function = getattr(nn, f"max_pool{rank}d")

    def called(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return function(
            x,
            _numbers(kernel_size),
            _numbers(stride),
            _numbers(padding),
            ceil_mode,
            None,
            _numbers(dilation),
            return_indices,
        )

    return called


def avg_pool(rank: int) -> Function:
    function = getattr(nn, f"avg_pool{rank}d")

    def called(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        more: dict[str, Any] = (
            {} if divisor_override is None else {"divisor_override": divisor_override}
        )
        return function(
            x,
            _numbers(kernel_size),
            _numbers(stride) or None,
            _numbers(padding),
            ceil_mode,
            count_include_pad=count_include_pad,
            **more,
        )

    return called


def adaptive(name: str) -> Function:
    function = getattr(nn, name)
    return bound(function, "x output_size | return_indices")


def unpool(rank: int) -> tuple[Function, Function]:
    """Of several elements at one place the last is put there, and has the place's cotangent: torch
    gives it to all of them, which is held back here."""
    function: Any = getattr(torch.nn.functional, f"max_unpool{rank}d")

    def theirs(x: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        rows = indices.reshape(-1, prod(indices.shape[indices.ndim - rank :]))
        last = torch.zeros(rows.shape, dtype=torch.bool)
        for row, flags in zip(rows.tolist(), last, strict=True):
            flags[list({place: k for k, place in enumerate(row)}.values())] = True
        held = torch.where(last.reshape(x.shape), x, x.detach())
        return function(held, indices, *args, **kwargs)

    ours = bound(
        getattr(nn, f"max_unpool{rank}d"), "x indices kernel_size stride padding output_size"
    )
    return ours, theirs


def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return nn.layer_norm(x, weight, bias, axes=axes, eps=eps)


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return nn.rms_norm(
        x, weight, axes=axes, eps=float(np.finfo("float64").eps) if eps is None else eps
    )


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    return nn.group_norm(x, weight, bias, groups=num_groups, eps=eps)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return nn.instance_norm(x, weight, bias, eps=eps)


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if x.ndim < 2:
        raise NotImplementedError("no axis of channels")
    c = x.shape[1]
    scale = gnp.ones(c, dtype=x.dtype) if weight is None else weight
    offset = gnp.zeros(c, dtype=x.dtype) if bias is None else bias
    mean = gnp.zeros(c, dtype=x.dtype) if running_mean is None else running_mean
    var = gnp.ones(c, dtype=x.dtype) if running_var is None else running_var
    return nn.batch_norm(
        x, scale, offset, (mean, var), training=training, momentum=momentum, eps=eps
    )[0]


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Any:
    more: dict[str, Any] = {"antialias": True} if antialias else {}
    return nn.interpolate(
        x,
        _numbers(size),
        _numbers(scale_factor),
        mode,
        bool(align_corners),
        bool(recompute_scale_factor),
        **more,
    )


def grid_sample(
    x: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Any = None,
) -> Any:
    return nn.grid_sample(x, grid, mode, padding_mode, bool(align_corners))


def grid_sampler(x: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    return nn.grid_sample(
        x,
        grid,
        ("bilinear", "nearest", "bicubic")[mode],
        ("zeros", "border", "reflection")[padding],
        align,
    )


def embedding(
    ids: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("max_norm, scale_grad_by_freq")
    return nn.embedding(weight, ids, padding_idx)


def embedding_bag(
    weight: Any,
    ids: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("max_norm, scale_grad_by_freq")
    starts = offsets[:-1] if include_last_offset else offsets
    return nn.embedding_bag(
        weight, ids, starts, mode=mode, weights=per_sample_weights, padding_idx=padding_idx
    )


def attention(
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    if dropout_p:
        raise NotImplementedError("dropout: other random numbers")
    return nn.scaled_dot_product_attention(q, k, v, attn_mask, is_causal, scale, enable_gqa)


def multi_head(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    heads: int,
    in_weight: Any,
    in_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_weight: Any,
    out_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    if dropout_p and training:
        raise NotImplementedError("dropout: other random numbers")
    if static_k is not None or static_v is not None:
        raise NotImplementedError("static_k, static_v")
    weights = (
        [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else in_weight
    )
    return nn.multi_head_attention(
        query,
        key,
        value,
        heads,
        weights,
        in_bias,
        out_weight,
        out_bias,
        mask=attn_mask,
        key_padding_mask=key_padding_mask,
        need_weights=need_weights,
        average_weights=average_attn_weights,
        bias_k=bias_k,
        bias_v=bias_v,
        add_zero_attn=add_zero_attn,
    )


def of_layer(function: Function, names: str, **renamed: str) -> Function:
    return bound(function, names, **renamed)


def without_drops(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """dropout where nothing is drawn."""
    if training and p not in (0.0, 1.0):
        raise NotImplementedError("dropout: other random numbers")
    return nn.dropout(x, 0, 0, p=p if training else 0.0)


def rrelu(
    x: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    if training:
        raise NotImplementedError("rrelu: other random numbers")
    return nn.rrelu(x, lower=lower, upper=upper)


def pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    return nn.pad(x, list(pad), mode, 0.0 if value is None else value)


def softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return nn.softplus(x, beta=beta, threshold=threshold)


def pdist(x: Any, p: float = 2) -> Any:
    return nn.pdist(x, p)


def cdist(a: Any, b: Any, p: float = 2, compute_mode: Any = None) -> Any:
    return nn.pairwise_distance(a[..., :, None, :], b[..., None, :, :], p, 0.0)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    return nn.cosine_similarity(x1, x2, dim, eps)


_ACTIVATIONS = """
    relu relu6 silu mish softsign tanhshrink selu hardsigmoid hardswish logsigmoid
""".split()

NN: dict[str, Function | tuple[Function, Function]] = {
    **{
        f"nn.functional.{n}": (lambda f: lambda x, inplace=False: f(x))(getattr(nn, n))
        for n in _ACTIVATIONS
    },
    "nn.functional.gelu": bound(nn.gelu, "x | approximate"),
    "nn.functional.leaky_relu": bound(nn.leaky_relu, "x | negative_slope", negative_slope="slope"),
    "nn.functional.elu": bound(nn.elu, "x | alpha"),
    "nn.functional.celu": bound(nn.celu, "x | alpha"),
    "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: (
        nn.hardtanh(x) if (min_val, max_val) == (-1.0, 1.0) else gnp.clip(x, min_val, max_val)
    ),
    "nn.functional.hardshrink": bound(nn.hardshrink, "x lambd"),
    "nn.functional.softshrink": bound(nn.softshrink, "x lambd"),
    "nn.functional.threshold": bound(nn.threshold, "x threshold value"),
    "nn.functional.softplus": softplus,
    "nn.functional.rrelu": rrelu,
    "nn.functional.prelu": nn.prelu,
    "nn.functional.glu": bound(nn.glu, "x | dim"),
    "nn.functional.normalize": bound(nn.normalize, "x | p dim eps"),
    "nn.functional.cosine_similarity": cosine_similarity,
    "cdist": cdist,
    "nn.functional.pairwise_distance": bound(nn.pairwise_distance, "x1 x2 | p eps keepdim"),
    "nn.functional.pdist": pdist,
    "nn.functional.bilinear": nn.bilinear,
    "nn.functional.linear": nn.linear,
    "nn.functional.local_response_norm": bound(nn.local_response_norm, "x size | alpha beta k"),
    "nn.functional.layer_norm": layer_norm,
    "nn.functional.rms_norm": rms_norm,
    "nn.functional.group_norm": group_norm,
    "nn.functional.instance_norm": instance_norm,
    "nn.functional.batch_norm": batch_norm,
    **{f"nn.functional.conv{r}d": conv(r) for r in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{r}d": conv_transpose(r) for r in (1, 2, 3)},
    **{f"nn.functional.max_pool{r}d": max_pool(r) for r in (1, 2, 3)},
    **{f"nn.functional.avg_pool{r}d": avg_pool(r) for r in (1, 2, 3)},
    **{
        f"nn.functional.adaptive_{k}_pool{r}d": adaptive(f"adaptive_{k}_pool{r}d")
        for k in ("avg", "max")
        for r in (1, 2, 3)
    },
    **{f"nn.functional.max_unpool{r}d": unpool(r) for r in (1, 2, 3)},
    "nn.functional.pad": pad,
    "nn.functional.unfold": bound(nn.unfold, "x kernel_size dilation padding stride | ")
    and (
        lambda x, kernel_size, dilation=1, padding=0, stride=1: nn.unfold(
            x, kernel_size, stride, padding, dilation
        )
    ),
    "nn.functional.pixel_shuffle": bound(nn.pixel_shuffle, "x upscale_factor"),
    "nn.functional.pixel_unshuffle": bound(nn.pixel_unshuffle, "x downscale_factor"),
    "nn.functional.channel_shuffle": nn.channel_shuffle,
    "nn.functional.interpolate": interpolate,
    "nn.functional.upsample_nearest": lambda x, size=None, scale_factor=None: interpolate(
        x, size, scale_factor
    ),
    "nn.functional.upsample_bilinear": lambda x, size=None, scale_factor=None: interpolate(
        x, size, scale_factor, "bilinear", True
    ),
    "nn.functional.grid_sample": grid_sample,
    "grid_sampler_2d": grid_sampler,
    "grid_sampler_3d": grid_sampler,
    "nn.functional.embedding": lambda weight, ids, **k: embedding(ids, weight, **k),
    "nn.functional.embedding_bag": lambda x, ids, *a, **k: embedding_bag(
        *((x, ids) if str(x.dtype).startswith("float") else (ids, x)), *a, **k
    ),
    "nn.functional.one_hot": lambda x, num_classes=-1: nn.one_hot(
        x, int(x.max()) + 1 if num_classes < 0 else num_classes
    ),
    "nn.functional.scaled_dot_product_attention": attention,
    "nn.functional.multi_head_attention_forward": multi_head,
    "nn.functional.dropout": without_drops,
    "nn.functional.dropout2d": without_drops,
    "nn.functional.dropout3d": without_drops,
    "nn.functional.alpha_dropout": without_drops,
    "nn.functional.feature_alpha_dropout": without_drops,
}
