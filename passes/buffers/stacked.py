"""The end of gradir-bufferize: pieces of a stack are written where the stack has them.

    loopnest.nest [1000] (...) -> ([d0] to %real, [d0] to %imag)
    loopnest.nest [1000, 2] (%real[d0], %imag[d0]) -> ([d0, d1] to %y)        index 1 chooses

becomes one nest that writes to %y[d0, 0] and %y[d0, 1], without the buffers of the pieces and a
pass over them. Complex results are such stacks: their planes are made apart, and lie interleaved in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.loopnest.buffer_ops import WindowOp
from gradir.dialects.loopnest.loopnest import IndexOp, NestOp, ViewOp
from gradir.passes.analysis.edits import erase
from gradir.passes.analysis.liveness import flow_blocks
from gradir.passes.buffers.state import root_of

MOST_PIECES = 8
SHORT_RUN = 8
"""Pieces are runs of so many elements in the stack, or two of them are interleaved: vectors of
others would be written element by element."""


def write_stacks(function: FuncOp) -> None:
    """Write pieces in place of stacks, in all blocks of a function."""
    for outer in function.body.blocks:
        for block in flow_blocks(outer):
            for op in list(block.ops):
                if isinstance(op, NestOp):
                    _write_pieces(block, op)


def _write_pieces(block: Block, stack: NestOp) -> None:
    axis = _stacked_axis(stack)
    if axis is None:
        return
    piece = [*stack.extents[:axis], *stack.extents[axis + 1 :]]
    writers = [_writer_of(value, stack, piece) for value in stack.inputs]
    found = [writer for writer in writers if writer is not None]
    if len(found) < len(writers) or not _may_move(block, stack, found):
        return
    order, [target] = _chosen(stack, axis), stack.outputs
    first = found[0]
    for writer in found:
        first = writer if writer.is_before_in_block(first) else first
    if isinstance(target.owner, memref.AllocOp) and target.owner.parent is block:
        target.owner.detach()
        block.insert_op_before(target.owner, first)
    for piece, writer in enumerate(found):
        value = stack.inputs[piece]
        for place in [k for k, out in enumerate(writer.outputs) if out is value]:
            writer.operands[len(writer.inputs) + len(writer.inits) + place] = target
            accesses = list(writer.output_accesses)
            accesses[place] = _place_in(len(writer.extents), axis, order.index(piece))
            writer.set_accesses(writer.input_accesses, accesses)
    buffers = list(stack.inputs)
    erase(stack)
    for buffer in buffers:
        if buffer.first_use is None and isinstance(buffer.owner, Operation):
            erase(buffer.owner)


def _place_in(rank: int, axis: int, number: int) -> Access:
    """An iteration's place in the stack: `number` along the axis."""
    rows = [dim_row(rank, d) for d in range(rank)]
    return Access(rank, (*rows[:axis], constant_row(rank, number), *rows[axis:]))


# The nest of a stack.


def _stacked_axis(op: NestOp) -> int | None:
    """The axis along which a nest only chooses between its inputs, each once; None of others."""
    rank = len(op.extents)
    for axis in range(rank - 1, -1, -1):
        pieces = op.extents[axis]
        inner = prod(op.extents[axis + 1 :])
        if (
            is_traced(pieces)
            or not 2 <= pieces <= MOST_PIECES
            or not (inner >= SHORT_RUN or (inner, pieces) == (1, 2))
        ):
            continue
        access = Access.of_dims(rank, [d for d in range(rank) if d != axis])
        is_plain = (
            len(op.inputs) == len(set(op.inputs)) == pieces
            and len(op.outputs) == 1
            and op.output_combiners == ["none"]
            and op.output_accesses[0].is_identity
            and not op.starting_outputs
            and all(each == access for each in op.input_accesses)
            and op.input_pads == [None] * pieces
        )
        if is_plain and sorted(_chosen(op, axis)) == list(range(pieces)):
            return axis
    return None


def _chosen(op: NestOp, axis: int) -> list[int]:
    """The input that the body yields at each index of an axis; -1 where it computes."""
    return [_choice(op, axis, index) for index in range(op.extents[axis])]


def _choice(op: NestOp, axis: int, index: int) -> int:
    known: dict[SSAValue, int | SSAValue] = {}

    def of(value: SSAValue) -> int | SSAValue:
        return known.get(value, value)

    for inner in op.body.block.ops:
        match inner:
            case IndexOp(dim=dim) if dim.value.data == axis:
                known[inner.result] = index
            case arith.ConstantOp(value=IntegerAttr()):
                number = constant_integer(inner.result)
                assert number is not None
                known[inner.result] = number
            case arith.CmpiOp() if inner.predicate.value.data == 5:  # signed >=
                left, right = of(inner.lhs), of(inner.rhs)
                if not isinstance(left, int) or not isinstance(right, int):
                    return -1
                known[inner.result] = int(left >= right)
            case arith.SelectOp():
                condition = of(inner.cond)
                if not isinstance(condition, int):
                    return -1
                known[inner.result] = of(inner.lhs if condition else inner.rhs)
            case _ if inner is op.body.block.last_op:
                break
            case _:
                return -1
    result = of(op.yielded[0])
    return next((k for k, each in enumerate(op.body.block.args) if each is result), -1)


# The nests of the pieces.


def _writer_of(buffer: SSAValue, stack: NestOp, extents: Sequence[int]) -> NestOp | None:
    """The nest that makes all of a buffer that behind it only a stack reads, and no more than the
    stack reads; None where there is none."""
    block = stack.parent
    if (
        block is None
        or not isinstance(buffer.owner, memref.AllocOp)
        or buffer.owner.parent is not block
    ):
        return None
    uses = list(buffer.uses)
    users = [block.find_ancestor_op_in_block(use.operation) for use in uses]
    writers = [
        op for op in users if isinstance(op, NestOp) and op is not stack and buffer in op.outputs
    ]
    is_seen_through = any(isinstance(use.operation, ViewOp | WindowOp) for use in uses)
    if not writers or is_seen_through or any(op is None for op in users):
        return None
    writer = writers[0]
    for op in writers:
        writer = op if writer.is_before_in_block(op) else writer
    places = [k for k, out in enumerate(writer.outputs) if out is buffer]
    is_whole = (
        len(places) == 1
        and list(writer.extents) == list(extents)
        and writer.output_combiners[places[0]] == "none"
        and writer.output_accesses[places[0]].is_identity
        and places[0] not in writer.starting_outputs
    )
    is_last = writer.is_before_in_block(stack) and all(
        op in (stack, writer) or op.is_before_in_block(writer) for op in users if op is not None
    )
    return writer if is_whole and is_last else None


def _may_move(block: Block, stack: NestOp, writers: list[NestOp]) -> bool:
    """Whether nobody uses the stack's memory between the writers of its pieces and the stack."""
    [target] = stack.outputs
    root = root_of(target)
    if root is not target or not (isinstance(root.owner, Block | memref.AllocOp)):
        return False
    return not any(
        root_of(value) is root
        for op in _ops_between(block, writers, stack)
        for inner in op.walk()
        for value in inner.operands
    )


def _ops_between(block: Block, writers: list[NestOp], stack: NestOp) -> Iterator[Operation]:
    """The ops from the first writer to the one before the stack."""
    begun = False
    for op in block.ops:
        if op is stack:
            return
        begun |= op in writers
        if begun:
            yield op
