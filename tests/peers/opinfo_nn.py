"""torch.nn.functional's layers, as functions of gradir.nn."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
from opinfo_bind import Function, bound, torch

import gradir.numpy as gnp
from gradir import nn

OTHER_NUMBERS = "other random numbers"


def each_rank(name: str, names: str) -> dict[str, Function]:
    """The functions of one, two and three spatial dimensions; `name` has their number as {r}."""
    found = [name.format(r=r) for r in (1, 2, 3)]
    return {f"nn.functional.{n}": bound(getattr(nn, n), names) for n in found}


def avg_pool(rank: int) -> Function:
    """A stride of no numbers is as large as the kernel."""
    function = getattr(nn, f"avg_pool{rank}d")
    return bound(
        lambda x, kernel, stride=None, **more: function(x, kernel, stride or None, **more),
        "x kernel_size | stride padding ceil_mode count_include_pad divisor_override",
    )


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


def over_last(function: Function, eps: float) -> Function:
    """A norm over as many of the last axes as a shape has."""

    def wrapper(x: Any, shape: Any, **more: Any) -> Any:
        axes = tuple(range(x.ndim - len(shape), x.ndim))
        return function(x, axes=axes, **{"eps": eps, **more})

    return wrapper


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


def grid_sampler(x: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    return nn.grid_sample(
        x,
        grid,
        ("bilinear", "nearest", "bicubic")[mode],
        ("zeros", "border", "reflection")[padding],
        align,
    )


def embedding_bag(
    x: Any, y: Any, offsets: Any = None, include_last_offset: bool = False, **more: Any
) -> Any:
    """torch takes the table and the ids in either order."""
    table, ids = (x, y) if str(x.dtype).startswith("float") else (y, x)
    return nn.embedding_bag(table, ids, offsets[:-1] if include_last_offset else offsets, **more)


def multi_head(
    query: Any, key: Any, value: Any, heads: int, in_weight: Any, in_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_weight: Any,
    out_bias: Any, *, training: bool = True, use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None, **more: Any,
) -> Any:  # fmt: skip
    if dropout_p and training:
        raise NotImplementedError(f"dropout: {OTHER_NUMBERS}")
    apart = [q_proj_weight, k_proj_weight, v_proj_weight]
    weights = apart if use_separate_proj_weight else in_weight
    return nn.multi_head_attention(
        query, key, value, heads, weights, in_bias, out_weight, out_bias,
        bias_k=bias_k, bias_v=bias_v, add_zero_attn=add_zero_attn, **more,
    )  # fmt: skip


def without_drops(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """dropout where nothing is drawn."""
    if training and p not in (0.0, 1.0):
        raise NotImplementedError(f"dropout: {OTHER_NUMBERS}")
    return nn.dropout(x, 0, 0, p=p if training else 0.0)


_ACTIVATIONS = """
    relu relu6 silu mish softsign tanhshrink selu hardsigmoid hardswish logsigmoid
""".split()
_DROPOUTS = "dropout dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
_NOT_IN_TABLES: dict[str, str] = {
    name: "max_norm, scale_grad_by_freq" for name in ("max_norm", "scale_grad_by_freq")
}
_STATE = "running_mean running_var use_input_stats momentum"

NN: dict[str, Function | tuple[Function, Function]] = {
    **{f"nn.functional.{n}": bound(getattr(nn, n), "x | inplace", "inplace") for n in _ACTIVATIONS},
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
    "nn.functional.softplus": bound(nn.softplus, "x | beta threshold"),
    "nn.functional.rrelu": bound(
        nn.rrelu,
        "x | lower upper training inplace",
        "inplace",
        {"training": f"rrelu: {OTHER_NUMBERS}"},
    ),
    "nn.functional.prelu": nn.prelu,
    "nn.functional.glu": bound(nn.glu, "x | dim"),
    "nn.functional.normalize": bound(nn.normalize, "x | p dim eps"),
    "nn.functional.cosine_similarity": bound(nn.cosine_similarity, "x1 x2 | dim eps"),
    "cdist": bound(
        lambda a, b, p=2.0: nn.pairwise_distance(a[..., :, None, :], b[..., None, :, :], p, 0.0),
        "a b | p compute_mode",
        "compute_mode",
    ),
    "nn.functional.pairwise_distance": bound(nn.pairwise_distance, "x1 x2 | p eps keepdim"),
    "nn.functional.pdist": bound(nn.pdist, "x | p"),
    "nn.functional.bilinear": nn.bilinear,
    "nn.functional.linear": nn.linear,
    "nn.functional.local_response_norm": bound(nn.local_response_norm, "x size | alpha beta k"),
    "nn.functional.layer_norm": bound(
        over_last(nn.layer_norm, 1e-5), "x normalized_shape | weight bias eps", weight="scale"
    ),
    "nn.functional.rms_norm": bound(
        over_last(nn.rms_norm, float(np.finfo("float64").eps)),
        "x normalized_shape | weight eps",
        weight="scale",
    ),
    "nn.functional.group_norm": bound(
        nn.group_norm, "x | num_groups weight bias eps", num_groups="groups", weight="scale"
    ),
    "nn.functional.instance_norm": bound(
        nn.instance_norm,
        "x | running_mean running_var weight bias use_input_stats momentum eps",
        _STATE,
        weight="scale",
    ),
    "nn.functional.batch_norm": batch_norm,
    **each_rank("conv{r}d", "x weight bias | stride padding dilation groups"),
    **each_rank(
        "conv_transpose{r}d", "x weight bias | stride padding output_padding groups dilation"
    ),
    **each_rank("max_pool{r}d", "x kernel_size | stride padding dilation ceil_mode return_indices"),
    **{f"nn.functional.avg_pool{r}d": avg_pool(r) for r in (1, 2, 3)},
    **each_rank("adaptive_avg_pool{r}d", "x output_size"),
    **each_rank("adaptive_max_pool{r}d", "x output_size | return_indices"),
    **{f"nn.functional.max_unpool{r}d": unpool(r) for r in (1, 2, 3)},
    "nn.functional.pad": bound(nn.pad, "x pad | mode value"),
    "nn.functional.unfold": bound(nn.unfold, "x kernel_size | dilation padding stride"),
    "nn.functional.pixel_shuffle": bound(nn.pixel_shuffle, "x upscale_factor"),
    "nn.functional.pixel_unshuffle": bound(nn.pixel_unshuffle, "x downscale_factor"),
    "nn.functional.channel_shuffle": nn.channel_shuffle,
    "nn.functional.interpolate": bound(
        nn.interpolate,
        "x | size scale_factor mode align_corners recompute_scale_factor antialias",
        "",
        {"antialias": "antialias"},
    ),
    "nn.functional.upsample_nearest": bound(nn.interpolate, "x | size scale_factor"),
    "nn.functional.upsample_bilinear": bound(
        partial(nn.interpolate, mode="bilinear", align_corners=True), "x | size scale_factor"
    ),
    "nn.functional.grid_sample": bound(nn.grid_sample, "x grid | mode padding_mode align_corners"),
    "grid_sampler_2d": grid_sampler,
    "grid_sampler_3d": grid_sampler,
    "nn.functional.embedding": bound(
        nn.embedding,
        "weight ids | padding_idx max_norm norm_type scale_grad_by_freq sparse",
        "norm_type sparse",
        _NOT_IN_TABLES,
    ),
    "nn.functional.embedding_bag": bound(
        embedding_bag,
        "weight ids offsets | max_norm norm_type scale_grad_by_freq mode sparse per_sample_weights "
        "include_last_offset padding_idx",
        "norm_type sparse",
        _NOT_IN_TABLES,
        per_sample_weights="weights",
    ),
    "nn.functional.one_hot": lambda x, num_classes=-1: nn.one_hot(
        x, int(x.max()) + 1 if num_classes < 0 else num_classes
    ),
    "nn.functional.scaled_dot_product_attention": bound(
        nn.scaled_dot_product_attention,
        "q k v | attn_mask dropout_p is_causal scale enable_gqa",
        "",
        {"dropout_p": f"dropout: {OTHER_NUMBERS}"},
        attn_mask="mask",
    ),
    "nn.functional.multi_head_attention_forward": bound(
        multi_head,
        "query key value embed_dim heads in_weight in_bias bias_k bias_v add_zero_attn dropout_p "
        "out_weight out_bias | training key_padding_mask need_weights attn_mask "
        "use_separate_proj_weight q_proj_weight k_proj_weight v_proj_weight static_k static_v "
        "average_attn_weights is_causal",
        "embed_dim is_causal",
        {name: "static_k, static_v" for name in ("static_k", "static_v")},
        attn_mask="mask",
        average_attn_weights="average_weights",
    ),
    **{f"nn.functional.{name}": without_drops for name in _DROPOUTS},
}
