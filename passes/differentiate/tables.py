"""The ops that read tables by rows: where a table's cotangent can be summed as row slices.

A read of k rows, as by array.take, contributes k slices; any other read contributes a whole tensor.
Found in the source, before its differentiation: a loop needs the types of its sums at its start.
Callees are differentiated before, so what they read is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue, Use

from gradir.dialects.base.interfaces import TensorOp, is_terminator
from gradir.dialects.base.shapes import is_static, is_tensor, shape_of
from gradir.dialects.grad.grad import BarrierOp
from gradir.dialects.grad.join import JoinOp
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.call_graph import called_name
from gradir.passes.analysis.region_flow import times, trips
from gradir.passes.analysis.region_ops import (
    SlotEntry,
    fixed_value,
    is_branch,
    is_loop,
    region_flow,
    sole_source,
)
from gradir.passes.differentiate.call_dependence import callee_of
from gradir.passes.differentiate.program import ModuleFunctions

Pattern = tuple[FuncOp, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A callee, its active arguments, its active results, and which of these arguments are tables."""


def call_pattern(
    program: ModuleFunctions, op: CallOp, activity: Activity, tables: tuple[int, ...] = ()
) -> Pattern:
    wrt, of = (
        tuple(k for k, value in enumerate(values) if activity.is_active(value))
        for values in (op.operands, op.results)
    )
    return callee_of(program, op), wrt, of, tables


class Tables:
    """Some values of a function, and their reads; `activity` belongs to that function."""

    def __init__(self, program: ModuleFunctions, activity: Activity, tables: Iterable[SSAValue]):
        self.program = program
        self.activity = activity
        self.names = {table: Names.of(table) for table in tables}
        self._found: dict[tuple[Operation, SSAValue], int | None] = {}

    def by_rows(self, op: Operation, tables: Iterable[SSAValue]) -> dict[SSAValue, int]:
        """Those of some tables that the regions of an op read by rows alone, if at all: with the
        most rows that one run of the op reads."""
        counts = {table: self._rows(op, table) for table in tables}
        return {table: count for table, count in counts.items() if count is not None}

    def among(self, op: CallOp) -> tuple[int, ...]:
        """The places of the active operands of a call that are tables."""
        names = {name for each in self.names.values() for name in each.values}
        is_active = self.activity.is_active
        return tuple(k for k, o in enumerate(op.operands) if o in names and is_active(o))

    def _rows(self, op: Operation, table: SSAValue) -> int | None:
        if (op, table) not in self._found:
            self._found[op, table] = self._most_rows(self.names[table], op)
        return self._found[op, table]

    def _most_rows(self, names: Names, within: Operation) -> int | None:
        """A bound on the rows of a table that one run of the regions of `within` reads; None where
        it is unknown, larger than the table, or another kind of read is among them."""
        type_ = names.values[0].type
        if not (is_tensor(type_) and is_static(type_) and shape_of(type_)):
            return None
        total = 0
        for use in (use for name in names.values for use in name.uses):
            inside = use.operation is not within and within.is_ancestor(use.operation)
            if not inside or SlotEntry(use.operation, use.index) in names.entries:
                continue
            count = times(self._rows_at(use), _runs(use.operation, within))
            if count is None:
                return None
            total += count
        return total if total <= shape_of(type_)[0] else None

    def _rows_at(self, use: Use) -> int | None:
        """The rows that one run of an op reads of an operand; None for other reads."""
        op = use.operation
        if op.results and not any(map(self.activity.is_active, op.results)):
            return 0
        if isinstance(op, CallOp):
            if called_name(op) in self.program.custom:
                return None
            pattern = call_pattern(self.program, op, self.activity, self.among(op))
            return self.program.rows_read[pattern].get(use.index)
        return op.slice_count if isinstance(op, TensorOp) and use.index == 0 else None


def _runs(op: Operation, within: Operation) -> int | None:
    """A bound on the runs of an op in one run of another around it, loops included."""
    found: int | None = 1
    while op is not within and (around := op.parent_op()) is not None:
        found, op = times(found, trips(around)), around
    return found


@dataclass(frozen=True)
class Names:
    """A value, and all that equal it since region ops hand it on; and the operands by which it
    enters these ops."""

    values: list[SSAValue]
    entries: set[SlotEntry]

    @staticmethod
    def of(value: SSAValue) -> Names:
        names = Names([value], set())
        for name in names.values:  # which grow
            for use in name.uses:
                others = _handed_on(use)
                if others:
                    names.entries.add(SlotEntry(use.operation, use.index))
                    names.values.extend(v for v in others if v not in names.values)
        return names


def _handed_on(use: Use) -> Sequence[SSAValue]:
    """The values that equal an operand behind a barrier, a join, an op that runs once, or a loop
    that never changes it."""
    op = use.operation
    if isinstance(op, BarrierOp | JoinOp):
        return op.results
    around = op.parent_op() if is_terminator(op) else op
    flow = None if around is None else region_flow(around)
    if flow is None or is_branch(flow.op):
        return ()
    for slot in flow.slots:
        if SlotEntry(op, use.index) in slot.entries:
            fixed = fixed_value if is_loop(flow.op) else sole_source
            return slot.values if fixed(flow, slot) is not None else ()
    return ()
