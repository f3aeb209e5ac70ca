"""The integer ops of arith and math in the interpreter, on numbers and on elements of tensors.

An integer is held signed, at its width; i1 in 8 bits, as 0 and -1. Operations that would trap have
native code's results: by 0, quotient and remainder are 0; a shift by the width or more leaves the
sign or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Attribute, Operation

from gradir.dialects.base.shapes import as_integer_type

Array = np.ndarray[Any, np.dtype[Any]]


def bits_of(element: Attribute) -> int:
    """The width of an integer type."""
    if isinstance(element, IndexType):
        return 64
    integer = as_integer_type(element)
    assert integer is not None, str(element)
    return integer.width.data


def as_signed(x: Any) -> Array:
    """Integers as they are held; true is -1."""
    array = np.asarray(x)
    return -array.astype(np.int8) if array.dtype.kind == "b" else array


def as_unsigned(x: Any) -> Array:
    """Integers as unsigned ones; true is 1."""
    array = np.asarray(x)
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    return array.view(np.dtype(f"u{array.dtype.name}")) if array.dtype.kind == "i" else array


def of_width(x: Any, element: Attribute) -> Array:
    """The low bits of integers; of i1 a bool."""
    array = np.asarray(x)
    if element == i1:
        return (array & np.asarray(1, array.dtype)).astype(np.bool_)
    return array


def integers_of_floats(x: Array, element: Attribute, signed: bool) -> Array:
    """Floats towards 0, saturating; nan is 0."""
    bits = bits_of(element)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    dtype = np.dtype(np.int64 if signed else np.uint64)
    # 2**63 is a float, the largest i64 is not: values from it on are replaced behind the cast
    above, below = x >= float(high), x <= float(low)
    inside = np.where(above | below | np.isnan(x), 0, x).astype(dtype)
    ends = np.asarray(high, dtype), np.asarray(low, dtype)
    return of_width(np.where(above, ends[0], np.where(below, ends[1], inside)), element)


# Division.


def _divided(x: Array, y: Array) -> tuple[Any, Any]:
    """The quotient, towards zero, and the remainder."""
    safe = np.where(y == 0, np.asarray(1, y.dtype), y)
    quotient = np.floor_divide(x, safe)
    rest = x - quotient * safe
    # numpy rounds down; where that is not towards zero, add one
    is_low = ((rest != 0) & ((x < 0) != (safe < 0))).astype(x.dtype)
    zero = np.asarray(0, x.dtype)
    return np.where(y == 0, zero, quotient + is_low), np.where(y == 0, zero, rest - is_low * safe)


def _quotient(x: Array, y: Array) -> Any:
    return _divided(x, y)[0]


def _remainder(x: Array, y: Array) -> Any:
    return _divided(x, y)[1]


def _floor(x: Array, y: Array) -> Any:
    quotient, rest = _divided(x, y)
    return quotient - ((rest != 0) & (y != 0) & ((rest < 0) != (y < 0))).astype(x.dtype)


def _ceil(x: Array, y: Array) -> Any:
    quotient, rest = _divided(x, y)
    return quotient + ((rest != 0) & (y != 0) & ((rest < 0) == (y < 0))).astype(x.dtype)


# Shifts; the amount is unsigned.


def _shift(function: Callable[..., Any], fill: Callable[[Array], Any]) -> Callable[..., Any]:
    def shift(x: Array, amount: Array, bits: int) -> Any:
        inside: Any = amount < bits
        near = np.where(inside, amount, 0).astype(x.dtype)
        return cast(Any, np.where(inside, function(x, near), fill(x)))

    return shift


def _nothing(x: Array) -> Array:
    return np.zeros_like(x)


def _sign(x: Array) -> Any:
    return -(x < 0).astype(x.dtype)


# Bits.


def _leading_zeros(x: Array, bits: int) -> Any:
    rest, count = x.astype(np.uint64), np.zeros(x.shape, np.int64)
    for k in range(bits):
        count += (rest >> np.uint64(k)) > 0
    return bits - count


def _trailing_zeros(x: Array, bits: int) -> Any:
    lowest = x & (~x + np.asarray(1, x.dtype))
    return np.where(x == 0, bits, bits - 1 - _leading_zeros(lowest, bits))


def _population(x: Array, bits: int) -> Any:
    del bits
    return np.bitwise_count(x)


def integer_power(x: Array, y: Array) -> Any:
    """x ** y; to a negative power rounded towards 0, so 0 but for 1 and -1."""
    of_units = np.power(x, np.where(y < 0, y & np.asarray(1, y.dtype), y))
    return np.where((y < 0) & (x != 1) & (x != -1), np.asarray(0, x.dtype), of_units)


_SIGNED: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.DivSIOp: _quotient,
    arith.RemSIOp: _remainder,
    arith.FloorDivSIOp: _floor,
    arith.CeilDivSIOp: _ceil,
    arith.ExtSIOp: np.asarray,
    arith.TruncIOp: np.asarray,
    arith.IndexCastOp: np.asarray,
    math.AbsIOp: np.abs,
    math.IPowIOp: integer_power,
}
_UNSIGNED: dict[type[Operation], Callable[..., Any]] = {
    arith.DivUIOp: _quotient,
    arith.RemUIOp: _remainder,
    arith.CeilDivUIOp: _ceil,
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
    arith.ExtUIOp: np.asarray,
}
_SHIFTS: dict[type[Operation], tuple[Callable[[Any], Array], Callable[..., Any]]] = {
    arith.ShLIOp: (as_signed, _shift(np.left_shift, _nothing)),
    arith.ShRSIOp: (as_signed, _shift(np.right_shift, _sign)),
    arith.ShRUIOp: (as_unsigned, _shift(np.right_shift, _nothing)),
}
_OF_BITS: dict[type[Operation], Callable[[Array, int], Any]] = {
    math.CountLeadingZerosOp: _leading_zeros,
    math.CountTrailingZerosOp: _trailing_zeros,
    math.CtPopOp: _population,
}
_COMPARISONS: tuple[Callable[[Any, Any], Any], ...] = (
    np.equal,
    np.not_equal,
    *(np.less, np.less_equal, np.greater, np.greater_equal) * 2,
)
# The number of arith.cmpi's first unsigned predicate, ult.
_FIRST_UNSIGNED = 6

INTEGER_OPS: frozenset[type[Operation]] = frozenset(
    {*_SIGNED, *_UNSIGNED, *_SHIFTS, *_OF_BITS, arith.CmpiOp}
)


def integer_value(
    op: type[Operation], operands: Sequence[Array], element: Attribute, predicate: int
) -> Array:
    """The result of an op of INTEGER_OPS whose result has elements of this type."""
    if op is arith.CmpiOp:
        hold = as_signed if predicate < _FIRST_UNSIGNED else as_unsigned
        return _COMPARISONS[predicate](*map(hold, operands))
    if op in _SHIFTS:
        hold, shift = _SHIFTS[op]
        value = shift(hold(operands[0]), as_unsigned(operands[1]), bits_of(element))
    elif op in _OF_BITS:
        value = _OF_BITS[op](as_unsigned(operands[0]), bits_of(element))
    elif op in _SIGNED:
        value = _SIGNED[op](*map(as_signed, operands))
    else:
        value = _UNSIGNED[op](*map(as_unsigned, operands))
    return of_width(value, element)
