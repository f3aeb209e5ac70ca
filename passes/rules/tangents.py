"""Forward rules of structural ops: the tangents of calls and of ops with regions.

In an op with regions tangents stand behind the carried values and results, and their masks behind
the tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gradir.dialects.base.diagnostics import PassError, kind_name
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.grad.host_call import HostCallOp, tangent_call
from gradir.dialects.grad.join import JoinOp
from gradir.dialects.grad.tape import cotangent_type, is_floating
from gradir.passes.analysis.region_flow import RegionFlow, region_flow, yielded
from gradir.passes.analysis.region_ops import terminator, with_regions
from gradir.passes.cleanup.simplify import simplify_block
from gradir.passes.differentiate.crossing import Crossing
from gradir.passes.differentiate.forward_mode import (
    ForwardMode,
    tangent_hint,
    walk_block_with_tangents,
)
from gradir.passes.rules.calls import key_of
from gradir.passes.rules.custom_vjp import custom_of, tangent_function


def push_join(work: ForwardMode, op: JoinOp) -> None:
    """The tangent of a join is its operand's tangent."""
    work.copy(op)
    work.set_tangents(op.results, [work.tangent.get(o) for o in op.operands], work.emitter(op))


def push_host_call(work: ForwardMode, op: HostCallOp) -> None:
    """A call of the host function's jvp."""
    copy, emitter = cast(HostCallOp, work.copy(op)), work.emitter(op)
    operands = [op.inputs[k] for k in op.differentiable(op.inputs)]
    made = tangent_call(copy, [work.tangent_or_zero(o, emitter) for o in operands])
    if made is None:
        raise PassError(
            f"{kind_name(op)}: it has no jvp; use reverse mode, or give its gradir.custom_op a jvp",
            op,
        )
    results = [op.results[k] for k in op.differentiable(op.outputs)]
    work.set_tangents(results, emitter.insert(made).results, emitter)


def push_call(work: ForwardMode, op: CallOp) -> None:
    """A call of @g_jvp, from tangents of active arguments to tangents of active results.

    A declared one is for all floating arguments and results.
    """
    if (declared := custom_of(work.program, op)) is not None:
        callee = tangent_function(work.program, op, declared)
        wrt, of = _floating(op.operands), _floating(op.results)
    else:
        key = key_of(work.program, op, work.activity, work.executions)
        callee, wrt, of = work.callees[key], key.wrt, key.of
    emitter = work.emitter(op)
    operands = [work.primal[o] for o in op.operands]
    tangents = [work.tangent_or_zero(op.operands[k], emitter) for k in wrt]
    types = callee.function_type.outputs.data
    made = emitter.insert(CallOp(callee.sym_name.data, [*operands, *tangents], list(types)))
    work.take_over(op, made, of)


def push_stage(work: ForwardMode, op: CheckpointOp) -> None:
    """A stage with tangents; one with a requested value in it is dissolved."""
    if op in work.dissolved_stages:
        work.dissolve(op)
    else:
        push_branches(work, op)


def push_branches(work: ForwardMode, op: Operation) -> None:
    """The same branches, which yield the tangents of active results too."""
    active = [k for k, result in enumerate(op.results) if work.activity.is_active(result)]
    nothing = _crossing(work, op, "arguments", [])
    border = _crossing(work, op, "results", [op.results[k] for k in active])
    regions = [
        _region(work, op, block, [], nothing, [yielded(block)[k] for k in active], border)
        for block in _flow(op).blocks
    ]
    _insert_with_regions(work, op, [], active, border, regions)


def push_loop(work: ForwardMode, op: Operation) -> None:
    """The same loop, whose active slots carry tangents too.

    Each region reads the slots of one group, and sets the slots of the next; the first group has
    the initial values, and the last one the results.
    """
    flow, is_active = _flow(op), work.activity.is_active
    rows = [[slot for slot in row if any(map(is_active, slot.values))] for row in flow.rows]
    borders = [
        _crossing(work, op, group.what, [slot.argument for slot in row])
        for group, row in zip(flow.groups, rows, strict=True)
    ]
    emitter = work.emitter(op)
    initial = [work.tangent_or_zero(slot.start, emitter) for slot in rows[0]]
    initial += borders[0].hand_over(initial, emitter)
    regions: list[Region] = []
    for k, block in enumerate(flow.blocks):
        after = (k + 1) % len(rows)
        read, handed_on = [s.argument for s in rows[k]], [s.handed_on for s in rows[after]]
        regions.append(_region(work, op, block, read, borders[k], handed_on, borders[after]))
    passed = [slot.result.index for slot in rows[-1]]
    _insert_with_regions(work, op, initial, passed, borders[-1], regions)


def _floating(values: Sequence[SSAValue]) -> list[int]:
    return [k for k, value in enumerate(values) if is_floating(value.type)]


def _flow(op: Operation) -> RegionFlow:
    flow = region_flow(op)
    assert flow is not None
    return flow


def _crossing(work: ForwardMode, op: Operation, group: str, values: Sequence[SSAValue]) -> Crossing:
    """The border of an op's regions for the tangents of some of its values."""
    return Crossing.of(work.gates, op, group, [cotangent_type(v.type) for v in values])


def _region(
    work: ForwardMode,
    op: Operation,
    block: Block,
    read: Sequence[SSAValue],
    entry: Crossing,
    handed_on: Sequence[SSAValue],
    end: Crossing,
) -> Region:
    """A copy of a block with tangents for the arguments `read` and the values `handed_on`, which
    cross the borders `entry` and `end`."""
    inner = work.region(op)
    for argument in block.args:
        inner.add_argument(argument, argument.type, argument.name_hint)
    _receive_tangents(inner, read, entry)
    walk_block_with_tangents(inner, block)
    last = terminator(block)
    emitter = inner.emitter(last)
    tangents = [inner.tangent_or_zero(value, emitter) for value in handed_on]
    ours = last.clone(inner.primal)
    ours.location = last.location
    masks = (end.hand_back if entry.types else end.hand_over)(tangents, emitter)
    ours.operands = [*ours.operands, *tangents, *masks]
    emitter.insert(ours)
    simplify_block(inner.block)
    return Region(inner.block)


def _receive_tangents(inner: ForwardMode, read: Sequence[SSAValue], entry: Crossing) -> None:
    """Add arguments for the tangents of a region's arguments, and their masks."""
    names = [tangent_hint(value) for value in read]
    for value, name in zip(read, names, strict=True):
        inner.tangent[value] = inner.add_argument(None, cotangent_type(value.type), name)
    masks = [
        inner.add_argument(None, type_, name)
        for type_, name in zip(entry.mask_types, entry.mask_names(names), strict=True)
    ]
    entry.receive([inner.tangent[value] for value in read], masks)


def _insert_with_regions(
    work: ForwardMode,
    op: Operation,
    tangents: Sequence[SSAValue],
    passed: Sequence[int],
    border: Crossing,
    regions: Sequence[Region],
) -> None:
    """A copy of `op` with tangents, and masks, as further operands and results, and with other
    regions."""
    operands = [*(work.primal[o] for o in op.operands), *tangents]
    types = [*(r.type for r in op.results), *border.types, *border.mask_types]
    made = work.emitter(op).insert(with_regions(op, operands, types, regions))
    first, end = len(op.results), len(op.results) + len(passed)
    border.receive(made.results[first:end], made.results[end:])
    work.take_over(op, made, passed)
