"""Values of one vectorized function: Python operators that write LLVM instructions.

A function of `LaneValue`s is written once and serves float and double, one lane or many; each
operator appends exactly one instruction, so that all widths give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradir.codegen.text.functions import FunctionText

MANTISSA_BITS = {32: 23, 64: 52}
EXPONENT_BIAS = {32: 127, 64: 1023}
SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
# Adding 1.5 * 2**mantissa_bits to a small value rounds it to an integer (ties to even), which
# then sits in the low bits of the sum.
ROUNDING_MAGIC = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
INFINITY = float("inf")
NAN = float("nan")

ELEMENT = {32: "float", 64: "double"}


def vector(element: str, lanes: int) -> str:
    """The LLVM type of `lanes` elements: `<8 x float>`, or `float` for one lane."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def suffix(bits: int, lanes: int) -> str:
    """How LLVM mangles the type in an intrinsic's name: `v8f32`, `f32`."""
    return f"f{bits}" if lanes == 1 else f"v{lanes}f{bits}"


def float_bits(value: float, bits: int) -> int:
    """The bit pattern of `value` rounded to float or double."""
    return int.from_bytes(struct.pack(">f" if bits == 32 else ">d", value), "big")


def float_literal(value: float, bits: int) -> str:
    """`value` rounded to float or double, as LLVM writes it: the hexadecimal form of a double."""
    rounded: float = struct.unpack(">f", struct.pack(">f", value))[0] if bits == 32 else value
    return f"0x{struct.pack('>d', rounded).hex().upper()}"


# The vectors that the instruction for x * 2**n takes; wider ones are several of the last.
SCALED_BITS = (128, 256, 512)


class Lanes:
    """The function being written: its width, and its text so far.

    `scales` says that the target has AVX-512's instruction for x * 2**n, rounded once.
    """

    def __init__(
        self, bits: int, lanes: int, text: FunctionText | None = None, scales: bool = False
    ) -> None:
        self.bits = bits
        self.lanes = lanes
        size = bits * lanes
        self.scales = scales and (size in SCALED_BITS or size % SCALED_BITS[-1] == 0)
        self.text = text or FunctionText()
        self.float_type = vector(ELEMENT[bits], lanes)
        self.int_type = vector(f"i{bits}", lanes)
        self.mask_type = vector("i1", lanes)
        self.suffix = suffix(bits, lanes)
        self.calls_huge_reduction = False

    def emit(self, type_: str, instruction: str) -> LaneValue:
        """Append an instruction with a result of `type_`."""
        return LaneValue(self, type_, self.text.emit(instruction))

    def float_constant(self, value: float) -> LaneValue:
        """The same float in each lane, rounded to the width."""
        return self._splat(ELEMENT[self.bits], self.float_type, float_literal(value, self.bits))

    def int_constant(self, value: int) -> LaneValue:
        """The same integer in each lane, modulo the width."""
        value &= (1 << self.bits) - 1
        return self._splat(f"i{self.bits}", self.int_type, str(value))

    def where_any(
        self, mask: LaneValue, usual: Sequence[LaneValue], rare: Callable[[], Sequence[LaneValue]]
    ) -> list[LaneValue]:
        """`usual`, or the results of `rare` in a branch taken if the mask holds in any lane."""
        text = self.text
        condition = mask.name
        if self.lanes > 1:
            reduction = f"@llvm.vector.reduce.or.v{self.lanes}i1"
            condition = text.emit(f"call i1 {reduction}({mask.type} {mask.name})")
        before, branch, done = text.current_label, text.fresh("rare"), text.fresh("done")
        text.line(f"br i1 {condition}, label %{branch}, label %{done}")
        text.label(branch)
        results = rare()
        last = text.current_label
        text.line(f"br label %{done}")
        text.label(done)
        return [
            self.emit(a.type, f"phi {a.type} [ {a.name}, %{before} ], [ {b.name}, %{last} ]")
            for a, b in zip(usual, results, strict=True)
        ]

    def _splat(self, element: str, type_: str, literal: str) -> LaneValue:
        return LaneValue(
            self, type_, literal if self.lanes == 1 else f"splat ({element} {literal})"
        )


Operand: TypeAlias = "LaneValue | float"
IntOperand: TypeAlias = "LaneValue | int"


@dataclass(frozen=True, eq=False, slots=True)
class LaneValue:
    """A float, an integer or a mask in each lane. Comparisons are ordered: false for nan."""

    function: Lanes
    type: str
    name: str

    @property
    def bits(self) -> int:
        return self.function.bits

    def __add__(self, other: Operand) -> LaneValue:
        return self._arithmetic("add", other)

    def __sub__(self, other: Operand) -> LaneValue:
        return self._arithmetic("sub", other)

    def __rsub__(self, other: float) -> LaneValue:
        return self._lift(other)._arithmetic("sub", self)

    def __mul__(self, other: Operand) -> LaneValue:
        return self._arithmetic("mul", other)

    def __truediv__(self, other: Operand) -> LaneValue:
        return self._arithmetic("div", other)

    def __rtruediv__(self, other: float) -> LaneValue:
        return self._lift(other)._arithmetic("div", self)

    def __neg__(self) -> LaneValue:
        return self.function.emit(self.type, f"fneg {self.type} {self.name}")

    def __lt__(self, other: Operand) -> LaneValue:
        return self._compare("olt", "slt", other)

    def __gt__(self, other: Operand) -> LaneValue:
        return self._compare("ogt", "sgt", other)

    def equals(self, other: Operand) -> LaneValue:
        return self._compare("oeq", "eq", other)

    def __and__(self, other: IntOperand) -> LaneValue:
        return self._binary("and", self._lift(other))

    def __or__(self, other: IntOperand) -> LaneValue:
        return self._binary("or", self._lift(other))

    def __xor__(self, other: IntOperand) -> LaneValue:
        return self._binary("xor", self._lift(other))

    def __lshift__(self, count: int) -> LaneValue:
        return self._binary("shl", self._lift(count))

    def __rshift__(self, count: int) -> LaneValue:
        """Logical: zeros come in from the left."""
        return self._binary("lshr", self._lift(count))

    def __invert__(self) -> LaneValue:
        """The opposite of a mask."""
        true = "true" if self.function.lanes == 1 else "splat (i1 true)"
        return self.function.emit(self.type, f"xor {self.type} {self.name}, {true}")

    def __abs__(self) -> LaneValue:
        return self._intrinsic("fabs", self)

    def sqrt(self) -> LaneValue:
        """The square root, correctly rounded."""
        return self._intrinsic("sqrt", self)

    def round_even(self) -> LaneValue:
        """The nearest integer, ties to even, as a float."""
        return self._intrinsic("roundeven", self)

    def with_sign_of(self, sign: LaneValue) -> LaneValue:
        return self._intrinsic("copysign", self, sign)

    def as_int(self) -> LaneValue:
        """The bit pattern of a float."""
        target = self.function.int_type
        return self.function.emit(target, f"bitcast {self.type} {self.name} to {target}")

    def as_float(self) -> LaneValue:
        """The float with this bit pattern."""
        target = self.function.float_type
        return self.function.emit(target, f"bitcast {self.type} {self.name} to {target}")

    def to_double(self) -> LaneValue:
        """The same numbers as doubles."""
        return self._converted("fpext", 64)

    def to_single(self) -> LaneValue:
        """The nearest numbers of type float."""
        return self._converted("fptrunc", 32)

    def _converted(self, opcode: str, bits: int) -> LaneValue:
        of = self.function
        target = Lanes(bits, of.lanes, of.text, of.scales)
        return target.emit(
            target.float_type, f"{opcode} {self.type} {self.name} to {target.float_type}"
        )

    def scaled(self, power: LaneValue) -> LaneValue:
        """self * 2**power, rounded once, for a power that is whole; targets that scale have it."""
        of = self.function
        most = SCALED_BITS[-1] // self.bits
        if of.lanes <= most:
            return self._scaled(power)
        pieces = [
            self._lanes(first, most)._scaled(power._lanes(first, most))
            for first in range(0, of.lanes, most)
        ]
        while len(pieces) > 1:
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [low._shuffled(high, range(2 * low.function.lanes)) for low, high in pairs]
        return LaneValue(of, self.type, pieces[0].name)

    def _scaled(self, power: LaneValue) -> LaneValue:
        type_, width = self.type, self.bits * self.function.lanes
        name = f"mask.scalef.p{'s' if self.bits == 32 else 'd'}.{width}"
        every = f"i{max(self.function.lanes, 8)} -1" + (", i32 4" if width == 512 else "")
        operands = f"{type_} {self.name}, {type_} {power.name}, {type_} zeroinitializer, {every}"
        return self.function.emit(type_, f"call {type_} @llvm.x86.avx512.{name}({operands})")

    def _lanes(self, first: int, count: int) -> LaneValue:
        """Some neighbouring lanes of a vector of floats."""
        return self._shuffled(self, range(first, first + count))

    def _shuffled(self, other: LaneValue, lanes: range) -> LaneValue:
        """Lanes of this vector of floats, and of the other one behind it."""
        of = self.function
        result = Lanes(of.bits, len(lanes), of.text, of.scales)
        chosen = ", ".join(f"i32 {lane}" for lane in lanes)
        return result.emit(
            result.float_type,
            f"shufflevector {self.type} {self.name}, {other.type} {other.name}, "
            f"<{len(lanes)} x i32> <{chosen}>",
        )

    def select(self, yes: Operand, no: Operand) -> LaneValue:
        """`yes` where this mask holds, elsewhere `no`; both floats, or LaneValues of integers."""
        yes, no = self._float(yes), self._float(no)
        return self.function.emit(
            yes.type,
            f"select {self.type} {self.name}, {yes.type} {yes.name}, {no.type} {no.name}",
        )

    def at_least(self, bound: float) -> LaneValue:
        """max(self, bound); nan stays nan."""
        return (self._lift(bound) > self).select(bound, self)

    def at_most(self, bound: float) -> LaneValue:
        """min(self, bound); nan stays nan."""
        return (self._lift(bound) < self).select(bound, self)

    def _float(self, operand: Operand) -> LaneValue:
        if isinstance(operand, LaneValue):
            return operand
        return self.function.float_constant(operand)

    def _lift(self, operand: Operand) -> LaneValue:
        if isinstance(operand, LaneValue):
            return operand
        if self.type == self.function.float_type:
            return self.function.float_constant(operand)
        assert isinstance(operand, int)
        return self.function.int_constant(operand)

    def _binary(self, opcode: str, other: LaneValue) -> LaneValue:
        return self.function.emit(self.type, f"{opcode} {self.type} {self.name}, {other.name}")

    def _arithmetic(self, opcode: str, other: Operand) -> LaneValue:
        prefix = "f" if self.type == self.function.float_type else ""
        return self._binary(prefix + opcode, self._lift(other))

    def _compare(self, float_predicate: str, int_predicate: str, other: Operand) -> LaneValue:
        is_float = self.type == self.function.float_type
        compare = f"fcmp {float_predicate}" if is_float else f"icmp {int_predicate}"
        return self.function.emit(
            self.function.mask_type,
            f"{compare} {self.type} {self.name}, {self._lift(other).name}",
        )

    def _intrinsic(self, name: str, *operands: LaneValue) -> LaneValue:
        arguments = ", ".join(f"{operand.type} {operand.name}" for operand in operands)
        callee = f"@llvm.{name}.{self.function.suffix}"
        return self.function.emit(self.type, f"call {self.type} {callee}({arguments})")

    def fused_multiply_add(self, factor: Operand, addend: Operand) -> LaneValue:
        """self * factor + addend, rounded once."""
        return self._intrinsic("fma", self, self._float(factor), self._float(addend))


def fma(a: LaneValue, b: Operand, c: Operand) -> LaneValue:
    """a * b + c, rounded once."""
    return a.fused_multiply_add(b, c)


def polynomial(x: LaneValue, coefficients: Sequence[float]) -> LaneValue:
    """c0 + c1 x + c2 x**2 + ...

    Horner's rule, one fma per degree. The tail of a long one is summed by `estrin`, which shortens
    the chain of dependent operations; the head decides the rounding.
    """
    head, tail = coefficients[:2], coefficients[2:]
    if len(tail) < 6:
        return horner(x, coefficients)
    return horner(x, [*head, estrin(x, tail)])


def estrin(x: LaneValue, coefficients: Sequence[float]) -> LaneValue:
    """The same with a shorter chain, rounded more often: by Estrin's scheme in groups of four,
    and those by Horner's rule in x**4."""
    square = x * x
    groups: list[Operand] = []
    for k in range(0, len(coefficients), 4):
        pairs = [_pair(x, coefficients[j : j + 2]) for j in (k, k + 2) if j < len(coefficients)]
        groups.append(_pair(square, pairs))
    return horner(square * square, groups)


def _pair(x: LaneValue, terms: Sequence[Operand]) -> Operand:
    """The first term, and x times the second if there is one."""
    return fma(x, terms[1], terms[0]) if len(terms) > 1 else terms[0]


def horner(x: LaneValue, coefficients: Sequence[Operand]) -> LaneValue:
    """The same, one fma after the other."""
    result: Operand = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = fma(x, result, coefficient)
    assert isinstance(result, LaneValue)
    return result
