"""Rules: the differentiation of ops of one class, as part of a block.

An ordinary op has a vjp that reads its operands and results; one rule serves all of them. A
structural op (a call, an op with regions) has a rule of its own, since it is replaced in the
forward code too, by an op that also yields the residuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.op_rules import VjpRule, vjp_rule
from gradir.dialects.base.value import Value
from gradir.passes.cleanup.dead_code import remove_dead_ops

if TYPE_CHECKING:
    from gradir.passes.differentiate.differentiator import Differentiator


class StructuralRule(Protocol):
    """The differentiation of ops of one class, as part of a differentiated block."""

    def forward(self, outer: Differentiator, op: Any) -> object:
        """Append the forward code and set the primals of the results (`outer.set_primal`).

        Returns `saved` for `backward`.
        """
        ...

    def backward(
        self, outer: Differentiator, op: Any, saved: Any, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        """Append the backward code; returns contributions to operands and to captured values."""
        ...


Rules = Mapping[type[Operation], StructuralRule]
"""The structural rules by class of op."""


class OrdinaryRule:
    """The rule of all ops with a vjp: a copy forward, the vjp backward."""

    def forward(self, outer: Differentiator, op: Operation) -> None:
        outer.copy(op)

    def backward(
        self, outer: Differentiator, op: Operation, saved: object, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        if not any(map(outer.activity.is_active, op.operands)):
            return []
        vjp = self.vjp(outer, op)
        results, operands = (
            [outer.emitter.value(outer.primal(v)) for v in values]
            for values in (op.results, op.operands)
        )
        before = outer.backward.last_op

        def wanted(place: int) -> bool:
            return outer.contributions.takes(op.operands[place])

        cts_of_operands = outer.shared.gates.flow(op, vjp, cts, results, operands, wanted)
        flowing = list(zip(op.operands, cts_of_operands, strict=True))
        if (rows := _row_slices(outer, op, cts, results, operands)) is not None:
            flowing[0] = op.operands[0], rows
        taken = [(v, ct) for v, ct in flowing if ct is not None and outer.contributions.takes(v)]
        # a vjp computes the cotangents of all operands, unused ones too
        remove_dead_ops(outer.backward, before, {ct.ssa for _, ct in taken})
        return taken

    def vjp(self, outer: Differentiator, op: Operation) -> VjpRule:
        """The derivative of an op."""
        found = vjp_rule(op)
        assert found is not None  # check_differentiable ensures it
        return found


def _row_slices(
    outer: Differentiator,
    op: Operation,
    cts: Cotangents,
    results: Sequence[Value],
    operands: Sequence[Value],
) -> Value | None:
    """The cotangent of the first operand as row slices, if its sum and the op allow it."""
    if not (op.operands and outer.contributions.sums_slices(op.operands[0])):
        return None
    if not (isinstance(op, TensorOp) and len(cts) == 1 and cts[0] is not None):
        return None
    return op.row_slices(cts[0], results[0], *operands)


ORDINARY = OrdinaryRule()
