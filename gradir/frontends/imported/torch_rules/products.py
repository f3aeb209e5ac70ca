"""PyTorch's products of matrices and arrays, and its attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.torch_rules.arguments import (
    AtenRules,
    Function,
    filled_in,
    typed,
)
from gradir.frontends.random.keys import fold_in
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element, lifted

RULES = AtenRules()


@RULES.aten("mm", "bmm", "mv", "matmul", "linalg_matmul")
def _product(
    call: Any, x: Any, mat2: Any = None, other: Any = None, vec: Any = None, tensor2: Any = None
) -> Any:
    y = next(each for each in (mat2, other, vec, tensor2) if each is not None)
    return gnp.matmul(*typed(call, x, y))


@RULES.aten("dot", "vdot", "inner")
def _dot(call: Any, x: Any, tensor: Any = None, other: Any = None) -> Any:
    return gnp.inner(*typed(call, x, other if tensor is None else tensor))


@RULES.aten("linalg_vecdot")
def _dots(call: Any, x: Any, y: Any, dim: int = -1) -> Any:
    return gnp.linalg.vecdot(*typed(call, x, y), axis=dim)


@RULES.aten("outer", "ger")
def _outer(call: Any, x: Any, vec2: Any) -> Any:
    return gnp.outer(*typed(call, x, vec2))


@RULES.aten("kron")
def _kron(call: Any, x: Any, other: Any) -> Any:
    return gnp.kron(*typed(call, x, other))


@RULES.aten("cross", "linalg_cross")
def _cross(call: Any, x: Any, other: Any, dim: int | None = None) -> Any:
    x, other = gnp.broadcast_arrays(*typed(call, x, other))
    axis = dim if dim is not None or call.op == "linalg_cross" else x.shape.index(3)
    return gnp.cross(x, other, axis=-1 if axis is None else axis)


@RULES.aten("tensordot")
def _tensordot(
    call: Any, x: Any, other: Any, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Any:
    return gnp.tensordot(*typed(call, x, other), (list(dims_self), list(dims_other)))


@RULES.aten("einsum")
def _einsum(call: Any, equation: str, tensors: Sequence[Any], path: Any = None) -> Any:
    return gnp.einsum(equation, *typed(call, *tensors))


@RULES.aten("linalg_multi_dot", "chain_matmul")
def _chain(call: Any, tensors: Sequence[Any]) -> Any:
    return gnp.linalg.multi_dot(typed(call, *tensors))


def _added(product: Function) -> Function:
    """beta * x + alpha * a product of the others, x left out where beta is 0."""

    def rule(call: Any, x: Any, *, beta: Any = 1, alpha: Any = 1, **others: Any) -> Any:
        x, *pair = typed(call, x, *others.values())
        made = product(*pair)
        made = made if alpha == 1 else op.multiply(made, alpha)
        if beta == 0:
            return gnp.broadcast_to(made, call.type.shape)
        return op.add(x if beta == 1 else op.multiply(x, beta), made)

    return rule


for _name in ("addmm", "addmv", "baddbmm"):
    RULES.aten(_name)(_added(gnp.matmul))
RULES.aten("addbmm")(_added(lambda x, y: op.sum(gnp.matmul(x, y), axis=[0])))
RULES.aten("addr")(_added(gnp.outer))


@RULES.aten("linear")
def _linear(call: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    if weight.ndim == 1:
        made = gnp.matmul(input, weight)
        return made if bias is None else op.add(made, bias)
    return nn.linear(input, weight, bias)


@RULES.aten("bilinear")
def _bilinear(call: Any, input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    return nn.bilinear(input1, input2, weight, bias)


# Attention.


@RULES.rule("scaled_dot_product_attention", note="dropout by gradir's random numbers, of a key")
def _attention(call: Any, *operands: Any) -> Any:
    """A rule of operands: `key` is the name of one, and of random ops' keys."""
    given = {name: filled_in(value, operands) for name, value in call["arguments"]}
    drawn = given.pop("dropout_p", 0.0)
    q, k, v = (given.pop(name) for name in ("query", "key", "value"))
    mask = given.pop("attn_mask", None)
    if "draw" not in call.params:
        return [nn.scaled_dot_product_attention(q, k, v, mask, **given)]
    key = fold_in(operands[-1], call["draw"])
    return [_attention_with_drops(q, k, v, mask, key, drawn, **given)]


@RULES.rule("_scaled_dot_product_flash_attention_for_cpu", note="without dropout; its first result")
def _flash_attention(call: Any, *operands: Any) -> Any:
    given = {name: filled_in(value, operands) for name, value in call["arguments"]}
    q, k, v = (given.pop(name) for name in ("query", "key", "value"))
    mask = given.pop("attn_mask", None)
    if given.pop("dropout_p", 0.0) or call["used"] != (0,):
        raise refusal(f"{call.op}: dropout, and its second result, are not there; export again")
    return [nn.scaled_dot_product_attention(q, k, v, mask, **given)]


def _attention_with_drops(
    q: Any, k: Any, v: Any, mask: Any, key: Any, p: float, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """softmax(q @ k.T * scale) with elements dropped, @ v."""
    if enable_gqa:
        k, v = (gnp.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    scores: Any = gnp.matmul(q, _turned(k)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        rows, columns = scores.shape[-2:]
        mask = lifted(np.tri(rows, columns, dtype=bool))
    if mask is not None:
        is_mask = is_bool(element(mask))
        low = converted(-np.inf, element(scores))
        scores = gnp.where(mask, scores, low) if is_mask else op.add(scores, mask)
    return gnp.matmul(nn.dropout(nn.softmax(scores, axis=scores.ndim - 1), key, 0, p=p), v)


def _turned(x: Any) -> Any:
    return gnp.swapaxes(x, -1, -2)
