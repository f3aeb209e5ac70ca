"""Remove dead values across regions: results of branches and loops, carried values, the ops that
only these need, and columns of tapes whose popped values are unread.

One walk marks values from the roots (results of functions, ops with effects) against the flow of
data, through `region_flow` and tapes; one sweep rebuilds the ops with unmarked parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.grad.tape import (
    TapeNewOp,
    TapePopOp,
    TapePushOp,
    TapeSizeOp,
    TapeType,
    is_tape,
)
from gradir.passes.analysis.edits import erase, replace_op
from gradir.passes.analysis.region_flow import ops_within
from gradir.passes.analysis.region_ops import drop_slots, region_flow
from gradir.passes.analysis.union_find import Families
from gradir.passes.cleanup.dead_code import has_no_effect


def prune_flow(blocks: Sequence[Block]) -> None:
    """Prune blocks; later ones may read values of earlier ones."""
    if not any(region_flow(op) is not None for block in blocks for op in block.ops):
        return
    marks = _Marks(blocks)
    # before the sweep: pushes would keep dead columns alive
    for push in (push for pushes in marks.pushes.values() for push in pushes):
        if (columns := _needed_columns(push.result, marks)) is not None:
            push.operands = [push.tape, *(push.columns[k] for k in columns)]
    for block in reversed(blocks):
        _sweep(block, marks)
    _narrow_tapes(blocks, marks)


class _Marks:
    """The needed values and ops, and the needed columns of each family of tapes."""

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = set(blocks)
        self.values: set[SSAValue] = set()
        self.ops: set[Operation] = set()
        self.columns: dict[SSAValue, set[int]] = {}
        self.pushes: dict[SSAValue, list[TapePushOp]] = {}
        # a record pushed on one tape of a family is popped from another
        self.families = Families()
        self.sources: dict[SSAValue, list[SSAValue]] = {}
        self.pending: list[SSAValue] = []
        ops = [op for block in blocks for op in ops_within(block)]
        for op in ops:
            self._connect(op)
        for op in ops:
            if self._is_root(op):
                self._mark_op(op)
        self._follow_all()
        while bare := self._tapes_without_columns():
            for tape in bare:
                self._mark_column(tape, 0)
            self._follow_all()

    def is_needed(self, value: SSAValue) -> bool:
        return value in self.values

    def _is_root(self, op: Operation) -> bool:
        if region_flow(op) is not None:
            return False
        if is_terminator(op):
            return op.parent in self.blocks
        return not has_no_effect(op)

    def _connect(self, op: Operation) -> None:
        flow = region_flow(op)
        for source, target in () if flow is None else flow.edges:
            self.sources.setdefault(target, []).append(source)
            if is_tape(source.type):
                self.families.join(source, target)
        if isinstance(op, TapePushOp | TapePopOp):
            self.families.join(op.tape, op.result)

    # Marking.

    def _mark(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self.pending.append(value)

    def _mark_op(self, op: Operation) -> None:
        """Mark an op: its operands, and the values that decide whether it runs."""
        if op in self.ops:
            return
        self.ops.add(op)
        around = op.parent_op()
        if around is not None and op.parent not in self.blocks:
            self._mark_op(around)
        flow = region_flow(op)
        if flow is not None:
            self._mark(flow.deciding)
        elif isinstance(op, TapePushOp):
            self._mark([op.tape])
            family = self.families.of(op.tape)
            self.pushes.setdefault(family, []).append(op)
            self._mark(op.columns[k] for k in self.columns.get(family, ()))
        else:
            self._mark(operand for each in op.walk() for operand in each.operands)
            if not isinstance(op, TapePopOp | TapeNewOp | TapeSizeOp):
                self._let_escape(op)

    def _let_escape(self, op: Operation) -> None:
        """Mark all columns of a tape with unknown uses elsewhere."""
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TapeType):
                for column in range(len(value.type.columns)):
                    self._mark_column(value, column)

    def _mark_column(self, tape: SSAValue, column: int) -> None:
        family = self.families.of(tape)
        found = self.columns.setdefault(family, set())
        if column not in found:
            found.add(column)
            self._mark(push.columns[column] for push in self.pushes.get(family, ()))

    def _tapes_without_columns(self) -> list[SSAValue]:
        """Tapes that only need their size: a record keeps one of its columns."""
        return [
            pushes[0].tape
            for family, pushes in self.pushes.items()
            if pushes[0].columns and not self.columns.get(family)
        ]

    def _follow_all(self) -> None:
        while self.pending:
            self._follow(self.pending.pop())

    def _follow(self, value: SSAValue) -> None:
        self._mark(self.sources.get(value, ()))
        if isinstance(value, BlockArgument):
            around = value.block.parent_op()
            if value.block not in self.blocks and around is not None:
                self._mark_op(around)
            elif isinstance(value.type, TapeType):
                for column in range(len(value.type.columns)):
                    self._mark_column(value, column)
            return
        op = value.owner
        assert isinstance(op, Operation)
        self._mark_op(op)
        if isinstance(op, TapePopOp) and value is not op.result:
            self._mark_column(op.tape, op.columns.index(value))


# Sweeping.


def _sweep(block: Block, marks: _Marks) -> None:
    for op in reversed(list(block.ops)):
        if region_flow(op) is not None and op in marks.ops:
            _prune(op, marks)
        elif op not in marks.ops and not is_terminator(op):
            erase(op)


def _prune(op: Operation, marks: _Marks) -> None:
    """Remove unmarked slots from a region op, and unmarked ops from its regions."""
    flow = region_flow(op)
    assert flow is not None
    dropped = [slot for slot in flow.slots if not any(map(marks.is_needed, slot.values))]
    gone = {value for slot in dropped for value in slot.values}
    before = [r for r in op.results if r not in gone]
    after = drop_slots(op, dropped, lambda block: _sweep(block, marks))
    for old, new in zip(before, after, strict=True):
        if is_tape(new.type):
            marks.families.join(new, old)


# Tapes.


def _narrow_tapes(blocks: Sequence[Block], marks: _Marks) -> None:
    """Remove unmarked columns from the types of tapes, and from pops."""
    kept: dict[SSAValue, list[int]] = {}
    pops: list[tuple[TapePopOp, list[int]]] = []
    for op in (op for block in blocks for op in ops_within(block)):
        flow = region_flow(op)
        arguments = () if flow is None else [a for b in flow.blocks for a in b.args]
        for value in (*op.results, *arguments):
            if is_tape(value.type) and (columns := _needed_columns(value, marks)) is not None:
                kept[value] = columns
        if isinstance(op, TapePopOp) and op.result in kept:
            pops.append((op, kept[op.result]))
    for value, columns in kept.items():
        type_ = value.type
        assert isinstance(type_, TapeType)
        narrow = type_.with_columns([type_.columns.data[k] for k in columns])
        Rewriter.replace_value_with_new_type(value, narrow)
    for op, columns in pops:
        _replace_pop(op, columns)


def _replace_pop(op: TapePopOp, columns: Sequence[int]) -> None:
    old = [op.result, *(op.columns[k] for k in columns)]
    made = TapePopOp.create(operands=[op.tape], result_types=[v.type for v in old])
    replace_op(op, made, old)


def _needed_columns(tape: SSAValue, marks: _Marks) -> list[int] | None:
    """The needed columns of a tape; None for all."""
    assert isinstance(tape.type, TapeType)
    found = sorted(marks.columns.get(marks.families.of(tape), ()))
    return None if not found or len(found) == len(tape.type.columns) else found
