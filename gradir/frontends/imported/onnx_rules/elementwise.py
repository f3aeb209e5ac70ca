"""ONNX's operators on elements: arithmetic, functions, comparisons, choices, conversions."""

from __future__ import annotations

from functools import reduce
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.shapes import is_bool
from gradir.frontends.functions import nn
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.float_bits import bits_of, of_bits
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.onnx_rules.arguments import Function, OnnxRules, is_real
from gradir.frontends.imported.onnx_rules.types import element_of_code
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element

RULES = OnnxRules()

RULES.each(
    Acos=op.acos, Acosh=op.acosh, Asin=op.asin, Asinh=op.asinh, Atan=op.atan, Atanh=op.atanh,
    Cos=op.cos, Cosh=op.cosh, Erf=op.erf, Exp=op.exp, Log=op.log, Sin=op.sin, Sinh=op.sinh,
    Sqrt=op.sqrt, Tan=op.tan, Tanh=op.tanh, Reciprocal=op.reciprocal, IsNaN=op.isnan,
    Not=op.logical_not, BitwiseNot=gnp.bitwise_invert, Identity=gnp.positive, Det=gnp.linalg.det,
    Sigmoid=nn.sigmoid, Softplus=nn.softplus, Softsign=nn.softsign, Mish=nn.mish,
    HardSwish=nn.hardswish, Where=gnp.where,
)  # fmt: skip


def _for_floats(function: Function) -> Function:
    return lambda x: function(x) if is_real(x) else x


RULES.each(**{name: _for_floats(f) for name, f in
              {"Ceil": op.ceil, "Floor": op.floor, "Round": op.round}.items()})  # fmt: skip


@RULES.onnx("Abs")
def _size(call: Any, x: Any) -> Any:
    return x if x.dtype.kind in "ub" else op.abs(x)


@RULES.onnx("Neg")
def _negated(call: Any, x: Any) -> Any:
    return op.negative(x)


@RULES.onnx("Sign")
def _sign(call: Any, x: Any) -> Any:
    return gnp.sign(x)


@RULES.onnx("Relu")
def _relu(call: Any, x: Any) -> Any:
    return nn.relu(x) if is_real(x) else op.maximum(x, 0)


@RULES.onnx("LeakyRelu")
def _leaky(call: Any, x: Any, alpha: float = 0.01) -> Any:
    return nn.leaky_relu(x, slope=alpha)


@RULES.onnx("Elu")
def _elu(call: Any, x: Any, alpha: float = 1.0) -> Any:
    return nn.elu(x, alpha=alpha)


@RULES.onnx("Celu")
def _celu(call: Any, x: Any, alpha: float = 1.0) -> Any:
    return nn.celu(x, alpha=alpha)


@RULES.onnx("Selu")
def _selu(
    call: Any, x: Any, alpha: float = 1.6732632423543772848170429916717,
    gamma: float = 1.0507009873554804934193349852946,
) -> Any:  # fmt: skip
    return nn.elu(x, alpha=alpha) * gamma


@RULES.onnx("ThresholdedRelu")
def _thresholded(call: Any, x: Any, alpha: float = 1.0) -> Any:
    return nn.threshold(x, alpha, 0.0)


@RULES.onnx("HardSigmoid")
def _hard_sigmoid(call: Any, x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return op.clip(x * alpha + beta, min=0.0, max=1.0)


@RULES.onnx("Gelu")
def _gelu(call: Any, x: Any, approximate: str = "none") -> Any:
    return nn.gelu(x, approximate=approximate)


@RULES.onnx("Swish")
def _swish(call: Any, x: Any, alpha: float = 1.0) -> Any:
    return nn.silu(x) if alpha == 1.0 else x * nn.sigmoid(x * alpha)


@RULES.onnx("Shrink")
def _shrink(call: Any, x: Any, bias: float = 0.0, lambd: float = 0.5) -> Any:
    low = gnp.where(op.less(x, -lambd), x + _whole(x, bias), 0)
    return converted(gnp.where(op.greater(x, lambd), x - _whole(x, bias), low), element(x))


def _whole(x: Any, number: float) -> float:
    return number if is_real(x) else int(number)


@RULES.onnx("PRelu")
def _prelu(call: Any, x: Any, slope: Any) -> Any:
    return gnp.where(op.less(x, 0), op.multiply(x, slope), x)


@RULES.onnx("IsInf")
def _is_infinite(call: Any, x: Any, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    sides = [s for s, is_asked in ((-1, detect_negative), (1, detect_positive)) if is_asked]
    found = [op.logical_and(op.isinf(x), op.greater(x, 0) if s > 0 else op.less(x, 0))
             for s in sides]  # fmt: skip
    return reduce(op.logical_or, found) if found else op.not_equal(x, x) & op.equal(x, x)


# Of two arrays, and of several.

RULES.each(
    Add=op.add, Sub=op.subtract, Mul=op.multiply, And=op.logical_and, Or=op.logical_or,
    Xor=op.logical_xor, Greater=op.greater, GreaterOrEqual=op.greater_equal, Less=op.less,
    LessOrEqual=op.less_equal, BitwiseAnd=op.bitwise_and, BitwiseOr=op.bitwise_or,
    BitwiseXor=op.bitwise_xor, Equal=op.equal,
)  # fmt: skip


@RULES.onnx("Div")
def _quotient(call: Any, x: Any, y: Any) -> Any:
    if is_real(x):
        return op.divide(x, y)
    if x.dtype.kind == "u":
        return op.floor_divide(x, y)
    rest = _signed_rest(x, y)
    return op.floor_divide(op.subtract(x, rest), y)


def _signed_rest(x: Any, y: Any) -> Any:
    """The rest of a division whose quotient is cut, with the sign of x."""
    rest = op.remainder(x, y)
    differ = op.logical_and(op.not_equal(rest, 0), op.not_equal(op.less(rest, 0), op.less(x, 0)))
    return gnp.where(differ, op.subtract(rest, y), rest)


@RULES.onnx("Mod")
def _modulo(call: Any, x: Any, y: Any, fmod: int = 0) -> Any:
    if not fmod:
        return op.remainder(x, y)
    return gnp.fmod(x, y) if is_real(x) else x if x.dtype.kind == "b" else _signed_rest(x, y)


@RULES.onnx("Pow", note="in the wider type of the two")
def _power(call: Any, x: Any, y: Any) -> Any:
    if element(x) == element(y):
        return op.pow(x, y)
    if is_real(x) and not is_real(y):
        return op.pow(x, converted(y, element(x)))
    return converted(gnp.pow(x, y), element(x))


@RULES.onnx("BitShift")
def _shifted(call: Any, x: Any, y: Any, direction: str) -> Any:
    rule = op.bitwise_left_shift if direction == "LEFT" else op.bitwise_right_shift
    bits = x.dtype.itemsize * 8
    if direction == "RIGHT" and x.dtype.kind == "i":
        return rule(x, op.minimum(y, bits - 1))
    inside = op.less(y, bits)
    return gnp.where(inside, rule(x, gnp.where(inside, y, 0)), 0)


@RULES.onnx("Max")
def _largest(call: Any, *arrays: Any) -> Any:
    return reduce(op.maximum, arrays)


@RULES.onnx("Min")
def _smallest(call: Any, *arrays: Any) -> Any:
    return reduce(op.minimum, arrays)


@RULES.onnx("Sum")
def _sum(call: Any, *arrays: Any) -> Any:
    return reduce(op.add, arrays)


@RULES.onnx("Mean")
def _mean(call: Any, *arrays: Any) -> Any:
    return reduce(op.add, arrays) / len(arrays)


@RULES.onnx("Clip")
def _clipped(call: Any, x: Any, low: Any = None, high: Any = None, **limits: float) -> Any:
    low = limits.get("min") if low is None else low
    high = limits.get("max") if high is None else high
    x = x if low is None else op.maximum(x, low)
    return x if high is None else op.minimum(x, high)


# Types.


@RULES.onnx("Cast", "CastLike", note="to integers as NumPy converts")
def _cast(call: Any, x: Any, like: Any = None, to: int = 0, **_: Any) -> Any:
    return _converted(x, element_of_code(to) if like is None else element(like))


def _converted(x: Any, kind: Any) -> Any:
    return op.not_equal(x, 0) if is_bool(kind) and not is_bool(element(x)) else converted(x, kind)


@RULES.onnx("BitCast", note="between types of one size")
def _bits(call: Any, x: Any, to: int) -> Any:
    kind = element_of_code(to)
    if is_bool(kind):
        return op.not_equal(x, 0)
    bits = converted(x, ELEMENTS["uint8"]) if is_bool(element(x)) else bits_of(x)
    return of_bits(bits, numpy_dtype(kind).name)
