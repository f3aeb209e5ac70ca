"""JAX's primitives on bits: logic, shifts, counts, and the bits of floats as integers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.dialects.base.shapes import byte_size, is_bool, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.promotion import converted
from gradir.frontends.imported.table import RuleTable
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
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
    plain = _unsigned(x)
    return converted(op.bitwise_right_shift(plain, converted(y, element(plain))), element(x))


@RULES.rule("shift_right_arithmetic")
def _right_signed(call: Any, x: Any, y: Any) -> Any:
    signed = gnp.astype(x, f"int{8 * byte_size(element(x))}")
    return converted(op.bitwise_right_shift(signed, converted(y, element(signed))), element(x))


def _unsigned(x: Any) -> Any:
    return gnp.astype(x, f"uint{8 * byte_size(element(x))}")


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
    return converted(op.bitwise_count(_unsigned(x)), element(x))


@RULES.rule("clz")
def _leading_zeros(call: Any, x: Any) -> Any:
    width = 8 * byte_size(element(x))
    bits, step = _unsigned(x), 1
    while step < width:
        bits = op.bitwise_or(bits, op.bitwise_right_shift(bits, step))
        step *= 2
    return converted(width - gnp.astype(op.bitwise_count(bits), "int32"), element(x))


@RULES.rule("bitcast_convert_type", note="no bools; zero derivative")
def _bitcast(call: Any, x: Any) -> Any:
    """Between widths, the parts of an element are along a last axis, the lowest bits first."""
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


def bits_of(x: Any) -> Any:
    """The bits of x as unsigned integers."""
    size, kind = byte_size(element(x)), element(x)
    if is_bool(kind):
        raise refusal("bitcast_convert_type: bools have no bits; use astype")
    if not is_float(kind):
        return _unsigned(x)
    if size >= 4:
        return gnp.bitcast(x, f"uint{8 * size}")
    if x.dtype.name == "bfloat16":
        wide = gnp.bitcast(gnp.astype(x, "float32"), "uint32")
        return gnp.astype(op.bitwise_right_shift(wide, 16), "uint16")
    return _bits_of_half(x)


def of_bits(bits: Any, dtype: str) -> Any:
    """Unsigned integers as elements with these bits."""
    kind = ELEMENTS[dtype]
    if is_bool(kind):
        raise refusal("bitcast_convert_type: bools have no bits; compare with 0")
    if not is_float(kind):
        return gnp.astype(bits, dtype)
    if byte_size(kind) >= 4:
        return gnp.bitcast(bits, dtype)
    wide = gnp.astype(bits, "uint32")
    if dtype == "bfloat16":
        return gnp.astype(gnp.bitcast(op.bitwise_left_shift(wide, 16), "float32"), dtype)
    return gnp.astype(_half_of_bits(wide), dtype)


def _bits_of_half(x: Any) -> Any:
    """The bits of float16: float32 has the same fraction, with another exponent."""
    wide = gnp.bitcast(gnp.astype(x, "float32"), "uint32")
    sign = op.bitwise_and(op.bitwise_right_shift(wide, 16), 0x8000)
    size = op.bitwise_and(wide, 0x7FFFFFFF)
    normal = op.bitwise_right_shift(size, 13) - (112 << 10)
    # below 2**-14 the bits are the number of steps of 2**-24
    small = gnp.astype(op.abs(gnp.astype(x, "float32")) * 2.0**24, "uint32")
    made = gnp.where(op.less(size, 113 << 23), small, normal)
    special = 0x7C00 | op.bitwise_right_shift(op.bitwise_and(size, 0x7FFFFF), 13)
    made = gnp.where(op.greater_equal(size, 0x7F800000), special, made)
    return gnp.astype(op.bitwise_or(sign, made), "uint16")


def _half_of_bits(bits: Any) -> Any:
    """The float16 of bits, as float32."""
    sign = op.bitwise_left_shift(op.bitwise_and(bits, 0x8000), 16)
    size = op.bitwise_and(bits, 0x7FFF)
    normal = op.bitwise_left_shift(size, 13) + (112 << 23)
    small = gnp.bitcast(gnp.astype(size, "float32") * 2.0**-24, "uint32")
    special = op.bitwise_left_shift(size, 13) | 0x7F800000
    made = gnp.where(op.less(size, 0x400), small, normal)
    made = gnp.where(op.greater_equal(size, 0x7C00), special, made)
    return gnp.bitcast(op.bitwise_or(sign, made), "float32")


@RULES.rule("iota_2x32_shape")
def _counters(call: Any) -> list[Any]:
    """The number of each element in a shape, as the two words of 64 bits."""
    shape = tuple(call["shape"])
    count = gnp.reshape(gnp.astype(gnp.arange(prod(shape)), "uint64"), shape)
    high = gnp.astype(op.bitwise_right_shift(count, 32), "uint32")
    return [high, gnp.astype(op.bitwise_and(count, np.uint64(0xFFFFFFFF)), "uint32")]
