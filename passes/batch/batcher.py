"""The ops of a function on many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.array.rows import empty_rows, read_row, write_row
from gradir.dialects.base.batch import Batch, repeat_rows, type_with_rows
from gradir.dialects.base.between_ranks import BetweenRanksOp
from gradir.dialects.base.diagnostics import PassError, kind_name
from gradir.dialects.base.extents import is_extent
from gradir.dialects.base.interfaces import is_terminator
from gradir.dialects.base.op_rules import vmap_op
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.dialects.grad.extent import ExtentOp
from gradir.dialects.grad.tape import TAPE_OPS, TapeNewOp, TapeType
from gradir.passes.analysis.region_flow import RegionFlow, region_flow
from gradir.passes.analysis.region_ops import with_regions
from gradir.passes.analysis.regions import is_defined_in, values_read
from gradir.passes.batch.named_axis import NamedAxis
from gradir.passes.batch.spread import Spread


class NoRows(PassError):
    """An op that cannot run on rows; a call around it runs on one row after the other."""


def value_type_with_rows(type_: Attribute, size: int) -> Attribute | None:
    """The type of so many rows of a value, or a tape of such; None for one that has no rows."""
    if not isinstance(type_, TapeType):
        return type_with_rows(type_, size)
    columns = [value_type_with_rows(column, size) for column in type_.columns]
    if None in columns:
        return None
    limit = None if type_.byte_limit is None else type_.byte_limit * size
    return TapeType.of(cast(Sequence[Attribute], columns), type_.records, limit)


class Callees(Protocol):
    """Functions on rows."""

    def callee(self, call: CallOp, rows: Sequence[bool]) -> FuncOp:
        """The function that a call of operands with such rows calls."""
        ...

    def operand_rows(self, call: CallOp, rows: Sequence[bool]) -> Sequence[bool]:
        """Which operands it takes with rows."""
        ...

    def differentiated(
        self, op: DerivativeOp, rows: Sequence[bool]
    ) -> tuple[FuncOp, Sequence[bool]] | None:
        """The function on rows of a derivative, and which operands have them; None without one."""
        ...


class Batcher:
    """Copies ops into a block, on `size` rows where they have any. `new` are the copies."""

    def __init__(self, spread: Spread, callees: Callees, size: int, axis: NamedAxis, block: Block):
        self.spread, self.callees, self.size, self.block = spread, callees, size, block
        self.axis = axis
        self.new: dict[SSAValue, SSAValue] = {}

    # Values.

    def has_rows(self, value: SSAValue) -> bool:
        return value in self.spread.values

    def argument(self, value: SSAValue) -> None:
        """An argument of the block for a value of the source."""
        type_ = self.type_with_rows(value) if self.has_rows(value) else value.type
        made = self.block.insert_arg(type_, len(self.block.args))
        made.name_hint = value.name_hint
        self.new[value] = made

    def type_with_rows(self, value: SSAValue) -> Attribute:
        type_ = value_type_with_rows(value.type, self.size)
        if type_ is None:
            owner = value.owner
            place = owner if isinstance(owner, Operation) else owner.parent_op()
            assert place is not None
            raise NoRows(f"gradir-vmap: {value.type} has no rows", place)
        return type_

    def with_rows(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        """The copy of a value, repeated for each row if it has none."""
        found = self.new[value]
        if self.has_rows(value):
            return found
        if isinstance(value.type, TapeType):
            return self._empty_tape(value, emitter)
        self.type_with_rows(value)
        return repeat_rows(emitter.value(found), self.size).ssa

    def _empty_tape(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        owner = value.owner
        if not isinstance(owner, TapeNewOp):
            place = owner if isinstance(owner, Operation) else owner.parent_op()
            assert place is not None
            raise NoRows("gradir-vmap: a tape that has records gets rows", place)
        made = TapeNewOp.create(
            result_types=[self.type_with_rows(value)], attributes=owner.attributes
        )
        return emitter.insert(made).results[0]

    def _as_read(self, value: SSAValue, rows: bool, emitter: Emitter) -> SSAValue:
        return self.with_rows(value, emitter) if rows else self.new[value]

    # Ops.

    def ops(self, block: Block) -> None:
        """Copy the ops of a block of the source without its terminator."""
        for op in block.ops:
            if is_terminator(op):
                continue
            if not self.spread.depends_on_rows(op):
                self._copy(op)
            elif isinstance(op, BetweenRanksOp) and self.axis.is_over(op):
                self._between_rows(op)
            elif op in self.spread.single:
                self._one_by_one(op)
            elif isinstance(op, CallOp):
                self._call(op)
            elif isinstance(op, DerivativeOp):
                self._derivative(op)
            elif (flow := region_flow(op)) is not None:
                self._regions(op, flow)
            elif isinstance(op, TAPE_OPS):
                self._tape(op)
            else:
                self._plain(op)

    def _copy(self, op: Operation) -> None:
        copy = op.clone(self.new)
        copy.location = op.location
        self.block.add_op(copy)

    def _take_over(self, op: Operation, made: Sequence[SSAValue]) -> None:
        for result, ours in zip(op.results, made, strict=True):
            ours.name_hint = result.name_hint
            self.new[result] = ours

    def _emitter(self, op: Operation) -> Emitter:
        return Emitter(self.block, op.location)

    def _plain(self, op: Operation) -> None:
        for result in op.results:
            self.type_with_rows(result)
        emitter = self._emitter(op)
        operands = [emitter.value(self.new[o]) for o in op.operands]
        results = vmap_op(Batch(op, self.size, operands, self.spread.rows(op.operands)))
        if results is None:
            self._one_by_one(op)
        else:
            self._take_over(op, [v.ssa for v in results])

    def _between_rows(self, op: BetweenRanksOp) -> None:
        """A collective whose ranks are the rows."""
        emitter = self._emitter(op)
        operands = [emitter.value(self.new[o]) for o in op.operands]
        batch = Batch(op, self.size, operands, self.spread.rows(op.operands))
        self._take_over(op, [v.ssa for v in op.between_rows(batch, emitter)])

    def _call(self, op: CallOp) -> None:
        rows = self.spread.rows(op.operands)
        callee, emitter = self.callees.callee(op, rows), self._emitter(op)
        taken = self.callees.operand_rows(op, rows)
        operands = [self._as_read(o, r, emitter) for o, r in zip(op.operands, taken, strict=True)]
        types = list(callee.function_type.outputs.data)
        made = emitter.insert(CallOp(callee.sym_name.data, operands, types))
        self._take_over(op, made.results)

    def _derivative(self, op: DerivativeOp) -> None:
        """The derivative of the function on rows: rows do not depend on each other."""
        rows = self.spread.rows(op.operands)
        found = self.callees.differentiated(op, rows)
        if found is None:
            self._one_by_one(op)
            return
        callee, taken = found
        emitter = self._emitter(op)
        operands = [self._as_read(o, r, emitter) for o, r in zip(op.operands, taken, strict=True)]
        types = [self.type_with_rows(r) for r in op.results]
        made = DerivativeOp(callee.sym_name.data, operands, types, op.attributes)
        self._take_over(op, emitter.insert(made).results)

    def _tape(self, op: Operation) -> None:
        """Records have rows in all columns, or in none."""
        emitter = self._emitter(op)
        operands = [self.with_rows(o, emitter) for o in op.operands]
        types = [self.type_with_rows(r) if self.has_rows(r) else r.type for r in op.results]
        made = type(op).create(
            operands=operands, result_types=types,
            properties=dict(op.properties), attributes=dict(op.attributes),
        )  # fmt: skip
        self._take_over(op, emitter.insert(made).results)

    def _regions(self, op: Operation, flow: RegionFlow) -> None:
        """The same regions on rows; a slot that has rows gets them from all its entries."""
        wide = {
            (e.reader, e.index)
            for slot in flow.slots
            if any(map(self.has_rows, slot.values))
            for e in slot.entries
        }
        emitter = self._emitter(op)
        operands = [self._as_read(o, (op, k) in wide, emitter) for k, o in enumerate(op.operands)]
        regions: list[Region] = []
        for region in op.regions:
            blocks = [self._region(b, wide) for b in region.blocks]
            regions.append(Region(blocks))
        types = [self.type_with_rows(r) if self.has_rows(r) else r.type for r in op.results]
        made = with_regions(op, operands, types, regions)
        self._take_over(op, emitter.insert(made).results)

    def _region(self, block: Block, wide: set[tuple[Operation, int]]) -> Block:
        inner = Batcher(self.spread, self.callees, self.size, self.axis, Block())
        inner.new = self.new
        for argument in block.args:
            inner.argument(argument)
        inner.ops(block)
        last = block.last_op
        assert last is not None
        emitter = inner._emitter(last)
        ours = last.clone(self.new)
        ours.location = last.location
        ours.operands = [
            inner._as_read(o, (last, k) in wide, emitter) for k, o in enumerate(last.operands)
        ]
        emitter.insert(ours)
        return inner.block

    # One row after the other.

    def _one_by_one(self, op: Operation) -> None:
        """A loop over the rows around a copy of the op."""
        if self.axis.sees_rows(op):
            raise PassError(
                f'gradir-vmap: a collective over the rows "{self.axis.name}" must run for all rows '
                f"at once, and {kind_name(op)} around it {_why_one_by_one(op)}",
                op,
            )
        outside = [v for v in dict.fromkeys(values_read(op)) if not is_defined_in(v, op)]
        read = [v for v in outside if self.has_rows(v)]
        if any(isinstance(v.type, TapeType) for v in (*read, *op.results)):
            raise NoRows(f"gradir-vmap: a tape of {kind_name(op)} has rows", op)
        emitter = self._emitter(op)
        types = [self.type_with_rows(r) for r in op.results]
        start = [empty_rows(t, emitter).ssa for t in types]
        if self.size == 0:
            self._take_over(op, start)
            return
        body = Block(arg_types=[IndexType(), *types])
        inside = Emitter(body, op.location)
        number, *made = body.args
        mapping = dict(self.new)
        for value in read:
            mapping[value] = read_row(inside.value(self.new[value]), number, value.type)
        copy = op.clone(mapping)
        copy.location = op.location
        inside.insert(copy)
        rows = zip(made, copy.results, strict=True)
        ends = [write_row(inside.value(all_), number, one).ssa for all_, one in rows]
        inside.insert(scf.YieldOp(*ends))
        first, last, step = (_index(n, emitter) for n in (0, self.size, 1))
        loop = emitter.insert(scf.ForOp(first, last, step, start, Region(body)))
        self._take_over(op, loop.results)


def _why_one_by_one(op: Operation) -> str:
    return "goes other ways in each row" if op.regions else "runs on one row after the other"


def _index(number: int, emitter: Emitter) -> SSAValue:
    if is_extent(number):
        return emitter.insert(ExtentOp(number, IndexType())).result
    return emitter.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
