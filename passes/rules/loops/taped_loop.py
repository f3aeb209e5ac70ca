"""Differentiation of scf.for.

    %y = scf.for %i = ... iter_args(%a = %x) { ... }        becomes
    %y, %tape = scf.for %i = ... iter_args(%a = %x, %t = %empty) { ...; push; ... }       and
    %x_ct, %w_ct, ... = scf.for %j = ... iter_args(%a_ct = %y_ct, %w_ct = zeros, %t = %tape)
        { pop; ...; %w_ct + its contribution ... }

The backward loop has an accumulator for each captured active value %w, which starts from what has
flowed to %w so far, or from zeros: a loop without an iteration adds nothing. A carried value that
never changes counts as captured. The tape of a loop in a loop is carried by the outer one: it is
pushed in program order and popped in reverse. That holds for constant trip counts too: a tape with
a capacity is a stacked tensor with a position, and push and pop stay each other's adjoints, which
slices of a stacked tensor are not (the cotangent of one slice is a whole tensor of zeros).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Region, SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.building.control_flow import Integers, known_number, trip_count
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.passes.analysis.region_flow import keeps_start, yielded
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


@dataclass(frozen=True)
class Bounds:
    """Of a loop in the code that is made: values, and numbers where they are constant."""

    low: SSAValue
    high: SSAValue
    step: SSAValue

    @staticmethod
    def of(outer: Differentiator, op: scf.ForOp) -> Bounds:
        return Bounds(*(outer.primal(b) for b in (op.lb, op.ub, op.step)))

    def numbers(self) -> list[SSAValue | int]:
        return [known_number(b) for b in (self.low, self.high, self.step)]

    def trip_count(self, emitter: Emitter) -> SSAValue:
        """How many iterations a loop has, an index."""
        return trip_count(self.low, self.high, self.step, emitter)


@dataclass
class SavedFor:
    """The source, and its body, of which `inner.backward` goes into the backward loop; the active
    carried values; the tapes; and what the loop made of the values that are handed back from one
    iteration to the one before (`body.following`)."""

    op: scf.ForOp
    body: Body
    active: list[int]
    threads: list[TapeThread]
    made: list[SSAValue]


class ForRule:
    """The structural rule of scf.for; of a loop that runs iterations again, see loop_replay.py."""

    def forward(self, outer: Differentiator, op: scf.ForOp) -> object:
        changing = changing_values(outer, op)
        state = LoopState.of(op, [op.body.block.args[1 + k] for k in changing])
        types = state.types if changing else None
        outer.shared.loops[op] = DifferentiatedLoop(op, loop_policy(op), types)
        if loop_policy(op).kind.data != "store_all":
            from gradir.passes.rules.loops.for_replay import forward_replayed

            return forward_replayed(outer, op, changing, state)
        initial = [outer.primal(op.iter_args[k]) for k in changing]
        results, saved = taped_loop(outer, op, changing, Bounds.of(outer, op), initial)
        outer.set_primal([op.results[k] for k in changing], results)
        return saved

    def backward(
        self, outer: Differentiator, op: scf.ForOp, saved: object, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        if not isinstance(saved, SavedFor):
            from gradir.passes.rules.loops.for_replay import backward_replayed

            return backward_replayed(outer, op, saved, cts)
        emitter, captured = outer.emitter, saved.body.captured
        given = [(cts[k] or zero_of(op.results[k], emitter)).ssa for k in saved.active]
        given += [outer.contributions.sum_so_far(c).ssa for c in captured]
        results = reversed_loop(saved, Bounds.of(outer, op), given, emitter)
        initial = [op.iter_args[k] for k in saved.active]
        return sums_first(initial, captured, [emitter.value(r) for r in results])


def sums_first(
    initial: Sequence[SSAValue], captured: Sequence[SSAValue], flowing: Sequence[Value]
) -> list[tuple[SSAValue, Value]]:
    """What flows to the values that a loop starts from and then to captured ones, in the order in
    which it is contributed: first the sums that the loop has gone on with.

    So it makes no difference whether a loop that adds nothing to a sum captures the value.
    """
    pairs = list(zip([*initial, *captured], flowing, strict=True))
    return [*pairs[len(initial) :], *pairs[: len(initial)]]


def changing_values(outer: Differentiator, op: scf.ForOp) -> list[int]:
    """The carried values that change; the others are from now on the same as their start."""
    changing: list[int] = []
    for k, argument in enumerate(op.body.block.args[1:]):
        if keeps_start(op, k):
            for value in (argument, op.results[k]):
                same_as(outer, value, op.iter_args[k])
        else:
            changing.append(k)
    return changing


def active_values(outer: Differentiator, op: scf.ForOp, changing: Sequence[int]) -> list[int]:
    """The carried values of which a cotangent is carried: they vary, and are of use in the loop or
    behind it."""
    activity, arguments = outer.activity, op.body.block.args[1:]
    active: list[int] = []
    for k in changing:
        values = (arguments[k], op.results[k])
        if any(v in activity.useful for v in values) and any(v in activity.varied for v in values):
            active.append(k)
    return active


def taped_loop(
    outer: Differentiator,
    op: scf.ForOp,
    changing: list[int],
    bounds: Bounds,
    initial: Sequence[SSAValue],
) -> tuple[list[SSAValue], SavedFor]:
    """Append a loop like `op` that leaves a tape; returns its results that change."""
    block = op.body.block
    index, *arguments = block.args
    inner = outer.region(block, op)
    ours = inner.add_argument(index)
    for k in changing:
        inner.add_argument(arguments[k])
    inner.copy_forward()
    body = reversible_body(outer, inner, op, active_values(outer, op, changing))
    outside = outer.forward_emitter(op)
    makers: Makers = {ours: lambda emitter: reversed_index(bounds, body.number, outside, emitter)}
    last = yielded(block)
    ends = [(k, outer.primal(arguments[k]), outer.primal(last[k])) for k in changing]
    keep_residuals(body, outside, makers, op, [Step(*end) for end in ends])
    threads = [outer.open_tape(t.type) for t in inner.tapes]
    handed_on = [*(after for _, _, after in ends), *(t.forward for t in inner.tapes)]
    Emitter(inner.forward, op.location).insert(scf.YieldOp(*handed_on))
    before = [*initial, *(t.forward for t in threads)]
    made = scf.ForOp(bounds.low, bounds.high, bounds.step, before, Region(inner.forward))
    outside.insert(made)
    made.attributes.update({k: v for k, v in op.attributes.items() if k != POLICY_ATTRIBUTE})
    take_over(threads, made.results[len(changing) :])
    results: list[SSAValue] = list(made.results[: len(changing)])
    followed = [results[changing.index(k)] for k in body.following]
    return results, SavedFor(op, body, active_values(outer, op, changing), threads, followed)


def reversible_body(
    outer: Differentiator, inner: Differentiator, op: scf.ForOp, active: Sequence[int]
) -> Body:
    """The backward code of one iteration, after its forward code."""
    block = op.body.block
    given = [yielded(block)[k] for k in active]
    wanted = [block.args[1 + k] for k in active]
    captured = captured_active(outer, op)
    return differentiate_body(inner, block.args[0].type, given, wanted, captured)


def reversed_loop(
    saved: SavedFor, bounds: Bounds, given: Sequence[SSAValue], emitter: Emitter
) -> list[SSAValue]:
    """Append the loop that takes back what `taped_loop` has done; `given` are the cotangents of the
    active results and the sums so far, and become those of what it started from."""
    before = [*given, *saved.made, *(t.in_backward() for t in saved.threads)]
    body = Region(saved.body.inner.backward)
    made = emitter.insert(scf.ForOp(bounds.low, bounds.high, bounds.step, before, body))
    keep_limit(made, saved.op)
    take_over(saved.threads, made.results[len(given) + len(saved.made) :], backward=True)
    return list(made.results[: len(given)])


def reversed_index(
    bounds: Bounds, number: SSAValue, outside: Emitter, emitter: Emitter
) -> SSAValue:
    """The induction variable, where the backward loop counts up as the forward loop does.

    It is lower bound + last value - number.
    """
    low, high, step = bounds.numbers()
    whole = Integers(number.type, outside)
    steps = whole.divide_unsigned(whole.subtract(whole.subtract(high, low), 1), step)
    total = whole.add(low, whole.add(low, whole.multiply(steps, step)))
    here = Integers(number.type, emitter)
    return here.value(here.subtract(total, number))


def same_as(outer: Differentiator, value: SSAValue, origin: SSAValue) -> None:
    outer.shared.identify(value, origin)
    outer.shared.primal[value] = outer.primal(origin)


def take_over(
    threads: Sequence[TapeThread], tapes: Sequence[SSAValue], backward: bool = False
) -> None:
    """Say what the tapes are after an op."""
    for thread, tape in zip(threads, tapes, strict=True):
        tape.name_hint = "tape"
        if backward:
            thread.backward = tape
        else:
            thread.forward = tape
