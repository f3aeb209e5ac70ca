"""The bits of floats and integers of any width as unsigned integers, and back.

Floats of 16 bits are read and made by those of 32 bits: native code has no bits of their own.
"""

from __future__ import annotations

from typing import Any

from gradir.dialects.base.shapes import byte_size, is_float
from gradir.frontends.functions.array_ops import op
from gradir.frontends.functions.creation import astype, bitcast
from gradir.frontends.functions.sugar import where
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.tracing import element


def unsigned(x: Any) -> Any:
    """Integers as unsigned ones of the same width and bits."""
    return astype(x, f"uint{8 * byte_size(element(x))}")


def bits_of(x: Any) -> Any:
    """The bits of x as unsigned integers."""
    size, kind = byte_size(element(x)), element(x)
    if not is_float(kind):
        return unsigned(x)
    if size >= 4:
        return bitcast(x, f"uint{8 * size}")
    if x.dtype.name == "bfloat16":
        wide = bitcast(astype(x, "float32"), "uint32")
        return astype(op.bitwise_right_shift(wide, 16), "uint16")
    return _bits_of_half(x)


def of_bits(bits: Any, dtype: str) -> Any:
    """Unsigned integers as elements with these bits."""
    kind = ELEMENTS[dtype]
    if not is_float(kind):
        return astype(bits, dtype)
    if byte_size(kind) >= 4:
        return bitcast(bits, dtype)
    wide = astype(bits, "uint32")
    if dtype == "bfloat16":
        return astype(bitcast(op.bitwise_left_shift(wide, 16), "float32"), dtype)
    return astype(_half_of_bits(wide), dtype)


def _bits_of_half(x: Any) -> Any:
    """The bits of float16: float32 has the same fraction, with another exponent."""
    wide = bitcast(astype(x, "float32"), "uint32")
    sign = op.bitwise_and(op.bitwise_right_shift(wide, 16), 0x8000)
    size = op.bitwise_and(wide, 0x7FFFFFFF)
    normal = op.bitwise_right_shift(size, 13) - (112 << 10)
    # below 2**-14 the bits are the number of steps of 2**-24
    small = astype(op.abs(astype(x, "float32")) * 2.0**24, "uint32")
    made = where(op.less(size, 113 << 23), small, normal)
    special = 0x7C00 | op.bitwise_right_shift(op.bitwise_and(size, 0x7FFFFF), 13)
    made = where(op.greater_equal(size, 0x7F800000), special, made)
    return astype(op.bitwise_or(sign, made), "uint16")


def _half_of_bits(bits: Any) -> Any:
    """The float16 of bits, as float32."""
    sign = op.bitwise_left_shift(op.bitwise_and(bits, 0x8000), 16)
    size = op.bitwise_and(bits, 0x7FFF)
    normal = op.bitwise_left_shift(size, 13) + (112 << 23)
    small = bitcast(astype(size, "float32") * 2.0**-24, "uint32")
    special = op.bitwise_left_shift(size, 13) | 0x7F800000
    made = where(op.less(size, 0x400), small, normal)
    made = where(op.greater_equal(size, 0x7C00), special, made)
    return bitcast(op.bitwise_or(sign, made), "float32")
