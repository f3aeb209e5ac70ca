"""Differentiation of scf.for with a tape.

    %y = scf.for %i = ... iter_args(%a = %x) { ... }        becomes
    %y, %tape = scf.for %i = ... iter_args(%a = %x, %t = %empty) { ...; push; ... }       and
    %x_ct, %w_ct, ... = scf.for %j = ... iter_args(%a_ct = %y_ct, %w_ct = zeros, %t = %tape)
        { pop; ...; %w_ct + its contribution ... }

The backward loop has a sum for each captured active value %w (sums.py), which starts from the
cotangent of %w so far, or from zeros: a loop without an iteration adds nothing. A carried value
that never changes counts as captured. An outer loop carries the tape of an inner one: pushed in
program order, popped in reverse. That holds for constant trip counts too: a tape with a capacity is
a stacked tensor with a position, and push and pop are each other's adjoints, which slices of a
stacked tensor are not (the cotangent of one slice is a whole tensor of zeros).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Emitter
from gradir.passes.differentiate.crossing import crossed
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.residuals import Makers
from gradir.passes.differentiate.reverse_mode import Flowing
from gradir.passes.differentiate.tapes import TapeThread
from gradir.passes.rules.loops.body import (
    Body,
    Border,
    CarriedValue,
    differentiate_body,
    keep_limit,
    keep_residuals,
    seeds,
)
from gradir.passes.rules.loops.carried import Carried, Running, take_over
from gradir.passes.rules.loops.for_loop import Bounds, ForLoop
from gradir.passes.rules.loops.state import Slots
from gradir.passes.rules.loops.sums import sums_of


@dataclass
class SavedFor:
    """A source loop and its active slots; its body, whose `inner.backward` goes into the backward
    loop; the tapes; and the loop's results of `body.following`."""

    loop: ForLoop
    active: Slots
    body: Body
    threads: list[TapeThread]
    followed: list[SSAValue]


def forward_taped(outer: Differentiator, loop: ForLoop) -> SavedFor:
    """Append the source's loop with tapes."""
    initial = [outer.primal(v) for v in loop.changing.starts]
    results, saved = taped_loop(outer, loop, Bounds.of(outer, loop.op), initial)
    outer.set_primal(loop.changing.results, results)
    return saved


def backward_taped(outer: Differentiator, saved: SavedFor, cts: Cotangents) -> Flowing:
    """Append the backward loop, from the cotangents of the source loop's results."""
    op, active, emitter = saved.loop.op, saved.active, outer.emitter
    crossing = carried_border(outer, op)(active.results)
    given = seeds(active.results, op, cts, crossing, emitter)
    start = Carried(given, {each: each.start(outer) for each in saved.body.sums})
    end = reversed_loop(saved, Bounds.of(outer, op), start, emitter)
    return end.contributions(active.starts, crossing, emitter)


def taped_loop(
    outer: Differentiator, loop: ForLoop, bounds: Bounds, initial: list[SSAValue]
) -> tuple[list[SSAValue], SavedFor]:
    """Append the source's loop with tapes; returns its changing results."""
    body = reversible_body(outer, outer.region(loop.op.body.block, loop.op), loop)
    threads = _keep(outer, loop, body, bounds)
    inner = body.inner
    handed_on = [
        *(outer.primal(v) for v in loop.changing.handed_on),
        *(t.forward for t in inner.tapes),
    ]
    Emitter(inner.forward, loop.op.location).insert(scf.YieldOp(*handed_on))
    before = Running(initial, [t.forward for t in threads])
    made = bounds.loop(before.flat(), inner.forward, outer.forward_emitter(loop.op))
    written = loop.op.attributes.items()
    made.attributes.update({k: v for k, v in written if k != POLICY_ATTRIBUTE})
    after = before.like(made.results)
    take_over(threads, after.kept)
    result_of = dict(zip(loop.changing.results, after.values, strict=True))
    followed = [result_of[result] for result in body.following]
    return after.values, SavedFor(loop, loop.active(outer), body, threads, followed)


def reversible_body(outer: Differentiator, inner: Differentiator, loop: ForLoop) -> Body:
    """The forward code of one iteration, and the backward code."""
    for argument in (loop.index, *loop.changing.arguments):
        inner.add_argument(argument)
    inner.walk_forward()
    active, sums = loop.active(outer), sums_of(outer, loop.op)
    border = carried_border(outer, loop.op)
    return differentiate_body(
        inner, loop.index.type, active.handed_on, active.arguments, sums, (border, border)
    )


def carried_border(outer: Differentiator, op: scf.ForOp) -> Border:
    """The border that the cotangents of a loop's active carried values cross."""
    return lambda values: crossed(outer, op, "carried", values)


def _keep(outer: Differentiator, loop: ForLoop, body: Body, bounds: Bounds) -> list[TapeThread]:
    """Let iterations keep the residuals; returns the tapes of the loop."""
    outside = outer.forward_emitter(loop.op)
    index = outer.primal(loop.index)
    makers: Makers = {index: lambda emitter: bounds.mirrored(body.number, outside, emitter)}
    steps = [
        CarriedValue(slot.result, outer.primal(slot.argument), outer.primal(slot.handed_on))
        for slot in loop.changing
    ]
    keep_residuals(body, outside, makers, loop.op, steps)
    return [outer.open_tape(t.type) for t in body.inner.tapes]


def reversed_loop(saved: SavedFor, bounds: Bounds, given: Carried, emitter: Emitter) -> Carried:
    """Append the backward loop of `taped_loop`: from the cotangents `given` of the active results
    and the sums so far to the cotangents and sums at the loop's start."""
    sums = given.summing(saved.body.sums).sums
    start = Carried(given.cts, sums, saved.followed, [t.in_backward() for t in saved.threads])
    made = bounds.loop(start.flat(), saved.body.inner.backward, emitter)
    keep_limit(made, saved.loop.op)
    end = start.like(made.results)
    take_over(saved.threads, end.tapes, backward=True)
    return Carried(end.cts, given.then(end).sums)
