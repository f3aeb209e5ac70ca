"""Differentiation of scf.while: a loop whose number of iterations is known when it has run.

    %y = scf.while (%a = %x) { ...; scf.condition(%c) %a } do { ... }
    becomes a loop that counts its iterations and pushes what is read of them, and

    (backward of the first region, once)
    %x_ct, ... = scf.for %j = 0 to %count { backward of the second, then of the first region }

The first region runs once more than the second, so that its backward code stands twice. A carried
integer to which each iteration adds the same is computed from the iteration's number, not taped;
one that goes up by 1 is the count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import Integers, cast_integer
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.analysis.region_flow import yielded
from gradir.passes.differentiate.block_code import splice
from gradir.passes.differentiate.contributions import zero_of
from gradir.passes.differentiate.derived import DifferentiatedLoop
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import Makers
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.loops.body import (
    Body,
    Step,
    captured_active,
    differentiate_body,
    keep_limit,
    keep_residuals,
)
from gradir.passes.rules.loops.state import LoopState
from gradir.passes.rules.loops.taped_loop import sums_first, take_over
from gradir.passes.rules.loops.while_loop import WhileLoop, analyzed
from gradir.passes.rules.loops.while_replay import (
    ReplayedWhile,
    backward_replayed_while,
    forward_replayed_while,
)


@dataclass(frozen=True)
class Induction:
    """A carried integer that starts at a value and gets the same added in each iteration.

    `place` and `passed` are where it is carried and passed on.
    """

    place: int
    passed: int
    start: SSAValue
    step: SSAValue


@dataclass
class SavedWhile:
    loop: WhileLoop
    before: Body
    after: Body
    active_carried: list[int]
    active_passed: list[int]
    before_threads: list[TapeThread]
    after_threads: list[TapeThread]
    count: SSAValue


class WhileRule:
    """The structural rule of scf.while."""

    def forward(self, outer: Differentiator, op: scf.WhileOp) -> SavedWhile | ReplayedWhile:
        _check_policy(op)
        loop = analyzed(outer, op)
        state = LoopState.of(op, [loop.after.args[q] for q in loop.passed])
        types = state.types if loop.passed else None
        outer.shared.loops[op] = DifferentiatedLoop(op, loop_policy(op), types)
        if loop_policy(op).kind.data != "store_all":
            return forward_replayed_while(outer, loop, state)
        inductions = _inductions(loop)
        counter = next((i for i in inductions if _counts(i)), None)
        before, after = (outer.region(block, op) for block in (loop.before, loop.after))
        for k in loop.carried:
            before.add_argument(loop.before.args[k])
        for k in loop.passed:
            after.add_argument(loop.after.args[k])
        counts = [] if counter else [_add_count(inner) for inner in (before, after)]
        before.copy_forward()
        after.copy_forward()
        carried, passed = _active(outer, loop)
        captured = captured_active(outer, op)
        given = [loop.condition.args[k] for k in passed]
        places: dict[SSAValue, int] = {loop.before.args[k]: k for k in carried}
        before_body = differentiate_body(before, IndexType(), given, places, captured, silent=False)
        # a cotangent that the first region never gives is no contribution to anything
        carried = [places[argument] for argument in before_body.wanted]
        given = [yielded(loop.after)[k] for k in carried]
        wanted = [loop.after.args[k] for k in passed]
        after_body = differentiate_body(after, IndexType(), given, wanted, captured)
        outside = outer.forward_emitter(op)
        for body, arguments, steps in (
            (before_body, {i: loop.before.args[i.place] for i in inductions}, []),
            (after_body, {i: loop.after.args[i.passed] for i in inductions}, _steps(outer, loop)),
        ):
            keep_residuals(body, outside, _makers(outer, body, arguments), op, steps)
        threads = [[outer.open_tape(t.type) for t in b.tapes] for b in (before, after)]
        made = _forward_loop(outer, loop, before, after, counts, [*threads[0], *threads[1]])
        outside.insert(made)
        outer.set_primal([op.results[k] for k in loop.passed], made.results[: len(loop.passed)])
        take_over([*threads[0], *threads[1]], made.results[len(loop.passed) + len(counts[:1]) :])
        if counter is None:
            count = made.results[len(loop.passed)]
            count.name_hint = "count"
        else:
            count = _count_of(outer, op, counter)
        return SavedWhile(
            loop, before_body, after_body, carried, passed, threads[0], threads[1], count
        )

    def backward(
        self,
        outer: Differentiator,
        op: scf.WhileOp,
        saved: SavedWhile | ReplayedWhile,
        cts: Cotangents,
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        if isinstance(saved, ReplayedWhile):
            return backward_replayed_while(outer, saved, cts)
        emitter = outer.emitter
        captured = list(dict.fromkeys([*saved.before.captured, *saved.after.captured]))
        seeds = [(cts[k] or zero_of(op.results[k], emitter)).ssa for k in saved.active_passed]
        state = _last_condition(outer, saved, seeds)
        sums = [(state.sums.get(c) or outer.contributions.sum_so_far(c)).ssa for c in captured]
        before_tapes, after_tapes = (
            [t.in_backward() for t in threads]
            for threads in (saved.before_threads, saved.after_threads)
        )
        followed = [outer.primal(op.results[k]) for k in saved.after.following]
        initial = [*state.cts, *sums, *followed, *before_tapes, *after_tapes]
        body = _backward_body(saved, captured, initial, emitter)
        index = Integers(IndexType(), emitter)
        made = scf.ForOp(index.constant(0), saved.count, index.constant(1), initial, Region(body))
        emitter.insert(made)
        keep_limit(made, op)
        tapes = made.results[len(state.cts) + len(sums) + len(followed) :]
        take_over([*saved.before_threads, *saved.after_threads], tapes, backward=True)
        initial = [op.arguments[k] for k in saved.active_carried]
        flowing = [emitter.value(r) for r in made.results[: len(initial) + len(captured)]]
        return sums_first(initial, captured, flowing)


def _check_policy(op: scf.WhileOp) -> None:
    if loop_policy(op).kind.data == "binomial":
        raise PassError(
            "scf.while: binomial needs the number of iterations before the first, which only "
            "scf.for has; use online",
            op,
        )


# What changes, and how.


def _inductions(loop: WhileLoop) -> list[Induction]:
    condition, last = yielded(loop.before), yielded(loop.after)
    found: list[Induction] = []
    for k in loop.carried:
        argument, following = loop.before.args[k], last[k].owner
        places = [q for q in loop.passed if condition[q] is argument]
        if not places or not isinstance(following, arith.AddiOp):
            continue
        for one, other in (following.operands, reversed(following.operands)):
            if one is loop.after.args[places[0]] and constant_integer(other) is not None:
                found.append(Induction(k, places[0], loop.op.arguments[k], other))
                break
    return found


def _steps(outer: Differentiator, loop: WhileLoop) -> list[Step]:
    """What the second region starts from and makes, where the first hands on what it gets."""
    condition, last = yielded(loop.before), yielded(loop.after)
    return [
        Step(q, outer.primal(loop.after.args[q]), outer.primal(last[k]))
        for k in loop.carried
        for q in loop.passed
        if condition[q] is loop.before.args[k]
    ]


def _counts(induction: Induction) -> bool:
    """It goes up by 1, in a type that no number of iterations overflows."""
    is_wide = isinstance(induction.start.type, IndexType) or induction.start.type == i64
    return is_wide and constant_integer(induction.step) == 1


def _count_of(outer: Differentiator, op: scf.WhileOp, counter: Induction) -> SSAValue:
    """How often the loop has run: by how much the counter has gone up."""
    emitter = outer.forward_emitter(op)
    start = constant_integer(counter.start)
    whole = Integers(counter.start.type, emitter)
    end = outer.primal(op.results[counter.passed])
    gone = whole.subtract(end, outer.primal(counter.start) if start is None else start)
    return cast_integer(whole.value(gone), IndexType(), emitter)


def _makers(outer: Differentiator, body: Body, arguments: Mapping[Induction, SSAValue]) -> Makers:
    """How to make the inductions of an iteration from its number."""

    def maker(induction: Induction):
        def make(emitter: Emitter) -> SSAValue:
            type_ = induction.start.type
            whole = Integers(type_, emitter)
            start, step = (constant_integer(v) for v in (induction.start, induction.step))
            assert step is not None
            number = cast_integer(body.number, type_, emitter)
            begin = outer.primal(induction.start) if start is None else start
            return whole.value(whole.add(begin, whole.multiply(number, step)))

        return make

    return {outer.primal(argument): maker(i) for i, argument in arguments.items()}


def _active(outer: Differentiator, loop: WhileLoop) -> tuple[list[int], list[int]]:
    """The carried and the passed values to which cotangents flow."""
    activity, op = outer.activity, loop.op
    carried = [k for k in loop.carried if activity.is_active(loop.before.args[k])]
    passed = [
        k
        for k in loop.passed
        if activity.is_active(loop.after.args[k]) or activity.is_active(op.results[k])
    ]
    return carried, passed


# Forward.


def _add_count(inner: Differentiator) -> SSAValue:
    argument = inner.forward.insert_arg(IndexType(), len(inner.forward.args))
    argument.name_hint = "count"
    return argument


def _forward_loop(
    outer: Differentiator,
    loop: WhileLoop,
    before: Differentiator,
    after: Differentiator,
    counts: Sequence[SSAValue],
    threads: Sequence[TapeThread],
) -> scf.WhileOp:
    op, condition = loop.op, loop.condition
    through = [_add_tape(before.forward, len(before.forward.args), t) for t in after.tapes]
    first = len(loop.passed) + len(counts[:1])
    back = [_add_tape(after.forward, first + k, t) for k, t in enumerate(before.tapes)]
    passing = [outer.primal(yielded(loop.before)[k]) for k in loop.passed]
    passing += [*counts[:1], *(t.forward for t in before.tapes), *through]
    end = Emitter(before.forward, condition.location)
    end.insert(scf.ConditionOp(outer.primal(condition.condition), *passing))
    handed_on = [outer.primal(yielded(loop.after)[k]) for k in loop.carried]
    end = Emitter(after.forward, op.location)
    if counts:
        index = Integers(IndexType(), end)
        handed_on.append(index.value(index.add(counts[1], 1)))
    end.insert(scf.YieldOp(*handed_on, *back, *(t.forward for t in after.tapes)))
    initial = [outer.primal(op.arguments[k]) for k in loop.carried]
    if counts:
        initial.append(Integers(IndexType(), outer.forward_emitter(op)).constant(0))
    initial += [t.forward for t in threads]
    made = scf.WhileOp(
        initial, [v.type for v in passing], Region(before.forward), Region(after.forward)
    )
    made.attributes.update(op.attributes)
    return made


def _add_tape(block: Block, place: int, tape: TapeThread) -> SSAValue:
    """An argument for a tape of the other region."""
    argument = block.insert_arg(tape.type, place)
    argument.name_hint = "tape"
    return argument


# Backward.


@dataclass
class AfterCondition:
    """The cotangents of what is carried into the last test, and what flows from it to captured
    values."""

    cts: list[SSAValue]
    sums: dict[SSAValue, Value]


def _last_condition(
    outer: Differentiator, saved: SavedWhile, seeds: Sequence[SSAValue]
) -> AfterCondition:
    """The backward code of the first region for the last test, a copy of that in the loop."""
    body, emitter = saved.before, outer.emitter
    block = body.inner.backward
    before = [outer.contributions.sum_so_far(c).ssa for c in body.captured]
    tapes = [t.in_backward() for t in saved.before_threads]
    given = [saved.count, *seeds, *before, *tapes]
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, given, strict=True))
    for op in block.ops:
        if op is not block.last_op:
            copy = emitter.insert(op.clone(values))
            copy.location = op.location
    returned = [values.get(v, v) for v in yielded(block)]
    first, second = len(saved.active_carried), len(saved.active_carried) + len(before)
    take_over(saved.before_threads, returned[second:], backward=True)
    sums = [emitter.value(s) for s in returned[first:second]]
    return AfterCondition(returned[:first], dict(zip(body.captured, sums, strict=True)))


def _backward_body(
    saved: SavedWhile,
    captured: Sequence[SSAValue],
    initial: Sequence[SSAValue],
    outside: Emitter,
) -> Block:
    """The body of the backward loop: that of the second region, then that of the first."""
    block = Block(arg_types=[IndexType(), *(v.type for v in initial)])
    for argument, value in zip(block.args[1:], initial, strict=True):
        argument.name_hint = value.name_hint
    emitter = Emitter(block, outside.location)
    number = _number(saved, block.args[0], outside, emitter)
    given = iter(block.args[1:])
    cts: list[SSAValue] = [next(given) for _ in saved.active_carried]
    sums: dict[SSAValue, SSAValue] = {c: next(given) for c in captured}
    followed: list[SSAValue] = [next(given) for _ in saved.after.following]
    before_tapes: list[SSAValue] = [next(given) for _ in saved.before_threads]
    cts, after = _run(saved.after, number, cts, sums, [*followed, *given], emitter)
    cts, before_tapes = _run(saved.before, number, cts, sums, before_tapes, emitter)
    followed, after_tapes = after[: len(followed)], after[len(followed) :]
    emitter.insert(scf.YieldOp(*cts, *sums.values(), *followed, *before_tapes, *after_tapes))
    return block


def _run(
    body: Body,
    number: SSAValue,
    cts: Sequence[SSAValue],
    sums: dict[SSAValue, SSAValue],
    others: Sequence[SSAValue],
    emitter: Emitter,
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Append the backward code of a region; updates the sums, and returns the cotangents and what
    becomes of the other values, tapes among them."""
    given = [number, *cts, *(sums[c] for c in body.captured), *others]
    returned = splice(body.inner.backward, given, emitter)
    first = len(returned) - len(body.captured) - len(others)
    second = first + len(body.captured)
    sums.update(zip(body.captured, returned[first:second], strict=True))
    return returned[:first], returned[second:]


def _number(saved: SavedWhile, index: SSAValue, outside: Emitter, emitter: Emitter) -> SSAValue:
    """Which iteration it is: count - 1 - index, where that is asked for."""
    if all(body.number.first_use is None for body in (saved.before, saved.after)):
        return index
    last = Integers(IndexType(), outside).subtract(saved.count, 1)
    here = Integers(IndexType(), emitter)
    return here.value(here.subtract(last, index))
