"""Differentiation of scf.while under `#grad.loop<every = k>` and `#grad.loop<online = slots>`.

When the loop has run, its number of iterations is known, and it is the same as

    p = first region;  scf.for %i = 0 to %count { p = second region, then first region }

on the values p that the first region passes on. That scf.for is written down as if it stood in the
source; its backward code is that of loop_replay.py. What one region hands to the other passes
through a grad.join: contributions to it are summed before they join others, as where the regions
have backward code of their own (while_rule.py), so that all policies add in one order. The forward
code is the scf.while as it is, which keeps snapshots of p as it goes:

every = k: before each k-th iteration.
online = s: by the online schedule (snapshot_schedules.py), in s slots. The backward code goes on
from these by the binomial schedule, with the slots that are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import Integers, compare, name_all, named
from gradir.dialects.grad.join import join
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import push
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.region_flow import yielded
from gradir.passes.analysis.regions import captured_inside
from gradir.passes.differentiate.block_code import copied
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.shared import Shared
from gradir.passes.recompute.replayable import check_can_be_kept, check_replayable
from gradir.passes.rules.loops.body import check_room, keep_limit
from gradir.passes.rules.loops.for_replay import (
    Replayed,
    Scheduled,
    Segmented,
    backward_replayed,
)
from gradir.passes.rules.loops.segments import open_segments
from gradir.passes.rules.loops.snapshots import SnapshotSlots
from gradir.passes.rules.loops.state import LoopState
from gradir.passes.rules.loops.while_loop import WhileLoop

INDEX = IndexType()


@dataclass
class ReplayedWhile:
    """The loop as a scf.for behind a copy of the first region, and its snapshots. The arguments of
    that copy (`first`) are the count and what is carried into it."""

    loop: WhileLoop
    first: Block
    same: scf.ForOp
    snapshots: Replayed


def forward_replayed_while(
    outer: Differentiator, loop: WhileLoop, state: LoopState
) -> ReplayedWhile:
    """Append the loop, and the keeping of snapshots."""
    op, outside = loop.op, outer.forward_emitter(loop.op)
    check_replayable(outer.program, op)
    for argument in state.kept(state.arguments):
        check_can_be_kept(op, argument)
    first, same = _as_for(outer.shared, loop)
    outer.shared.scaffold += [first, Block([same])]
    keeper = (_Online if loop_policy(op).kind.data == "online" else _Every)(outer, loop, state)
    results = _forward_loop(outer, loop, keeper)
    passed = len(loop.passed)
    count, own = named(results[passed], "count"), results[passed + 1 :]
    outer.set_primal([op.results[q] for q in loop.passed], results[:passed])
    carried = [outer.primal(op.arguments[k]) for k in loop.carried]
    outer.shared.primal.update(zip(first.args, [count, *carried], strict=True))
    outer.copy_block(first)
    return ReplayedWhile(loop, first, same, keeper.replayed(own, count, outside))


def backward_replayed_while(
    outer: Differentiator, saved: ReplayedWhile, cts: Cotangents
) -> Iterable[tuple[SSAValue, Value | None]]:
    """Append the loop that takes the iterations back, and the backward code of the first test."""
    given = [cts[q] for q in saved.loop.passed]
    flowing = backward_replayed(outer, saved.same, saved.snapshots, given)
    for value, ct in flowing:
        if ct is not None:
            outer.contributions.add(value, ct)
    outer.walk_region_back(saved.first)
    initial = [saved.loop.op.arguments[k] for k in saved.loop.carried]
    cts = [outer.contributions.cotangent(argument) for argument in saved.first.args[1:]]
    return list(zip(initial, cts, strict=True))


# The loop as a scf.for.


def _as_for(shared: Shared, loop: WhileLoop) -> tuple[Block, scf.ForOp]:
    """A copy of the first region, with the count as its first argument; and the loop behind it."""
    op = loop.op
    carried = [loop.before.args[k] for k in loop.carried]
    first = Block(arg_types=[INDEX, *(a.type for a in carried)])
    values: dict[SSAValue, SSAValue] = dict(zip(carried, first.args[1:], strict=True))
    for argument, copy in values.items():
        copy.name_hint = argument.name_hint
        _mirror(shared.activity, argument, copy)
    _copy_into(first, loop.before, values, shared)
    index = Integers(INDEX, Emitter(first, op.location))
    low, step = index.constant(0), index.constant(1)
    start = [values.get(v, v) for v in (loop.condition.args[q] for q in loop.passed)]
    body = Block(arg_types=[INDEX, *(v.type for v in start)])
    inner: dict[SSAValue, SSAValue] = {}
    for q, argument in zip(loop.passed, body.args[1:], strict=True):
        argument.name_hint = loop.after.args[q].name_hint
        inner[loop.after.args[q]] = argument
    _copy_into(body, loop.after, inner, shared)
    _hand_over(body, loop, inner, shared)
    _copy_into(body, loop.before, inner, shared)
    last = [inner.get(v, v) for v in (loop.condition.args[q] for q in loop.passed)]
    Emitter(body, op.location).insert(scf.YieldOp(*last))
    same = scf.ForOp(low, first.args[0], step, start, Region(body))
    same.location = op.location
    same.attributes[POLICY_ATTRIBUTE] = loop_policy(op)
    keep_limit(same, op)
    for q, argument, result in zip(loop.passed, body.args[1:], same.results, strict=True):
        for original in (loop.after.args[q], op.results[q]):
            _mirror(shared.activity, original, argument)
            _mirror(shared.activity, original, result)
    return first, same


def _hand_over(
    block: Block, loop: WhileLoop, values: dict[SSAValue, SSAValue], shared: Shared
) -> None:
    """Hand what the second region makes to the first; `values` get the arguments of that."""
    following, emitter = yielded(loop.after), Emitter(block, loop.op.location)
    # the walk back comes to the last one first
    for k in reversed(loop.carried):
        argument = loop.before.args[k]
        value = values.get(following[k], following[k])
        if shared.activity.is_active(argument):
            value = join(value, emitter)
            _mirror(shared.activity, argument, value)
        values[argument] = value


def _copy_into(
    block: Block, source: Block, values: dict[SSAValue, SSAValue], shared: Shared
) -> None:
    """Append copies of a block's ops but the last, as active as they are."""
    for op in source.ops:
        if op is source.last_op:
            continue
        copy = copied(op, values)
        block.add_op(copy)
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

    def __init__(self, outer: Differentiator, loop: WhileLoop, state: LoopState):
        self.changing = list(range(len(loop.passed)))
        self.state = state
        self.count = loop_policy(loop.op).count
        self.snapshots = open_segments(outer, loop.op, state)
        self.initial, self.names = self.snapshots.forward()

    def keep(
        self,
        number: SSAValue,
        values: Sequence[SSAValue],
        own: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        """Keep what an iteration starts from, or not; returns the keeper's values."""
        if not own:
            return []
        is_next = _is_multiple(number, Integers(INDEX, emitter).constant(self.count), emitter)
        return [_push_if(is_next, own[0], self.state.kept(values), emitter)]

    def replayed(self, own: Sequence[SSAValue], count: SSAValue, emitter: Emitter) -> Replayed:
        """What the backward code starts from when the loop has run."""
        return Segmented(self.changing, self.state, self.snapshots.after(own))


class _Online:
    """Keeps snapshots in slots, by the online schedule."""

    def __init__(self, outer: Differentiator, loop: WhileLoop, state: LoopState):
        op, outside = loop.op, outer.forward_emitter(loop.op)
        self.changing = list(range(len(loop.passed)))
        self.state = state
        count = loop_policy(op).count
        check_room(op, count, [INDEX, INDEX, *state.types])
        self.snapshots = SnapshotSlots.empty(state.types, state.names, count, outside)
        times = Integers(INDEX, outside).constant(1)
        self.initial = [times, *self.snapshots.with_order()]
        self.names = [v.name_hint for v in self.initial]
        self.names[0] = "times"

    def keep(
        self,
        number: SSAValue,
        values: Sequence[SSAValue],
        own: Sequence[SSAValue],
        emitter: Emitter,
    ) -> list[SSAValue]:
        times, *rows = own
        here = self.snapshots.with_order_as(rows)
        here, times = here.keep(number, self.state.kept(values), times, emitter)
        return [times, *here.with_order()]

    def replayed(self, own: Sequence[SSAValue], count: SSAValue, emitter: Emitter) -> Replayed:
        index = Integers(INDEX, emitter)
        slots = index.constant(self.snapshots.slots)
        held = named(emitter.insert(arith.MinSIOp(count, slots)).result, "held")
        free = named(index.value(index.subtract(slots, held)), "free")
        kept = self.snapshots.with_order_as(own[1:])
        return Scheduled(self.changing, self.state, kept, count, free)


def _is_multiple(number: SSAValue, of: SSAValue, emitter: Emitter) -> SSAValue:
    return compare(emitter.insert(arith.RemUIOp(number, of)).result, "eq", 0, emitter)


def _push_if(
    condition: SSAValue, tape: SSAValue, columns: Sequence[SSAValue], emitter: Emitter
) -> SSAValue:
    pushed, same = Block(), Block()
    inside = Emitter(pushed, emitter.location)
    inside.insert(scf.YieldOp(push(tape, columns, inside)))
    Emitter(same, emitter.location).insert(scf.YieldOp(tape))
    made = scf.IfOp(condition, [tape.type], Region(pushed), Region(same))
    return named(emitter.insert(made).results[0], "tape")


def _forward_loop(
    outer: Differentiator,
    loop: WhileLoop,
    keeper: _Every | _Online,
) -> list[SSAValue]:
    """The scf.while with a count and the keeper's values; returns its results."""
    op, outside = loop.op, outer.forward_emitter(loop.op)
    initial = [outer.primal(op.arguments[k]) for k in loop.carried]
    own = [Integers(INDEX, outside).constant(0), *keeper.initial]
    own_names = ["count", *keeper.names]
    values = {value: outer.primal(value) for value in captured_inside(op)}
    for block in (loop.before, loop.after):
        values |= {a: outer.primal(a) for a in block.args if a in outer.shared.primal}
    carried = [loop.before.args[k] for k in loop.carried]
    before = _start([*carried, *own], [*(a.name_hint for a in carried), *own_names])
    values |= dict(zip(carried, before.args, strict=False))
    _copy_plain(before, loop.before, values)
    passing = [values.get(v, v) for v in (loop.condition.args[q] for q in loop.passed)]
    test, through = values[loop.condition.condition], before.args[len(carried) :]
    end = Emitter(before, loop.condition.location)
    end.insert(scf.ConditionOp(test, *passing, *through))
    passed = [loop.after.args[q] for q in loop.passed]
    after = _start([*passed, *own], [*(a.name_hint for a in passed), *own_names])
    values |= dict(zip(passed, after.args, strict=False))
    number, *kept = after.args[len(passed) :]
    inside = Emitter(after, op.location)
    kept = keeper.keep(number, after.args[: len(passed)], kept, inside)
    _copy_plain(after, loop.after, values)
    handed_on = [values.get(v, v) for v in (yielded(loop.after)[k] for k in loop.carried)]
    index = Integers(INDEX, inside)
    following = index.value(index.add(number, 1))
    inside.insert(scf.YieldOp(*handed_on, following, *kept))
    types = [v.type for v in after.args]
    made = outside.insert(scf.WhileOp([*initial, *own], types, Region(before), Region(after)))
    name_all(made.results, [*(a.name_hint for a in passed), *own_names])
    return list(made.results)


def _start(like: Sequence[SSAValue], names: Sequence[str | None]) -> Block:
    block = Block(arg_types=[v.type for v in like])
    name_all(block.args, names)
    return block


def _copy_plain(block: Block, source: Block, values: dict[SSAValue, SSAValue]) -> None:
    for op in source.ops:
        if op is not source.last_op:
            block.add_op(copied(op, values))
