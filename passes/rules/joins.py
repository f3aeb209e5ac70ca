"""Differentiation of grad.join, whose cotangent is one contribution to its operand, and of
grad.barrier."""

from __future__ import annotations

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.grad.grad import BarrierOp, is_zero
from gradir.dialects.grad.join import JoinOp, join
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.differentiate.reverse_mode import Flowing, OrdinaryRule


class JoinRule:
    """The structural rule: no code forward; backward a join too, so that the sum takes the
    cotangent as one tensor, also where it is made by writes into zeros. Row slices pass as they
    are."""

    def forward(self, outer: Differentiator, op: JoinOp) -> None:
        outer.shared.primal[op.y] = outer.primal(op.x)
        if outer.contributions.sums_slices(op.x):
            outer.shared.identify(op.y, op.x)

    def backward(
        self, outer: Differentiator, op: JoinOp, saved: object, cts: Cotangents
    ) -> Flowing:
        [ct] = cts
        if ct is None or is_zero(ct.ssa):
            return [(op.x, ct)]
        return [(op.x, outer.emitter.value(join(ct.ssa, outer.emitter)))]


class BarrierRule(OrdinaryRule):
    """The rule of any op, but that row slices of a table pass a barrier as they are."""

    def forward(self, outer: Differentiator, op: BarrierOp) -> None:
        super().forward(outer, op)
        if outer.contributions.sums_slices(op.operands[0]):
            outer.shared.identify(op.results[0], op.operands[0])
