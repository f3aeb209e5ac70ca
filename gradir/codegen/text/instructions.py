"""LLVM instructions on one value or on a vector of lanes: types, literals, conversions, combiners.

A kind is the short name of a scalar type (`f32`, `bf16`, `i64`, `i1`); lanes is 1 for a scalar and
W for `<W x T>`. f16 and bf16 are computed in f32 and rounded to nearest even after each operation.
LLVM sees them as i16, their bits: what it makes of its own half types differs from machine to
machine, and calls functions that no library has (`half_floats.py` converts).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

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

from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.half_floats import extended, narrowed
from gradir.dialects.base.shapes import is_unsigned

LLVM_TYPES = {"f64": "double", "f32": "float", "f16": "i16", "bf16": "i16"}
FLOAT_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}


@dataclass
class Needs:
    """What emitted text needs from elsewhere; fields as in `Kernel`."""

    functions: set[tuple[str, int, int]] = field(default_factory=set[tuple[str, int, int]])
    declarations: set[str] = field(default_factory=set[str])
    messages: list[str] = field(default_factory=list[str])

    def message_code(self, message: str) -> int:
        """The code that a failing index check stores for this message: 1, 2, ..."""
        if message not in self.messages:
            self.messages.append(message)
        return 1 + self.messages.index(message)


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
    return FLOAT_BITS[kind] if kind in FLOAT_BITS else int(kind[1:])


def bytes_of(kind: str) -> int:
    """Bytes of an element in memory; i1 takes one."""
    return max(1, bits_of(kind) // 8)


def llvm_type(kind: str, lanes: int = 1) -> str:
    name = LLVM_TYPES.get(kind, kind)
    return name if lanes == 1 else f"<{lanes} x {name}>"


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
    """`number` rounded to a narrower format; what is too large becomes infinite."""
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


def _count(lanes: int) -> int | None:
    return None if lanes == 1 else lanes


class Instructions:
    """Appends instructions to a function; every method returns the name of its result."""

    def __init__(self, function: FunctionText, needs: Needs):
        self.f = function
        self.needs = needs

    def binary(self, opcode: str, kind: str, lanes: int, left: str, right: str) -> str:
        return self.f.emit(f"{opcode} {llvm_type(kind, lanes)} {left}, {right}")

    def unary(self, opcode: str, kind: str, lanes: int, operand: str) -> str:
        return self.f.emit(f"{opcode} {llvm_type(kind, lanes)} {operand}")

    def cast(self, opcode: str, source: str, target: str, lanes: int, operand: str) -> str:
        """`opcode operand to target`, for a cast instruction."""
        to = llvm_type(target, lanes)
        return self.f.emit(f"{opcode} {llvm_type(source, lanes)} {operand} to {to}")

    def select(self, kind: str, lanes: int, condition: str, then: str, other: str) -> str:
        type_ = llvm_type(kind, lanes)
        mask = llvm_type("i1", lanes)
        return self.f.emit(f"select {mask} {condition}, {type_} {then}, {type_} {other}")

    def splat(self, kind: str, lanes: int, scalar: str) -> str:
        """A vector with `scalar` in all lanes."""
        if lanes == 1 or not scalar.startswith("%"):
            return splat_literal(kind, lanes, scalar)
        type_ = llvm_type(kind, lanes)
        one = self.f.emit(f"insertelement {type_} poison, {llvm_type(kind)} {scalar}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.f.emit(f"shufflevector {type_} {one}, {type_} poison, {zeros}")

    def number(self, kind: str, lanes: int, number: float) -> str:
        """The constant `number` in all lanes, as text."""
        return splat_literal(kind, lanes, literal(kind, number))

    def intrinsic(self, name: str, kind: str, lanes: int, *operands: str) -> str:
        """A call of `@llvm.name` whose operands and result have one type."""
        type_ = llvm_type(kind, lanes)
        symbol = f"@llvm.{name}.{mangled(kind, lanes)}"
        parameters = ", ".join([type_] * len(operands))
        self.needs.declarations.add(f"declare {type_} {symbol}({parameters})")
        arguments = ", ".join(f"{type_} {operand}" for operand in operands)
        return self.f.emit(f"call {type_} {symbol}({arguments})")

    # Conversions.

    def resize_float(self, source: str, target: str, lanes: int, operand: str) -> str:
        """From one float kind to another, rounded once to nearest even."""
        if source == target:
            return operand
        if FLOAT_BITS[source] == 16:
            operand, source = extended(self.f, source, _count(lanes), operand), "f32"
            if target == "f32":
                return operand
        if target in ("f32", "f64"):
            return self.cast(
                "fpext" if source == "f32" else "fptrunc", source, target, lanes, operand
            )
        if source == "f64":
            operand = self._round_to_odd(lanes, operand)
        return narrowed(self.f, target, _count(lanes), operand)

    def _round_to_odd(self, lanes: int, operand: str) -> str:
        """f64 to f32 such that rounding the result again gives what one rounding would have."""
        single = self.cast("fptrunc", "f64", "f32", lanes, operand)
        back = self.cast("fpext", "f32", "f64", lanes, single)
        type_ = llvm_type("f64", lanes)
        inexact = self.f.emit(f"fcmp one {type_} {back}, {operand}")
        sizes = [self.intrinsic("fabs", "f64", lanes, name) for name in (back, operand)]
        above = self.f.emit(f"fcmp ogt {type_} {sizes[0]}, {sizes[1]}")
        bits = self.cast("bitcast", "f32", "i32", lanes, single)
        lower = self.binary("sub", "i32", lanes, bits, self.cast("zext", "i1", "i32", lanes, above))
        odd = self.binary("or", "i32", lanes, lower, self.cast("zext", "i1", "i32", lanes, inexact))
        return self.cast("bitcast", "i32", "f32", lanes, odd)

    def integer_to_float(
        self, source: str, target: str, lanes: int, operand: str, signed: bool
    ) -> str:
        via = target
        if bits_of(target) == 16:
            via = "f32" if bits_of(source) <= 16 else "f64"
        value = self.cast("sitofp" if signed else "uitofp", source, via, lanes, operand)
        return self.resize_float(via, target, lanes, value)

    def float_to_integer(
        self, source: str, target: str, lanes: int, operand: str, signed: bool
    ) -> str:
        """Towards zero; what is out of range goes to the nearest end, NaN to 0."""
        if bits_of(source) == 16:
            operand, source = self.resize_float(source, "f32", lanes, operand), "f32"
        name = "fptosi.sat" if signed else "fptoui.sat"
        to, from_ = llvm_type(target, lanes), llvm_type(source, lanes)
        symbol = f"@llvm.{name}.{mangled(target, lanes)}.{mangled(source, lanes)}"
        self.needs.declarations.add(f"declare {to} {symbol}({from_})")
        return self.f.emit(f"call {to} {symbol}({from_} {operand})")

    def resize(
        self, source: str, target: str, lanes: int, operand: str, unsigned: bool = False
    ) -> str:
        """Between two floats, or two integers (signed unless `unsigned`), of any widths."""
        if source == target:
            return operand
        if is_float(source):
            return self.resize_float(source, target, lanes, operand)
        if bits_of(source) > bits_of(target):
            return self.cast("trunc", source, target, lanes, operand)
        extend = "zext" if unsigned or source == "i1" else "sext"
        return self.cast(extend, source, target, lanes, operand)

    # Combiners.

    def combine(self, combiner: str, kind: str, lanes: int, left: str, right: str) -> str:
        """`left combiner right`; maximum and minimum give NaN if one of them is."""
        if not is_float(kind):
            return self._combine_integers(combiner, kind, lanes, left, right)
        if bits_of(kind) == 16:
            wide = [self.resize_float(kind, "f32", lanes, v) for v in (left, right)]
            result = self.combine(combiner, "f32", lanes, *wide)
            return self.resize_float("f32", kind, lanes, result)
        if combiner in ("maximum", "minimum"):
            return self.intrinsic(combiner, kind, lanes, left, right)
        opcode = {"add": "fadd", "multiply": "fmul"}[combiner]
        return self.binary(opcode, kind, lanes, left, right)

    def _combine_integers(self, combiner: str, kind: str, lanes: int, left: str, right: str) -> str:
        sign, _, order = combiner.rpartition(" ")
        if order in ("maximum", "minimum"):
            # true is 1, the larger: signed order would have it as -1
            name = ("u" if sign or kind == "i1" else "s") + order[:3]
            return self.intrinsic(name, kind, lanes, left, right)
        opcode = {"add": "add", "multiply": "mul", "and": "and", "or": "or"}[combiner]
        return self.binary(opcode, kind, lanes, left, right)

    def order_key(self, kind: str, lanes: int, value: str, combiner: str) -> str:
        """An integer (i32 or i64) that is ordered as the float is: -inf, ..., -0, 0, ..., inf.

        NaN is the largest for combiner maximum, the smallest for minimum.
        """
        wide = "f64" if kind == "f64" else "f32"
        value = self.resize_float(kind, wide, lanes, value)
        integer = f"i{bits_of(wide)}"
        nan = {"i32": 0x7FC00000, "i64": 0x7FF8000000000000}[integer]
        if combiner == "minimum":
            nan -= 1 << bits_of(wide) - 1
        unordered = self.f.emit(f"fcmp uno {llvm_type(wide, lanes)} {value}, {value}")
        bits = self.cast("bitcast", wide, integer, lanes, value)
        bits = self.select(integer, lanes, unordered, self.number(integer, lanes, nan), bits)
        return self._flip_negative(integer, lanes, bits)

    def from_order_key(self, kind: str, lanes: int, key: str) -> str:
        """The float of an order key."""
        wide = "f64" if kind == "f64" else "f32"
        integer = f"i{bits_of(wide)}"
        value = self.cast("bitcast", integer, wide, lanes, self._flip_negative(integer, lanes, key))
        return self.resize_float(wide, kind, lanes, value)

    def _flip_negative(self, kind: str, lanes: int, bits: str) -> str:
        """All bits but the sign turned round where the sign is set: its own inverse."""
        last = self.number(kind, lanes, bits_of(kind) - 1)
        sign = self.binary("ashr", kind, lanes, bits, last)
        others = self.number(kind, lanes, (1 << bits_of(kind) - 1) - 1)
        flip = self.binary("and", kind, lanes, sign, others)
        return self.binary("xor", kind, lanes, bits, flip)
