"""Reverse mode. Open this file first.

A block is walked twice. `walk_block_forward` copies it. `walk_block_back` visits its ops again, the
last one first: it takes the cotangents of an op's results, calls the op's rule on them, and adds
what the rule returns to the cotangents of the values that the op reads.

Most ops have the one rule of this file, `OrdinaryRule`: a copy forward, and backward the `vjp` of
the op's class. An op whose forward code changes too (a loop, a branch, a call, a stage) has a rule
of its own, by the table in passes/gradient/rule_table.py.

The walks work on a `Differentiator`: it has the two blocks under construction, and the cotangents
so far (contributions.py). `function.py` runs both walks over a function, and `derived.py` makes
functions of the two blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.interfaces import Cotangents, TensorOp, is_terminator
from gradir.dialects.base.op_rules import VjpRule, vjp_rule
from gradir.dialects.base.value import Value
from gradir.passes.cleanup.dead_code import remove_dead_ops

if TYPE_CHECKING:
    from gradir.passes.differentiate.differentiator import Differentiator

Flowing = Iterable[tuple[SSAValue, Value | None]]
"""Contributions to cotangents: a value that an op reads, and the cotangent that flows to it."""


def walk_block_forward(work: Differentiator, block: Block) -> None:
    """Append the forward code of all ops of a block but the terminator."""
    shared = work.shared
    for op in block.ops:
        if is_terminator(op):
            continue
        if shared.takes_part(op):
            shared.saved[op] = shared.rule(op).forward(work, op)
        else:
            work.copy(op)


def walk_block_back(work: Differentiator, block: Block) -> None:
    """Append the backward code of all ops of a block, the last one first."""
    shared, cotangents = work.shared, work.contributions
    for op in shared.ops_backward(block):
        if not cotangents.reach(op):
            continue
        work.emitter.location = op.location
        cts = cotangents.take_from_results(op)
        for value, ct in shared.rule(op).backward(work, op, shared.saved.get(op), cts):
            cotangents.add(value, ct)


class ReverseRule(Protocol):
    """The differentiation of ops of one class, as part of a differentiated block."""

    def forward(self, outer: Differentiator, op: Any) -> object:
        """Append the forward code and set the primals of the results (`outer.set_primal`).

        Returns `saved` for `backward`.
        """
        ...

    def backward(self, outer: Differentiator, op: Any, saved: Any, cts: Cotangents) -> Flowing:
        """Append the backward code; returns contributions to operands and to captured values."""
        ...


class OrdinaryRule:
    """The rule of all ops with a vjp: a copy forward, the vjp backward."""

    def forward(self, outer: Differentiator, op: Operation) -> None:
        outer.copy(op)

    def backward(
        self, outer: Differentiator, op: Operation, saved: object, cts: Cotangents
    ) -> Flowing:
        if not any(map(outer.activity.is_active, op.operands)):
            return []
        vjp, takes = self.vjp(outer, op), outer.contributions.takes
        results, operands = outer.primals(op.results), outer.primals(op.operands)
        before = outer.backward.last_op
        cts_of_operands = outer.shared.gates.flow(
            op, vjp, cts, results, operands, lambda place: takes(op.operands[place])
        )
        flowing = list(zip(op.operands, cts_of_operands, strict=True))
        if (rows := _row_slices(outer, op, cts, results, operands)) is not None:
            flowing[0] = op.operands[0], rows
        taken = [(value, ct) for value, ct in flowing if ct is not None and takes(value)]
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
