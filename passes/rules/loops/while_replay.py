"""Differentiation of scf.while under `#grad.loop<every = k>` and `#grad.loop<online = slots>`.

At its end the number of iterations is known, and the loop is the same as

    p = first region;  scf.for %i = 0 to %count { p = second region, then first region }

on the values p that the first region forwards. That scf.for is built as if it were in the source;
for_replay.py makes its backward code. Values from one region to the other pass through a
grad.join: their contributions are summed before they join others, as where the regions have
backward code of their own (taped_while.py), so that all policies add in one order. The forward code
is the scf.while, which keeps snapshots of p:

every = k: before each k-th iteration.
online = s: by the online schedule (schedules.py), in s slots. The backward code goes on
from these by the binomial schedule, with the slots that are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter
from gradir.dialects.building.control_flow import (
    Integers,
    choose,
    compare,
    make_while,
    name_all,
    named,
)
from gradir.dialects.grad.join import join
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import push
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.region_ops import region_flow
from gradir.passes.analysis.regions import captured_inside
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing, walk_block_forward
from gradir.passes.differentiate.shared import Shared
from gradir.passes.recompute.replayable import check_can_be_kept, check_replayable
from gradir.passes.rules.loops.body import check_room, copy_ops, keep_limit
from gradir.passes.rules.loops.carried import Running
from gradir.passes.rules.loops.for_loop import ForLoop
from gradir.passes.rules.loops.for_replay import (
    Replayed,
    Scheduled,
    Segmented,
    backward_replayed,
)
from gradir.passes.rules.loops.segments import open_segments
from gradir.passes.rules.loops.snapshots import SnapshotSlots
from gradir.passes.rules.loops.state import LoopState, Slots
from gradir.passes.rules.loops.while_loop import WhileLoop

INDEX = IndexType()


@dataclass
class ReplayedWhile:
    """The loop as a scf.for behind a copy of the first region, and its snapshots. The arguments of
    that copy (`first`) are the count and the carried values."""

    loop: WhileLoop
    first: Block
    snapshots: Replayed


def forward_replayed_while(outer: Differentiator, loop: WhileLoop) -> ReplayedWhile:
    """Append the loop with snapshots."""
    op, state, outside = loop.op, loop.state, outer.forward_emitter(loop.op)
    check_replayable(outer.program, op)
    for argument in state.kept(state.arguments):
        check_can_be_kept(op, argument)
    first, same = _as_for(outer.shared, loop)
    outer.shared.scaffold += [first, Block([same.op])]
    keeper = (_Online if loop_policy(op).kind.data == "online" else _Every)(outer, op, state)
    results = _forward_loop(outer, loop, keeper)
    count, *own = results.kept
    outer.set_primal(loop.passed.results, results.values)
    carried = [outer.primal(v) for v in loop.carried.starts]
    outer.shared.primal.update(zip(first.args, [named(count, "count"), *carried], strict=True))
    walk_block_forward(outer, first)
    return ReplayedWhile(loop, first, keeper.replayed(same, own, count, outside))


def backward_replayed_while(
    outer: Differentiator, saved: ReplayedWhile, cts: Cotangents
) -> Flowing:
    """Append the loop that reverses the iterations, and the backward code of the first test."""
    same_cts = [cts[slot.result.index] for slot in saved.loop.passed]
    for value, ct in backward_replayed(outer, saved.snapshots, same_cts):
        outer.contributions.add(value, ct)
    outer.walk_region_back(saved.first)
    cts = [outer.contributions.cotangent(argument) for argument in saved.first.args[1:]]
    return list(zip(saved.loop.carried.starts, cts, strict=True))


# The loop as a scf.for.


def _as_for(shared: Shared, loop: WhileLoop) -> tuple[Block, ForLoop]:
    """A copy of the first region, with the count as its first argument, and the loop behind it."""
    op, carried = loop.op, loop.carried.arguments
    first = _start([INDEX, *(a.type for a in carried)], [None, *(a.name_hint for a in carried)])
    values: dict[SSAValue, SSAValue] = dict(zip(carried, first.args[1:], strict=True))
    for argument, copy in values.items():
        _mirror(shared.activity, argument, copy)
    _copy_into(first, loop.before, values, shared)
    index = Integers(INDEX, Emitter(first, op.location))
    low, step = index.constant(0), index.constant(1)
    start = [values.get(v, v) for v in loop.passed.handed_on]
    body = Region(_body_of_for(shared, loop))
    same = scf.ForOp(low, first.args[0], step, start, body)
    same.location = op.location
    shared.copy_of[same] = shared.copy_of.get(op, op)
    same.attributes[POLICY_ATTRIBUTE] = loop_policy(op)
    keep_limit(same, op)
    flow = region_flow(same)
    assert flow is not None
    for original, slot in zip(loop.passed, flow.slots, strict=True):
        for old in original.values:
            for new in slot.values:
                _mirror(shared.activity, old, new)
    return first, ForLoop(same, Slots(flow.slots))


def _body_of_for(shared: Shared, loop: WhileLoop) -> Block:
    """The second region, then the first."""
    passed = loop.passed.arguments
    types = [INDEX, *(a.type for a in passed)]
    block = _start(types, [None, *(a.name_hint for a in passed)])
    values: dict[SSAValue, SSAValue] = dict(zip(passed, block.args[1:], strict=True))
    _copy_into(block, loop.after, values, shared)
    _hand_over(block, loop, values, shared)
    _copy_into(block, loop.before, values, shared)
    last = [values.get(v, v) for v in loop.passed.handed_on]
    Emitter(block, loop.op.location).insert(scf.YieldOp(*last))
    return block


def _hand_over(
    block: Block, loop: WhileLoop, values: dict[SSAValue, SSAValue], shared: Shared
) -> None:
    """Hand the second region's values to the first one; maps its arguments in `values`."""
    emitter = Emitter(block, loop.op.location)
    handed_on = [values.get(v, v) for v in loop.carried.handed_on]
    # the walk back visits the last one first
    pairs = zip(loop.carried.arguments, handed_on, strict=True)
    for argument, value in reversed(list(pairs)):
        if shared.activity.is_active(argument):
            value = join(value, emitter)
            _mirror(shared.activity, argument, value)
        values[argument] = value


def _copy_into(
    block: Block, source: Block, values: dict[SSAValue, SSAValue], shared: Shared
) -> None:
    """Append copies of a block's ops but the last, with their activity."""
    for op, copy in copy_ops(block, source, values):
        for one, other in zip(op.walk(), copy.walk(), strict=True):
            shared.copy_of[other] = shared.copy_of.get(one, one)
            for old, new in zip(_defined(one), _defined(other), strict=True):
                _mirror(shared.activity, old, new)


def _defined(op: Operation) -> list[SSAValue]:
    return [*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)]


def _mirror(activity: Activity, old: SSAValue, new: SSAValue) -> None:
    for values in (activity.varied, activity.useful):
        if old in values:
            values.add(new)


# Forward.


class _Every:
    """Keeps a snapshot before each k-th iteration."""

    def __init__(self, outer: Differentiator, op: scf.WhileOp, state: LoopState):
        self.state = state
        self.size = loop_policy(op).count
        self.snapshots = open_segments(outer, op, state)
        self.initial, self.names = self.snapshots.forward()

    def keep(
        self, number: SSAValue, values: Sequence[SSAValue], own: list[SSAValue], emitter: Emitter
    ) -> list[SSAValue]:
        """Keep an iteration's initial values, or not; returns the keeper's values."""
        if not own:
            return []
        is_next = _is_multiple(number, Integers(INDEX, emitter).constant(self.size), emitter)
        (tape,) = own
        kept = self.state.kept(values)
        return choose(
            is_next, ["tape"], lambda inside: [push(tape, kept, inside)], lambda _: [tape], emitter
        )

    def replayed(
        self, same: ForLoop, own: Sequence[SSAValue], count: SSAValue, emitter: Emitter
    ) -> Replayed:
        """The loop and its snapshots, for the backward code."""
        return Segmented(same, self.state, self.snapshots.after(own))


class _Online:
    """Keeps snapshots in slots, by the online schedule."""

    def __init__(self, outer: Differentiator, op: scf.WhileOp, state: LoopState):
        self.state = state
        outside, count = outer.forward_emitter(op), loop_policy(op).count
        check_room(op, count, [INDEX, INDEX, *state.types])
        self.snapshots = SnapshotSlots.empty(state.types, state.names, count, outside)
        # t of the schedule: it starts with one repetition per iteration
        times = Integers(INDEX, outside).constant(1)
        rows = self.snapshots.with_order()
        self.initial, self.names = [times, *rows], ["times", *(v.name_hint for v in rows)]

    def keep(
        self, number: SSAValue, values: Sequence[SSAValue], own: list[SSAValue], emitter: Emitter
    ) -> list[SSAValue]:
        times, *rows = own
        here = self.snapshots.with_order_as(rows)
        here, times = here.keep(number, self.state.kept(values), times, emitter)
        return [times, *here.with_order()]

    def replayed(
        self, same: ForLoop, own: Sequence[SSAValue], count: SSAValue, emitter: Emitter
    ) -> Replayed:
        _, *rows = own
        index = Integers(INDEX, emitter)
        slots = index.constant(self.snapshots.slots)
        held = named(emitter.insert(arith.MinSIOp(count, slots)).result, "held")
        free = named(index.value(index.subtract(slots, held)), "free")
        return Scheduled(same, self.state, self.snapshots.with_order_as(rows), count, free)


def _is_multiple(number: SSAValue, of: SSAValue, emitter: Emitter) -> SSAValue:
    return compare(emitter.insert(arith.RemUIOp(number, of)).result, "eq", 0, emitter)


def _forward_loop(outer: Differentiator, loop: WhileLoop, keeper: _Every | _Online) -> Running:
    """Append the scf.while with a count and the keeper's values."""
    outside = outer.forward_emitter(loop.op)
    initial = [outer.primal(v) for v in loop.carried.starts]
    own = [Integers(INDEX, outside).constant(0), *keeper.initial]
    values = _outer_values(outer, loop)
    before = _plain_before(loop, own, ["count", *keeper.names], values)
    after = _plain_after(loop, own, ["count", *keeper.names], values, keeper)
    made = outside.insert(make_while([*initial, *own], before, after))
    name_all(made.results, [a.name_hint for a in after.args])
    return Running(loop.passed.handed_on, own).like(made.results)


def _outer_values(outer: Differentiator, loop: WhileLoop) -> dict[SSAValue, SSAValue]:
    """The mapped values that both regions read from outside, also through arguments that never
    change."""
    arguments = (*loop.before.args, *loop.after.args)
    fixed = (a for a in arguments if a in outer.shared.primal)
    return {value: outer.primal(value) for value in (*captured_inside(loop.op), *fixed)}


def _plain_before(
    loop: WhileLoop,
    own: Sequence[SSAValue],
    own_names: Sequence[str | None],
    values: dict[SSAValue, SSAValue],
) -> Block:
    """A copy of the first region that forwards the keeper's values."""
    carried = loop.carried.arguments
    names = [*(a.name_hint for a in carried), *own_names]
    block = _start([v.type for v in (*carried, *own)], names)
    given = Running(carried, [*own]).like(block.args)
    values |= zip(carried, given.values, strict=True)
    copy_ops(block, loop.before, values)
    passing = [values.get(v, v) for v in loop.passed.handed_on]
    end = Emitter(block, loop.condition.location)
    end.insert(scf.ConditionOp(values[loop.condition.condition], *passing, *given.kept))
    return block


def _plain_after(
    loop: WhileLoop,
    own: Sequence[SSAValue],
    own_names: Sequence[str | None],
    values: dict[SSAValue, SSAValue],
    keeper: _Every | _Online,
) -> Block:
    """A copy of the second region with the count, after the keeper's code on its initial values."""
    passed = loop.passed.arguments
    names = [*(a.name_hint for a in passed), *own_names]
    block = _start([v.type for v in (*passed, *own)], names)
    given = Running(passed, [*own]).like(block.args)
    values |= zip(passed, given.values, strict=True)
    number, *kept = given.kept
    inside = Emitter(block, loop.op.location)
    kept = keeper.keep(number, given.values, kept, inside)
    copy_ops(block, loop.after, values)
    handed_on = [values.get(v, v) for v in loop.carried.handed_on]
    index = Integers(INDEX, inside)
    following = index.value(index.add(number, 1))
    inside.insert(scf.YieldOp(*handed_on, following, *kept))
    return block


def _start(types: Sequence[Attribute], names: Sequence[str | None]) -> Block:
    block = Block(arg_types=types)
    name_all(block.args, names)
    return block
