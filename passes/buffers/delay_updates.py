"""Order for gradir-bufferize: an op that updates a tensor comes after the other readers of it.

`%b = insert %v into %a` writes to the memory of %a if that is its last reader. Where others come
later that do not need %b, the update moves behind them; a view of %a is read where its readers are.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.ir import Block, Operation, OpResult, SSAValue

from gradir.dialects.loopnest.loopnest import LoopOp, ViewOp
from gradir.passes.analysis.liveness import all_operands, flow_blocks
from gradir.passes.buffers.state import start_of


def delay_updates(block: Block) -> None:
    """Reorder a block and the blocks of control flow in it."""
    for inner in flow_blocks(block):
        _delay_in(inner)


def _delay_in(block: Block) -> None:
    updates = [op for op in block.ops if _updated(op) is not None]
    if not updates:
        return
    for op in updates:
        _delay(block, op)


def _updated(op: Operation) -> SSAValue | None:
    """The tensor that an op updates, if it does."""
    if not isinstance(op, LoopOp | tensor.InsertOp | tensor.InsertSliceOp):
        return None
    if isinstance(op, LoopOp) and not op.inits:
        return None
    starts = [start_of(result) for result in op.results]
    return next((s for s in starts if s is not None), None)


def _delay(block: Block, op: Operation) -> None:
    start = _updated(op)
    assert start is not None
    readers = _readers(start, block) - {op}
    if not readers:
        return
    # what depends on the update has to stay behind it
    dependent: set[Operation] = {op}
    last: Operation | None = None
    place = op.next_op
    waiting: list[Operation] = []
    while place is not None and readers:
        if any(isinstance(o, OpResult) and o.owner in dependent for o in all_operands(place)):
            if place in readers or place.next_op is None:
                break
            dependent.add(place)
            waiting.append(place)
        elif place in readers:
            last = place
        readers.discard(place)
        place = place.next_op
    if last is None:
        return
    for moved in (op, *waiting):
        if moved.is_before_in_block(last):
            moved.detach()
            block.insert_op_after(moved, last)
            last = moved


def _readers(value: SSAValue, block: Block) -> set[Operation]:
    """The ops of a block that read a value, or a view of it, in their regions too."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        for use in pending.pop().uses:
            place = block.find_ancestor_op_in_block(use.operation)
            if place is None:
                continue
            found.add(place)
            if place is use.operation and isinstance(place, ViewOp | tensor.ExtractSliceOp):
                pending += place.results
    return found
