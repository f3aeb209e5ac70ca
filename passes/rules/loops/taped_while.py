"""Differentiation of scf.while with tapes: its number of iterations is known at its end.

    %y = scf.while (%a = %x) { ...; scf.condition(%c) %a } do { ... }
    becomes a loop that counts its iterations and pushes their residuals, and

    (backward of the first region, once)
    %x_ct, ... = scf.for %j = 0 to %count { backward of the second, then of the first region }

The first region runs once more than the second, so that its backward code occurs twice. An
induction variable, a carried integer to which each iteration adds a constant, is computed from the
iteration's number, not taped; one that goes up by 1 is the count.

while_replay.py, in contrast, reverses the loop as a scf.for behind a copy of the first region. A
scf.for needs the number of iterations at its start, so a forward loop that pushes must be a
scf.while, whose two regions push separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import Integers, make_while, named
from gradir.passes.differentiate.crossing import crossed
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import Makers
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.loops.body import (
    Body,
    CarriedValue,
    differentiate_body,
    keep_limit,
    keep_residuals,
    seeds,
)
from gradir.passes.rules.loops.carried import Carried, Running, divided, take_over
from gradir.passes.rules.loops.state import Slots
from gradir.passes.rules.loops.sums import sums_of
from gradir.passes.rules.loops.while_loop import Induction, WhileLoop, inductions

INDEX = IndexType()


@dataclass
class Half:
    """One of the regions: its code, its argument for the count if it has one, and the tapes on
    which it pushes."""

    body: Body
    count: SSAValue | None
    threads: list[TapeThread]

    @property
    def forward(self) -> Block:
        return self.body.inner.forward

    @property
    def tapes(self) -> list[TapeThread]:
        """The region's current values of the tapes."""
        return self.body.inner.tapes

    def in_backward(self) -> list[SSAValue]:
        return [t.in_backward() for t in self.threads]


@dataclass
class SavedWhile:
    """The active carried values of a loop, its regions, and its number of iterations."""

    active: WhileLoop
    before: Half
    after: Half
    count: SSAValue

    @property
    def threads(self) -> list[TapeThread]:
        return [*self.before.threads, *self.after.threads]


# Forward.


def forward_taped_while(outer: Differentiator, loop: WhileLoop) -> SavedWhile:
    """Append the loop with a count and tapes."""
    found = inductions(loop)
    counter = next((i for i in found if i.counts()), None)
    active, before, after = _differentiated(outer, loop, is_counted=counter is None)
    _keep(outer, loop, before.body, {i.before: i for i in found}, [])
    _keep(outer, loop, after.body, {i.after: i for i in found}, _steps(outer, loop))
    for half in (before, after):
        half.threads = [outer.open_tape(t.type) for t in half.tapes]
    results = _forward_loop(outer, loop, before, after)
    outer.set_primal(loop.passed.results, results.values)
    threads = [*before.threads, *after.threads]
    counts, tapes = divided(results.kept, len(_counts(before)), len(threads))
    take_over(threads, tapes)
    outside = outer.forward_emitter(loop.op)
    count = counter.count(outer, outside) if counter else named(counts[0], "count")
    return SavedWhile(active, before, after, count)


def _differentiated(
    outer: Differentiator, loop: WhileLoop, is_counted: bool
) -> tuple[WhileLoop, Half, Half]:
    """The forward and the backward code of both regions, and the active part of the loop."""
    op, active = loop.op, loop.active(outer)
    before, after = (outer.region(block, op) for block in (loop.before, loop.after))
    counts = [
        _copied_with(inner, arguments, is_counted)
        for inner, arguments in ((before, loop.carried.arguments), (after, loop.passed.arguments))
    ]
    sums = sums_of(outer, op)
    carried, passed = active.carried, active.passed
    given, wanted = passed.handed_on, carried.arguments
    into, out = (partial(crossed, outer, op, group) for group in ("passed", "carried"))
    first = differentiate_body(before, INDEX, given, wanted, sums, (into, out), silent=False)
    # a cotangent without contributions in the first region contributes to nothing
    reached = set(first.wanted)
    carried = Slots(slot for slot in carried if slot.argument in reached)
    second = differentiate_body(
        after, INDEX, carried.handed_on, passed.arguments, sums, (out, into)
    )
    active = WhileLoop(op, carried, passed)
    return active, Half(first, counts[0], []), Half(second, counts[1], [])


def _copied_with(
    inner: Differentiator, arguments: Sequence[SSAValue], is_counted: bool
) -> SSAValue | None:
    """Make the forward code of a region; returns its argument for the count, if there is one."""
    for argument in arguments:
        inner.add_argument(argument)
    place = len(inner.forward.args)
    count = named(inner.forward.insert_arg(INDEX, place), "count") if is_counted else None
    inner.walk_forward()
    return count


def _keep(
    outer: Differentiator,
    loop: WhileLoop,
    body: Body,
    known: dict[SSAValue, Induction],
    steps: Sequence[CarriedValue],
) -> None:
    """Let a region keep its residuals; `known` arguments are recomputed."""
    makers: Makers = {
        outer.primal(argument): partial(induction.value, outer, body.number)
        for argument, induction in known.items()
    }
    keep_residuals(body, outer.forward_emitter(loop.op), makers, loop.op, steps)


def _steps(outer: Differentiator, loop: WhileLoop) -> list[CarriedValue]:
    """The initial and yielded values of the second region, where the first one forwards them."""
    return [
        CarriedValue(p.result, outer.primal(p.argument), outer.primal(c.handed_on))
        for c, p in loop.handed_through()
    ]


def _forward_loop(outer: Differentiator, loop: WhileLoop, before: Half, after: Half) -> Running:
    """Append the loop with its count and tapes, in this order; each region forwards the tapes of
    the other."""
    is_counted = before.count is not None
    through = [_add_tape(before.forward, len(before.forward.args), t) for t in after.tapes]
    first = len(loop.passed) + is_counted
    back = [_add_tape(after.forward, first + k, t) for k, t in enumerate(before.tapes)]
    passed = Running(
        [outer.primal(v) for v in loop.passed.handed_on],
        [*_counts(before), *(t.forward for t in before.tapes), *through],
    )
    end = Emitter(before.forward, loop.condition.location)
    end.insert(scf.ConditionOp(outer.primal(loop.condition.condition), *passed.flat()))
    handed_on = [outer.primal(v) for v in loop.carried.handed_on]
    end = Emitter(after.forward, loop.op.location)
    index = Integers(INDEX, end)
    handed_on += [index.value(index.add(count, 1)) for count in _counts(after)]
    end.insert(scf.YieldOp(*handed_on, *back, *(t.forward for t in after.tapes)))
    outside = outer.forward_emitter(loop.op)
    zeros = [Integers(INDEX, outside).constant(0)] if is_counted else []
    threads = [t.forward for t in (*before.threads, *after.threads)]
    initial = [*(outer.primal(v) for v in loop.carried.starts), *zeros, *threads]
    made = outside.insert(make_while(initial, before.forward, after.forward))
    made.attributes.update(loop.op.attributes)
    return passed.like(made.results)


def _counts(half: Half) -> list[SSAValue]:
    return [] if half.count is None else [half.count]


def _add_tape(block: Block, place: int, tape: TapeThread) -> SSAValue:
    """Add an argument for a tape of the other region."""
    argument = block.insert_arg(tape.type, place)
    argument.name_hint = "tape"
    return argument


# Backward.


def backward_taped_while(outer: Differentiator, saved: SavedWhile, cts: Cotangents) -> Flowing:
    """Append the backward code of the last test, and the loop that reverses the iterations."""
    emitter, op = outer.emitter, saved.active.op
    crossing = saved.after.body.crossing
    given = seeds(saved.active.passed.results, op, cts, crossing, emitter)
    end = _last_condition(outer, saved, given)
    others = [each for each in saved.after.body.sums if each not in end.sums]
    start = Carried(
        end.cts,
        end.sums | {each: each.start(outer) for each in others},
        [outer.primal(result) for result in saved.after.body.following],
        [t.in_backward() for t in saved.threads],
    )
    body = _backward_body(saved, start, emitter)
    index = Integers(INDEX, emitter)
    low, step = index.constant(0), index.constant(1)
    made = emitter.insert(scf.ForOp(low, saved.count, step, start.flat(), Region(body)))
    keep_limit(made, op)
    end = start.like(made.results)
    take_over(saved.threads, end.tapes, backward=True)
    return end.contributions(saved.active.carried.starts, saved.before.body.crossing, emitter)


def _last_condition(outer: Differentiator, saved: SavedWhile, given: list[SSAValue]) -> Carried:
    """The backward code of the first region for the last test, a copy of that in the loop."""
    before = saved.before
    sums = {each: each.start(outer) for each in before.body.sums}
    start = Carried(given, sums, tapes=before.in_backward())
    end = before.body.copied(saved.count, start, outer.emitter)
    take_over(before.threads, end.tapes, backward=True)
    return end


def _backward_body(saved: SavedWhile, start: Carried, outside: Emitter) -> Block:
    """The body of the backward loop: the second region's backward code, then the first's."""
    block = Block(arg_types=[INDEX, *(v.type for v in start.flat())])
    for argument, value in zip(block.args[1:], start.flat(), strict=True):
        argument.name_hint = value.name_hint
    emitter = Emitter(block, outside.location)
    number = _number(saved, block.args[0], outside, emitter)
    given = start.like(block.args[1:])
    lengths = len(saved.before.threads), len(saved.after.threads)
    before_tapes, after_tapes = divided(given.tapes, *lengths)
    after = saved.after.body.spliced(number, replace(given, tapes=after_tapes), emitter)
    given = Carried(after.cts, after.sums, tapes=before_tapes)
    end = saved.before.body.spliced(number, given, emitter)
    end = replace(end, followed=after.followed, tapes=[*end.tapes, *after.tapes])
    emitter.insert(scf.YieldOp(*end.flat()))
    return block


def _number(saved: SavedWhile, index: SSAValue, outside: Emitter, emitter: Emitter) -> SSAValue:
    """The iteration's number: count - 1 - index, where it is read."""
    if all(half.body.number.first_use is None for half in (saved.before, saved.after)):
        return index
    last = Integers(INDEX, outside).subtract(saved.count, 1)
    here = Integers(INDEX, emitter)
    return here.value(here.subtract(last, index))
