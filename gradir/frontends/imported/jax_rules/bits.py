"""JAX's primitives on bits: logic, shifts, counts, and the bits of floats as integers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import byte_size, is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.float_bits import bits_of, of_bits, unsigned
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracing import element

RULES = RuleTable("JAX")

_LOGIC = {
    "and": (op.logical_and, op.bitwise_and),
    "or": (op.logical_or, op.bitwise_or),
    "xor": (op.logical_xor, op.bitwise_xor),
}


@RULES.rule("and", "or", "xor")
def _logic(call: Any, x: Any, y: Any) -> Any:
    of_bools, of_bits = _LOGIC[call.op]
    return (of_bools if is_bool(element(x)) else of_bits)(x, y)


@RULES.rule("not")
def _inverted(call: Any, x: Any) -> Any:
    return gnp.bitwise_invert(x)


@RULES.rule("shift_left")
def _left(call: Any, x: Any, y: Any) -> Any:
    return op.bitwise_left_shift(x, y)


@RULES.rule("shift_right_logical")
def _right(call: Any, x: Any, y: Any) -> Any:
    plain = unsigned(x)
    return converted(op.bitwise_right_shift(plain, converted(y, element(plain))), element(x))


@RULES.rule("shift_right_arithmetic")
def _right_signed(call: Any, x: Any, y: Any) -> Any:
    signed = gnp.astype(x, f"int{8 * byte_size(element(x))}")
    return converted(op.bitwise_right_shift(signed, converted(y, element(signed))), element(x))


@RULES.rule("eq_to", "lt_to", "le_to", note="the order of all floats: -0 before 0, nan last")
def _in_order(call: Any, x: Any, y: Any) -> Any:
    compare = {"eq_to": op.equal, "lt_to": op.less, "le_to": op.less_equal}[call.op]
    return compare(*(rank_of(each) if is_float(element(each)) else each for each in (x, y)))


def rank_of(x: Any) -> Any:
    """Integers in the order of floats."""
    width = 8 * byte_size(element(x))
    bits = gnp.astype(bits_of(x), f"int{width}")
    mask = op.bitwise_and(op.bitwise_right_shift(bits, width - 1), 2 ** (width - 1) - 1)
    return op.bitwise_xor(bits, mask)


@RULES.rule("population_count")
def _count(call: Any, x: Any) -> Any:
    return converted(op.bitwise_count(unsigned(x)), element(x))


@RULES.rule("clz")
def _leading_zeros(call: Any, x: Any) -> Any:
    width = 8 * byte_size(element(x))
    bits, step = unsigned(x), 1
    while step < width:
        bits = op.bitwise_or(bits, op.bitwise_right_shift(bits, step))
        step *= 2
    return converted(width - gnp.astype(op.bitwise_count(bits), "int32"), element(x))


@RULES.rule("bitcast_convert_type", note="no bools; zero derivative")
def _bitcast(call: Any, x: Any) -> Any:
    """Between widths, the parts of an element are along a last axis, the lowest bits first."""
    if is_bool(element(x)) or is_bool(call.element):
        raise refusal("bitcast_convert_type: bools have no bits; compare with 0, or use astype")
    wide, narrow = byte_size(element(x)), byte_size(call.element)
    bits = bits_of(x)
    if wide > narrow:
        parts = [op.bitwise_right_shift(bits, 8 * narrow * k) for k in range(wide // narrow)]
        bits = gnp.astype(op.stack(parts, axis=-1), f"uint{8 * narrow}")
    elif wide < narrow:
        bits = gnp.astype(bits, f"uint{8 * narrow}")
        parts = [op.bitwise_left_shift(bits[..., k], 8 * wide * k) for k in range(narrow // wide)]
        bits = parts[0]
        for part in parts[1:]:
            bits = op.bitwise_or(bits, part)
    return of_bits(bits, call.type.dtype)


@RULES.rule("iota_2x32_shape")
def _counters(call: Any) -> list[Any]:
    """The number of each element in a shape, as the two words of 64 bits."""
    shape = tuple(call["shape"])
    count = gnp.reshape(gnp.astype(gnp.arange(prod(shape)), "uint64"), shape)
    high = gnp.astype(op.bitwise_right_shift(count, 32), "uint32")
    return [high, gnp.astype(op.bitwise_and(count, np.uint64(0xFFFFFFFF)), "uint32")]
