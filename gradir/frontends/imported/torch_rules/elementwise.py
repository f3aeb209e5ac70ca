"""PyTorch's ops on elements: arithmetic, functions, comparisons, choices, conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.neighbors import neighbor
from gradir.frontends.functions.promotion import converted, spread
from gradir.frontends.imported.torch_rules.arguments import (
    AtenRules,
    Function,
    alike,
    as_array,
    common_kind,
    is_whole,
    typed,
    wrapped,
)
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element
from gradir.frontends.transforms.custom_derivatives import CustomVjp
from gradir.frontends.transforms.markers import no_grad

RULES = AtenRules()

RULES.of_floats(
    acos=op.acos, acosh=op.acosh, asin=op.asin, asinh=op.asinh, atan=op.atan, atanh=op.atanh,
    cos=op.cos, cosh=op.cosh, exp=op.exp, exp2=op.exp2, expm1=op.expm1, log=op.log,
    log10=op.log10, log1p=op.log1p, log2=op.log2, rsqrt=op.rsqrt, sin=op.sin, sinh=op.sinh,
    sqrt=op.sqrt, tan=op.tan, tanh=op.tanh, square=op.square, reciprocal=op.reciprocal,
    deg2rad=gnp.deg2rad, rad2deg=gnp.rad2deg, sinc=gnp.sinc, positive=gnp.positive,
    angle=gnp.angle,
)  # fmt: skip


def _same_for_whole(function: Function) -> Function:
    return lambda call, x: x if is_whole(x) else function(x)


for _name, _function in {"floor": op.floor, "ceil": op.ceil, "trunc": op.trunc}.items():
    RULES.aten(_name, *(["fix"] if _name == "trunc" else []))(_same_for_whole(_function))


@RULES.aten("neg", "negative")
def _negated(call: Any, x: Any) -> Any:
    return op.subtract(0, x) if x.dtype.kind == "u" else op.negative(x)


@RULES.aten("abs", "absolute")
def _size(call: Any, x: Any) -> Any:
    return x if x.dtype.kind in "ub" else op.abs(x)


@RULES.aten("sign", "sgn")
def _sign(call: Any, x: Any) -> Any:
    if is_bool(element(x)):
        return x
    if is_float(element(x)):
        return gnp.where(op.isnan(x), 0, op.sign(x)).astype(x.dtype)
    return converted(op.greater(x, 0), element(x)) - converted(op.less(x, 0), element(x))


@RULES.aten("round", note="halves to even; digits after the point as well")
def _rounded(call: Any, x: Any, decimals: int = 0) -> Any:
    if is_whole(x):
        return x
    return gnp.round(x, decimals) if decimals else op.round(x)


@RULES.aten("frac")
def _fraction(call: Any, x: Any) -> Any:
    return x - op.trunc(x)


# Arithmetic.


def _scaled(x: Any, alpha: Any) -> Any:
    return x if alpha in (1, None) else op.multiply(x, alpha)


@RULES.aten("add")
def _sum(call: Any, x: Any, other: Any, alpha: Any = 1) -> Any:
    x, other = typed(call, x, other)
    if is_bool(element(x)):
        return op.logical_or(x, other)
    return op.add(x, _scaled(other, alpha))


@RULES.aten("sub", "subtract")
def _difference(call: Any, x: Any, other: Any, alpha: Any = 1) -> Any:
    x, other = typed(call, x, other)
    return op.subtract(x, _scaled(other, alpha))


@RULES.aten("rsub")
def _difference_from(call: Any, x: Any, other: Any, alpha: Any = 1) -> Any:
    x, other = typed(call, x, other)
    return op.subtract(other, _scaled(x, alpha))


@RULES.aten("mul", "multiply")
def _product(call: Any, x: Any, other: Any) -> Any:
    x, other = typed(call, x, other)
    return op.logical_and(x, other) if is_bool(element(x)) else op.multiply(x, other)


@RULES.aten("div", "divide", "true_divide")
def _quotient(call: Any, x: Any, other: Any, rounding_mode: str | None = None) -> Any:
    x, other = typed(call, x, other)
    if rounding_mode is None:
        return op.divide(x, other)
    return _whole_quotient(x, other) if rounding_mode == "floor" else _cut_quotient(x, other)


@RULES.aten("floor_divide")
def _floor_quotient(call: Any, x: Any, other: Any) -> Any:
    return _whole_quotient(*typed(call, x, other))


def _whole_quotient(x: Any, y: Any) -> Any:
    """The quotient rounded down, which has no slope."""
    return op.floor_divide(no_grad(x), no_grad(y))


def _cut_quotient(x: Any, y: Any) -> Any:
    """The quotient rounded toward 0, which has no slope."""
    x, y = no_grad(x), no_grad(y)
    if is_float(element(x)):
        return op.trunc(op.divide(x, y))
    down: Any = op.floor_divide(x, y)
    is_cut = op.logical_and(op.not_equal(down * y, x), op.less(down, 0))
    return gnp.where(is_cut, down + 1, down)


@RULES.aten("remainder", note="the sign of the divisor")
def _rest(call: Any, x: Any, other: Any) -> Any:
    x, other = typed(call, x, other)
    if not is_float(element(x)):
        return op.remainder(x, other)
    # exact, as by fmod, and with its sign turned
    made = gnp.fmod(x, other)
    is_other = op.logical_and(
        op.not_equal(made, 0), op.not_equal(op.less(made, 0), op.less(other, 0))
    )
    return gnp.where(is_other, op.add(made, other), made)


@RULES.aten("fmod", note="the sign of the dividend")
def _cut_rest(call: Any, x: Any, other: Any) -> Any:
    x, other = typed(call, x, other)
    if is_float(element(x)):
        return gnp.fmod(x, other)
    return x - other * _cut_quotient(x, other)


@RULES.aten("pow", "float_power")
def _power(call: Any, x: Any, exponent: Any) -> Any:
    if isinstance(exponent, int | float) and not isinstance(exponent, bool):
        return _power_of_number(converted(x, call.element), exponent)
    x, exponent = typed(call, x, exponent)
    return op.pow(x, exponent)


def _power_of_number(x: Any, exponent: float) -> Any:
    special = {0: gnp.ones_like, 1: lambda x: x, 2: op.square, -1: op.reciprocal}
    if exponent in special and (exponent >= 0 or is_float(element(x))):
        return special[int(exponent)](x)
    if exponent == 0.5 and is_float(element(x)):
        return op.sqrt(x)
    return op.pow(x, exponent if is_float(element(x)) else int(exponent))


def _of_two(function: Function) -> Function:
    return lambda call, x, other: function(*typed(call, x, other))


for _name, _function in {
    "maximum": op.maximum, "minimum": op.minimum, "fmax": gnp.fmax, "fmin": gnp.fmin,
    "atan2": op.atan2, "arctan2": op.atan2, "hypot": op.hypot, "copysign": op.copysign,
    "logaddexp": op.logaddexp, "logaddexp2": gnp.logaddexp2, "gcd": gnp.gcd, "lcm": gnp.lcm,
}.items():  # fmt: skip
    RULES.aten(_name)(_of_two(_function))


@RULES.aten("heaviside")
def _step(call: Any, x: Any, values: Any) -> Any:
    x, values = typed(call, x, values)
    if is_float(element(x)):
        return no_grad(gnp.heaviside(x, values))
    return gnp.where(op.equal(x, 0), values, converted(op.greater(x, 0), element(x)))


@RULES.aten("addcmul")
def _product_added(call: Any, x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    x, tensor1, tensor2 = typed(call, x, tensor1, tensor2)
    return op.add(x, _scaled(op.multiply(tensor1, tensor2), value))


@RULES.aten("addcdiv")
def _quotient_added(call: Any, x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    x, tensor1, tensor2 = typed(call, x, tensor1, tensor2)
    return op.add(x, _scaled(op.divide(tensor1, tensor2), value))


@RULES.aten("lerp")
def _between(call: Any, x: Any, end: Any, weight: Any) -> Any:
    x, end, weight = typed(call, x, end, weight)
    return x + weight * (end - x)


# Comparisons and logic.


def _compared(function: Function) -> Function:
    def rule(call: Any, x: Any, other: Any) -> Any:
        kind = common_kind(x, other)
        number = other if isinstance(other, int | float) else None
        if number is not None and not is_bool(kind):
            x = x if not is_bool(element(x)) else converted(x, kind)
            return converted(function(x, wrapped(number, kind)), call.element)
        return converted(function(converted(x, kind), converted(other, kind)), call.element)

    return rule


for _names, _function in {
    ("eq",): op.equal, ("ne", "not_equal"): op.not_equal, ("lt", "less"): op.less,
    ("le", "less_equal"): op.less_equal, ("gt", "greater"): op.greater,
    ("ge", "greater_equal"): op.greater_equal,
}.items():  # fmt: skip
    RULES.aten(*_names)(_compared(_function))


def _truth(x: Any) -> Any:
    return x if is_bool(element(x)) else op.not_equal(x, 0)


def _logical(function: Function) -> Function:
    def rule(call: Any, *operands: Any, **others: Any) -> Any:
        return converted(function(*map(_truth, (*operands, *others.values()))), call.element)

    return rule


for _name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    RULES.aten(_name)(_logical(getattr(op, _name)))


def _of_bits(bools: Function, whole: Function) -> Function:
    def rule(call: Any, x: Any, other: Any) -> Any:
        x, other = typed(call, x, other)
        return (bools if is_bool(element(x)) else whole)(x, other)

    return rule


RULES.aten("bitwise_and", "__and__")(_of_bits(op.logical_and, op.bitwise_and))
RULES.aten("bitwise_or", "__or__")(_of_bits(op.logical_or, op.bitwise_or))
RULES.aten("bitwise_xor", "__xor__")(_of_bits(op.logical_xor, op.bitwise_xor))
RULES.aten("bitwise_left_shift", "__lshift__")(_of_two(op.bitwise_left_shift))
RULES.aten("bitwise_right_shift", "__rshift__")(_of_two(op.bitwise_right_shift))


@RULES.aten("bitwise_not")
def _inverted(call: Any, x: Any) -> Any:
    return op.logical_not(x) if is_bool(element(x)) else gnp.bitwise_invert(x)


def _tested(function: Function, whole: bool) -> Function:
    def rule(call: Any, x: Any) -> Any:
        return spread(whole, x.shape, ELEMENTS["bool"]) if is_whole(x) else function(x)

    return rule


RULES.aten("isnan")(_tested(op.isnan, False))
RULES.aten("isinf")(_tested(op.isinf, False))
RULES.aten("isfinite")(_tested(op.isfinite, True))
RULES.aten("isposinf")(_tested(lambda x: op.equal(x, np.inf), False))
RULES.aten("isneginf")(_tested(lambda x: op.equal(x, -np.inf), False))


@RULES.aten("isreal")
def _is_real(call: Any, x: Any) -> Any:
    return spread(True, x.shape, ELEMENTS["bool"])


@RULES.aten("signbit")
def _is_signed(call: Any, x: Any) -> Any:
    return gnp.signbit(x) if is_float(element(x)) else op.less(converted(x, ELEMENTS["int64"]), 0)


@RULES.aten("isclose")
def _is_close(
    call: Any, x: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    x, other = alike(x, other, floating=True)
    return gnp.isclose(x, other, rtol, atol, equal_nan)


# Choices.


@RULES.aten("where")
def _chosen(
    call: Any, condition: Any, self: Any = None, other: Any = None, input: Any = None
) -> Any:
    first = self if self is not None else input
    return gnp.where(_truth(condition), *typed(call, first, other))


@RULES.aten("masked_fill")
def _filled(call: Any, x: Any, mask: Any, value: Any) -> Any:
    return gnp.where(mask, as_array(value, element(x)), x)


@RULES.aten("clamp", "clip")
def _clamped(call: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    """min(max(x, min), max); at the ends x has the derivative."""
    x, min, max = typed(call, x, min, max)
    made = x
    if min is not None:
        made = gnp.where(op.less(made, min), min, made)
    if max is not None:
        made = gnp.where(op.greater(made, max), max, made)
    return made


@RULES.aten("clamp_min")
def _clamped_below(call: Any, x: Any, min: Any) -> Any:
    return _clamped(call, x, min)


@RULES.aten("clamp_max")
def _clamped_above(call: Any, x: Any, max: Any) -> Any:
    return _clamped(call, x, None, max)


@RULES.aten("nan_to_num")
def _finite(call: Any, x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    if is_whole(x):
        return x
    return gnp.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


# Conversions, and ops that change nothing.


@RULES.aten("to", "_to_copy", "type_as", "_autocast_to_reduced_precision")
def _converted(call: Any, x: Any, other: Any = None, copy: bool = False, **_: Any) -> Any:
    return _cast(x, call.element)


def _cast(x: Any, kind: Any) -> Any:
    if is_bool(kind) and not is_bool(element(x)):
        return op.not_equal(x, 0)
    return converted(x, kind)


@RULES.aten("clone", "contiguous", "alias", "alias_copy", "lift_fresh", "lift_fresh_copy", "lift",
            "real", "conj", "_conj", "conj_physical", "resolve_conj", "resolve_neg",
            "view_as_real_copy", "_neg_view_copy")  # fmt: skip
def _same(call: Any, x: Any, **_: Any) -> Any:
    return x


@RULES.aten("detach", "detach_copy", note="no derivative")
def _stopped(call: Any, x: Any) -> Any:
    return no_grad(x)


@RULES.aten("copy")
def _copied(call: Any, x: Any, src: Any, non_blocking: bool = False) -> Any:
    return spread(_cast(src, call.element), x.shape, call.element)


@RULES.aten("fill", "zero")
def _filling(call: Any, x: Any, value: Any = 0) -> Any:
    return spread(value, x.shape, call.element)


set_data = CustomVjp(lambda old, new: new)
"""A new value with the derivative of the old one."""
set_data.defvjp(lambda old, new: (new, ()), lambda _, cotangent: (cotangent, None))


@RULES.aten("set_data", note="a write where gradients are off: the old derivative stays")
def _set_data(call: Any, old: Any, other: Any) -> Any:
    return set_data(old, other)


@RULES.aten("nextafter", note="with the slope 1 of its first argument")
def _next_after(call: Any, x: Any, other: Any) -> Any:
    x, other = gnp.broadcast_arrays(x, other)
    return set_data(x, no_grad(neighbor(x, other)))
