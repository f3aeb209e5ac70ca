"""Differentiation of grad.join: its cotangent is one contribution to its operand."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value
from gradir.dialects.grad.join import JoinOp
from gradir.passes.differentiate.differentiator import Differentiator


class JoinRule:
    """The structural rule: no code, forward or backward."""

    def forward(self, outer: Differentiator, op: JoinOp) -> None:
        outer.shared.primal[op.y] = outer.primal(op.x)

    def backward(
        self, outer: Differentiator, op: JoinOp, saved: object, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        return [(op.x, cts[0])]
