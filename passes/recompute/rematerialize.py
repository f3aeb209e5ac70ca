"""Recomputation of forward values in backward code, each at its first use there and at most once.

Recomputations read kept values through grad.barrier, so that no later pass merges them with the
forward code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.shapes import is_tensor
from gradir.dialects.base.value_names import rematerialized_name
from gradir.dialects.grad.grad import BarrierOp
from gradir.passes.analysis.regions import captured, values_read
from gradir.passes.cleanup.dead_code import has_no_effect
from gradir.passes.differentiate.residuals import is_constant


class Rematerialization:
    """The residuals of `backward`: stored, or recomputed from stored values.

    `may_recompute` tells values that need not be stored, `has_effects` ops that must not run again;
    without it, calls must not. Then `stored` are the values at which recomputation ends, and the
    residuals that are not recomputed.
    """

    def __init__(
        self,
        forward: Block,
        backward: Block,
        may_recompute: Callable[[SSAValue], bool],
        held: Iterable[SSAValue] = (),
        has_effects: Callable[[Operation], bool] = lambda op: not has_no_effect(op),
    ):
        self.forward = forward
        self.backward = backward
        self.may_recompute = may_recompute
        self.has_effects = has_effects
        self.stored: dict[SSAValue, None] = {}
        self.recomputed: dict[SSAValue, None] = {}
        for value in held:
            if self._forward_op(value) is not None:
                self.stored[value] = None
        for op in backward.ops:
            self._demand(values_read(op))

    def _forward_op(self, value: SSAValue) -> Operation | None:
        """The op of the forward code that computes a value."""
        owner = value.owner
        return owner if isinstance(owner, Operation) and owner.parent is self.forward else None

    def _demand(self, values: Iterable[SSAValue]) -> None:
        """Decide on the values, and on all operands of their recomputation."""
        pending = list(values)
        while pending:
            value = pending.pop()
            op = self._forward_op(value)
            if op is None or value in self.stored or value in self.recomputed:
                continue
            if not self.has_effects(op) and self.may_recompute(value):
                self.recomputed[value] = None
                pending += captured(op)
            else:
                self.stored[value] = None

    def run(self, stand_in: Mapping[SSAValue, SSAValue] | None = None) -> None:
        """Insert the recomputation; `stand_in` gives the substitutes of stored values."""
        made: dict[SSAValue, SSAValue] = dict(stand_in or {})
        made |= {value: value for value in self.stored if value not in made}
        for top in list(self.backward.ops):
            read = [v for v in dict.fromkeys(values_read(top)) if self._forward_op(v) is not None]
            if not read:
                continue
            # of this place: recomputations at other places stay apart
            replay = _Replay(self, top, made)
            for value in read:
                replay.make(value)
            for op in top.walk():
                for index, operand in enumerate(op.operands):
                    if made.get(operand, operand) is not operand:
                        op.operands[index] = made[operand]


class _Replay:
    """The recomputation in front of one backward op."""

    def __init__(self, plan: Rematerialization, before: Operation, made: dict[SSAValue, SSAValue]):
        self.plan = plan
        self.before = before
        self.made = made
        self.barriers: dict[SSAValue, SSAValue] = {}

    def make(self, value: SSAValue) -> None:
        """Copy the ops that compute a value; an explicit stack, since chains may be long."""
        pending = [value]
        while pending:
            value = pending[-1]
            op = self.plan._forward_op(value)
            if value in self.made or op is None:
                pending.pop()
                continue
            missing = [v for v in captured(op) if v in self.plan.recomputed and v not in self.made]
            if missing:
                pending += reversed(missing)
            else:
                self._copy(op)

    def _copy(self, op: Operation) -> None:
        copy = op.clone({value: self._operand(value) for value in captured(op)})
        copy.location = op.location
        self._insert(copy)
        for result, ours in zip(op.results, copy.results, strict=True):
            ours.name_hint = remat_hint(result)
            self.made.setdefault(result, ours)

    def _operand(self, value: SSAValue) -> SSAValue:
        """The substitute of a value in a copy."""
        if value in self.plan.recomputed:
            return self.made[value]
        value = self.made.get(value, value)
        owner = value.owner
        if not is_tensor(value.type) or (isinstance(owner, Operation) and is_constant(owner)):
            return value
        if value not in self.barriers:
            barrier = BarrierOp.of([value])
            barrier.location = self.before.location
            self._insert(barrier)
            barrier.y.name_hint = value.name_hint
            self.barriers[value] = barrier.y
        return self.barriers[value]

    def _insert(self, op: Operation) -> None:
        block = self.before.parent
        assert block is not None
        block.insert_op_before(op, self.before)


def remat_hint(value: SSAValue) -> str | None:
    return rematerialized_name(value.name_hint)
