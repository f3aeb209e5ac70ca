"""Makes one `loopnest.rows` of nests on buffers: their bodies over the rows of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from gradir.codegen.rows.nest_rows import NestRows, moves_with_rows
from gradir.dialects.base.access import Access, Row
from gradir.dialects.base.shapes import element_of, memref_type, shape_of
from gradir.dialects.loopnest.body_ops import IndexOp
from gradir.dialects.loopnest.loopnest import NestOp, Output, ReshapeOp, ViewOp, YieldOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.edits import erase
from gradir.passes.buffers.state import root_of


def is_local(root: SSAValue, ops: Sequence[NestOp]) -> bool:
    """Whether a buffer is touched by these ops alone, also under other shapes."""
    owner = root.owner
    if not isinstance(owner, memref.AllocOp) or owner.parent is not ops[0].parent:
        return False
    pending = [root]
    while pending:
        for use in pending.pop().uses:
            if isinstance(use.operation, ViewOp):
                pending.append(use.operation.result)
            elif use.operation not in ops:
                return False
    return True


def build_rows(
    members: Sequence[NestRows],
    rows: int,
    size: int,
    behind: Sequence[Operation],
    ahead: Sequence[Operation],
) -> RowsOp:
    """Replace the nests by one op, before the first op of `behind`, and after those `ahead`."""
    ops = [one.op for one in members]
    builder = _Builder(members, rows, size)
    rows_op = builder.build()
    block = ops[0].parent
    assert block is not None
    span = list(_span(ops[0], ops[-1]))
    first = next((k for k, op in enumerate(span) if op in behind[:1]), len(span) - 1)
    place, later = span[first], set(span[first:])
    for op in (op for op in ahead if op in later):
        for operand in op.operands:
            _hoist(operand, place, later)
        _move(op, place, later)
    for root in (*rows_op.inputs, *rows_op.outputs):
        _hoist(root, place, later)
    block.insert_op_before(rows_op, place)
    for op in ops:
        erase(op)
    for root in builder.local:
        _erase_views(root)
    return rows_op


def _span(first: Operation, last: Operation) -> Iterator[Operation]:
    """The ops of a block from one to another."""
    op: Operation | None = first
    while op is not None and op is not last:
        yield op
        op = op.next_op
    yield last


def _hoist(buffer: SSAValue, place: Operation, later: set[Operation]) -> None:
    """Move the op that makes a buffer before `place`, after the makers of its operands."""
    owner = buffer.owner
    if isinstance(owner, Operation) and owner in later:
        for operand in owner.operands:
            _hoist(operand, place, later)
        _move(owner, place, later)


def _move(op: Operation, place: Operation, later: set[Operation]) -> None:
    """Move an op of those `later` before `place`."""
    later.discard(op)
    op.detach()
    block = place.parent
    assert block is not None
    block.insert_op_before(op, place)


def _erase_views(root: SSAValue) -> None:
    for use in list(root.uses):
        assert isinstance(use.operation, ViewOp)
        _erase_views(use.operation.result)
    owner = root.owner
    assert isinstance(owner, Operation)
    erase(owner)


class _Builder:
    def __init__(self, members: Sequence[NestRows], rows: int, size: int):
        self.members, self.rows, self.size = members, rows, size
        self.block = Block()
        ops = [one.op for one in members]
        written = {root: None for one in members for root in map(root_of, one.op.outputs)}
        read = {root: None for one in members for root in map(root_of, one.op.inputs)}
        moving = {root for one in members for root in one.moving}
        self.local = [root for root in written if root in moving and is_local(root, ops)]
        self.outputs = [root for root in written if root not in self.local]
        still = {root for one in members for root in one.still}
        read_only = [root for root in read if root not in written]
        # one that moves and is read in other ways too is there twice
        kinds = [(root, True) for root in read_only if root in moving]
        kinds += [(root, False) for root in read_only if root in still]
        self.inputs = [root for root, _ in kinds]
        kinds += [(root, root in moving) for root in (*self.outputs, *self.local)]
        self.arguments: dict[tuple[SSAValue, bool], BlockArgument] = {}
        for root, is_moving in kinds:
            type_ = self._rows_of(root.type) if is_moving else root.type
            argument = self.block.insert_arg(type_, len(self.block.args))
            argument.name_hint = root.name_hint
            self.arguments[root, is_moving] = argument
        self.views: dict[tuple[SSAValue, Attribute], SSAValue] = {}

    def build(self) -> RowsOp:
        for one in self.members:
            self.block.add_op(self._nest(one))
        self.block.add_op(YieldOp())
        chunk = next((one.chunk for one in self.members if one.chunk is not None), None)
        rows_op = RowsOp(self.rows, self.size, self.inputs, self.outputs, self.block, chunk)
        rows_op.location = self.members[-1].op.location
        return rows_op

    def _rows_of(self, type_: Attribute) -> MemRefType[Attribute]:
        """The type of a block of a buffer: its leading extents, the rows, become one."""
        shape, lead, rows = shape_of(type_), 0, 1
        while rows < self.rows:
            rows *= shape[lead]
            lead += 1
        rest: list[int] = []
        if rows != self.rows:
            lead, rest = len(shape), [_product(shape) // self.rows]
        return memref_type([self.size, *shape[lead:], *rest], element_of(type_))

    def _buffer(self, value: SSAValue, is_moving: bool) -> SSAValue:
        """The part of a buffer that a nest touches, under the shape that it sees."""
        argument = self.arguments[root_of(value), is_moving]
        type_ = self._rows_of(value.type) if is_moving else value.type
        if argument.type == type_:
            return argument
        key = argument, type_
        if key not in self.views:
            view = ReshapeOp(argument, type_)
            self.block.add_op(view)
            self.views[key] = view.result
        return self.views[key]

    def _nest(self, one: NestRows) -> NestOp:
        """A nest over the rows of a block; they are its first dimension."""
        op, lead = one.op, one.lead
        inputs: list[SSAValue] = []
        accesses: list[Access | None] = []
        body = op.body.block
        for k, (value, access) in enumerate(zip(op.inputs, op.input_accesses, strict=True)):
            is_moving = moves_with_rows(value, access, op, lead) is True
            inputs.append(self._buffer(value, is_moving))
            accesses.append(None if access is None else _over_block(access, lead, is_moving))
            if access is None:
                _retype(body, k, inputs[-1].type)
        buffers: list[SSAValue] = []
        outputs: list[Output] = []
        for value, output in zip(op.outputs, op.output_list, strict=True):
            is_moving = moves_with_rows(value, output.access, op, lead) is True
            buffers.append(self._buffer(value, is_moving))
            access = _over_block(output.access, lead, is_moving)
            outputs.append(Output(buffers[-1].type, access, output.combiner))
        for inner in body.ops:
            if isinstance(inner, IndexOp) and inner.dim.value.data >= lead:
                inner.properties["dim"] = IntegerAttr(inner.dim.value.data - lead + 1, i64)
        nest = NestOp(
            (self.size, *op.extents[lead:]), inputs, accesses, outputs, op.detach_region(op.body),
            op.input_pads, buffers, op.starting_outputs,
        )  # fmt: skip
        nest.attributes |= op.attributes
        nest.location = op.location
        return nest


def _over_block(access: Access, lead: int, is_moving: bool) -> Access:
    """An access whose leading dimensions have become one."""
    rest = access.rows[lead:] if is_moving else access.rows
    rows = [Row((0, *row.coefficients[lead:]), row.constant) for row in rest]
    dims = access.num_dims - lead + 1
    first = [Row((1,) + (0,) * (dims - 1))] if is_moving else []
    return Access(dims, (*first, *rows))


def _retype(body: Block, place: int, type_: Attribute) -> None:
    """The body is handed a block of a buffer, not all of it."""
    old = body.args[place]
    if old.type != type_:
        new = body.insert_arg(type_, place)
        old.replace_all_uses_with(new)
        body.erase_arg(old)


def _product(shape: Sequence[int]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result
