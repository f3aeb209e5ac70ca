"""The forward and the backward code of a loop's body, before it is put into loops.

The backward code is a block whose arguments are the iteration's number and the groups of `Carried`:
the cotangents of the yielded values, the sums of the captured active values, initial values of the
next iteration, and tapes. It yields the same groups, with the cotangents of the body's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from gradir.dialects.base.attribute_names import LIMIT_ATTRIBUTE, POLICY_ATTRIBUTE
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import name_all
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import TapeType, pop, push, record_bytes
from gradir.passes.analysis.region_flow import trips, yielded
from gradir.passes.analysis.region_ops import terminator
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.block_code import copied, splice
from gradir.passes.differentiate.contributions import lost, zero_of
from gradir.passes.differentiate.crossing import Crossing, add_seeds
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import Makers, Residuals
from gradir.passes.rules.loops.carried import Carried, in_groups
from gradir.passes.rules.loops.sums import Sum

MOST_BYTES = 1 << 47
"""More bytes than a process can have: it gets 47 of the 48 bits of addresses."""

Border = Callable[[Sequence[SSAValue]], Crossing]
"""The crossing of the cotangents of some values of a loop."""


@dataclass
class Body:
    """The differentiated body of a loop: it yields the cotangents of `wanted`, with the masks of
    `crossing`, then `sums`.

    `following` are results of the source loop: the backward loop hands each iteration the next
    one's initial values of these, which are this one's yielded values. So a tape holds one of both.
    """

    inner: Differentiator
    wanted: list[SSAValue]
    crossing: Crossing
    sums: list[Sum]
    following: list[SSAValue] = field(default_factory=list[SSAValue])

    @property
    def number(self) -> BlockArgument:
        """The argument for the iteration's number."""
        return self.inner.backward.args[0]

    def grouped(self, handed_back: Sequence[SSAValue]) -> Carried:
        """The yielded values of the backward code, in groups."""
        wanted, followed, tapes = map(len, (self.wanted, self.following, self.inner.tapes))
        masks = len(self.crossing.places)
        return in_groups(handed_back, wanted + masks, self.sums, followed, tapes)

    def spliced(self, number: SSAValue, given: Carried, emitter: Emitter) -> Carried:
        """Move the backward code to an emitter's place; returns the carried values after it."""
        values = [number, *given.summing(self.sums).flat()]
        return given.then(self.grouped(splice(self.inner.backward, values, emitter)))

    def copied(self, number: SSAValue, given: Carried, emitter: Emitter) -> Carried:
        """Append a copy of the backward code; returns the carried values after it."""
        block = self.inner.backward
        start = [number, *given.summing(self.sums).flat()]
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, start, strict=True))
        for op in block.ops:
            if op is not block.last_op:
                copy = emitter.insert(op.clone(values))
                copy.location = op.location
        return given.then(self.grouped([values.get(v, v) for v in yielded(block)]))


def differentiate_body(
    inner: Differentiator,
    number_type: Attribute,
    given: Sequence[SSAValue],
    wanted: Iterable[SSAValue],
    sums: Sequence[Sum],
    borders: tuple[Border, Border],
    silent: bool = True,
) -> Body:
    """Make the backward code, after the forward code: from cotangents of `given` to cotangents of
    `wanted`, if `silent` also where nothing contributes. `borders` make both ends' crossings."""
    block = inner.backward
    block.insert_arg(number_type, 0).name_hint = "back"
    entry, end = borders
    count = len(add_seeds(block, 1, given, entry(given)))
    used = _sum_arguments(inner, sums, 1 + count)
    for seed, value in zip(block.args[1:], given, strict=False):
        inner.contributions.add(value, inner.emitter.value(seed))
    inner.walk_back()
    reached = [value for value in wanted if silent or value in inner.contributions]
    cts = [inner.contributions.cotangent_or_zero(value).ssa for value in reached]
    crossing = end(reached)
    cts += crossing.hand_back(cts, inner.emitter)
    for each, arguments in list(used.items()):
        parts = inner.contributions.get(each.value, [])
        if [part.ssa for part in parts] == (arguments[:1] if each.room is None else []):
            inner.contributions.pop(each.value, None)
            for argument in used.pop(each):
                block.erase_arg(argument)
    added = {each: inner.contributions.get(each.value, []) for each in used}
    flowing = inner.contributions.flowing_out()
    for value in flowing.keys() - {each.value for each in used}:
        raise lost(value, "has no sum in the loop")
    ends = (
        each.after([*before], flowing[each.value], added[each]) for each, before in used.items()
    )
    inner.emitter.insert(scf.YieldOp(*cts, *chain(*ends), *(t.in_backward() for t in inner.tapes)))
    simplify_block(block)
    return Body(inner, reached, crossing, list(used))


def _sum_arguments(
    inner: Differentiator, sums: Sequence[Sum], first: int
) -> dict[Sum, list[BlockArgument]]:
    """Arguments for the sums so far; the contributions to a tensor's start from it."""
    made: dict[Sum, list[BlockArgument]] = {}
    for each in sums:
        made[each] = []
        for type_, name in zip(each.types, each.names, strict=True):
            made[each].append(argument := inner.backward.insert_arg(type_, first))
            argument.name_hint = name
            first += 1
        if each.room is None:
            inner.contributions.add(each.value, each.begin([*made[each]], inner.emitter))
    return made


@dataclass(frozen=True)
class CarriedValue:
    """A carried value in the forward code: an iteration's initial and yielded value, and the
    source loop's result."""

    result: SSAValue
    before: SSAValue
    after: SSAValue


def keep_residuals(
    body: Body, outside: Emitter, makers: Makers, op: Operation, steps: Sequence[CarriedValue]
) -> None:
    """Push the residuals at the end of the forward code, and pop them at the start of the backward
    code."""
    inner = body.inner
    residuals = Residuals(inner.forward, inner.backward, makers, outside, trips(op))
    last = terminator(inner.backward)
    ends = body.grouped(last.operands)
    stored = _take_following(body, residuals.kept, steps)
    followed = [step.before for step in steps if step.result in body.following]
    prologue = Emitter(inner.backward, inner.location, before=inner.backward.first_op)
    pushed = [value for value in residuals.kept if value not in stored]
    if pushed:
        tape, popped = _keep_on_tape(inner, op, pushed, prologue)
        stored.update(zip(pushed, popped, strict=True))
        ends.tapes.append(tape)
    ends.followed.extend(stored[value] for value in followed)
    last.operands = ends.flat()
    residuals.restore([stored[value] for value in residuals.kept], prologue)


def _keep_on_tape(
    inner: Differentiator, op: Operation, values: Sequence[SSAValue], prologue: Emitter
) -> tuple[SSAValue, Sequence[SSAValue]]:
    """Push values in each iteration; returns the tape after the pop in the backward code, and the
    popped values."""
    columns = [v.type for v in values]
    check_room(op, inner.executions, columns)
    tape = inner.open_tape(TapeType.of(columns, inner.executions, tape_limit(op)))
    if (loop := inner.shared.loops.get(op)) is not None:
        loop.record_bytes += record_bytes(tape.type)
    tape.forward = push(tape.forward, values, Emitter(inner.forward, inner.location))
    tape.backward, popped = pop(tape.in_backward(), prologue)
    name_all([tape.forward, tape.backward], ["tape", "tape"])
    name_all(popped, [v.name_hint for v in values])
    return tape.backward, popped


def _take_following(
    body: Body, kept: Sequence[SSAValue], steps: Sequence[CarriedValue]
) -> dict[SSAValue, SSAValue]:
    """Arguments of the backward code for kept values that the next iteration starts from."""
    block, tapes = body.inner.backward, len(body.inner.tapes)
    taken: dict[SSAValue, SSAValue] = {}
    for step in steps:
        both = step.after in kept and step.before in kept and step.after is not step.before
        if both and step.after not in taken:
            argument = block.insert_arg(step.after.type, len(block.args) - tapes)
            argument.name_hint = step.after.name_hint
            taken[step.after] = argument
            body.following.append(step.result)
    return taken


def seeds(
    results: Sequence[SSAValue],
    op: Operation,
    cts: Cotangents,
    crossing: Crossing,
    emitter: Emitter,
) -> list[SSAValue]:
    """The cotangents of some results of a loop, or zeros; behind them their masks."""
    given: dict[SSAValue, Value | None] = dict(zip(op.results, cts, strict=True))
    seeds = [(given[r] or zero_of(r, crossing.gates.borders, emitter)).ssa for r in results]
    return [*seeds, *crossing.hand_over(seeds, emitter)]


def copy_ops(
    block: Block, source: Block, values: dict[SSAValue, SSAValue]
) -> list[tuple[Operation, Operation]]:
    """Append copies of a block's ops without the terminator; returns pairs of op and copy."""
    pairs = [(op, copied(op, values)) for op in source.ops if op is not source.last_op]
    block.add_ops(copy for _, copy in pairs)
    return pairs


def tape_limit(op: Operation) -> int | None:
    """The tape limit of a loop, in bytes."""
    match op.attributes.get(LIMIT_ATTRIBUTE):
        case None:
            return None
        case IntegerAttr() as limit if limit.value.data >= 0:
            return limit.value.data
        case other:
            raise PassError(
                f"{op.name}: {LIMIT_ATTRIBUTE} must be a number of bytes, got {other}", op
            )


def check_room(op: Operation, records: int | None, columns: Sequence[Attribute]) -> None:
    """PassError where the records of a loop's policy exceed any memory: they are planned for the
    most iterations."""
    policy = loop_policy(op)
    size = record_bytes(TapeType.of(columns)) if columns else 0
    if policy.kind.data != "store_all" and records is not None and records * size > MOST_BYTES:
        raise PassError(
            f"{POLICY_ATTRIBUTE}: {policy.kind.data} = {policy.count} keeps up to "
            f"{records} records of {size} bytes, more than any memory holds; use a smaller number",
            op,
        )


def keep_limit(made: Operation, op: Operation) -> None:
    """Give a backward loop the limit of its source, for tapes of its own derivative."""
    if LIMIT_ATTRIBUTE in op.attributes:
        made.attributes[LIMIT_ATTRIBUTE] = op.attributes[LIMIT_ATTRIBUTE]
