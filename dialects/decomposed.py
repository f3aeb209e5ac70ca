"""The derivative of a compound op from its decomposition: reverse mode over the simpler ops.

For ops whose own formula would be nothing else. The decomposition is emitted once more; where it
stands next to that of the op itself, common subexpressions are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from gradir.dialects.interfaces import Cotangents, TensorOp, is_inactive, vjp_rule
from gradir.dialects.shapes import is_float_tensor
from gradir.dialects.value import Emitter, OpT, Value


class _Recorder(Emitter):
    """Emits where another emitter does, and keeps a list."""

    def __init__(self, emitter: Emitter):
        super().__init__(emitter.block, emitter.location, emitter.before, emitter.source)
        self.ops: list[Operation] = []

    def insert(self, op: OpT) -> OpT:
        self.ops.append(super().insert(op))
        return op


def vjp_of_decomposition(op: TensorOp, cts: Cotangents, operands: Sequence[Value]) -> Cotangents:
    """Cotangents of the operands of an op that has a decomposition."""
    from gradir.dialects.grad import accumulated

    emitter = operands[0].emitter
    recorder = _Recorder(emitter)
    made = op.decompose(*(recorder.value(o.ssa) for o in operands))
    results = [made] if isinstance(made, Value) else made
    active = _active(recorder.ops, operands)
    contributions: dict[SSAValue, list[Value]] = {}
    for result, ct in zip(results, cts, strict=True):
        if ct is not None:
            contributions.setdefault(result.ssa, []).append(ct)
    for one in reversed(recorder.ops):
        if not active.intersection(one.results):
            continue
        found = [contributions.pop(r, None) for r in one.results]
        if all(c is None for c in found):
            continue
        rule = vjp_rule(one)
        assert rule is not None, f"{op.name}: {one.name} has no derivative"
        totals = [None if c is None else accumulated(c) for c in found]
        values = [[emitter.value(v) for v in row] for row in (one.results, one.operands)]
        for operand, ct in zip(one.operands, rule(one, totals, *values), strict=True):
            if ct is not None and operand in active:
                contributions.setdefault(operand, []).append(ct)
    # one value in the place of several operands has one total, which counts once
    left = [contributions.pop(o.ssa, None) for o in operands]
    return [None if c is None else accumulated(c) for c in left]


def _active(ops: Sequence[Operation], operands: Sequence[Value]) -> set[SSAValue]:
    """The values through which cotangents flow to floating operands."""
    active = {o.ssa for o in operands if is_float_tensor(o.type)}
    for op in ops:
        if not is_inactive(op) and active.intersection(op.operands):
            active.update(r for r in op.results if is_float_tensor(r.type))
    return active
