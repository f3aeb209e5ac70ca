"""Python numbers as elements: rounded once, to nearest even, to the type that holds them."""

from __future__ import annotations

import struct
from math import copysign, frexp, inf, isfinite

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import is_float, real_element
from gradir.dialects.base.traced_sizes import is_traced

_FORMS: tuple[tuple[type[Attribute], str], ...] = ((Float16Type, "<e"), (Float32Type, "<f"))

# Bits of a number, and the exponent of the last one of the smallest.
_SIGNIFICANT_BITS: tuple[tuple[type[Attribute], tuple[int, int]], ...] = (
    (Float16Type, (11, -24)),
    (BFloat16Type, (8, -133)),
    (Float32Type, (24, -149)),
)
# The same of f64, the type of Python's floats.
_DOUBLE_BITS = (53, -1074)


def rounded(number: float, element: Attribute) -> float:
    """`number` as an element: a float, infinite beyond the largest, or an exact int.

    A traced size is rounded by the code that reads it.
    """
    element = real_element(element)
    if is_traced(number):
        return number
    if not is_float(element):
        assert number == int(number), f"{number} as {element}"
        return int(number)
    exact = _as_float(number)
    if isinstance(element, BFloat16Type):
        return _to_bfloat(exact)
    form = next((form for type_, form in _FORMS if isinstance(element, type_)), "<d")
    try:
        return struct.unpack(form, struct.pack(form, exact))[0]
    except OverflowError:
        return copysign(inf, exact)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _to_bfloat(number: float) -> float:
    """`number` rounded to 8 significant bits, the last one at least 2**-133."""
    if not isfinite(number):
        return number
    step = 2.0 ** max(frexp(number)[1] - 8, -133)
    nearest = round(number / step) * step
    return copysign(inf if abs(nearest) >= 2.0**128 else nearest, number)


def below(number: float, element: Attribute) -> float:
    """The largest element of a floating type that is less than one of its finite elements."""
    bits = next(
        (bits for type_, bits in _SIGNIFICANT_BITS if isinstance(element, type_)), _DOUBLE_BITS
    )
    digits, smallest = bits
    # below a power of two the spacing is half of that above it
    fraction, exponent = frexp(number)
    step = 2.0 ** max(exponent - digits - (fraction == 0.5), smallest)
    return -(2.0**smallest) if number == 0 else number - step
