"""Ops whose differentiation changes the forward code too: calls, and ops with regions.

An ordinary op has a vjp rule that reads its operands and results. A structural op is replaced in
the forward code by one that also yields what its backward code reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.value import Value

if TYPE_CHECKING:
    from gradir.passes.differentiate.differentiator import Differentiator


class StructuralRule(Protocol):
    """How to differentiate ops of one class, as part of a block that is being differentiated."""

    def forward(self, outer: Differentiator, op: Any) -> object:
        """Append the forward code and say what stands for the results (`outer.set_primal`).

        Returns what `backward` is handed as `saved`.
        """
        ...

    def backward(
        self, outer: Differentiator, op: Any, saved: Any, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        """Append the backward code; returns contributions to operands and to captured values."""
        ...


def structural_rule(op: Operation) -> StructuralRule | None:
    """The rule for an op's class, if it needs one."""
    from gradir.passes.gradient.rule_table import RULES

    return RULES.get(type(op))
