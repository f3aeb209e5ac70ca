"""How values flow into, around and out of the regions of an op: one table for all analyses.

Of `%r = scf.for ... iter_args(%a = %init) { ...; scf.yield %y }` the edges are %init -> %a,
%y -> %a, %init -> %r and %y -> %r. What a region reads from outside needs no edge: the ops inside
name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.checkpoint import CheckpointOp
from gradir.dialects.loop_policy import loop_policy
from gradir.passes.verify_flow import constant_integer

Edge = tuple[SSAValue, SSAValue]


@dataclass(frozen=True)
class RegionFlow:
    """The blocks of an op's regions, and the edges (from, to); the values that decide what runs."""

    blocks: Sequence[Block]
    edges: Sequence[Edge]
    deciding: Sequence[SSAValue]


def region_flow(op: Operation) -> RegionFlow | None:
    """The flow through an op's regions; None for an op without, or with regions of other kinds."""
    if not op.regions or (rule := _RULES.get(type(op))) is None:
        return None
    return rule(op)


def yielded(block: Block) -> Sequence[SSAValue]:
    """What the terminator of a region hands back; of scf.condition, what it passes on."""
    last = block.last_op
    assert last is not None
    return last.args if isinstance(last, scf.ConditionOp) else last.operands


def ops_within(block: Block) -> Iterator[Operation]:
    """The ops of a block and of the regions that are part of it, in program order."""
    for op in block.ops:
        yield op
        if (flow := region_flow(op)) is not None:
            for inner in flow.blocks:
                yield from ops_within(inner)


def trips(op: Operation) -> int | None:
    """At most so often an op runs a block of its regions; None where that is not known."""
    if isinstance(op, scf.WhileOp):
        return None
    if not isinstance(op, scf.ForOp):
        return 1
    low, high, step = (constant_integer(b) for b in (op.lb, op.ub, op.step))
    if step is None or step <= 0:
        return None
    distance = _distance(op.lb, op.ub) if low is None or high is None else high - low
    return None if distance is None else max(0, -(-distance // step))


def _distance(low: SSAValue, high: SSAValue) -> int | None:
    """At most so far is a bound from another: `high` is `low + constant`, or less."""
    match high.owner:
        case arith.MinSIOp(lhs=one, rhs=other):
            found = [d for v in (one, other) if (d := _distance(low, v)) is not None]
            return min(found, default=None)
        case arith.AddiOp(lhs=one, rhs=other):
            others = [b for a, b in ((one, other), (other, one)) if a is low]
            return constant_integer(others[0]) if others else None
        case _:
            return None


def executions_within(executions: int | None, op: Operation) -> int | None:
    """At most so often a block in an op runs while a tape lives that it pushes on, if the op runs
    `executions` times. Where iterations run again, with a tape of their own, those count."""
    policy = loop_policy(op)
    match policy.kind.data:
        case "every":
            whole = trips(op)
            return policy.count if whole is None else min(policy.count, whole)
        case "binomial" | "online":
            return 1
        case _:
            return times(executions, trips(op))


def times(a: int | None, b: int | None) -> int | None:
    """The product of numbers that may not be known."""
    return None if a is None or b is None else a * b


def _pairs(*edges: tuple[Sequence[SSAValue], Sequence[SSAValue]]) -> list[Edge]:
    return [pair for sources, targets in edges for pair in zip(sources, targets, strict=True)]


def _for(op: scf.ForOp) -> RegionFlow:
    block = op.body.block
    initial, arguments, results = op.iter_args, block.args[1:], op.results
    last = yielded(block)
    edges = _pairs((initial, arguments), (last, arguments), (initial, results), (last, results))
    return RegionFlow([block], edges, [op.lb, op.ub, op.step])


def _while(op: scf.WhileOp) -> RegionFlow:
    before, after = op.before_region.block, op.after_region.block
    condition = before.last_op
    assert isinstance(condition, scf.ConditionOp)
    edges = _pairs(
        (op.arguments, before.args),
        (condition.args, after.args),
        (condition.args, op.results),
        (yielded(after), before.args),
    )
    return RegionFlow([before, after], edges, [condition.condition])


def _branches(op: Operation) -> RegionFlow:
    blocks = [block for region in op.regions for block in region.blocks]
    edges = _pairs(*((yielded(block), op.results) for block in blocks))
    return RegionFlow(blocks, edges, op.operands)


_RULES: dict[type[Operation], Callable[[Any], RegionFlow]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _branches,
    scf.IndexSwitchOp: _branches,
    scf.ExecuteRegionOp: _branches,
    CheckpointOp: _branches,
}
