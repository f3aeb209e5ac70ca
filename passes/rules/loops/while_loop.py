"""What of a scf.while changes from iteration to iteration."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from gradir.passes.analysis.region_flow import keeps_start, yielded
from gradir.passes.analysis.region_ops import unwrapped
from gradir.passes.differentiate.differentiator import Differentiator
from gradir.passes.rules.loops.taped_loop import same_as


@dataclass
class WhileLoop:
    """A source loop: which values it carries (into the first region) and passes (out of it) that
    change; the others are the same as a value from outside."""

    op: scf.WhileOp
    before: Block
    after: Block
    carried: list[int]
    passed: list[int]

    @property
    def condition(self) -> scf.ConditionOp:
        last = self.before.last_op
        assert isinstance(last, scf.ConditionOp)
        return last


def analyzed(outer: Differentiator, op: scf.WhileOp) -> WhileLoop:
    """Find the values that never change; they are said to be the same as what they start from."""
    before, after = op.before_region.block, op.after_region.block
    condition = yielded(before)
    inside: set[SSAValue] = {v for block in (before, after) for v in block.args}
    inside.update(r for inner in op.walk() if inner is not op for r in inner.results)
    carried: list[int] = []
    for k, argument in enumerate(before.args):
        if keeps_start(op, k):
            same_as(outer, argument, op.arguments[k])
        else:
            carried.append(k)
    passed: list[int] = []
    for k, value in enumerate(unwrapped(v, op) for v in condition):
        if outer.shared.origin(value) not in inside:
            for other in (after.args[k], op.results[k]):
                same_as(outer, other, value)
        else:
            passed.append(k)
    return WhileLoop(op, before, after, carried, passed)
