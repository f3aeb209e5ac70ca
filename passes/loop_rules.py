"""Differentiation of scf.for and scf.while.

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

from gradir.dialects.interfaces import Cotangents
from gradir.dialects.value import Emitter, Value
from gradir.passes.differentiator import Differentiator, TapeThread, zero_of
from gradir.passes.loop_body import (
    Body,
    Integers,
    captured_active,
    differentiate_body,
    keep_residuals,
)
from gradir.passes.region_flow import yielded
from gradir.passes.residuals import Makers
from gradir.passes.verify_flow import constant_integer


@dataclass
class SavedFor:
    body: Body
    active: list[int]
    threads: list[TapeThread]


class ForRule:
    """The structural rule of scf.for."""

    def forward(self, outer: Differentiator, op: scf.ForOp) -> SavedFor:
        block = op.body.block
        index, *arguments = block.args
        inner = outer.region(block, op)
        ours = inner.add_argument(index)
        changing = self._changing(outer, inner, op)
        inner.copy_forward()
        active = [k for k in changing if _is_carried_active(outer, arguments[k], op.results[k])]
        body = differentiate_body(
            inner,
            index.type,
            [yielded(block)[k] for k in active],
            [arguments[k] for k in active],
            captured_active(outer, op),
        )
        outside = outer.forward_emitter(op)
        makers: Makers = {ours: lambda emitter: _reversed_index(outer, op, body.number, emitter)}
        keep_residuals(body, outside, makers, op)
        threads = [outer.open_tape(t.type) for t in inner.tapes]
        made = self._loop(outer, op, inner, changing, threads)
        outside.insert(made)
        outer.set_primal([op.results[k] for k in changing], made.results[: len(changing)])
        take_over(threads, made.results[len(changing) :])
        return SavedFor(body, active, threads)

    def _changing(self, outer: Differentiator, inner: Differentiator, op: scf.ForOp) -> list[int]:
        """The carried values that change, for which arguments are added; the others are what they
        start from."""
        arguments, last = op.body.block.args[1:], yielded(op.body.block)
        changing: list[int] = []
        for k, argument in enumerate(arguments):
            if last[k] is argument:
                for value in (argument, op.results[k]):
                    same_as(outer, value, op.iter_args[k])
            else:
                inner.add_argument(argument)
                changing.append(k)
        return changing

    def _loop(
        self,
        outer: Differentiator,
        op: scf.ForOp,
        inner: Differentiator,
        changing: Sequence[int],
        threads: Sequence[TapeThread],
    ) -> scf.ForOp:
        last = yielded(inner.block)
        handed_on = [*(outer.primal(last[k]) for k in changing), *(t.forward for t in inner.tapes)]
        Emitter(inner.forward, op.location).insert(scf.YieldOp(*handed_on))
        initial = [*(outer.primal(op.iter_args[k]) for k in changing)]
        initial += [t.forward for t in threads]
        low, high, by = (outer.primal(b) for b in (op.lb, op.ub, op.step))
        made = scf.ForOp(low, high, by, initial, Region(inner.forward))
        made.attributes.update(op.attributes)
        return made

    def backward(
        self, outer: Differentiator, op: scf.ForOp, saved: SavedFor, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        emitter, body = outer.emitter, saved.body
        initial = [cts[k] or zero_of(op.results[k], emitter) for k in saved.active]
        initial += [outer.sum_so_far(c) for c in body.captured]
        tapes = [t.in_backward() for t in saved.threads]
        low, high, by = (outer.primal(b) for b in (op.lb, op.ub, op.step))
        before = [*(v.ssa for v in initial), *tapes]
        made = scf.ForOp(low, high, by, before, Region(body.inner.backward))
        emitter.insert(made)
        take_over(saved.threads, made.results[len(initial) :], backward=True)
        targets = [*(op.iter_args[k] for k in saved.active), *body.captured]
        return [(v, emitter.value(r)) for v, r in zip(targets, made.results, strict=False)]


def _reversed_index(
    outer: Differentiator, op: scf.ForOp, number: SSAValue, emitter: Emitter
) -> SSAValue:
    """The induction variable, where the backward loop counts up as the forward loop does.

    It is lower bound + last value - number.
    """
    low, high, step = (
        outer.primal(b) if (constant := constant_integer(b)) is None else constant
        for b in (op.lb, op.ub, op.step)
    )
    outside = Integers(number.type, outer.forward_emitter(op))
    steps = outside.divide(outside.subtract(outside.subtract(high, low), 1), step)
    last = outside.add(low, outside.multiply(steps, step))
    total = outside.add(low, last)
    here = Integers(number.type, emitter)
    return here.value(here.subtract(total, number))


def _is_carried_active(outer: Differentiator, argument: SSAValue, result: SSAValue) -> bool:
    """A cotangent is carried: the value varies, and is of use in the loop or behind it."""
    activity = outer.activity
    useful = argument in activity.useful or result in activity.useful
    return useful and (argument in activity.varied or result in activity.varied)


def same_as(outer: Differentiator, value: SSAValue, origin: SSAValue) -> None:
    outer.shared.same[value] = origin
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
