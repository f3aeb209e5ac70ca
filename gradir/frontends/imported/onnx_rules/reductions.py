"""ONNX's operators that reduce axes, run along them, or sort them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.onnx_rules.arguments import (
    INT64,
    OnnxRules,
    axes_of,
    axis_of,
    in_float32,
    is_real,
    numbers,
)
from gradir.frontends.tracing.tracing import element

RULES = OnnxRules()
Reduce = Callable[[Any, tuple[int, ...]], Any]


def _sum(x: Any, axes: tuple[int, ...]) -> Any:
    return converted(gnp.sum(x, axis=axes), element(x))


def _extreme(function: Any, is_largest: bool) -> Reduce:
    def reduce(x: Any, axes: tuple[int, ...]) -> Any:
        if is_bool(element(x)):
            return (op.any if is_largest else op.all)(x, axis=axes)
        if not all(x.shape[a] for a in axes):
            shape = [d for k, d in enumerate(x.shape) if k not in axes]
            return spread(_neutral(x, is_largest), shape, element(x))
        return function(x, axis=axes)

    return reduce


def _neutral(x: Any, is_largest: bool) -> Any:
    if is_real(x):
        return -float("inf") if is_largest else float("inf")
    limits = gnp.iinfo(x.dtype)
    return int(limits.min if is_largest else limits.max)


def _log_sum_exp(x: Any, axes: tuple[int, ...]) -> Any:
    if not all(x.shape[a] for a in axes):
        return op.log(_sum(x, axes))
    return op.logsumexp(x, axis=axes)


_REDUCTIONS: dict[str, Reduce] = {
    "ReduceSum": _sum,
    "ReduceMean": lambda x, axes: converted(gnp.mean(x, axis=axes), element(x)),
    "ReduceProd": lambda x, axes: converted(gnp.prod(x, axis=axes), element(x)),
    "ReduceMax": _extreme(gnp.max, True),
    "ReduceMin": _extreme(gnp.min, False),
    "ReduceL1": lambda x, axes: _sum(op.abs(x), axes),
    "ReduceL2": lambda x, axes: op.norm(x, axis=axes) if axes else op.abs(x),
    "ReduceSumSquare": lambda x, axes: _sum(op.square(x), axes),
    "ReduceLogSum": lambda x, axes: op.log(_sum(x, axes)),
    "ReduceLogSumExp": _log_sum_exp,
}


def _reduction(function: Reduce) -> Any:
    def rule(
        call: Any, x: Any, given: Any = None, axes: Any = None, keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Any:  # fmt: skip
        named = axes if given is None else given
        named = None if named is not None and not numbers(named) else named
        if named is None and noop_with_empty_axes:
            found: tuple[int, ...] = ()
        else:
            found = axes_of(x, named)
        made = function(x, found)
        kept = [1 if k in found else d for k, d in enumerate(x.shape)]
        return gnp.reshape(made, kept) if keepdims else made

    return rule


for _name, _function in _REDUCTIONS.items():
    RULES.onnx(_name, static=[1])(_reduction(_function))


def _place(function: Any) -> Any:
    def rule(
        call: Any, x: Any, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Any:
        axis = axis_of(x, axis)
        given = gnp.flip(x, axis) if select_last_index else x
        made = function(given, axis=axis)
        made = x.shape[axis] - 1 - made if select_last_index else made
        made = converted(made, INT64)
        return gnp.expand_dims(made, axis) if keepdims else made

    return rule


RULES.onnx("ArgMax")(_place(gnp.argmax))
RULES.onnx("ArgMin")(_place(gnp.argmin))


# Along an axis.


def _cumulative(function: Any, start: int) -> Any:
    def rule(call: Any, x: Any, axis: Any, exclusive: int = 0, reverse: int = 0) -> Any:
        place = axis_of(x, int(axis.reshape(())))
        made = gnp.flip(x, place) if reverse else x
        made = converted(function(made, axis=place), element(x))
        if exclusive:
            first = [1 if k == place else d for k, d in enumerate(x.shape)]
            rest = made[(*[slice(None)] * place, slice(0, x.shape[place] - 1))]
            made = op.concat([spread(start, first, element(x)), rest], axis=place)
        return gnp.flip(made, place) if reverse else made

    return rule


RULES.onnx("CumSum", static=[1])(_cumulative(gnp.cumsum, 0))
RULES.onnx("CumProd", static=[1])(_cumulative(gnp.cumprod, 1))


@RULES.onnx("Softmax")
def _softmax(call: Any, x: Any, axis: int = -1) -> Any:
    return in_float32(lambda x: nn.softmax(x, axis=axis_of(x, axis)), x)


@RULES.onnx("LogSoftmax")
def _log_softmax(call: Any, x: Any, axis: int = -1) -> Any:
    return in_float32(lambda x: nn.log_softmax(x, axis=axis_of(x, axis)), x)


@RULES.onnx("Hardmax")
def _hardmax(call: Any, x: Any, axis: int = -1) -> Any:
    axis = axis_of(x, axis)
    rows = gnp.moveaxis(x, axis, -1)
    best = gnp.argmax(rows, axis=-1)
    made = nn.one_hot(best, rows.shape[-1])
    return converted(gnp.moveaxis(made, -1, axis), element(x))


@RULES.onnx("TopK", static=[1])
def _top(call: Any, x: Any, k: Any, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    axis = axis_of(x, axis)
    count = int(k.reshape(()))
    order = gnp.argsort(x, axis=axis, descending=bool(largest), stable=True)
    places = order[(*[slice(None)] * axis, slice(0, count))]
    return [gnp.take_along_axis(x, places, axis), converted(places, INT64)]


@RULES.onnx("LpNormalization")
def _normalized(call: Any, x: Any, axis: int = -1, p: int = 2) -> Any:
    axis = axis_of(x, axis)
    size = op.abs(x) if p == 1 else op.square(x)
    length = gnp.sum(size, axis=axis, keepdims=True)
    length = length if p == 1 else op.sqrt(length)
    is_zero = op.equal(length, 0)
    return gnp.where(is_zero, 0, x / gnp.where(is_zero, 1, length))
