"""gradir-simplify: control flow. Known branches are taken, a region that runs once is inlined, and
an unchanged carried value of a loop becomes its initial value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from gradir.dialects.base.constants import constant_integer
from gradir.passes.analysis.edits import replace_results
from gradir.passes.analysis.region_ops import BRANCH_OPS, chosen_region, fixed_value, region_flow


def simplify_flow(block: Block) -> None:
    """Simplify the control flow in one block, after its inner blocks."""
    for op in list(block.ops):
        _settle(op)
        rule = _RULES.get(type(op))
        if rule is not None:
            rule(op)


def _settle(op: Operation) -> None:
    """Replace the readers of slots with one constant value from outside of the op."""
    if (flow := region_flow(op)) is None:
        return
    for slot in flow.slots:
        if (source := fixed_value(flow, slot)) is not None:
            for value in slot.values:
                value.replace_all_uses_with(source)


def _for(op: scf.ForOp) -> None:
    low, high, step = (constant_integer(v) for v in (op.lb, op.ub, op.step))
    if low is None or high is None or step is None:
        return
    if high <= low:
        replace_results(op, op.iter_args)
    elif low + step >= high:
        _write_out(op, op.body, [op.lb, *op.iter_args])


def _branch(op: Operation) -> None:
    if (number := constant_integer(op.operands[0])) is not None:
        _take(op, chosen_region(op, number))


def _execute_region(op: scf.ExecuteRegionOp) -> None:
    if op.region.first_block is op.region.last_block:
        _take(op, op.region)


def _take(op: Operation, region: Region) -> None:
    if region.first_block is None:
        replace_results(op, ())
    else:
        _write_out(op, region, ())


def _write_out(op: Operation, region: Region, arguments: Sequence[SSAValue]) -> None:
    """Replace an op by the ops of one of its regions."""
    block, home = region.block, op.parent
    assert home is not None
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    last = block.last_op
    assert last is not None
    ends = list(last.operands)
    for inner in list(block.ops):
        if inner is not last:
            inner.detach()
            home.insert_op_before(inner, op)
    replace_results(op, ends)


_RULES: dict[type[Operation], Callable[[Any], None]] = {
    **dict.fromkeys(BRANCH_OPS, _branch),
    scf.ForOp: _for,
    scf.ExecuteRegionOp: _execute_region,
}
