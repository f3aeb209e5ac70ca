"""Differentiation of scf.for under `#grad.loop<every = k>` and `#grad.loop<binomial = slots>`.

Both keep snapshots of the carried values of some iterations, and repeat iterations from there.

every = k: the forward loop becomes a loop over segments of k iterations, which keeps the carried
values in front of each (segments.py). The backward loop over segments reads them, runs the segment
with a tape, and reverses it.

binomial = s: the backward loop starts from the last snapshot, of iteration `at`. If that is the
last remaining iteration, or no slot is free, it runs up to the last iteration and reverses it; else
it runs the number of iterations of the binomial schedule (schedules.py) and keeps a snapshot there.
The forward loop keeps the first snapshots in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import (
    Integers,
    WhileBuilder,
    choose,
    compare,
    either,
    name_all,
    named,
)
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.analysis.region_flow import slot_count
from gradir.passes.analysis.regions import captured_inside
from gradir.passes.differentiate.block_code import splice
from gradir.passes.differentiate.contributions import cotangent_hint
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.recompute.replayable import check_can_be_kept, check_replayable
from gradir.passes.rules.loops.body import check_room, copy_ops, keep_limit, seeds
from gradir.passes.rules.loops.carried import Carried, Running, in_groups
from gradir.passes.rules.loops.for_loop import Bounds, ForLoop
from gradir.passes.rules.loops.schedules import choose_steps
from gradir.passes.rules.loops.segments import Segments, SegmentStates, open_segments
from gradir.passes.rules.loops.snapshots import SnapshotStack
from gradir.passes.rules.loops.state import LoopState, Slots
from gradir.passes.rules.loops.sums import Sum, sums_of
from gradir.passes.rules.loops.taped_loop import (
    carried_border,
    reversed_loop,
    reversible_body,
    taped_loop,
)

INDEX = IndexType()


@dataclass
class Segmented:
    """A loop with repeated segments: the needed part of its changing values, and the snapshots at
    the segments' starts."""

    loop: ForLoop
    state: LoopState
    snapshots: SegmentStates


@dataclass
class Scheduled:
    """A loop reversed by the binomial schedule: the needed part of its changing values, the
    snapshots, the numbers of iterations and of free slots."""

    loop: ForLoop
    state: LoopState
    snapshots: SnapshotStack
    count: SSAValue
    free: SSAValue


Replayed = Segmented | Scheduled


def forward_replayed(outer: Differentiator, loop: ForLoop) -> Replayed | None:
    """Append the loop with snapshots; None if it changes no value."""
    state = loop.state
    check_replayable(outer.program, loop.op)
    for argument in state.kept(state.arguments):
        check_can_be_kept(loop.op, argument)
    if not loop.changing:
        return None
    is_segmented = loop_policy(loop.op).kind.data == "every"
    forward = _forward_segments if is_segmented else _forward_binomial
    return forward(outer, loop, state)


def backward_replayed(outer: Differentiator, saved: Replayed, cts: Cotangents) -> Flowing:
    """Append the loop that reverses the iterations."""
    emitter, loop = outer.emitter, saved.loop
    active, sums = loop.active(outer), sums_of(outer, loop.op)
    crossing = carried_border(outer, loop.op)(active.results)
    given = seeds(active.results, loop.op, cts, crossing, emitter)
    # placeholders of the sums until the body's are known
    parts = Block(arg_types=[t for each in sums for t in each.types]).args
    place = outer.backward.last_op
    start = in_groups([*given, *parts], len(given), sums, 0, 0)
    work = _BackwardLoops(outer, loop, saved.state, active, start)
    end = work.segments(saved) if isinstance(saved, Segmented) else work.scheduled(saved)
    emitter.before = outer.backward.first_op if place is None else place.next_op
    for each, parts in start.sums.items():
        so_far = each.start(outer) if each in work.used else each.nothing(emitter)
        for part, value in zip(parts, so_far, strict=True):
            part.replace_all_uses_with(value)
    emitter.before = None
    used = end.summing([each for each in sums if each in work.used])
    return used.contributions(active.starts, crossing, emitter)


def _plain_body(outer: Differentiator, loop: ForLoop) -> Block:
    """A copy of the body without tapes: arguments are the index and the changing values."""
    source = loop.op.body.block
    kept = [loop.index, *loop.changing.arguments]
    block = Block(arg_types=[a.type for a in kept])
    values = {value: outer.primal(value) for value in captured_inside(loop.op)}
    values |= {a: outer.primal(a) for a in source.args if a not in kept}
    for ours, argument in zip(block.args, kept, strict=True):
        ours.name_hint = argument.name_hint
        values[argument] = ours
    copy_ops(block, source, values)
    handed_on = (values.get(end) or outer.primal(end) for end in loop.changing.handed_on)
    Emitter(block, loop.op.location).insert(scf.YieldOp(*handed_on))
    return block


# Segments.


def _forward_segments(outer: Differentiator, loop: ForLoop, state: LoopState) -> Segmented:
    op, outside = loop.op, outer.forward_emitter(loop.op)
    segments = Segments.of(op, Bounds.of(outer, op).checked(outside), outside)
    initial = [outer.primal(v) for v in loop.changing.starts]
    snapshots = open_segments(outer, op, state)
    own, own_names = snapshots.forward()
    before = Running(initial, own)
    block = Block(arg_types=[op.lb.type, *(v.type for v in before.flat())])
    name_all(block.args, ["start", *(a.name_hint for a in state.arguments), *own_names])
    start, carried = block.args[0], before.like(block.args[1:])
    emitter = Emitter(block, op.location)
    own = snapshots.keep(segments, start, state.kept(carried.values), carried.kept, emitter)
    bounds = segments.one(start, emitter)
    inner = bounds.loop(carried.values, _plain_body(outer, loop), emitter)
    emitter.insert(scf.YieldOp(*inner.results, *own))
    made = segments.bounds.loop(before.flat(), block, outside)
    after = before.like(made.results)
    outer.set_primal(loop.changing.results, after.values)
    name_all(after.kept, own_names)
    return Segmented(loop, state, snapshots.after(after.kept))


# The binomial schedule.


def _forward_binomial(outer: Differentiator, loop: ForLoop, state: LoopState) -> Scheduled:
    op, outside = loop.op, outer.forward_emitter(loop.op)
    count = named(Bounds.of(outer, op).checked(outside).trip_count(outside), "count")
    initial = [outer.primal(v) for v in loop.changing.starts]
    slots = slot_count(op)
    check_room(op, slots, [INDEX, *state.types])
    snapshots = SnapshotStack.stack(state.types, state.names, slots, outside)
    before = Running(initial, snapshots.values())
    index = Integers(INDEX, outside)
    numbers = [index.constant(0), index.constant(slots)]
    names = ["at", "free", *(a.name_hint for a in state.arguments), *snapshots.names()]
    steps = WhileBuilder([*numbers, *before.flat()], names, op.location)
    steps.run_while(lambda carried, there: compare(carried[0], "slt", count, there))
    at, free, *others = steps.arguments
    here, emitter = before.like(others), steps.emitter
    kept = snapshots.with_values(here.kept)
    kept = kept.pushed(free, at, state.kept(here.values), emitter)
    left, length = _steps_to_snapshot(count, at, free, emitter)
    values, following = _advance(outer, loop, at, length, here.values, emitter)
    handed_on = [following, left, *values, *kept.values()]
    _, free, *results = steps.finish(handed_on, outside)
    after = before.like(results)
    outer.set_primal(loop.changing.results, after.values)
    return Scheduled(loop, state, snapshots.with_values(after.kept), count, free)


def _steps_to_snapshot(
    count: SSAValue, at: SSAValue, free: SSAValue, emitter: Emitter
) -> tuple[SSAValue, SSAValue]:
    """The number of free slots after a snapshot of iteration `at`, and of iterations until the next
    snapshot: all remaining ones, where no slot is free or one iteration remains."""
    index = Integers(INDEX, emitter)
    left = named(index.value(index.subtract(free, 1)), "free")
    length = named(index.value(index.subtract(count, at)), "length")
    is_full, is_single = (compare(v, "eq", k, emitter) for v, k in ((left, 0), (length, 1)))
    to_the_end = either(is_full, is_single, emitter)
    return left, choose_steps(to_the_end, length, length, free, emitter)


def _advance(
    outer: Differentiator,
    loop: ForLoop,
    at: SSAValue,
    steps: SSAValue,
    state: Sequence[SSAValue],
    emitter: Emitter,
) -> tuple[list[SSAValue], SSAValue]:
    """Run iterations from number `at`; returns the carried values and the next number."""
    here = named(emitter.insert(arith.AddiOp(at, steps)).result, "here")
    body = _plain_body(outer, loop)
    index = body.args[0]
    number = body.insert_arg(INDEX, 0)
    prologue = Emitter(body, loop.op.location, before=body.first_op)
    index.replace_all_uses_with(Bounds.of(outer, loop.op).induction(number, prologue))
    body.erase_arg(index)
    one = Integers(INDEX, emitter).constant(1)
    made = Bounds(at, here, one).loop(state, body, emitter)
    return list(made.results), here


# Backward.


@dataclass
class _BackwardLoops:
    """The inputs of the backward loops: the active slots, and their start: the cotangents of the
    active results and the sums so far. `used` are those to which the body adds."""

    outer: Differentiator
    loop: ForLoop
    state: LoopState
    active: Slots
    start: Carried
    used: set[Sum] = field(default_factory=set[Sum])

    @property
    def bounds(self) -> Bounds:
        return Bounds.of(self.outer, self.loop.op)

    def names(self) -> list[str]:
        sums = (name for each in self.start.sums for name in each.names)
        cts = list(map(cotangent_hint, self.active.arguments))
        border = carried_border(self.outer, self.loop.op)
        return [*cts, *border(self.active.arguments).mask_names(cts), *sums]

    # Segments.

    def segments(self, saved: Segmented) -> Carried:
        """The loop over segments, last first."""
        op, emitter, kept = self.loop.op, self.outer.emitter, saved.snapshots
        segments = Segments.of(op, self.bounds, emitter)
        before = replace(self.start, tapes=kept.backward())
        block = Block(arg_types=[op.lb.type, *(v.type for v in before.flat())])
        name_all(block.args, ["back", *self.names(), *(t.name_hint for t in before.tapes)])
        inside = Emitter(block, op.location)
        number, given = block.args[0], before.like(block.args[1:])
        start = named(segments.bounds.mirrored(number, emitter, inside), "start")
        values, tapes = kept.take(segments, start, given.tapes, inside)
        name_all(values, self.state.names)
        bounds = segments.one(start, inside)
        state = self.state.filled(values, inside)
        end = self._take_back_segment(bounds, state, given, inside)
        inside.insert(scf.YieldOp(*replace(end, tapes=tapes).flat()))
        made = segments.bounds.loop(before.flat(), block, emitter)
        keep_limit(made, op)
        after = before.like(made.results)
        kept.finish(after.tapes)
        return after

    def _take_back_segment(
        self, bounds: Bounds, state: list[SSAValue], given: Carried, emitter: Emitter
    ) -> Carried:
        """Run a segment again, with a tape of its own, and reverse it."""
        segment = self._inner()
        _, saved = taped_loop(segment, self.loop, bounds, state)
        self.used.update(saved.body.sums)
        segment.forward.add_op(scf.YieldOp())
        splice(segment.forward, [], emitter)
        return reversed_loop(saved, bounds, given, emitter)

    def _inner(self) -> Differentiator:
        """A differentiator of repeated code, whose tapes begin and end here."""
        op = self.loop.op
        return Differentiator(
            self.outer.shared,
            op.body.block,
            op.location,
            tapes_are_arguments=False,
            sparse=self.outer.tables_by_rows(op),
        )

    # The binomial schedule.

    def scheduled(self, saved: Scheduled) -> Carried:
        """The loop over snapshots, last first, until no iteration remains."""
        before = replace(self.start, tapes=saved.snapshots.values())
        names = ["left", "free", *self.names(), *saved.snapshots.names()]
        carried = [saved.count, saved.free, *before.flat()]
        steps = WhileBuilder(carried, names, self.loop.op.location)
        steps.run_while(lambda carried, there: compare(carried[0], "sgt", 0, there))
        left, free, *others = steps.arguments
        given = before.like(others)
        snapshots = saved.snapshots.with_values(given.tapes)
        handed_on = self._look_at_last(left, free, snapshots, given, steps.emitter)
        _, _, *results = steps.finish(handed_on, self.outer.emitter)
        return before.like(results)

    def _look_at_last(
        self,
        left: SSAValue,
        free: SSAValue,
        snapshots: SnapshotStack,
        given: Carried,
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Run on from the last snapshot: to the last iteration, which is reversed, or to another
        snapshot. Returns the carried values."""
        at, values = snapshots.last(free, emitter)
        name_all([at, *values], ["at", *self.state.names])
        state = self.state.filled(values, emitter)
        index = Integers(INDEX, emitter)
        length = named(index.value(index.subtract(left, at)), "length")
        is_single = named(compare(length, "eq", 1, emitter), "is_single")
        takes_back = either(is_single, compare(free, "eq", 0, emitter), emitter)
        takes_back.name_hint = "takes_back"
        to_the_last = index.value(index.subtract(length, 1))
        slots = named(index.value(index.add(free, 1)), "slots")
        steps = choose_steps(takes_back, to_the_last, length, slots, emitter)
        state, number = _advance(self.outer, self.loop, at, steps, state, emitter)
        needed = self.state.kept(state)
        snapshots = snapshots.pushed_unless(takes_back, free, number, needed, emitter)
        given = replace(given, tapes=[])
        left, *end = self._take_back_one(takes_back, left, number, state, given, emitter)
        more, fewer = index.value(index.add(free, 1)), index.value(index.subtract(free, 1))
        held = emitter.insert(arith.SelectOp(takes_back, free, fewer)).result
        free = emitter.insert(arith.SelectOp(is_single, more, held)).result
        return [left, free, *end, *snapshots.values()]

    def _take_back_one(
        self,
        condition: SSAValue,
        left: SSAValue,
        number: SSAValue,
        state: Sequence[SSAValue],
        given: Carried,
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Where the condition is true, run an iteration and reverse it; returns the number of
        remaining ones, the cotangents and the sums."""
        inner = self._inner()
        body = reversible_body(self.outer, inner, self.loop)
        inner.forward.add_op(scf.YieldOp())
        self.used.update(body.sums)

        def take_back(inside: Emitter) -> list[SSAValue]:
            index = self.bounds.induction(number, inside)
            splice(inner.forward, [index, *state], inside)
            # the reversed iteration was the last remaining one
            return [number, *body.spliced(index, given, inside).flat()]

        before = [left, *given.flat()]
        return choose(condition, ["left", *self.names()], take_back, lambda _: before, emitter)
