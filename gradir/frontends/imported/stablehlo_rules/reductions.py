"""StableHLO's ops on whole axes: products, reductions, windows, sorts, factorizations."""

from __future__ import annotations

import re
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import byte_size, is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.jax_rules.bits import rank_of
from gradir.frontends.imported.jax_rules.table import JAX
from gradir.frontends.imported.stablehlo_rules.attributes import (
    fields,
    flag,
    integer,
    integers,
    pairs,
    shared,
    word,
)
from gradir.frontends.imported.stablehlo_rules.combiners import (
    SortKey,
    combiner_of,
    direction_of,
    joined_by,
    key_of,
)
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.vmap import vmap

RULES = RuleTable("StableHLO")

_DOT = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
)  # fmt: skip


@RULES.rule("stablehlo.dot_general")
def _product(call: Any, x: Any, y: Any) -> Any:
    dims = fields(call, "dot_dimension_numbers", _DOT)
    numbers = (
        (dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions),
        (dims.lhs_batching_dimensions, dims.rhs_batching_dimensions),
    )
    return shared("dot_general", lambda call: {"dimension_numbers": numbers})(call, x, y)


@RULES.rule("stablehlo.dot")
def _dot(call: Any, x: Any, y: Any) -> Any:
    numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return shared("dot_general", lambda call: {"dimension_numbers": numbers})(call, x, y)


def _axes(text: str, first: str, second: str, op_name: str) -> list[int]:
    """The axes of two letters, then the spatial ones, in `b, 0, 1, f`."""
    names = [part.strip() for part in text.split(",")]
    spatial = sorted((n for n in names if n.isdigit()), key=int)
    try:
        return [names.index(n) for n in (first, second, *spatial)]
    except ValueError:
        raise refusal(f"{op_name}: the dimensions [{text}] are not understood") from None


@RULES.rule("stablehlo.convolution", note="of floats, up to 3 spatial axes")
def _convolved(call: Any, x: Any, kernel: Any) -> Any:
    text = word(call, "dimension_numbers")
    found = re.fullmatch(r"\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]", text)
    if found is None:
        raise refusal(f"{call.op}: the dimensions {text!r} are not understood")
    dims = x.ndim - 2
    lhs, out = (_axes(found[k], "b", "f", call.op) for k in (1, 3))
    rhs = _axes(found[2], "o", "i", call.op)
    turned = integers(call, "window_reversal", [0] * dims)
    axes = [rhs[2 + d] for d in range(dims) if turned[d]]
    params = {
        "dimension_numbers": (lhs, rhs, out),
        "window_strides": integers(call, "window_strides", [1] * dims),
        "padding": pairs(call, "padding", dims),
        "lhs_dilation": integers(call, "lhs_dilation", [1] * dims),
        "rhs_dilation": integers(call, "rhs_dilation", [1] * dims),
        "feature_group_count": integer(call, "feature_group_count"),
        "batch_group_count": integer(call, "batch_group_count"),
    }
    kernel = op.flip(kernel, axis=axes) if axes else kernel
    return shared("conv_general_dilated", lambda call: params)(call, x, kernel)


_REDUCE = {"add": "reduce_sum", "multiply": "reduce_prod", "maximum": "reduce_max",
           "minimum": "reduce_min", "and": "reduce_and", "or": "reduce_or",
           "xor": "reduce_xor"}  # fmt: skip
_JOIN: dict[str, Any] = {"add": op.add, "multiply": op.multiply, "maximum": op.maximum,
                         "minimum": op.minimum}  # fmt: skip
_BITS: dict[str, Any] = {"and": op.bitwise_and, "or": op.bitwise_or, "xor": op.bitwise_xor}


def _of_bools(kind: str, x: Any) -> str:
    return {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}.get(kind, kind) if (
        is_bool(element(x))) else kind  # fmt: skip


def _with_start(kind: str, made: Any, start: Any) -> Any:
    """A result joined with the number that a reduction starts from."""
    given = gnp.broadcast_to(start, made.shape)
    if is_bool(element(made)):
        return {"and": op.logical_and, "or": op.logical_or, "xor": op.logical_xor}[kind](
            made, given
        )
    return (_JOIN | _BITS)[kind](made, given)


@RULES.rule(
    "stablehlo.reduce", note="other programs than those of two numbers join neighbours in pairs"
)
def _reduced(call: Any, *operands: Any) -> Any:
    count, axes = len(call.results), integers(call, "dimensions")
    xs, starts, captured = operands[:count], operands[count : 2 * count], operands[2 * count :]
    if not xs[0].size:
        return [gnp.broadcast_to(s, t.shape) for s, t in zip(starts, call.results, strict=True)]
    kind = joined_by(call.graphs[0], call.params["captured"])
    if count > 1 or kind in (None, "set"):
        return _folded(call, xs, starts, captured, axes)
    [x], [start] = xs, starts
    kind = _of_bools(kind, x)
    if not axes:
        return _with_start(kind, x, start)
    call.op, call.params = _REDUCE[kind], {"axes": axes}
    return _with_start(kind, JAX.rules[call.op](call, x), start)


def _folded(call: Any, xs: Any, starts: Any, captured: Any, axes: list[int]) -> list[Any]:
    """Neighbours joined by the op's program until one is left, then the starts with it."""
    kept = [d for d in range(xs[0].ndim) if d not in axes]
    shape = [xs[0].shape[d] for d in kept]
    lines = [gnp.reshape(gnp.permute_dims(x, [*axes, *kept]), (-1, prod(shape))) for x in xs]
    join = _vectorized(call, captured)
    while lines[0].shape[0] > 1:
        count = lines[0].shape[0] // 2 * 2
        made = join([x[0:count:2] for x in lines], [x[1:count:2] for x in lines])
        rest = [x[count:] for x in lines]
        lines = [
            op.concat([m, r], axis=0) if r.shape[0] else m for m, r in zip(made, rest, strict=True)
        ]
    first = [gnp.broadcast_to(s, x.shape) for s, x in zip(starts, lines, strict=True)]
    return [gnp.reshape(made, shape) for made in join(first, lines)]


def _vectorized(call: Any, captured: Any) -> Any:
    """The op's program on pairs of arrays, element by element."""
    function = call.replay.function(call.graphs[0])

    def on_one(*ones: Any) -> Any:
        return tuple(function(*captured, *ones))

    def join(left: Any, right: Any) -> list[Any]:
        shape = left[0].shape
        flat = [gnp.reshape(x, -1) for x in (*left, *right)]
        return [gnp.reshape(made, shape) for made in vmap(on_one)(*flat)]

    return join


_NAMES = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


@RULES.rule("stablehlo.reduce_window", note="of one array by a sum, a product or an extreme")
def _window_reduced(call: Any, *operands: Any) -> Any:
    if len(call.results) != 1:
        raise refusal(f"{call.op}: one array expected, got {len(call.results)}")
    x, start = operands[:2]
    kind, rank = combiner_of(call, call.graphs[0]), x.ndim
    if kind not in _NAMES or is_bool(element(x)):
        raise refusal(
            f"{call.op}: windows of numbers by a sum, a product or an extreme expected, got {kind}"
        )
    joining = SimpleNamespace(op=_NAMES[kind])
    params = {
        "jaxpr": SimpleNamespace(nodes=[joining], inputs=(0, 1)),
        "window_dimensions": integers(call, "window_dimensions"),
        "window_strides": integers(call, "window_strides", [1] * rank),
        "base_dilation": integers(call, "base_dilations", [1] * rank),
        "window_dilation": integers(call, "window_dilations", [1] * rank),
        "padding": pairs(call, "padding", rank),
    }
    return shared("reduce_window", lambda call: params)(call, x, start)


@RULES.rule("stablehlo.select_and_scatter", note="sums at extremes")
def _scattered_to_extremes(call: Any, x: Any, source: Any, start: Any) -> Any:
    selecting, joining = call.graphs
    rank = x.ndim
    direction = direction_of(selecting, call.params["captured"])
    if combiner_of(call, joining) != "add" or direction not in ("GE", "LE"):
        raise refusal(f"{call.op}: sums at the first largest or smallest elements are there")
    params = {
        "window_dimensions": integers(call, "window_dimensions", [1] * rank),
        "window_strides": integers(call, "window_strides", [1] * rank),
        "padding": pairs(call, "padding", rank),
        "select_prim": type("Select", (), {"name": direction.lower()}),
    }
    kind = element(x)
    if not is_float(kind):
        # the rule is a derivative, which floats have; these are exact up to 32 bits
        if is_bool(kind) or byte_size(kind) > 4:
            raise refusal(f"{call.op}: floats, or integers of up to 32 bits, expected, got {kind}")
        source, x = gnp.astype(source, "float64"), gnp.astype(x, "float64")
    made = shared("select_and_scatter_add", lambda call: params)(call, source, x)
    made = converted(converted(made, i64) if not is_float(kind) else made, kind)
    return made + gnp.broadcast_to(start, made.shape)


@RULES.rule("stablehlo.sort", note="by one array, ascending or descending")
def _sorted(call: Any, *xs: Any) -> Any:
    count, [graph] = len(call.results), call.graphs
    axis = integer(call, "dimension", -1) % max(xs[0].ndim, 1)
    found = key_of(graph, call.params["captured"])
    if found is None or not (found.is_total or not is_float(element(xs[found.key]))):
        raise refusal(
            f"{call.op}: a comparison of one array's elements expected, floats in TOTALORDER"
        )
    return _in_order(xs[:count], found, axis)


def _in_order(xs: Any, found: SortKey, axis: int) -> list[Any]:
    if not xs[0].size:
        return list(xs)
    given = xs[found.key]
    if is_float(element(given)):
        given = gnp.where(op.equal(given, 0), 0, given) if "zero" in found.canonical else given
        given = gnp.where(op.isnan(given), np.nan, given) if "nan" in found.canonical else given
        given = rank_of(given)
    given = gnp.astype(given, "uint8") if is_bool(element(given)) else given
    order = op.argsort(given, axis=axis, descending=found.descending or None)
    return [gnp.take_along_axis(x, order, axis) for x in xs]


@RULES.rule("chlo.top_k")
def _top(call: Any, x: Any) -> Any:
    """The first of the total order, descending: nans by their signs."""
    k, kind = integer(call, "k"), ELEMENTS[call.results[1].dtype]
    ranks = rank_of(x) if is_float(element(x)) else x
    places = op.argsort(ranks, axis=-1, descending=True)[..., :k]
    return [gnp.take_along_axis(x, places, -1), converted(places, kind)]


# Factorizations.


@RULES.rule("stablehlo.cholesky")
def _cholesky(call: Any, x: Any) -> Any:
    lower = flag(call, "lower")
    rank = x.ndim
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    # one triangle is read
    half = gnp.tril(x) if lower else gnp.permute_dims(gnp.triu(x), swapped)
    whole = half + gnp.permute_dims(gnp.tril(half, -1), swapped)
    factor = op.cholesky(whole)
    return factor if lower else gnp.permute_dims(factor, swapped)


@RULES.rule("stablehlo.triangular_solve")
def _solved(call: Any, a: Any, right: Any) -> Any:
    params = {
        "left_side": flag(call, "left_side"),
        "lower": flag(call, "lower"),
        "unit_diagonal": flag(call, "unit_diagonal"),
        "transpose_a": word(call, "transpose_a") in ("TRANSPOSE", "ADJOINT"),
        "conjugate_a": False,
    }
    return shared("triangular_solve", lambda call: params)(call, a, right)
