"""nn: attention of several heads, and with fewer heads of keys than of queries."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.dialects.nn.activations import SoftmaxOp
from gradir.dialects.nn.attention import AttentionOp
from gradir.dialects.nn.dropout import DropoutOp
from gradir.frontends.functions.arguments import floating, number
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.rearrangements import several
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import element, lifted


def scaled_dot_product_attention(
    q: Any, k: Any, v: Any, mask: Any = None, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False, precision: str | None = None,
) -> Tracer:  # fmt: skip
    """softmax(scale * q k^T + mask) v of q [..., H, L, E], k [..., H, S, E], v [..., H, S, Ev].

    Leading axes broadcast. mask: bools, true where a query attends to a key, or summands; it
    broadcasts to [..., L, S].
    enable_gqa: k and v may have fewer heads H, a divisor of q's. precision: that of the products,
    as for gradir.numpy.matmul. The op is nn.attention.
    """
    q, k, v = floating(q), floating(k), floating(v)
    if enable_gqa:
        if (
            min(q.ndim, k.ndim, v.ndim) < 3
            or q.shape[-3] % k.shape[-3]
            or k.shape[-3] != v.shape[-3]
        ):
            raise refusal(
                "nn.scaled_dot_product_attention: the heads of k and v must divide those of q, "
                f"got {q!r}, {k!r} and {v!r}"
            )
        k, v = (gnp.repeat(x, q.shape[-3] // k.shape[-3], axis=-3) for x in (k, v))
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        first = gnp.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)))
        q, k, v = (gnp.broadcast_to(x, (*first, *x.shape[-2:])) for x in (q, k, v))
    settings = {"scale": scale, "causal": is_causal or None, "precision": precision}
    return apply(AttentionOp, {"q": q, "k": k, "v": v, "mask": mask, **settings})


def multi_head_attention(
    query: Any, key: Any, value: Any, heads: int, in_weight: Any, in_bias: Any, out_weight: Any,
    out_bias: Any, *, mask: Any = None, key_padding_mask: Any = None, is_causal: bool = False,
    need_weights: bool = True, average_weights: bool = True, bias_k: Any = None, bias_v: Any = None,
    add_zero_attn: bool = False, dropout: tuple[Any, Any, float] | None = None,
) -> Any:  # fmt: skip
    """(y, weights): attention of `heads` heads, PyTorch's multi_head_attention_forward.

    query: [L, N, E], or [L, E]; key [S, N, Ek] and value [S, N, Ev], or without N.
    in_weight: [3 * E, E], the weights of queries, keys and values, or these three [E, E], [E, Ek]
        and [E, Ev]. in_bias: [3 * E], or None. out_weight: [E, E]. out_bias: [E], or None.
    mask: [L, S], or [N * heads, L, S]: bools, *true where attention is not allowed*, or summands.
    key_padding_mask: [N, S], or [S], likewise. is_causal: query i attends to the keys 0 ... i only.
    need_weights: weights are [N, L, S], the mean of the heads, or [N, heads, L, S] without
        average_weights; None without need_weights, which is faster: the op is then nn.attention.
    bias_k, bias_v: [1, 1, E], a further key and value. add_zero_attn: a further one of zeros.
    dropout: (key, counter, p) of the weights. A query that may attend to no key gets nan, as in
    PyTorch, where weights are needed, and 0 where not.
    """
    q, k, v = floating(query), floating(key), floating(value)
    if q.ndim == 2:
        pad = None if key_padding_mask is None else lifted(key_padding_mask)[None]
        y, weights = multi_head_attention(
            q[:, None], k[:, None], v[:, None], heads, in_weight, in_bias, out_weight, out_bias,
            mask=mask, key_padding_mask=pad, is_causal=is_causal, need_weights=need_weights,
            average_weights=average_weights, bias_k=bias_k, bias_v=bias_v,
            add_zero_attn=add_zero_attn, dropout=dropout,
        )  # fmt: skip
        return y[:, 0], None if weights is None else weights[0]
    heads = number(heads, "nn.multi_head_attention: heads")
    _check(q, k, v, heads)
    length, batch, width = q.shape
    q, k, v = _projected([q, k, v], width, in_weight, in_bias)
    further = [(bias_k, bias_v)] if bias_k is not None else []
    further += [(gnp.zeros((1, 1, width), dtype=q.dtype),) * 2] if add_zero_attn else []
    for more_k, more_v in further:
        k = gnp.concatenate([k, gnp.broadcast_to(more_k, (1, batch, width))])
        v = gnp.concatenate([v, gnp.broadcast_to(more_v, (1, batch, width))])
    added = _mask(mask, key_padding_mask, is_causal, (batch, heads, length, key.shape[0]), q)
    if added is not None and further:
        added = gnp.pad(added, ((0, 0), (0, 0), (0, 0), (0, len(further))))
    q, k, v = (_split(x, heads) for x in (q, k, v))
    weights, y = None, None
    if not need_weights and dropout is None:
        y = apply(AttentionOp, {"q": q, "k": k, "v": v, "mask": added})
    else:
        weights = _weights(q, k, added, dropout)
        y = weights @ v
    y = gnp.reshape(gnp.permute_dims(y, (2, 0, 1, 3)), (length, batch, width))
    y = _linear(y, out_weight, out_bias)
    if not need_weights:
        return y, None
    return y, gnp.mean(weights, axis=1) if average_weights else weights


def _weights(q: Any, k: Any, added: Any, dropout: tuple[Any, Any, float] | None) -> Any:
    """The weights of heads [N, heads, L, E] and [N, heads, S, E], `added` to their logarithms."""
    scores = q / sqrt(q.shape[-1]) @ gnp.swapaxes(k, -1, -2)
    weights = apply(SoftmaxOp, {"x": scores if added is None else scores + added, "axis": -1})
    if dropout is None:
        return weights
    rng, counter, p = dropout
    return apply(DropoutOp, {"x": weights, "key": rng, "counter": counter, "p": p})


def _check(q: Any, k: Any, v: Any, heads: int) -> None:
    fits = q.ndim == k.ndim == v.ndim == 3 and k.shape[:2] == v.shape[:2]
    if not fits or q.shape[1] != k.shape[1]:
        raise refusal(
            "nn.multi_head_attention: query [L, N, E], key [S, N, Ek] and value [S, N, Ev] "
            f"expected, got {q!r}, {k!r} and {v!r}"
        )
    if heads < 1 or q.shape[2] % heads:
        raise refusal(f"nn.multi_head_attention: heads must divide E, got {heads} and {q!r}")


def _projected(inputs: Any, width: int, weight: Any, bias: Any) -> list[Any]:
    given = several(weight, 1)
    if len(given) not in (1, 3):
        raise refusal("nn.multi_head_attention: in_weight must be one array, or three")
    thirds = [slice(k * width, (k + 1) * width) for k in range(3)]
    parts = given if len(given) == 3 else [lifted(given[0])[third] for third in thirds]
    biases = [None if bias is None else lifted(bias)[third] for third in thirds]
    return [_linear(x, w, b) for x, w, b in zip(inputs, parts, biases, strict=True)]


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    y = gnp.tensordot(x, weight, ([-1], [1]))
    return y if bias is None else y + bias


def _split(x: Any, heads: int) -> Any:
    """[N, heads, length, width / heads] of [length, N, width]."""
    length, batch, width = x.shape
    return gnp.permute_dims(gnp.reshape(x, (length, batch, heads, width // heads)), (1, 2, 0, 3))


def _mask(mask: Any, padding: Any, causal: bool, shape: Any, q: Any) -> Any:
    """The summands [N, heads, L, S] of the scores, None where there are none."""
    batch, heads, length, keys = shape
    found: Any = None
    if mask is not None:
        found = _summands(mask, q)
        wanted = [(length, keys), (batch * heads, length, keys)]
        if found.shape not in wanted:
            raise refusal(f"nn.multi_head_attention: mask must be one of {wanted}, got {found!r}")
        found = gnp.broadcast_to(found, shape) if found.ndim == 2 else gnp.reshape(found, shape)
    if causal:
        later = gnp.arange(keys) > gnp.expand_dims(gnp.arange(length), 1)
        part = gnp.broadcast_to(_summands(later, q), shape)
        found = part if found is None else found + part
    if padding is not None:
        part = _summands(padding, q)
        if part.shape != (batch, keys):
            raise refusal(
                f"nn.multi_head_attention: key_padding_mask must be {(batch, keys)}, got {part!r}"
            )
        part = gnp.broadcast_to(gnp.reshape(part, (batch, 1, 1, keys)), shape)
        found = part if found is None else found + part
    return found


def _summands(mask: Any, q: Any) -> Any:
    mask = lifted(mask)
    return gnp.astype(gnp.where(mask, -gnp.inf, 0.0) if is_bool(element(mask)) else mask, q.dtype)


FUNCTIONS: tuple[Callable[..., Any], ...] = (scaled_dot_product_attention, multi_head_attention)
