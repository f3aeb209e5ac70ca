"""The kinds of numbers in LLVM text: names of types, of intrinsics, literals.

A kind is the short name of a scalar type (`f32`, `bf16`, `i64`, `i1`, and `ptr`); lanes is 1 for a
scalar and W for `<W x T>`. f16 and bf16 are computed in f32 and rounded to nearest even after each
operation. LLVM sees them as i16, their bits: its own half types differ from machine to machine, and
call functions that no library has.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from gradir.dialects.base.shapes import is_unsigned

LLVM_TYPES = {"f64": "double", "f32": "float", "f16": "i16", "bf16": "i16"}
FLOAT_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
_BITS = FLOAT_BITS | {"ptr": 64}

_KINDS: dict[type[Attribute], str] = {
    Float64Type: "f64",
    Float32Type: "f32",
    Float16Type: "f16",
    BFloat16Type: "bf16",
    IndexType: "i64",
}


def kind_of(type_: Attribute) -> str:
    """The kind of a scalar type; index is i64."""
    kind = _KINDS.get(type(type_))
    if kind is not None:
        return kind
    return f"i{type_.bitwidth}" if isinstance(type_, IntegerType) else str(type_)


def is_float(kind: str) -> bool:
    return kind in FLOAT_BITS


def bits_of(kind: str) -> int:
    return _BITS.get(kind) or int(kind[1:])


@cache
def bytes_of(kind: str) -> int:
    """Bytes of an element in memory; i1 takes one."""
    return max(1, bits_of(kind) // 8)


@cache
def llvm_type(kind: str, lanes: int = 1) -> str:
    name = LLVM_TYPES.get(kind, kind)
    return name if lanes == 1 else f"<{lanes} x {name}>"


@cache
def mangled(kind: str, lanes: int = 1) -> str:
    """How intrinsic names spell the type: f32, v16f32."""
    return kind if lanes == 1 else f"v{lanes}{kind}"


def literal(kind: str, number: float) -> str:
    """A constant of one element."""
    if not is_float(kind):
        return str(int(number))
    if kind == "f64":
        return f"0x{struct.pack('>d', number).hex().upper()}"
    if kind == "f16":
        return str(int.from_bytes(_packed(">e", number), "big"))
    single = _packed(">f", number)
    if kind == "f32":
        # a float is written with the bits of the double of the same value
        return f"0x{struct.pack('>d', struct.unpack('>f', single)[0]).hex().upper()}"
    return str(_bfloat_bits(int.from_bytes(single, "big")))


def _packed(form: str, number: float) -> bytes:
    """`number` rounded to a narrower format; infinite where it is too large."""
    try:
        return struct.pack(form, number)
    except OverflowError:
        return struct.pack(form, float("inf") if number > 0 else float("-inf"))


def _bfloat_bits(single: int) -> int:
    if single & 0x7FFFFFFF > 0x7F800000:
        return (single >> 16) | 0x40
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def attribute_literal(value: Attribute, kind: str) -> str:
    """The constant of a FloatAttr or IntegerAttr."""
    if isinstance(value, FloatAttr):
        return literal(kind, value.value.data)
    assert isinstance(value, IntegerAttr)
    number = value.value.data
    return str(number & 1 if kind == "i1" else number)


def splat_literal(kind: str, lanes: int, number: str) -> str:
    return number if lanes == 1 else f"splat ({llvm_type(kind)} {number})"


def combiner_of(combiner: str, element: Attribute) -> str:
    """The combiner on kinds, which do not say whether the elements are unsigned."""
    is_order = combiner in ("maximum", "minimum")
    return f"unsigned {combiner}" if is_order and is_unsigned(element) else combiner


def identity(combiner: str, kind: str) -> str:
    """The literal of a combiner's neutral element (-0.0 for a float sum)."""
    if is_float(kind):
        numbers = {"add": -0.0, "multiply": 1.0, "maximum": float("-inf")}
        return literal(kind, numbers.get(combiner, float("inf")))
    bits = bits_of(kind)
    low, high = (0, 1) if bits == 1 else (-(1 << bits - 1), (1 << bits - 1) - 1)
    numbers = {"add": 0, "multiply": 1, "maximum": low, "minimum": high, "and": -1, "or": 0}
    numbers |= {"unsigned maximum": 0, "unsigned minimum": -1}
    return str(abs(numbers[combiner]) if bits == 1 else numbers[combiner])


def infinity_key(kind: str, combiner: str) -> str:
    """The order key, of an integer kind, that maximum or minimum starts from."""
    infinity = {"i32": 0x7F800000, "i64": 0x7FF0000000000000}[kind]
    return str(infinity if combiner == "minimum" else -infinity - 1)


# How elements lie in memory, where that is not as LLVM sees their kind.
_MEMORY_KINDS = {"i1": "i8", "f16": "i16", "bf16": "i16"}


def memory_kind(kind: str) -> str:
    return _MEMORY_KINDS.get(kind, kind)


def integers(values: Sequence[int], kind: str = "i32") -> str:
    """A constant vector of integers."""
    return "<" + ", ".join(f"{kind} {v}" for v in values) + ">"


def constant_mask(lanes: int, active: int) -> str:
    """The mask whose first `active` lanes are set."""
    return mask_literal([lane < active for lane in range(lanes)])


def mask_literal(flags: Sequence[bool]) -> str:
    return "<" + ", ".join(f"i1 {int(flag)}" for flag in flags) + ">"
