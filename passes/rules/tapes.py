"""Differentiation of pushes and pops: each is the other's adjoint, on tapes of cotangents.

    %t1 = grad.tape_push %t0, %x            becomes    %t0_ct, %x_ct, %taken = grad.tape_pop %t1_ct
    %t1, %x = grad.tape_pop %t0                        %t0_ct = grad.tape_push %t1_ct, %x_ct, %taken

Behind the cotangents in a record are the bools of the supports of some (`crossing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.op_rules import VjpRule
from gradir.dialects.base.value import Value
from gradir.dialects.grad.tape import (
    TapePopOp,
    TapePushOp,
    floating_cotangents,
    pop_cotangents,
    push,
)
from gradir.passes.differentiate.crossing import Crossing
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import OrdinaryRule


class TapeRule(OrdinaryRule):
    """The rule of any op, but that the cotangents of columns cross the tape with masks."""

    def vjp(self, outer: Differentiator, op: Operation) -> VjpRule:
        assert isinstance(op, TapePushOp | TapePopOp)
        crossing = Crossing.of_tapes(outer.shared.gates, op.tape_type)

        def popped(
            op: TapePushOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
        ) -> Cotangents:
            [ct] = cts
            assert ct is not None
            flowing, columns = pop_cotangents(op, ct)
            first = len(crossing.types)
            crossing.receive(columns[:first], columns[first:])
            return flowing

        def pushed(
            op: TapePopOp, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
        ) -> Cotangents:
            rest, *flowing = cts
            tape = rest or outer.contributions.zero_of(op.result)
            columns = floating_cotangents(op, flowing, tape.emitter)
            masks = crossing.hand_over(columns, tape.emitter)
            return [tape.emitter.value(push(tape.ssa, [*columns, *masks], tape.emitter))]

        return popped if isinstance(op, TapePushOp) else pushed
