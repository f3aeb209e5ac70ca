"""Bools as bits, and values read off points again, in a joint function.

They are where a bool, or such a value, is alive across an op that waits for a tensor.

A reader that only elementwise ops separate from such a value is fused with them: it reads the value
while that is computed, and bits would cost it a pass over memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.grad.host_call import HostCallOp
from gradir.passes.analysis.kept_bits import is_kept_as_bits
from gradir.passes.analysis.regions import values_read
from gradir.passes.differentiate.derived import Derived, read_as_bits
from gradir.passes.differentiate.residuals import is_read_off, read_again, values_read_of
from gradir.passes.recompute.costs import Costs


def keep_smaller(derived: Derived, costs: Costs) -> None:
    """Let the readers behind such an op read bits or points; results are in the caller's memory
    anyway."""
    read = values_read_of(derived.forward, derived.backward)
    kept = [value for value in read if value not in derived.results]
    for value in filter(is_kept_as_bits, kept):
        if readers := _readers_behind_waits(derived, value, costs):
            read_as_bits(derived, value, readers)
    if read_off := list(filter(is_read_off, kept)):
        _read_points_again(derived, read_off, costs)


def _read_points_again(derived: Derived, read_off: Sequence[SSAValue], costs: Costs) -> None:
    """As for bits, but in one walk, since there may be thousands: behind an op that waits are all
    ops that read a result of more such ops than the value has before it."""
    readers: dict[SSAValue, list[Operation]] = {value: [] for value in read_off}
    waits: dict[SSAValue, int] = {}
    for op in (*derived.forward.ops, *derived.backward.ops):
        read = values_read(op)
        most = max((waits.get(v, 0) for v in read), default=0)
        for value in read:
            if value in readers and op.parent is derived.backward and most > waits.get(value, 0):
                readers[value].append(op)
        waits.update((result, most + _waits(op, costs)) for result in op.results)
    for value, behind in readers.items():
        if behind:
            read_again(value, behind, behind_barrier=True)


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
