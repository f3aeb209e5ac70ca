"""Ops whose differentiation changes the forward code too: calls now, regions of control flow next.

An ordinary op has a vjp rule that reads its operands and results. A structural op is replaced in
the forward code by one that also yields what its backward code reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.ir import Operation, SSAValue

from gradir.dialects.interfaces import Cotangents
from gradir.dialects.value import Emitter
from gradir.passes.derived_functions import Program


class StructuralRule(Protocol):
    """How to differentiate ops of one class."""

    def dependence(self, program: Program, op: Operation, varied: Sequence[bool]) -> Sequence[bool]:
        """Of each result: does it depend on the operands that are flagged?"""
        ...

    def forward(
        self,
        program: Program,
        op: Operation,
        operands: Sequence[SSAValue],
        active_operands: Sequence[bool],
        active_results: Sequence[bool],
        emitter: Emitter,
    ) -> tuple[Sequence[SSAValue], object]:
        """Emit the forward code; returns the results and what `backward` is handed as `saved`."""
        ...

    def backward(
        self, program: Program, op: Operation, saved: object, cts: Cotangents, emitter: Emitter
    ) -> Cotangents:
        """Emit the backward code; returns one cotangent per operand."""
        ...


def structural_rule(op: Operation) -> StructuralRule | None:
    """The rule for an op's class, if it needs one."""
    from gradir.passes.structural_rules import RULES

    return RULES.get(type(op))
