"""StableHLO's ops on elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.imported.stablehlo_rules.attributes import integer, shared, word
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element

RULES = RuleTable("StableHLO")

_SAME = {
    "abs": "abs", "atan2": "atan2", "cbrt": "cbrt", "ceil": "ceil", "cosine": "cos",
    "count_leading_zeros": "clz", "divide": "div", "exponential": "exp",
    "exponential_minus_one": "expm1", "floor": "floor", "is_finite": "is_finite", "log": "log",
    "log_plus_one": "log1p", "logistic": "logistic", "negate": "neg", "not": "not",
    "popcnt": "population_count", "remainder": "rem", "rsqrt": "rsqrt", "sign": "sign",
    "sine": "sin", "sqrt": "sqrt", "subtract": "sub", "tan": "tan", "tanh": "tanh", "and": "and",
    "or": "or", "xor": "xor", "clamp": "clamp", "shift_left": "shift_left", "real": "real",
    "shift_right_arithmetic": "shift_right_arithmetic", "convert": "convert_element_type",
    "shift_right_logical": "shift_right_logical", "bitcast_convert": "bitcast_convert_type",
    "optimization_barrier": "optimization_barrier",
}  # fmt: skip
for _name, _theirs in _SAME.items():
    RULES.rule(f"stablehlo.{_name}")(shared(_theirs))

_OF_CHLO = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atanh": "atanh", "bessel_i1e": "bessel_i1e", "cosh": "cosh",
    "erf": "erf", "erf_inv": "erf_inv", "erfc": "erfc", "lgamma": "lgamma",
    "next_after": "nextafter", "polygamma": "polygamma", "sinh": "sinh", "square": "square",
    "tan": "tan", "zeta": "zeta",
}  # fmt: skip
for _name, _theirs in _OF_CHLO.items():
    RULES.rule(f"chlo.{_name}")(shared(_theirs))

RULES.rule("stablehlo.round_nearest_afz")(shared("round", lambda call: {"rounding_method": 0}))
RULES.rule("stablehlo.round_nearest_even")(shared("round", lambda call: {"rounding_method": 1}))
_PRECISION = ("exponent_bits", "mantissa_bits")
RULES.rule("stablehlo.reduce_precision")(
    shared("reduce_precision", lambda call: {name: integer(call, name) for name in _PRECISION})
)

_OF_BOOLS = {"add": op.logical_or, "multiply": op.logical_and, "maximum": op.logical_or,
             "minimum": op.logical_and}  # fmt: skip
_OF_NUMBERS = {"add": op.add, "multiply": op.multiply, "maximum": op.maximum,
               "minimum": op.minimum}  # fmt: skip


@RULES.rule(*(f"stablehlo.{name}" for name in _OF_BOOLS))
def _joined(call: Any, x: Any, y: Any) -> Any:
    """On bools a sum is or, a product and."""
    name = call.op.partition(".")[2]
    return (_OF_BOOLS if is_bool(element(x)) else _OF_NUMBERS)[name](x, y)


_DIRECTIONS = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


@RULES.rule("stablehlo.compare")
def _compared(call: Any, x: Any, y: Any) -> Any:
    direction, kind = word(call, "comparison_direction"), word(call, "compare_type")
    if direction not in _DIRECTIONS:
        raise refusal(f"{call.op}: the direction {direction!r} is not known")
    if kind == "TOTALORDER" and is_float(element(x)):
        if direction in ("GT", "GE"):
            x, y, direction = y, x, {"GT": "LT", "GE": "LE"}[direction]
        name = {"EQ": "eq_to", "NE": "eq_to", "LT": "lt_to", "LE": "le_to"}[direction]
        made = shared(name)(call, x, y)
        return op.logical_not(made) if direction == "NE" else made
    return shared(_DIRECTIONS[direction])(call, x, y)


@RULES.rule("stablehlo.select")
def _selected(call: Any, which: Any, x: Any, y: Any) -> Any:
    return shared("select_n")(call, which, y, x)


@RULES.rule("stablehlo.power")
def _power(call: Any, x: Any, y: Any) -> Any:
    if is_float(element(x)):
        return op.pow(x, y)
    # to a negative power 1, -1, or 0
    exponent = gnp.where(op.less(y, 0), op.bitwise_and(y, 1), y)
    made = op.pow(x, exponent)
    is_fraction = op.logical_and(op.less(y, 0), op.not_equal(op.abs(x), 1))
    return gnp.where(is_fraction, 0, made)


@RULES.rule("chlo.digamma", note="nan at 0 and at negative integers")
def _digamma(call: Any, x: Any) -> Any:
    made = shared("digamma")(call, x)
    is_pole = op.logical_and(op.less_equal(x, 0), op.equal(x, op.floor(x)))
    return gnp.where(is_pole, np.nan, made)
