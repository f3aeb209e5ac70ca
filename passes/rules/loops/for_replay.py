"""Differentiation of scf.for under `#grad.loop<every = k>` and `#grad.loop<binomial = slots>`.

Both keep carried values of some iterations, as snapshots, and run iterations again from there.

every = k: the forward loop becomes a loop over segments of k iterations, which keeps the carried
values in front of each (segments.py). The backward loop over segments reads them, runs the segment
with a tape, and takes it back.

binomial = s: the backward loop looks at the last snapshot, of iteration `at`. If it is of the last
iteration that is left, or no slot is free, it runs up to that iteration and takes it back; else it
runs as many iterations as the binomial schedule says (snapshot_schedules.py) and keeps a snapshot
there. The forward loop keeps the first snapshots in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import (
    Integers,
    WhileBuilder,
    cast_integer,
    compare,
    either,
    name_all,
    named,
)
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import cotangent_type
from gradir.passes.analysis.region_flow import slot_count, yielded
from gradir.passes.analysis.regions import captured_inside
from gradir.passes.differentiate.block_code import copied, splice
from gradir.passes.differentiate.contributions import cotangent_hint, zero_of
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.recompute.replayable import check_can_be_kept, check_replayable
from gradir.passes.rules.loops.body import captured_active, check_room, keep_limit
from gradir.passes.rules.loops.schedules import choose_steps
from gradir.passes.rules.loops.segments import Segments, SegmentStates, open_segments
from gradir.passes.rules.loops.snapshots import SnapshotStack
from gradir.passes.rules.loops.state import LoopState
from gradir.passes.rules.loops.taped_loop import (
    Bounds,
    active_values,
    reversed_index,
    reversed_loop,
    reversible_body,
    sums_first,
    taped_loop,
)

INDEX = IndexType()


@dataclass
class Segmented:
    """A loop of which segments run again: the carried values that change, what is needed of them,
    and what the segments start from."""

    changing: list[int]
    state: LoopState
    snapshots: SegmentStates


@dataclass
class Scheduled:
    """A loop that is taken back by the binomial schedule: the carried values that change, what is
    needed of them, the snapshots, how many iterations there are and how many slots are free."""

    changing: list[int]
    state: LoopState
    snapshots: SnapshotStack
    count: SSAValue
    free: SSAValue


Replayed = Segmented | Scheduled


def forward_replayed(
    outer: Differentiator, op: scf.ForOp, changing: list[int], state: LoopState
) -> Replayed | None:
    """Append the loop, and the keeping of snapshots."""
    check_replayable(outer.program, op)
    for argument in state.kept(state.arguments):
        check_can_be_kept(op, argument)
    if not changing:
        return None
    forward = _forward_segments if loop_policy(op).kind.data == "every" else _forward_binomial
    return forward(outer, op, changing, state)


def backward_replayed(
    outer: Differentiator, op: scf.ForOp, saved: object, cts: Cotangents
) -> Iterable[tuple[SSAValue, Value | None]]:
    """Append the loop that takes the iterations back."""
    assert isinstance(saved, Segmented | Scheduled)
    emitter = outer.emitter
    active = active_values(outer, op, saved.changing)
    captured = captured_active(outer, op)
    given = [(cts[k] or zero_of(op.results[k], emitter)).ssa for k in active]
    # stand for the sums so far until it is known which of them the body adds to
    sums = Block(arg_types=[cotangent_type(c.type) for c in captured]).args
    place = outer.backward.last_op
    work = _Backward(outer, op, saved.changing, saved.state, active, captured, [*given, *sums])
    results = work.segments(saved) if isinstance(saved, Segmented) else work.scheduled(saved)
    emitter.before = outer.backward.first_op if place is None else place.next_op
    for value, total in zip(captured, sums, strict=True):
        start = (
            outer.contributions.sum_so_far(value) if value in work.used else zero_of(value, emitter)
        )
        total.replace_all_uses_with(start.ssa)
    emitter.before = None
    is_added_to = [True] * len(active) + [c in work.used for c in captured]
    flowing = [emitter.value(r) for r in compress(results, is_added_to)]
    used = [c for c in captured if c in work.used]
    return sums_first([op.iter_args[k] for k in active], used, flowing)


def _plain_body(outer: Differentiator, op: scf.ForOp, changing: Sequence[int]) -> Block:
    """A copy of the body that only computes: arguments are the index and what changes."""
    source = op.body.block
    kept = [source.args[0], *(source.args[1 + k] for k in changing)]
    block = Block(arg_types=[a.type for a in kept])
    values = {value: outer.primal(value) for value in captured_inside(op)}
    for k, argument in enumerate(source.args[1:]):
        if k not in changing:
            values[argument] = outer.primal(op.iter_args[k])
    for ours, argument in zip(block.args, kept, strict=True):
        ours.name_hint = argument.name_hint
        values[argument] = ours
    for inner in source.ops:
        if inner is not source.last_op:
            block.add_op(copied(inner, values))
    last = yielded(source)
    handed_on = (values.get(last[k]) or outer.primal(last[k]) for k in changing)
    Emitter(block, op.location).insert(scf.YieldOp(*handed_on))
    return block


# Segments.


def _forward_segments(
    outer: Differentiator, op: scf.ForOp, changing: list[int], state: LoopState
) -> Segmented:
    outside = outer.forward_emitter(op)
    segments = Segments.of(op, _checked(outer, op, outside), outside)
    initial = [outer.primal(op.iter_args[k]) for k in changing]
    kept = open_segments(outer, op, state)
    own, own_names = kept.forward()
    block = Block(arg_types=[op.lb.type, *(v.type for v in (*initial, *own))])
    start, *carried = block.args
    name_all(block.args, ["start", *(a.name_hint for a in state.arguments), *own_names])
    values, own = carried[: len(initial)], carried[len(initial) :]
    emitter = Emitter(block, op.location)
    own = kept.keep(segments, start, state.kept(values), own, emitter)
    bounds = segments.one(start, emitter)
    body = Region(_plain_body(outer, op, changing))
    inner = emitter.insert(scf.ForOp(bounds.low, bounds.high, bounds.step, values, body))
    emitter.insert(scf.YieldOp(*inner.results, *own))
    over = segments.bounds
    before = [*initial, *kept.forward()[0]]
    made = outside.insert(scf.ForOp(over.low, over.high, over.step, before, Region(block)))
    results, own = made.results[: len(initial)], made.results[len(initial) :]
    outer.set_primal([op.results[k] for k in changing], results)
    name_all(own, own_names)
    return Segmented(changing, state, kept.after(own))


# The binomial schedule.


def _forward_binomial(
    outer: Differentiator, op: scf.ForOp, changing: list[int], state: LoopState
) -> Scheduled:
    outside = outer.forward_emitter(op)
    count = named(_checked(outer, op, outside).trip_count(outside), "count")
    initial = [outer.primal(op.iter_args[k]) for k in changing]
    slots = slot_count(op)
    check_room(op, slots, [INDEX, *state.types])
    snapshots = SnapshotStack.stack(state.types, state.names, slots, outside)
    index = Integers(INDEX, outside)
    carried = [index.constant(0), index.constant(slots), *initial, *snapshots.values()]
    names = [*(a.name_hint for a in state.arguments), *snapshots.names()]
    loop = WhileBuilder(carried, ["at", "free", *names], op.location)
    loop.run_while(lambda carried, there: compare(carried[0], "slt", count, there))
    at, free, *others = loop.arguments
    values, here = others[: len(initial)], snapshots.with_values(others[len(initial) :])
    emitter = loop.emitter
    kept = here.pushed(free, at, state.kept(values), emitter).values()
    index = Integers(INDEX, emitter)
    left = named(index.value(index.subtract(free, 1)), "free")
    length = named(index.value(index.subtract(count, at)), "length")
    is_full, is_single = (compare(v, "eq", k, emitter) for v, k in ((left, 0), (length, 1)))
    to_the_end = either(is_full, is_single, emitter)
    steps = choose_steps(to_the_end, length, length, free, emitter)
    after, following = _advance(outer, op, changing, at, steps, values, emitter)
    results = loop.finish([following, left, *after, *kept], outside)
    end = 2 + len(initial)
    outer.set_primal([op.results[k] for k in changing], results[2:end])
    return Scheduled(changing, state, snapshots.with_values(results[end:]), count, results[1])


def _checked(outer: Differentiator, op: scf.ForOp, emitter: Emitter) -> Bounds:
    """The bounds of a loop, with a step that is refused where the loop would refuse it."""
    bounds = Bounds.of(outer, op)
    if constant_integer(bounds.step) is not None:
        return bounds
    # as a loop does: one that runs once with any step above 0
    whole = Integers(bounds.step.type, emitter)
    body = Block(arg_types=[bounds.step.type] * 2)
    body.add_op(scf.YieldOp(bounds.step))
    zero, one = whole.constant(0), whole.constant(1)
    made = emitter.insert(scf.ForOp(zero, one, bounds.step, [one], Region(body)))
    return Bounds(bounds.low, bounds.high, named(made.results[0], "step"))


def _advance(
    outer: Differentiator,
    op: scf.ForOp,
    changing: Sequence[int],
    at: SSAValue,
    steps: SSAValue,
    state: Sequence[SSAValue],
    emitter: Emitter,
) -> tuple[list[SSAValue], SSAValue]:
    """Run iterations from number `at`; returns the carried values and the number behind them."""
    here = named(emitter.insert(arith.AddiOp(at, steps)).result, "here")
    body = _plain_body(outer, op, changing)
    index = body.args[0]
    number = body.insert_arg(INDEX, 0)
    prologue = Emitter(body, op.location, before=body.first_op)
    index.replace_all_uses_with(_induction(Bounds.of(outer, op), number, prologue))
    body.erase_arg(index)
    one = Integers(INDEX, emitter).constant(1)
    made = emitter.insert(scf.ForOp(at, here, one, state, Region(body)))
    return list(made.results), here


def _induction(bounds: Bounds, number: SSAValue, emitter: Emitter) -> SSAValue:
    """The induction variable of an iteration from its number."""
    low, _, step = bounds.numbers()
    whole = Integers(bounds.low.type, emitter)
    gone = whole.multiply(cast_integer(number, bounds.low.type, emitter), step)
    return whole.value(whole.add(low, gone))


# Backward.


@dataclass
class _Backward:
    """What the backward loops need: `given` are the cotangents of the active results, and the sums
    so far of what flows to the captured values. `used` are those that the body adds to."""

    outer: Differentiator
    op: scf.ForOp
    changing: list[int]
    state: LoopState
    active: list[int]
    captured: list[SSAValue]
    given: list[SSAValue]
    used: set[SSAValue] = field(default_factory=set[SSAValue])

    def names(self) -> list[str]:
        arguments = self.op.body.block.args[1:]
        values = [*(arguments[k] for k in self.active), *self.captured]
        return [cotangent_hint(v) for v in values]

    def segments(self, saved: Segmented) -> list[SSAValue]:
        """The loop over segments, last first."""
        outer, op, emitter, kept = self.outer, self.op, self.outer.emitter, saved.snapshots
        segments = Segments.of(op, Bounds.of(outer, op), emitter)
        before = [*self.given, *kept.backward()]
        block = Block(arg_types=[op.lb.type, *(v.type for v in before)])
        own_names = [v.name_hint for v in kept.backward()]
        name_all(block.args, ["back", *self.names(), *own_names])
        number, *carried = block.args
        given, own = carried[: len(self.given)], carried[len(self.given) :]
        inside = Emitter(block, op.location)
        start = named(reversed_index(segments.bounds, number, emitter, inside), "start")
        values, own = kept.take(segments, start, own, inside)
        name_all(values, self.state.names)
        bounds = segments.one(start, inside)
        state = self.state.filled(values, inside)
        results = self._take_back_segment(bounds, state, given, inside)
        inside.insert(scf.YieldOp(*results, *own))
        over = segments.bounds
        made = emitter.insert(scf.ForOp(over.low, over.high, over.step, before, Region(block)))
        keep_limit(made, op)
        kept.finish(made.results[len(self.given) :])
        return list(made.results[: len(self.given)])

    def _take_back_segment(
        self,
        bounds: Bounds,
        state: list[SSAValue],
        given: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Run a segment again, with a tape of its own, and take it back."""
        op, changing = self.op, self.changing
        segment = self._inner()
        _, saved = taped_loop(segment, op, changing, bounds, state)
        self.used.update(saved.body.captured)
        segment.forward.add_op(scf.YieldOp())
        splice(segment.forward, [], emitter)
        cts, sums = given[: len(self.active)], dict(zip(self.captured, given[len(self.active) :],
                                                        strict=True))  # fmt: skip
        taken = [*cts, *(sums[c] for c in saved.body.captured)]
        results = reversed_loop(saved, bounds, taken, emitter)
        sums.update(zip(saved.body.captured, results[len(cts) :], strict=True))
        return [*results[: len(cts)], *sums.values()]

    def _inner(self) -> Differentiator:
        """For code that runs again here, whose tapes begin and end here."""
        op = self.op
        return Differentiator(
            self.outer.shared, op.body.block, op.location, tapes_are_arguments=False
        )

    def scheduled(self, saved: Scheduled) -> list[SSAValue]:
        """The loop that looks at the last snapshot until nothing is left."""
        outer, op, emitter, snapshots = self.outer, self.op, self.outer.emitter, saved.snapshots
        carried = [saved.count, saved.free, *self.given, *snapshots.values()]
        names = ["left", "free", *self.names(), *snapshots.names()]
        loop = WhileBuilder(carried, names, op.location)
        loop.run_while(lambda carried, there: compare(carried[0], "sgt", 0, there))
        left, free, *others = loop.arguments
        given, here = others[: len(self.given)], snapshots.with_values(others[len(self.given) :])
        inside = loop.emitter
        at, values = here.last(free, inside)
        name_all([at, *values], ["at", *self.state.names])
        state = self.state.filled(values, inside)
        index = Integers(INDEX, inside)
        length = named(index.value(index.subtract(left, at)), "length")
        is_single = named(compare(length, "eq", 1, inside), "is_single")
        is_leaf = either(is_single, compare(free, "eq", 0, inside), inside)
        is_leaf.name_hint = "takes_back"
        to_the_last = index.value(index.subtract(length, 1))
        slots = named(index.value(index.add(free, 1)), "slots")
        steps = choose_steps(is_leaf, to_the_last, length, slots, inside)
        after, number = _advance(outer, op, self.changing, at, steps, state, inside)
        kept = here.pushed_unless(is_leaf, free, number, self.state.kept(after), inside)
        changed = self._take_back_one(is_leaf, number, after, [left, *given], inside)
        more = index.value(index.add(free, 1))
        fewer = index.value(index.subtract(free, 1))
        held = inside.insert(arith.SelectOp(is_leaf, free, fewer)).result
        free_then = inside.insert(arith.SelectOp(is_single, more, held)).result
        results = loop.finish([changed[0], free_then, *changed[1:], *kept.values()], emitter)
        return results[2 : 2 + len(self.given)]

    def _take_back_one(
        self,
        is_leaf: SSAValue,
        number: SSAValue,
        state: Sequence[SSAValue],
        values: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Where `is_leaf`, run an iteration and take it back. `values` are how many are left, the
        cotangents and the sums."""
        op, count = self.op, len(self.active)
        inner = self._inner()
        inner.add_argument(op.body.block.args[0])
        for k in self.changing:
            inner.add_argument(op.body.block.args[1 + k])
        inner.copy_forward()
        inner.forward.add_op(scf.YieldOp())
        body = reversible_body(self.outer, inner, op, self.active)
        self.used.update(body.captured)
        block, other = Block(), Block()
        inside = Emitter(block, op.location)
        index = _induction(Bounds.of(self.outer, op), number, inside)
        splice(inner.forward, [index, *state], inside)
        left, cts = values[0], values[1 : 1 + count]
        sums = dict(zip(self.captured, values[1 + count :], strict=True))
        given = [index, *cts, *(sums[c] for c in body.captured)]
        results = splice(inner.backward, given, inside)
        sums.update(zip(body.captured, results[count:], strict=True))
        # the iteration that was taken back is the last that was left
        inside.insert(scf.YieldOp(number, *results[:count], *sums.values()))
        Emitter(other, op.location).insert(scf.YieldOp(left, *values[1:]))
        made = scf.IfOp(is_leaf, [v.type for v in values], Region(block), Region(other))
        emitter.insert(made)
        name_all(made.results, ["left", *self.names()])
        return list(made.results)
