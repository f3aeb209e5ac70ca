"""Operator types that work on elements: arithmetic, activations, comparisons, conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gradir.frontends.functions.nn as nn
import gradir.frontends.functions.numpy as gnp
from gradir.dialects.grad.grad import NegateGradientOp, NoGradOp
from gradir.errors import ArgumentError
from gradir.frontends.caffe2.elements import dtype_named, one_number
from gradir.frontends.caffe2.operator import Operator
from gradir.frontends.caffe2.table import operator_type
from gradir.frontends.tracing.tracing import emit_one

INPUT, OUTPUT, NOTHING = ("in0",), ("out0",), ()


def aligned(x: Any, y: Any, broadcast: int, axis: int) -> Any:
    """y with axes of extent 1 behind it, so that its axes meet x's from `axis` on.

    -1: its axes meet the last of x. Without `broadcast` y is as it is, with it x has the shape of
    the result.
    """
    if not broadcast:
        return y
    start = x.ndim - y.ndim if axis == -1 else axis
    if not 0 <= start <= x.ndim - y.ndim:
        raise ArgumentError(
            f"axis: an array of rank {y.ndim} does not fit at axis {axis} into one of rank {x.ndim}"
        )
    met = x.shape[start : start + y.ndim]
    if any(n not in (1, m) for n, m in zip(y.shape, met, strict=True)):
        raise ArgumentError(f"shape {list(y.shape)} must fit axes of extents {list(met)}")
    made = gnp.reshape(y, [*y.shape, *[1] * (x.ndim - start - y.ndim)])
    made.weak = y.weak
    return made


def _has_shape_of_first(op: Operator) -> bool:
    return bool(op.args.get("broadcast"))


def _may_broadcast(op: Operator) -> bool:
    return not _has_shape_of_first(op)


def _every(op: Operator) -> range:
    return range(len(op.inputs))


def _sum_forwards(op: Operator) -> tuple[int, ...]:
    """Both inputs get the sum's gradient; the second one's is reduced where it was broadcast."""
    return (0,) if _has_shape_of_first(op) else (0, 1)


def _binary(name: str, function: Callable[..., Any], **facts: Any) -> None:
    @operator_type(name, inputs=2, **facts)
    def _(x: Any, y: Any, *, broadcast: int = 0, axis: int = -1) -> Any:
        return function(x, aligned(x, y, broadcast, axis))


_SECOND: dict[str, Any] = {
    "reads": NOTHING,
    "shapes": lambda op: ("in1",) if _has_shape_of_first(op) else (),
    "broadcasts": _may_broadcast,
}
_binary("Add", gnp.add, forwards=_sum_forwards, **_SECOND)
_binary("Sub", gnp.subtract, forwards=(0,), **_SECOND)
_binary("Mul", gnp.multiply)
_binary("Div", gnp.divide, reads=("in1", "out0"))

for _name, _function in (
    ("LT", gnp.less), ("LE", gnp.less_equal), ("GT", gnp.greater), ("GE", gnp.greater_equal),
    ("EQ", gnp.equal), ("NE", gnp.not_equal), ("And", gnp.logical_and), ("Or", gnp.logical_or),
):  # fmt: skip
    _binary(_name, _function, reads=NOTHING, differentiable=())


def _unary(name: str, function: Callable[..., Any], reads: tuple[str, ...], **facts: Any) -> None:
    @operator_type(name, inputs=1, reads=reads, **facts)
    def _(x: Any) -> Any:
        return function(x)


for _name, _function, _reads in (
    ("Relu", nn.relu, OUTPUT), ("Sigmoid", nn.sigmoid, OUTPUT), ("Tanh", gnp.tanh, OUTPUT),
    ("Exp", gnp.exp, OUTPUT), ("Sqrt", gnp.sqrt, OUTPUT), ("Log", gnp.log, INPUT),
    ("Abs", gnp.abs, INPUT), ("Sin", gnp.sin, INPUT), ("Cos", gnp.cos, INPUT),
    ("Sqr", gnp.square, INPUT), ("Negative", gnp.negative, NOTHING),
):  # fmt: skip
    _unary(_name, _function, _reads)

_unary("Floor", gnp.floor, NOTHING, differentiable=())
_unary("Not", gnp.logical_not, NOTHING, differentiable=())
_unary("StopGradient", partial(emit_one, NoGradOp), NOTHING, differentiable=())
_unary("NegateGradient", partial(emit_one, NegateGradientOp), NOTHING)
_unary("Copy", gnp.positive, NOTHING, shapes=INPUT)
_unary("Alias", gnp.positive, NOTHING, forwards=(0,), keeps_slices=True)


@operator_type("LeakyRelu", inputs=1, reads=OUTPUT)
def leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    """x where it is positive, else alpha * x."""
    return nn.leaky_relu(x, slope=float(alpha))


@operator_type("Clip", inputs=1, reads=OUTPUT)
def clip(x: Any, *, min: float | None = None, max: float | None = None) -> Any:
    """x between two bounds."""
    return x if min is None and max is None else gnp.clip(x, min, max)


@operator_type("Pow", inputs=(1, 2))
def power(
    x: Any, y: Any = None, *, exponent: float | None = None, broadcast: int = 0, axis: int = -1
) -> Any:
    """x to a power, an argument or the second input."""
    if (y is None) == (exponent is None):
        raise ArgumentError("exponent: expected either a second input or the argument exponent")
    if y is not None:
        return gnp.pow(x, aligned(x, y, broadcast, axis))
    whole = float(exponent or 0).is_integer()
    return gnp.pow(x, int(exponent or 0) if whole else exponent)


@operator_type("Scale", inputs=1, reads=NOTHING)
def scaled(x: Any, *, scale: float = 1.0) -> Any:
    """x times a number."""
    return x * scale


@operator_type("Sum", inputs=(1, None), reads=NOTHING, forwards=_every,
               keeps_slices=True)  # fmt: skip
def total(x: Any, *others: Any) -> Any:
    """The sum of arrays of one shape."""
    for other in others:
        if other.shape != x.shape:
            raise ArgumentError(
                f"inputs must have one shape, got {list(x.shape)} and {list(other.shape)}; "
                "Add broadcasts"
            )
        x = x + other
    return x


@operator_type("WeightedSum", inputs=(2, None))
def weighted_sum(*xs: Any, grad_on_w: int = 1) -> Any:
    """X0 * w0 + X1 * w1 + ..., of weights of one element, which have gradients in any case."""
    if len(xs) % 2:
        raise ArgumentError(f"expected a weight behind each array, got {len(xs)} inputs")
    terms = [x * one_number(w, "weight") for x, w in zip(xs[::2], xs[1::2], strict=True)]
    return total(*terms)


def _is_cast_to_float(op: Operator) -> tuple[int, ...]:
    return (0,) if is_floating(op.args.get("to")) else ()


def is_floating(to: Any) -> bool:
    """Whether an argument names a floating type."""
    try:
        return dtype_named(to).kind not in "iub"
    except ArgumentError:
        return False


@operator_type("Cast", inputs=1, reads=NOTHING, differentiable=_is_cast_to_float, is_typed=True)
def cast(x: Any, *, to: int | str) -> Any:
    """x with elements of another type, Caffe2's number of it or its name."""
    return gnp.astype(x, dtype_named(to))
