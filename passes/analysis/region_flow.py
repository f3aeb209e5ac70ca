"""Bounds on the runs of regions, and on the sizes of tapes and snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.building.control_flow import largest_number
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import TapePushOp
from gradir.passes.analysis.region_ops import RegionFlow as RegionFlow
from gradir.passes.analysis.region_ops import Runs, fixed_value, is_loop, slot_of, sole_source
from gradir.passes.analysis.region_ops import region_flow as region_flow

MOST_EXECUTIONS = 1 << 63
"""From this number on executions count as unknown: no tape has as many records."""


def yielded(block: Block) -> Sequence[SSAValue]:
    """The values of a region's terminator; of scf.condition, the forwarded ones."""
    last = block.last_op
    assert last is not None
    return last.args if isinstance(last, scf.ConditionOp) else last.operands


def handed_through(result: OpResult) -> SSAValue | None:
    """The value that a result of a region op equals: one of a region that runs once, or one that
    a loop carries unchanged; None if there is none."""
    flow, slot = region_flow(result.op), slot_of(result)
    if flow is None or slot is None or flow.runs is Runs.ONE_OF:
        return None
    return fixed_value(flow, slot) if flow.runs is Runs.REPEATEDLY else sole_source(flow, slot)


def ops_within(block: Block) -> Iterator[Operation]:
    """The ops of a block and of its regions, in program order."""
    for op in block.ops:
        yield op
        if (flow := region_flow(op)) is not None:
            for inner in flow.blocks:
                yield from ops_within(inner)


def trips(op: Operation) -> int | None:
    """A bound on the runs of each block in an op's regions; None where it is unknown."""
    if not isinstance(op, scf.ForOp):
        return None if is_loop(op) else 1
    low, high, step = (constant_integer(b) for b in (op.lb, op.ub, op.step))
    if step is None or step <= 0:
        return None
    distance = _distance(op.lb, op.ub) if low is None or high is None else high - low
    return None if distance is None else _counted(max(0, -(-distance // step)))


def _distance(low: SSAValue, high: SSAValue) -> int | None:
    """A bound on `high - low`, from `high` = `low + length` or a minimum of it."""
    match high.owner:
        case arith.MinSIOp(lhs=one, rhs=other):
            return _least(_distance(low, v) for v in (one, other))
        case arith.AddiOp(lhs=one, rhs=other):
            return _least(_most(b) for a, b in ((one, other), (other, one)) if a is low)
        case _:
            return None


def _most(length: SSAValue) -> int | None:
    """An upper bound of a length."""
    if isinstance(owner := length.owner, arith.MinUIOp):
        numbers = (constant_integer(v) for v in (owner.lhs, owner.rhs))
        return _least(n for n in numbers if n is not None and n >= 0)
    return constant_integer(length)


def _least(numbers: Iterable[int | None]) -> int | None:
    return min((n for n in numbers if n is not None), default=None)


def records_made(loop: scf.ForOp) -> Iterator[tuple[int, TapePushOp]]:
    """The carried tapes to which each iteration adds one record, with the push; none where the
    number of trips is constant, since then the capacity suffices."""
    block = loop.body.block
    if trips(loop) is not None:
        return
    for k, (argument, last) in enumerate(zip(block.args[1:], yielded(block), strict=True)):
        if isinstance(push := last.owner, TapePushOp) and push.tape is argument:
            yield k, push


def segment_size(op: Operation) -> int:
    """The number of iterations in a segment of `every = k`, for a constant step: k, or fewer where
    the loop's integers cannot count k steps."""
    size = loop_policy(op).count
    if not isinstance(op, scf.ForOp):
        return size
    return min(size, largest_number(op.lb.type) // (constant_integer(op.step) or 1))


def slot_count(op: Operation) -> int:
    """The number of snapshots of a loop: its policy's, but no more than iterations."""
    most = trips(op)
    slots = loop_policy(op).count
    return slots if most is None else max(min(slots, most), 1)


def executions_within(executions: int | None, op: Operation) -> int | None:
    """A bound on the runs of a block in an op during the life of the block's tapes, if the op runs
    `executions` times. Repeated iterations have tapes of their own: one segment counts; so does one
    run of a stage."""
    if isinstance(op, CheckpointOp):
        return 1
    policy = loop_policy(op)
    match policy.kind.data:
        case "every":
            whole = trips(op)
            return segment_size(op) if whole is None else min(segment_size(op), whole)
        case "binomial" | "online":
            return 1
        case _:
            return times(executions, trips(op))


def times(a: int | None, b: int | None) -> int | None:
    """The product of two numbers; None where one is unknown."""
    return None if a is None or b is None else _counted(a * b)


def _counted(number: int) -> int | None:
    """A number of executions; None from the limit on."""
    return number if number < MOST_EXECUTIONS else None
