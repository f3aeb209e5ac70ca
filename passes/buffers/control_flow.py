"""gradir-bufferize: scf ops. A carried tensor has one buffer, which the body updates, in place
where it can; a branch fills the buffer of the op's result. Only scalars stay operands and results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import location_text
from gradir.dialects.base.shapes import as_integer_type, is_tensor
from gradir.dialects.building.control_flow import make_while
from gradir.dialects.grad.tape import is_tape
from gradir.dialects.loopnest.buffer_ops import CheckStepOp
from gradir.passes.analysis.region_ops import BRANCH_OPS, with_regions
from gradir.passes.buffers.state import BufferState, buffer_type, root_of, start_of

Run = Callable[[Block], None]
"""Bufferizes the ops of a block, but for its terminator, into the current block."""


def bufferize_for(s: BufferState, op: scf.ForOp, run: Run) -> None:
    body = op.body.block
    index, *carried = body.args
    taken: set[SSAValue] = set()
    buffers = {
        argument: _carried_buffer(s, op, init, result, taken)
        for argument, init, result in zip(carried, op.iter_args, op.res, strict=True)
        if is_tensor(argument.type)
    }
    block = _block_like([index, *(a for a in carried if a not in buffers)], s)
    with s.inside(block):
        _count_wide(s, op, block)
        _place_tapes(s, carried)
        for argument, buffer in buffers.items():
            s.place(argument, buffer)
        s.tapes.push_arguments(body)
        _fill(s, body, _terminator(body).operands, [buffers.get(a) for a in carried], run)
        block.add_op(scf.YieldOp(*s.scalars(_terminator(body).operands)))
    low, high = (_wide(s, op, bound) for bound in (s.values[op.lb], s.values[op.ub]))
    step = _wide(s, op, _checked_step(s, op))
    high = s.tapes.reserve_for(op, low, high, step)
    made = s.emit(scf.ForOp(low, high, step, s.scalars(op.iter_args), block), op)
    made.attributes |= op.attributes
    _map_results(s, op, made, [buffers.get(a) for a in carried])


def _is_narrow(type_: Attribute) -> bool:
    return type_ not in (IndexType(), i64)


def _wide(s: BufferState, op: scf.ForOp, bound: SSAValue) -> SSAValue:
    """A bound or step as a number that the last trip does not make overflow."""
    if not _is_narrow(bound.type):
        return bound
    return s.emit(arith.ExtSIOp(bound, i64), op).results[0]


def _count_wide(s: BufferState, op: scf.ForOp, block: Block) -> None:
    """Let a loop over narrow integers count in i64."""
    index = block.args[0]
    type_ = as_integer_type(index.type)
    if type_ is not None and _is_narrow(type_):
        wide = block.insert_arg(i64, 0)
        wide.name_hint = index.name_hint
        narrow = s.emit(arith.TruncIOp(wide, type_), op).results[0]
        s.values[op.body.block.args[0]] = narrow
        block.erase_arg(index)


def _checked_step(s: BufferState, op: scf.ForOp) -> SSAValue:
    step = s.values[op.step]
    if constant_integer(op.step) is not None:
        return step
    message = f"{location_text(op)}scf.for: step must be positive"
    return s.emit(CheckStepOp(step, message), op).results[0]


def bufferize_while(s: BufferState, op: scf.WhileOp, run: Run) -> None:
    before, after = op.before_region.block, op.after_region.block
    decision = _terminator(before)
    assert isinstance(decision, scf.ConditionOp)
    # A value that the first region hands on unchanged stays in its buffer.
    shared: dict[SSAValue, OpResult] = {}
    for passed, result in zip(decision.args, op.res, strict=True):
        if passed in before.args and is_tensor(passed.type):
            shared.setdefault(passed, result)
    taken: set[SSAValue] = set()
    carried = [
        _carried_buffer(s, op, init, shared.get(argument), taken)
        if is_tensor(argument.type)
        else None
        for argument, init in zip(before.args, op.arguments, strict=True)
    ]
    at: dict[SSAValue, SSAValue] = {
        a: b for a, b in zip(before.args, carried, strict=True) if b is not None
    }
    passed_buffers = [
        (at[p] if shared.get(p) is r else _fresh_buffer(s, op, r, taken))
        if is_tensor(r.type)
        else None
        for p, r in zip(decision.args, op.res, strict=True)
    ]
    first = _decision_block(s, before, at, passed_buffers, run)
    second = _trip_block(s, after, passed_buffers, carried, run)
    made = make_while(s.scalars(op.arguments), first, second)
    made.attributes |= op.attributes
    _map_results(s, op, s.emit(made, op), passed_buffers)


def _decision_block(
    s: BufferState,
    before: Block,
    at: Mapping[SSAValue, SSAValue],
    passed: Sequence[SSAValue | None],
    run: Run,
) -> Block:
    """The block that decides on a further trip of a while loop, and fills what it hands on."""
    decision = _terminator(before)
    assert isinstance(decision, scf.ConditionOp)
    block = _block_like([a for a in before.args if a not in at], s)
    with s.inside(block):
        _place_tapes(s, before.args)
        for argument, buffer in at.items():
            s.place(argument, buffer)
        _fill(s, before, decision.args, passed, run)
        condition = s.values[decision.condition]
        block.add_op(scf.ConditionOp(condition, *s.scalars(decision.args)))
    return block


def _trip_block(
    s: BufferState,
    after: Block,
    passed: Sequence[SSAValue | None],
    carried: Sequence[SSAValue | None],
    run: Run,
) -> Block:
    """The block of a trip of a while loop, which fills the carried buffers."""
    block = _block_like([a for a in after.args if not is_tensor(a.type)], s)
    with s.inside(block):
        for buffer in carried:
            if buffer is not None:
                s.own(root_of(buffer))
        _place_tapes(s, after.args)
        for argument, buffer in zip(after.args, passed, strict=True):
            if buffer is not None:
                s.place(argument, buffer)
        s.tapes.push_arguments(after)
        _fill(s, after, _terminator(after).operands, carried, run)
        block.add_op(scf.YieldOp(*s.scalars(_terminator(after).operands)))
    return block


def bufferize_branches(s: BufferState, op: Operation, run: Run) -> None:
    """An op that runs one of its regions."""
    taken: set[SSAValue] = set()
    buffers = [
        _branch_buffer(s, op, result, taken) if is_tensor(result.type) else None
        for result in op.results
    ]
    regions = [_branch(s, region, buffers, run) for region in op.regions]
    types = [_scalar_type(r.type) for r in op.results if not is_tensor(r.type)]
    made = with_regions(op, [s.values[o] for o in op.operands], types, regions)
    _map_results(s, op, s.emit(made, op), buffers)


def _branch(s: BufferState, region: Region, buffers: Sequence[SSAValue | None], run: Run) -> Region:
    source = region.first_block
    if source is None:
        return Region()
    block = Block()
    with s.inside(block):
        _fill(s, source, _terminator(source).operands, buffers, run)
        block.add_op(scf.YieldOp(*s.scalars(_terminator(source).operands)))
    return Region(block)


def bufferize_execute_region(s: BufferState, op: scf.ExecuteRegionOp, run: Run) -> None:
    """The ops of the region, in place of it."""
    block = op.region.block
    for value, result in zip(_terminator(block).operands, op.results, strict=True):
        if result in s.destinations:
            s.claim(value, s.destinations[result])
    run(block)
    for value, result in zip(_terminator(block).operands, op.results, strict=True):
        if is_tensor(result.type):
            s.place(result, s.values[value], beside=True)
        else:
            _set_scalar(s, result, s.values[value])


BUFFERIZERS: dict[type[Operation], Callable[[BufferState, Any, Run], None]] = {
    **dict.fromkeys(BRANCH_OPS, bufferize_branches),
    scf.ForOp: bufferize_for,
    scf.WhileOp: bufferize_while,
    scf.ExecuteRegionOp: bufferize_execute_region,
}


def _fill(
    s: BufferState,
    block: Block,
    values: Sequence[SSAValue],
    buffers: Sequence[SSAValue | None],
    run: Run,
) -> None:
    """Run a block whose values end up in buffers: computed there, or copied at the end."""
    pairs = [(v, b) for v, b in zip(values, buffers, strict=True) if b is not None]
    for value, buffer in pairs:
        if isinstance(value, OpResult) and value.owner.parent is block:
            s.claim(value, buffer)
    run(block)
    s.copy_all((s.values[value], buffer) for value, buffer in pairs)


def _carried_buffer(
    s: BufferState, op: Operation, init: SSAValue, result: OpResult | None, taken: set[SSAValue]
) -> SSAValue:
    """The buffer of a carried tensor, which holds its first value: that value's own if it dies."""
    source = s.values[init]
    claimed = None if result is None else s.destinations.get(result)
    buffer = None
    for candidate in (claimed, source):
        if candidate is None or root_of(candidate) in taken:
            continue
        others = s.holders(candidate) - {init}
        is_ours = s.is_free(candidate, op, inside=False) and not others & set(op.operands)
        if is_ours and (candidate is source or s.is_free_before(candidate, op)):
            buffer = candidate
            break
    if buffer is None:
        buffer = s.alloc(init.type, op, init.name_hint)
    taken.add(root_of(buffer))
    s.copy_all([(source, buffer)])
    return buffer


def _fresh_buffer(
    s: BufferState, op: Operation, result: OpResult, taken: set[SSAValue]
) -> SSAValue:
    """A buffer for a result that no operand starts."""
    claimed = s.destinations.get(result)
    if claimed is None or root_of(claimed) in taken or not s.is_free_before(claimed, op):
        claimed = s.alloc(result.type, op, result.name_hint)
    taken.add(root_of(claimed))
    return claimed


def _branch_buffer(
    s: BufferState, op: Operation, result: OpResult, taken: set[SSAValue]
) -> SSAValue:
    """The buffer that all branches fill: the one claimed, or the buffer of a value that a branch
    updates or hands on and that dies here, or a new one."""
    candidates = [s.destinations.get(result)]
    for region in op.regions:
        if region.first_block is not None:
            value = _origin(s, _terminator(region.block).operands[result.index])
            candidates.append(None if value is None else s.values.get(value))
    for buffer in candidates:
        fits = buffer is not None and buffer.type == buffer_type(result.type)
        if buffer is not None and fits and root_of(buffer) not in taken and s.is_free(buffer, op):
            break
    else:
        buffer = s.alloc(result.type, op, result.name_hint)
    taken.add(root_of(buffer))
    return buffer


def _origin(s: BufferState, value: SSAValue) -> SSAValue | None:
    """The value outside of the branch that `value` equals or updates."""
    current: SSAValue | None = value
    while current is not None and current not in s.values:
        current = start_of(current)
    return current


def _map_results(
    s: BufferState, op: Operation, made: Operation, buffers: Sequence[SSAValue | None]
) -> None:
    scalars = iter(made.results)
    for result, buffer in zip(op.results, buffers, strict=True):
        if buffer is None:
            _set_scalar(s, result, next(scalars))
            s.values[result].name_hint = result.name_hint
        else:
            s.place(result, buffer)


def _scalar_type(type_: Attribute) -> Attribute:
    """The scalar for a value that is no tensor; for a tape, the number of its records."""
    return IndexType() if is_tape(type_) else type_


def _block_like(arguments: Sequence[SSAValue], s: BufferState) -> Block:
    """A block with these arguments, which are no tensors."""
    block = Block(arg_types=[_scalar_type(a.type) for a in arguments])
    for old, new in zip(arguments, block.args, strict=True):
        s.values[old] = new
        new.name_hint = old.name_hint
    return block


def _set_scalar(s: BufferState, value: SSAValue, ours: SSAValue) -> None:
    if is_tape(value.type):
        s.tapes.place(value, ours)
    else:
        s.values[value] = ours


def _place_tapes(s: BufferState, arguments: Sequence[SSAValue]) -> None:
    """Enter the tapes among a block's arguments: their memory holds these versions."""
    for argument in arguments:
        if is_tape(argument.type):
            s.tapes.enter(argument, s.values[argument])


def _terminator(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last
