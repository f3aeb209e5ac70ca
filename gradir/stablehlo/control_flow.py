"""Loops, branches and tapes in StableHLO.

A loop carries its values, and what its regions read around them is captured. A tape of known
capacity is a stack of tensors, one for each column, and the number of its records: a push writes a
row, a pop reads one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import tensor
from gradir.dialects.grad.tape import (
    TapeNewOp,
    TapePopOp,
    TapePushOp,
    TapeSizeOp,
    TapeType,
)
from gradir.stablehlo import values as v
from gradir.stablehlo.nests import NoForm
from gradir.stablehlo.regions import branch, choose_case, count_loop, loop
from gradir.stablehlo.values import Hlo, HloEmitter

GROWING = (
    "a tape that grows while the program runs has no form in StableHLO; give the loop a policy "
    "whose snapshots have a fixed size: #grad.loop<online = 8> for a scf.while, "
    "#grad.loop<binomial = 8> for a scf.for"
)


class BlockConverter(Protocol):
    """Converts the ops of a block."""

    def convert_block(
        self, block: Block, args: Sequence[Sequence[Hlo]], emitter: HloEmitter
    ) -> list[list[Hlo]]:
        """The values of the terminator's operands."""
        ...


# Types.


def types_of(type_: Attribute) -> list[Attribute]:
    """The StableHLO types that hold a value: of a tape one for each column, and the count.

    A tape that grows, which is refused where it is made, stands as a number.
    """
    if not isinstance(type_, TapeType):
        return [v.hlo_type(type_)]
    if type_.records is None:
        return [tensor([], i64)]
    columns = [v.hlo_type(column) for column in type_.columns]
    stacks = [tensor([max(type_.records, 1), *c.get_shape()], c.element_type) for c in columns]
    return [*stacks, tensor([], i64)]


def all_types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [type_ for value in values for type_ in types_of(value.type)]


def split_values(values: Sequence[Hlo], like: Sequence[SSAValue]) -> list[list[Hlo]]:
    """A flat list of values, in parts for values of these types."""
    rest = iter(values)
    return [[next(rest) for _ in types_of(one.type)] for one in like]


def flatten(parts: Sequence[Sequence[Hlo]]) -> list[Hlo]:
    return [value for part in parts for value in part]


# Tapes.


def tape_values(
    op: Operation, operands: Sequence[Sequence[Hlo]], emitter: HloEmitter
) -> list[list[Hlo]] | None:
    """The results of an op on tapes; None for other ops. NoForm for a new tape that grows."""
    if not isinstance(op, TapeNewOp | TapeSizeOp | TapePushOp | TapePopOp):
        return None
    if op.tape_type.records is None:
        if isinstance(op, TapeNewOp):
            raise NoForm(GROWING)
        return [[v.full(emitter, 0, cast(Any, t)) for t in types_of(r.type)] for r in op.results]
    if isinstance(op, TapeNewOp):
        return [[v.full(emitter, 0, cast(Any, t)) for t in types_of(op.tape_type)]]
    if isinstance(op, TapeSizeOp):
        return [list(operands[0][-1:])]
    if isinstance(op, TapePushOp):
        return [_pushed(operands[0], [column for [column] in operands[1:]])]
    return _popped(operands[0])


def _row(stack: Hlo, place: Hlo) -> list[Hlo]:
    zero = v.number_of(stack.at, 0, i64)
    return [place, *[zero] * (len(stack.shape) - 1)]


def _pushed(tape: Sequence[Hlo], columns: Sequence[Hlo]) -> list[Hlo]:
    *stacks, count = tape
    written = [
        v.dynamic_update_slice(stack, v.reshape(column, [1, *column.shape]), _row(stack, count))
        for stack, column in zip(stacks, columns, strict=True)
    ]
    return [*written, count + 1]


def _popped(tape: Sequence[Hlo]) -> list[list[Hlo]]:
    *stacks, count = tape
    last = count - 1
    rows = [v.dynamic_slice(s, _row(s, last), [1, *s.shape[1:]]) for s in stacks]
    columns = [v.reshape(row, row.shape[1:]) for row in rows]
    return [[*stacks, last], *([column] for column in columns)]


# Branches.


def _give(converter: BlockConverter, region: Region) -> Callable[[HloEmitter], list[Hlo]]:
    """The yielded values of a region without arguments."""

    def give(inside: HloEmitter) -> list[Hlo]:
        if region.first_block is None:
            return []
        return flatten(converter.convert_block(region.block, [], inside))

    return give


def _if(
    op: scf.IfOp, xs: Sequence[Hlo], converter: BlockConverter, emitter: HloEmitter
) -> list[Hlo]:
    then, other = _give(converter, op.true_region), _give(converter, op.false_region)
    return branch(xs[0], then, other, all_types(op.results))


def _switch(
    op: scf.IndexSwitchOp, xs: Sequence[Hlo], converter: BlockConverter, emitter: HloEmitter
) -> list[Hlo]:
    """The number of the case that the operand names; the default one comes last."""
    index, numbers = xs[0], integers_of(op.cases)
    place = v.number_of(index.at, len(numbers), i32)
    for k, number in enumerate(numbers):
        place = v.select(index.equal(number), v.number_of(index.at, k, i32), place)
    regions = [*op.case_regions, op.default_region]
    gives = [_give(converter, region) for region in regions]
    return choose_case(place, gives, all_types(op.results))


# Loops.


def _for(
    op: scf.ForOp, xs: Sequence[Hlo], converter: BlockConverter, emitter: HloEmitter
) -> list[Hlo]:
    low, high, step, *initial = xs
    element = low.element
    counts = constant_integer(op.lb) == 0 and constant_integer(op.step) == 1

    def body(inside: HloEmitter, values: list[Hlo]) -> list[Hlo]:
        at, *carried = values
        index = v.convert(at, element)
        if not counts:
            index = inside.hlo(low.ssa) + index * inside.hlo(step.ssa)
        parts = split_values(carried, op.iter_args)
        made = converter.convert_block(op.body.block, [[index], *parts], inside)
        return flatten(made)

    return count_loop(emitter, _trips(op, low, high, step), initial, body)


def _trips(op: scf.ForOp, low: Hlo, high: Hlo, step: Hlo) -> Hlo | int:
    """The number of iterations, i64; a number where the bounds are constants."""
    numbers = [constant_integer(x) for x in (op.lb, op.ub, op.step)]
    if None not in numbers and cast(int, numbers[2]) > 0:
        first, end, by = cast("list[int]", numbers)
        return max(-(-(end - first) // by), 0)
    wide = v.unsigned(low.element)
    between, stride = v.bitcast(high - low - 1, wide), v.bitcast(step, wide)
    steps = between.emit("divide", stride) + 1
    count = v.bitcast(steps, low.element)
    count = v.select(low < high, count, count.full(0))
    return v.convert(count, i64)


def _while(
    op: scf.WhileOp, xs: Sequence[Hlo], converter: BlockConverter, emitter: HloEmitter
) -> list[Hlo]:
    """A loop on what the condition hands on, which is made once before it and in each step."""
    before, after = op.before_region.block, op.after_region.block
    last = before.last_op
    assert last is not None
    if tuple(last.operands[1:]) == tuple(before.args):
        return _simple_while(op, xs, converter, emitter)

    def decide(inside: HloEmitter, values: Sequence[Hlo]) -> list[Hlo]:
        parts = split_values(values, before.args)
        return flatten(converter.convert_block(before, parts, inside))

    def body(inside: HloEmitter, values: list[Hlo]) -> list[Hlo]:
        parts = split_values(values[1:], after.args)
        return decide(inside, flatten(converter.convert_block(after, parts, inside)))

    first = decide(emitter, xs)
    return loop(emitter, first, lambda inside, values: values[0], body)[1:]


def _simple_while(
    op: scf.WhileOp, xs: Sequence[Hlo], converter: BlockConverter, emitter: HloEmitter
) -> list[Hlo]:
    """A loop whose condition hands on what it gets."""
    before, after = op.before_region.block, op.after_region.block

    def condition(inside: HloEmitter, values: Sequence[Hlo]) -> Hlo:
        parts = split_values(values, before.args)
        return converter.convert_block(before, parts, inside)[0][0]

    def body(inside: HloEmitter, values: list[Hlo]) -> list[Hlo]:
        parts = split_values(values, after.args)
        return flatten(converter.convert_block(after, parts, inside))

    return loop(emitter, xs, condition, body)


RegionRule = Callable[[Any, Sequence[Hlo], BlockConverter, HloEmitter], list[Hlo]]

REGION_RULES: dict[type[Operation], RegionRule] = {
    scf.IfOp: _if,
    scf.IndexSwitchOp: _switch,
    scf.ForOp: _for,
    scf.WhileOp: _while,
}
