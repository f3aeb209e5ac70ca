"""Values of one vectorized function: Python operators that write LLVM instructions.

A function of `LaneValue`s is written once and serves float and double, one lane or many; each
operator appends exactly one instruction, so that all widths give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradir.codegen.text.kinds import llvm_type, splat_literal
from gradir.codegen.text.writer import FunctionWriter

MANTISSA_BITS = {32: 23, 64: 52}
EXPONENT_BIAS = {32: 127, 64: 1023}
SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
# Adding 1.5 * 2**mantissa_bits to a small value rounds it to an integer (ties to even), which
# then sits in the low bits of the sum.
ROUNDING_MAGIC = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
INFINITY = float("inf")
NAN = float("nan")


def float_bits(value: float, bits: int) -> int:
    """The bit pattern of `value` rounded to float or double."""
    return int.from_bytes(struct.pack(">f" if bits == 32 else ">d", value), "big")


# The vectors that the instruction for x * 2**n takes; wider ones are several of the last.
SCALED_BITS = (128, 256, 512)


class Lanes:
    """The function being written: its width, and its text so far.

    `scales` says that the target has AVX-512's instruction for x * 2**n, rounded once.
    """

    def __init__(
        self, bits: int, lanes: int, text: FunctionWriter | None = None, scales: bool = False
    ) -> None:
        self.bits = bits
        self.lanes = lanes
        size = bits * lanes
        self.scales = scales and (size in SCALED_BITS or size % SCALED_BITS[-1] == 0)
        self.text = text or FunctionWriter()
        self.float_kind, self.int_kind = f"f{bits}", f"i{bits}"
        self.calls_huge_reduction = False

    def type_of(self, kind: str) -> str:
        return llvm_type(kind, self.lanes)

    def value(self, kind: str, name: str) -> LaneValue:
        return LaneValue(self, kind, name)

    def float_constant(self, value: float) -> LaneValue:
        """The same float in each lane, rounded to the width."""
        return self.value(self.float_kind, self.text.number(self.float_kind, self.lanes, value))

    def int_constant(self, value: int) -> LaneValue:
        """The same integer in each lane, modulo the width."""
        value &= (1 << self.bits) - 1
        return self.value(self.int_kind, splat_literal(self.int_kind, self.lanes, str(value)))

    def where_any(
        self, mask: LaneValue, usual: Sequence[LaneValue], rare: Callable[[], Sequence[LaneValue]]
    ) -> list[LaneValue]:
        """`usual`, or the results of `rare` in a branch taken if the mask holds in any lane."""
        text, condition = self.text, mask.name
        if self.lanes > 1:
            reduction = f"@llvm.vector.reduce.or.v{self.lanes}i1"
            condition = text.call("i1", reduction, f"{mask.type} {mask.name}")
        before, branch, done = text.current_label, text.fresh("rare"), text.fresh("done")
        text.branch(condition, branch, done)
        text.label(branch)
        results = rare()
        last = text.current_label
        text.jump(done)
        text.label(done)
        return [
            self.value(a.kind, text.phi(a.type, [(a.name, before), (b.name, last)]))
            for a, b in zip(usual, results, strict=True)
        ]


Operand: TypeAlias = "LaneValue | float"
IntOperand: TypeAlias = "LaneValue | int"


@dataclass(frozen=True, eq=False, slots=True)
class LaneValue:
    """A float, an integer or a mask in each lane. Comparisons are ordered: false for nan."""

    function: Lanes
    kind: str
    name: str

    @property
    def type(self) -> str:
        return self.function.type_of(self.kind)

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
        return self._named(self._text.unary("fneg", self.kind, self.function.lanes, self.name))

    def __lt__(self, other: Operand) -> LaneValue:
        return self._compare("olt", "slt", other)

    def __gt__(self, other: Operand) -> LaneValue:
        return self._compare("ogt", "sgt", other)

    def equals(self, other: Operand) -> LaneValue:
        return self._compare("oeq", "eq", other)

    def __and__(self, other: IntOperand) -> LaneValue:
        return self._binary("and", self._lift(other).name)

    def __or__(self, other: IntOperand) -> LaneValue:
        return self._binary("or", self._lift(other).name)

    def __xor__(self, other: IntOperand) -> LaneValue:
        return self._binary("xor", self._lift(other).name)

    def __lshift__(self, count: int) -> LaneValue:
        return self._binary("shl", self._lift(count).name)

    def __rshift__(self, count: int) -> LaneValue:
        """Logical: zeros come in from the left."""
        return self._binary("lshr", self._lift(count).name)

    def __invert__(self) -> LaneValue:
        """The opposite of a mask."""
        return self._binary("xor", splat_literal("i1", self.function.lanes, "true"))

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
        return self.cast("bitcast", self.function.int_kind)

    def as_float(self) -> LaneValue:
        """The float with this bit pattern."""
        return self.cast("bitcast", self.function.float_kind)

    def cast(self, opcode: str, kind: str) -> LaneValue:
        """`opcode` to a kind, for a cast instruction."""
        lanes = self.function.lanes
        return self._named(self._text.cast(opcode, self.kind, kind, lanes, self.name), kind)

    def to_double(self) -> LaneValue:
        """The same numbers as doubles."""
        return self._converted("fpext", 64)

    def to_single(self) -> LaneValue:
        """The nearest numbers of type float."""
        return self._converted("fptrunc", 32)

    def _converted(self, opcode: str, bits: int) -> LaneValue:
        of = self.function
        target = Lanes(bits, of.lanes, of.text, of.scales)
        return target.value(target.float_kind, self.cast(opcode, target.float_kind).name)

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
        return self._named(pieces[0].name)

    def _scaled(self, power: LaneValue) -> LaneValue:
        type_, width = self.type, self.bits * self.function.lanes
        name = f"mask.scalef.p{'s' if self.bits == 32 else 'd'}.{width}"
        every = f"i{max(self.function.lanes, 8)} -1" + (", i32 4" if width == 512 else "")
        operands = f"{type_} {self.name}, {type_} {power.name}, {type_} zeroinitializer, {every}"
        return self._named(self._text.call(type_, f"@llvm.x86.avx512.{name}", operands))

    def _lanes(self, first: int, count: int) -> LaneValue:
        """Some neighbouring lanes of a vector of floats."""
        return self._shuffled(self, range(first, first + count))

    def _shuffled(self, other: LaneValue, lanes: range) -> LaneValue:
        """Lanes of this vector of floats, and of the other one behind it."""
        of = self.function
        result = Lanes(of.bits, len(lanes), of.text, of.scales)
        name = self._text.shuffle(self.kind, of.lanes, self.name, lanes, other.name)
        return result.value(self.kind, name)

    def select(self, yes: Operand, no: Operand) -> LaneValue:
        """`yes` where this mask holds, elsewhere `no`; both floats, or LaneValues of integers."""
        yes, no = self._float(yes), self._float(no)
        lanes = self.function.lanes
        return self._named(
            self._text.select(yes.kind, lanes, self.name, yes.name, no.name), yes.kind
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
        if self.kind == self.function.float_kind:
            return self.function.float_constant(operand)
        assert isinstance(operand, int)
        return self.function.int_constant(operand)

    def _binary(self, opcode: str, other: str) -> LaneValue:
        lanes = self.function.lanes
        return self._named(self._text.binary(opcode, self.kind, lanes, self.name, other))

    def _arithmetic(self, opcode: str, other: Operand) -> LaneValue:
        prefix = "f" if self.kind == self.function.float_kind else ""
        return self._binary(prefix + opcode, self._lift(other).name)

    def _compare(self, float_predicate: str, int_predicate: str, other: Operand) -> LaneValue:
        is_float = self.kind == self.function.float_kind
        predicate = float_predicate if is_float else int_predicate
        lanes, right = self.function.lanes, self._lift(other).name
        return self._named(self._text.compare(predicate, self.kind, lanes, self.name, right), "i1")

    def _intrinsic(self, name: str, *operands: LaneValue) -> LaneValue:
        names = [operand.name for operand in operands]
        lanes = self.function.lanes
        return self._named(self._text.intrinsic(name, self.kind, lanes, *names))

    @property
    def _text(self) -> FunctionWriter:
        return self.function.text

    def _named(self, name: str, kind: str | None = None) -> LaneValue:
        """The value of a name, of this kind or another."""
        return LaneValue(self.function, kind or self.kind, name)

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
