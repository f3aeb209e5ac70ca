"""Bools as bits in a joint function, where they are alive across an op that waits for a tensor.

A reader of a mask that only elementwise ops separate from it is fused with them: it reads the mask
while that is drawn, and bits would cost it a pass over memory.
"""

from __future__ import annotations

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad.host_call import HostCallOp
from gradir.passes.analysis.kept_bits import is_kept_as_bits
from gradir.passes.analysis.regions import values_read
from gradir.passes.differentiate.derived import Derived, read_as_bits
from gradir.passes.differentiate.residuals import values_read_of
from gradir.passes.recompute.costs import Costs


def keep_as_bits(derived: Derived, costs: Costs) -> None:
    """Let the readers behind such an op read bits; results are in the caller's memory anyway."""
    for value in values_read_of(derived.forward, derived.backward):
        if is_kept_as_bits(value) and value not in derived.results:
            if readers := _readers_behind_waits(derived, value, costs):
                read_as_bits(derived, value, readers)


def _readers_behind_waits(derived: Derived, value: SSAValue, costs: Costs) -> list[Operation]:
    """The ops of the backward code that read a value, and also a result that needs all of it: one
    computed by an op that waits, or after that op."""
    near, behind = {value}, set[SSAValue]()
    for op in (*derived.forward.ops, *derived.backward.ops):
        read = values_read(op)
        if not behind.isdisjoint(read):
            behind.update(op.results)
        elif not near.isdisjoint(read):
            (behind if _waits(op, costs) else near).update(op.results)
    readers = (op for op in derived.backward.ops if value in values_read(op))
    return [op for op in readers if not behind.isdisjoint(values_read(op))]


def _waits(op: Operation, costs: Costs) -> bool:
    """Whether an op starts when all of its operands are computed."""
    return bool(op.regions) or isinstance(op, CallOp | HostCallOp) or costs.of(op).reduces
