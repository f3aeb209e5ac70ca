"""JAX's primitives on windows: convolutions, sums and extremes of windows, and their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir.affine import AffineExpr, AffineMap

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_float
from gradir.dialects.nn.pools import MAX_POOL_LAYER_OPS
from gradir.dialects.spatial.convolution import CONV_OPS
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.op_functions import apply
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.jax_rules.reductions import greatest, least
from gradir.frontends.imported.jax_rules.shapes import padded
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import NUMPY_NAMES
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.derivatives import vjp
from gradir.frontends.transforms.flow import scan
from gradir.frontends.transforms.markers import no_grad

RULES = RuleTable("JAX")


# Convolutions.


@RULES.rule("conv_general_dilated", note="of floats, up to 3 spatial axes")
def _convolved(call: Any, x: Any, kernel: Any) -> Any:
    return convolved(call.params, call.element, x, kernel)


def convolved(params: Any, kind: Any, x: Any, kernel: Any) -> Any:
    """A convolution with JAX's parameters, in numbers of a type."""
    lhs, rhs, out = params["dimension_numbers"]
    dims = len(lhs) - 2
    if not is_float(kind) or dims > 3:
        raise refusal(f"conv_general_dilated: floats and up to 3 spatial axes expected, got "
                      f"{NUMPY_NAMES[kind]} and {dims}")  # fmt: skip
    x, kernel = (converted(each, kind) for each in (x, kernel))
    spread_ = [(0, 0, 0), (0, 0, 0), *((0, 0, d - 1) for d in params["lhs_dilation"])]
    x, kernel = gnp.permute_dims(x, lhs), gnp.permute_dims(kernel, rhs)
    if any(d != 1 for d in params["lhs_dilation"]):
        x = padded(x, spread(0, (), element(x)), spread_)
    padding = list(params["padding"])
    if any(low < 0 or high < 0 for low, high in padding):
        cut = [(min(low, 0), min(high, 0), 0) for low, high in padding]
        x = padded(x, spread(0, (), element(x)), [(0, 0, 0), (0, 0, 0), *cut])
        padding = [(max(low, 0), max(high, 0)) for low, high in padding]
    groups, batches = params["feature_group_count"], params["batch_group_count"]
    if batches > 1:
        x, groups = _groups_of_batches(x, batches), batches
    made = _spatial(x, kernel, padding, params["window_strides"], params["rhs_dilation"], groups)
    return gnp.permute_dims(made, [int(k) for k in _inverse(out)])


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=lambda k: order[k])


def _groups_of_batches(x: Any, count: int) -> Any:
    """Groups of batches as groups of channels."""
    n, channels, *rest = x.shape
    parts = gnp.reshape(x, (count, n // count, channels, *rest))
    return gnp.reshape(gnp.moveaxis(parts, 0, 1), (n // count, count * channels, *rest))


def _spatial(
    x: Any, kernel: Any, padding: Sequence[tuple[int, int]], strides: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """A convolution of x [N, C, d...] with a kernel [O, I, d...]."""
    dims = x.ndim - 2
    if not dims:
        made = _spatial(x[..., None], kernel[..., None], [(0, 0)], [1], [1], groups)
        return made[..., 0]
    extents = [
        (n + low + high - step * (k - 1) - 1) // stride + 1
        for n, (low, high), k, stride, step in zip(
            x.shape[2:], padding, kernel.shape[2:], strides, dilation, strict=True
        )
    ]
    if not x.size or not kernel.size or min(extents) < 1:
        shape = (x.shape[0], kernel.shape[0], *(max(n, 0) for n in extents))
        return spread(0, shape, element(x))
    settings = {
        "stride": list(strides), "dilation": list(dilation), "groups": groups,
        "padding": [*(low for low, _ in padding), *(high for _, high in padding)],
    }  # fmt: skip
    return apply(CONV_OPS[dims], {"x": x, "weight": kernel, **settings})


# Windows.


class _Windows:
    """The windows of an array: extents, strides, paddings and dilations along each axis."""

    def __init__(self, params: Any, rank: int):
        self.sizes = tuple(params["window_dimensions"])
        self.strides = tuple(params["window_strides"])
        self.padding = tuple(params["padding"])
        self.between = tuple(params.get("base_dilation") or [1] * rank)
        self.steps = tuple(params.get("window_dilation") or [1] * rank)

    def padded(self, x: Any, value: Any) -> Any:
        """x with its padding, of a Python number."""
        pads = zip(self.padding, self.between, strict=True)
        config = [(low, high, between - 1) for (low, high), between in pads]
        return padded(x, spread(value, (), element(x)), config)

    @property
    def axes(self) -> list[int]:
        """The axes along which windows are more than single elements."""
        rows = zip(self.sizes, self.strides, self.steps, strict=True)
        return [d for d, (size, stride, step) in enumerate(rows) if (size, stride) != (1, 1)]

    def cumulative(self, shape: Sequence[int]) -> list[tuple[int, bool]] | None:
        """Axes along which a window reaches to one end, with whether that is the last one.

        None where there are other windows.
        """
        found: list[tuple[int, bool]] = []
        for d in self.axes:
            n = shape[d]
            plain = (self.sizes[d], self.strides[d], self.between[d], self.steps[d]) == (n, 1, 1, 1)
            if not plain or self.padding[d] not in ((n - 1, 0), (0, n - 1)):
                return None
            found.append((d, self.padding[d] == (0, n - 1)))
        return found

    def extents(self, shape: Sequence[int]) -> list[int]:
        """The extents of the result for a padded array."""
        rows = zip(shape, self.sizes, self.strides, self.steps, strict=True)
        return [(n - step * (size - 1) - 1) // stride + 1 for n, size, stride, step in rows]

    def gathered(self, x: Any) -> Any:
        """The windows [d..., elements of a window] of a padded array."""
        shape, axes = self.extents(x.shape), self.axes
        count = len(shape)
        subscripts = []
        for d in range(count):
            place = AffineExpr.dimension(d) * self.strides[d]
            if d in axes:
                place = place + AffineExpr.dimension(count + axes.index(d)) * self.steps[d]
            subscripts.append(place)
        sizes = [self.sizes[d] for d in axes]
        map_ = AffineMapAttr(AffineMap(count + len(axes), 0, tuple(subscripts)))
        made = gnp.affine_gather(x, map_, [*shape, *sizes])
        return gnp.reshape(made, [*shape, prod(sizes)])


@RULES.rule("reduce_window_sum")
def _window_sums(call: Any, x: Any) -> Any:
    return _summed(_Windows(call.params, x.ndim), x, call.type.shape)


def _summed(windows: _Windows, x: Any, shape: Sequence[int]) -> Any:
    runs = windows.cumulative(x.shape)
    if runs is not None and x.size:
        # linear in the extent, as a sum of each window would not be
        for axis, is_reverse in runs:
            x = op.cumulative_sum(x, axis=axis, reverse=is_reverse or None)
        return x
    if not prod(shape):
        return spread(0, shape, element(x))
    return op.sum(windows.gathered(windows.padded(x, 0)), axis=[x.ndim])


@RULES.rule("reduce_window_max", "reduce_window_min")
def _window_extremes(call: Any, x: Any) -> Any:
    is_max = call.op == "reduce_window_max"
    return _extreme(_Windows(call.params, x.ndim), x, call.type.shape, is_max)


def _extreme(windows: _Windows, x: Any, shape: Sequence[int], is_max: bool) -> Any:
    start = (least if is_max else greatest)(element(x))
    if not prod(shape):
        return spread(start, shape, element(x))
    runs = windows.cumulative(x.shape)
    if runs is not None and x.size:
        for axis, is_reverse in reversed(runs):  # of equal ones the first in row-major order
            x = _running_extreme(x, axis, is_reverse, is_max)
        return x
    given = windows.padded(x, start)
    if is_float(element(x)) and 0 < len(windows.axes) <= 3:
        return _pooled(windows, given, is_max)
    every = windows.gathered(given)
    places = (op.argmax if is_max else op.argmin)(every, axis=every.ndim - 1)
    return gnp.take_along_axis(every, places[..., None], axis=-1)[..., 0]


def _running_extreme(x: Any, axis: int, is_reverse: bool, is_max: bool) -> Any:
    """The extreme of all elements up to each one, or from it on: linear in the extent.

    The first of equal ones has the gradient, and nan is an extreme.
    """
    lines = gnp.moveaxis(no_grad(x), axis, 0)
    count, end = lines.shape[0], lines.shape[0] - 1 if is_reverse else 0

    def step(state: tuple[Any, Any], row: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        (best, place), (value, number) = state, row
        wins = (op.greater if is_max else op.less)(value, best)
        if is_reverse:  # an equal one in front is the first
            wins = wins | op.equal(value, best)
        if is_float(element(x)):
            is_nan, was_nan = op.isnan(value), op.isnan(best)
            wins = wins | (is_nan if is_reverse else is_nan & ~was_nan)
        place = gnp.where(wins, number, place)
        return (gnp.where(wins, value, best), place), place

    first = gnp.full(lines.shape[1:], end)
    _, places = scan(step, (lines[end], first), (lines, gnp.arange(count)), reverse=is_reverse)
    return gnp.take_along_axis(x, gnp.moveaxis(places, 0, axis), axis=axis)


def _pooled(windows: _Windows, x: Any, is_max: bool) -> Any:
    """The extremes of windows along up to three axes: the first of equal ones has the gradient."""
    axes = windows.axes
    first = [d for d in range(x.ndim) if d not in axes]
    order = [*first, *axes]
    spatial = [x.shape[d] for d in axes]
    lines = gnp.reshape(gnp.permute_dims(x, order), (1, prod(x.shape[d] for d in first), *spatial))
    settings = {
        "kernel": [windows.sizes[d] for d in axes], "stride": [windows.strides[d] for d in axes],
        "dilation": [windows.steps[d] for d in axes],
    }  # fmt: skip
    lines = lines if is_max else op.negative(lines)
    made = apply(MAX_POOL_LAYER_OPS[len(axes)], {"x": lines, **settings})
    made = made if is_max else op.negative(made)
    made = gnp.reshape(made, [*(x.shape[d] for d in first), *made.shape[2:]])
    return gnp.permute_dims(made, _inverse(order))


_JOINS: dict[str, Callable[..., Any]] = {
    "add": lambda windows, x, shape: _summed(windows, x, shape),
    "max": lambda windows, x, shape: _extreme(windows, x, shape, True),
    "min": lambda windows, x, shape: _extreme(windows, x, shape, False),
}
_COMBINED: dict[str, Callable[..., Any]] = {
    "add": op.add, "max": op.maximum, "min": op.minimum, "mul": op.multiply,
}  # fmt: skip


@RULES.rule("reduce_window", note="of sums, products and extremes of one array")
def _window_reduced(call: Any, x: Any, start: Any, *more: Any) -> Any:
    return windows_joined(joined_by(call, call["jaxpr"]), call.params, x, start, call.type.shape)


def windows_joined(
    join: str, params: Any, x: Any, start: Any, shape: Sequence[int] | None = None
) -> Any:
    """The windows of x joined by `add`, `mul`, `max` or `min` from `start` on."""
    windows = _Windows(params, x.ndim)
    if shape is None:
        shape = windows.extents(windows.padded(x, 0).shape)
    if join == "mul":
        given = windows.padded(x, 1)
        made = op.prod(windows.gathered(given), axis=[x.ndim])
    else:
        made = _JOINS[join](windows, x, shape)
    return _COMBINED[join](made, gnp.broadcast_to(start, made.shape))


def joined_by(call: Any, graph: Any) -> str:
    """The op of a program that joins two numbers by it alone."""
    ops = [node.op for node in graph.nodes]
    if len(ops) != 1 or ops[0] not in _COMBINED or len(graph.inputs) != 2:
        raise refusal(f"{call.op}: only sums, products, max and min are there, got {ops}")
    return ops[0]


# What the derivative of windows is in JAX.


@RULES.rule("select_and_scatter_add", note="to the first of equal elements")
def _scattered_to_extremes(call: Any, source: Any, x: Any) -> Any:
    is_max, windows = _selects_largest(call), _Windows(call.params, x.ndim)

    def pooled(x: Any) -> Any:
        return _extreme(windows, x, source.shape, is_max)

    _, back = vjp(pooled, no_grad(x))
    return back(source)[0]


@RULES.rule("select_and_gather_add", note="of the first of equal elements")
def _gathered_at_extremes(call: Any, tangents: Any, x: Any) -> Any:
    is_max, windows = _selects_largest(call), _Windows(call.params, x.ndim)
    start = (least if is_max else greatest)(element(x))
    every = windows.gathered(windows.padded(no_grad(x), start))
    places = (op.argmax if is_max else op.argmin)(every, axis=every.ndim - 1)
    moved = windows.gathered(windows.padded(tangents, 0))
    return gnp.take_along_axis(moved, places[..., None], axis=-1)[..., 0]


def _selects_largest(call: Any) -> bool:
    name = call["select_prim"].name
    if name not in ("ge", "le"):
        raise refusal(f"{call.op}: expected to select by ge or le, got {name}")
    return name == "ge"


# Reductions by a program.


@RULES.rule("reduce", note="of sums, products and extremes of one array")
def _reduced(call: Any, *operands: Any) -> Any:
    if len(operands) != 2:
        raise refusal(f"reduce: one array expected, got {len(operands) // 2}")
    x, start = operands
    join, axes = joined_by(call, call["jaxpr"]), list(call["dimensions"])
    if not axes:
        return _COMBINED[join](x, gnp.broadcast_to(start, x.shape))
    if not x.size:
        return gnp.broadcast_to(start, call.type.shape)
    made = {"add": op.sum, "mul": op.prod, "max": op.max, "min": op.min}[join](x, axis=axes)
    return _COMBINED[join](made, gnp.broadcast_to(start, made.shape))
