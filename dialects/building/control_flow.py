"""Builders of control flow and index arithmetic for rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import as_integer_type
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.base.value import Emitter


@dataclass(frozen=True)
class Integers:
    """Emits integer arithmetic of one type; operands are values or plain numbers."""

    type: Attribute
    emitter: Emitter

    def constant(self, number: int) -> SSAValue:
        """A number of the type, modulo its range."""
        if not is_traced(number):
            most = largest_number(self.type)
            number = (number + most + 1) % (2 * most + 2) - most - 1
        attr = IntegerAttr(number, cast(IntegerType, self.type))
        result = self.emitter.insert(arith.ConstantOp(attr)).result
        is_named = not is_traced(number) and number >= 0
        result.name_hint = f"c{number}" if is_named else None
        return result

    def value(self, operand: SSAValue | int) -> SSAValue:
        return self.constant(operand) if isinstance(operand, int) else operand

    def add(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue | int:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if 0 in (a, b):
            return b if a == 0 else a
        return self.emitter.insert(arith.AddiOp(self.value(a), self.value(b))).result

    def subtract(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue | int:
        if isinstance(b, int) and (isinstance(a, int) or b == 0):
            return a - b if isinstance(a, int) else a
        return self.emitter.insert(arith.SubiOp(self.value(a), self.value(b))).result

    def multiply(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue | int:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if 1 in (a, b):
            return b if a == 1 else a
        return self.emitter.insert(arith.MuliOp(self.value(a), self.value(b))).result

    def divide(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue | int:
        if b == 1:
            return a
        if isinstance(a, int) and isinstance(b, int):
            return a // b
        return self.emitter.insert(arith.DivSIOp(self.value(a), self.value(b))).result

    def divide_unsigned(self, a: SSAValue | int, b: SSAValue | int) -> SSAValue | int:
        """The quotient of unsigned numbers; plain numbers do not wrap, and are divided at once."""
        if b == 1 or (isinstance(a, int) and isinstance(b, int)):
            return self.divide(a, b)
        return self.emitter.insert(arith.DivUIOp(self.value(a), self.value(b))).result


def largest_number(type_: Attribute) -> int:
    """The largest number of a signed integer type; an index has 64 bits."""
    integer = as_integer_type(type_)
    bits = 64 if integer is None else integer.width.data
    return 2 ** (bits - 1) - 1


def cast_integer(value: SSAValue, type_: Attribute, emitter: Emitter) -> SSAValue:
    """An index as an integer of another type, or an integer as an index."""
    if value.type == type_:
        return value
    return emitter.insert(arith.IndexCastOp(value, type_)).result


def compare(a: SSAValue, predicate: str, b: SSAValue | int, emitter: Emitter) -> SSAValue:
    """arith.cmpi of a value and a value or number."""
    other = Integers(a.type, emitter).value(b)
    return emitter.insert(arith.CmpiOp(a, other, predicate)).result


def known_number(value: SSAValue) -> SSAValue | int:
    """The number of a constant, or the value itself."""
    number = constant_integer(value)
    return value if number is None else number


def trip_count(low: SSAValue, high: SSAValue, step: SSAValue, emitter: Emitter) -> SSAValue:
    """The number of iterations of a loop with these bounds, an index."""
    whole, index = Integers(low.type, emitter), IndexType()
    first, end, stride = map(known_number, (low, high, step))
    length = whole.subtract(end, first)
    if isinstance(length, int) and isinstance(stride, int):
        return Integers(index, emitter).constant(max(-(-length // stride), 0))
    if stride == 1:
        found = emitter.insert(arith.MaxSIOp(whole.value(length), whole.constant(0))).result
        return cast_integer(found, index, emitter)
    # the steps between the bounds, as unsigned numbers: nothing overflows
    between = whole.value(whole.subtract(length, 1))
    steps = emitter.insert(arith.DivUIOp(between, step)).result
    some = compare(low, "slt", high, emitter)
    count = whole.value(whole.add(steps, 1))
    found = emitter.insert(arith.SelectOp(some, count, whole.constant(0))).result
    return cast_integer(found, index, emitter)


def either(a: SSAValue, b: SSAValue, emitter: Emitter) -> SSAValue:
    return emitter.insert(arith.OrIOp(a, b)).result


def named(value: SSAValue, name: str | None) -> SSAValue:
    """The value, with a name unless it has one."""
    value.name_hint = value.name_hint or name
    return value


def name_all(values: Sequence[SSAValue], names: Sequence[str | None]) -> None:
    for value, name in zip(values, names, strict=True):
        value.name_hint = name


def choose(
    condition: SSAValue,
    names: Sequence[str | None],
    chosen: Callable[[Emitter], Sequence[SSAValue]],
    other: Callable[[Emitter], Sequence[SSAValue]],
    emitter: Emitter,
) -> list[SSAValue]:
    """Append a scf.if; its results are the values of `chosen` where the condition is true, else of
    `other`. Each appends its code to its branch."""
    regions: list[Region] = []
    types: list[Attribute] = []
    for give in (chosen, other):
        block = Block()
        inside = Emitter(block, emitter.location)
        given = give(inside)
        inside.insert(scf.YieldOp(*given))
        types = [v.type for v in given]
        regions.append(Region(block))
    made = emitter.insert(scf.IfOp(condition, types, regions[0], regions[1]))
    name_all(made.results, names)
    return list(made.results)


def make_while(initial: Sequence[SSAValue], before: Block, after: Block) -> scf.WhileOp:
    """A scf.while of two blocks: `before` decides, and forwards the arguments of `after`."""
    types = [a.type for a in after.args]
    return scf.WhileOp(initial, types, Region(before), Region(after))


class WhileBuilder:
    """A loop whose condition forwards all carried values.

    `emitter` appends to the body, whose arguments are `arguments`.
    """

    def __init__(
        self, initial: Sequence[SSAValue], names: Sequence[str | None], location: LocationAttr
    ):
        types = [v.type for v in initial]
        self.initial = initial
        self.names = names
        self.before, self.after = Block(arg_types=types), Block(arg_types=types)
        name_all(self.before.args, names)
        name_all(self.after.args, names)
        self.emitter = Emitter(self.after, location)

    @property
    def arguments(self) -> Sequence[SSAValue]:
        return self.after.args

    def run_while(self, condition: Callable[[Sequence[SSAValue], Emitter], SSAValue]) -> None:
        """Write the condition, a function of the carried values."""
        emitter = Emitter(self.before, self.emitter.location)
        carried = self.before.args
        emitter.insert(scf.ConditionOp(condition(carried, emitter), *carried))

    def finish(self, handed_on: Sequence[SSAValue], outside: Emitter) -> list[SSAValue]:
        """End the body, and append the loop; returns its results."""
        self.emitter.insert(scf.YieldOp(*handed_on))
        made = outside.insert(make_while(self.initial, self.before, self.after))
        name_all(made.results, self.names)
        return list(made.results)
