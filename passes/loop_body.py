"""The code of a loop's body, forward and backward, before it stands in loops.

The backward code is a block whose arguments are the iteration's number, the cotangents of what the
body hands back, an accumulator for each captured active value, and tapes; it hands back the
cotangents of what the body took, the accumulators and the tapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from gradir.dialects.diagnostics import PassError
from gradir.dialects.tape import TapeType, cotangent_type, pop, push
from gradir.dialects.value import Emitter
from gradir.passes.differentiator import Differentiator, cotangent_hint
from gradir.passes.residuals import Makers, Residuals
from gradir.passes.simplify import simplify_block

LIMIT_ATTRIBUTE = "grad.tape_limit"
"""On a loop: the bytes that each of its tapes may take."""


@dataclass
class Body:
    """The differentiated body of a loop."""

    inner: Differentiator
    captured: list[SSAValue]

    @property
    def number(self) -> BlockArgument:
        """Which iteration the backward code is of, or of which it is in a reversed loop."""
        return self.inner.backward.args[0]


def differentiate_body(
    inner: Differentiator,
    number_type: Attribute,
    given: Sequence[SSAValue],
    wanted: Sequence[SSAValue],
    captured: Sequence[SSAValue],
) -> Body:
    """Make the backward code, after the forward code; it takes the cotangents of `given` to those
    of `wanted`."""
    block = inner.backward
    block.insert_arg(number_type, 0).name_hint = "back"
    for place, value in enumerate(given):
        seed = block.insert_arg(cotangent_type(value.type), 1 + place)
        seed.name_hint = cotangent_hint(value)
    used = _accumulators(inner, captured, 1 + len(given))
    for seed, value in zip(block.args[1:], given, strict=False):
        inner.contribute(value, inner.emitter.value(seed))
    inner.walk_back()
    cts = [inner.cotangent_or_zero(value).ssa for value in wanted]
    for value, argument in list(used.items()):
        if [part.ssa for part in inner.contributions[value]] == [argument]:
            del inner.contributions[value], used[value]
            block.erase_arg(argument)
    flowing = inner.flowing_out()
    assert flowing.keys() == used.keys(), "every captured active value has an accumulator"
    sums = [flowing[value].ssa for value in used]
    inner.emitter.insert(scf.YieldOp(*cts, *sums, *(t.in_backward() for t in inner.tapes)))
    simplify_block(block)
    return Body(inner, list(used))


def _accumulators(
    inner: Differentiator, captured: Sequence[SSAValue], first: int
) -> dict[SSAValue, BlockArgument]:
    arguments: dict[SSAValue, BlockArgument] = {}
    for place, value in enumerate(captured):
        argument = inner.backward.insert_arg(cotangent_type(value.type), first + place)
        argument.name_hint = cotangent_hint(value)
        inner.contribute(value, inner.emitter.value(argument))
        arguments[value] = argument
    return arguments


def keep_residuals(body: Body, outside: Emitter, makers: Makers, place: Operation) -> None:
    """Push what the backward code reads at the end of the forward code, and pop it at the start
    of the backward code."""
    inner = body.inner
    residuals = Residuals(inner.forward, inner.backward, makers)
    residuals.hoist(outside)
    prologue = Emitter(inner.backward, inner.location, before=inner.backward.first_op)
    stored: Sequence[SSAValue] = ()
    if residuals.kept:
        columns = [v.type for v in residuals.kept]
        tape = inner.open_tape(TapeType.of(columns, inner.executions, tape_limit(place)))
        end = Emitter(inner.forward, inner.location)
        tape.forward = push(tape.forward, residuals.kept, end)
        tape.backward, stored = pop(tape.in_backward(), prologue)
        for end_of_tape in (tape.forward, tape.backward):
            end_of_tape.name_hint = "tape"
        for value, kept in zip(stored, residuals.kept, strict=True):
            value.name_hint = kept.name_hint
        last = inner.backward.last_op
        assert last is not None
        last.operands = [*last.operands, tape.backward]
    residuals.restore(stored, prologue)


def captured_active(inner: Differentiator, op: Operation) -> list[SSAValue]:
    """The active values from outside of an op that the ops in its regions read, in that order."""
    blocks = [block for region in op.regions for block in region.blocks]
    defined: set[SSAValue] = {v for b in blocks for inner_op in b.walk() for v in inner_op.results}
    for each in op.walk():
        defined.update(a for r in each.regions for b in r.blocks for a in b.args)
    found: dict[SSAValue, None] = {}
    for block in blocks:
        for each in block.walk():
            for operand in each.operands:
                value = inner.shared.origin(operand)
                if value not in defined and inner.activity.is_active(value):
                    found[value] = None
    return list(found)


def tape_limit(op: Operation) -> int | None:
    """The limit that is written on a loop, in bytes."""
    match op.attributes.get(LIMIT_ATTRIBUTE):
        case None:
            return None
        case IntegerAttr() as limit if limit.value.data >= 0:
            return limit.value.data
        case other:
            raise PassError(
                f"{op.name}: {LIMIT_ATTRIBUTE} must be a number of bytes, got {other}", op
            )


# Integer arithmetic on bounds and counters, folded where it is of constants.


@dataclass(frozen=True)
class Integers:
    """Emits integer arithmetic of one type; operands are values or plain numbers."""

    type: Attribute
    emitter: Emitter

    def constant(self, number: int) -> SSAValue:
        attr = IntegerAttr(number, cast(IntegerType, self.type))
        result = self.emitter.insert(arith.ConstantOp(attr)).result
        result.name_hint = f"c{number}" if number >= 0 else None
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
