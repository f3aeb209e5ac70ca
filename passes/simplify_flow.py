"""gradir-simplify: control flow. Branches that are known are taken, a region that runs once is
written out, and what a loop carries without changing it is the value that it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from gradir.dialects.attributes import integers_of
from gradir.passes.regions import is_defined_in
from gradir.passes.verify_flow import constant_integer


def simplify_flow(block: Block) -> None:
    """Simplify the control flow in one block, whose inner blocks are simple already."""
    for op in list(block.ops):
        rule = _RULES.get(type(op))
        if rule is not None:
            rule(op)


def _for(op: scf.ForOp) -> None:
    body = op.body.block
    for k, (argument, end) in enumerate(zip(body.args[1:], _ends(body), strict=True)):
        if end is argument or end is op.iter_args[k]:
            # the end may be the start itself; the argument then has that value too
            argument.replace_all_uses_with(op.iter_args[k])
            op.results[k].replace_all_uses_with(op.iter_args[k])
    low, high, step = (constant_integer(v) for v in (op.lb, op.ub, op.step))
    if low is None or high is None or step is None:
        return
    if high <= low:
        _replace_results(op, op.iter_args)
    elif low + step >= high:
        _write_out(op, op.body, [op.lb, *op.iter_args])


def _while(op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    passed = _ends(before)[1:]
    for k, (argument, end) in enumerate(zip(before.args, _ends(after), strict=True)):
        start = op.arguments[k]
        if end is start or _is_passed(end, argument, after, passed):
            argument.replace_all_uses_with(start)
    home = op.parent
    for k, value in enumerate(_ends(before)[1:]):
        if home is not None and not is_defined_in(value, op):
            after.args[k].replace_all_uses_with(value)
            op.results[k].replace_all_uses_with(value)


def _is_passed(end: SSAValue, argument: SSAValue, after: Block, passed: Sequence[SSAValue]) -> bool:
    """What the body hands back is what the condition handed on, which is the argument."""
    return any(
        end is inner and value is argument for inner, value in zip(after.args, passed, strict=True)
    )


def _if(op: scf.IfOp) -> None:
    condition = constant_integer(op.cond)
    if condition is not None:
        region = op.true_region if condition else op.false_region
        _take(op, region)
        return
    _merge_equal_results(op)


def _index_switch(op: scf.IndexSwitchOp) -> None:
    chosen, cases = constant_integer(op.arg), integers_of(op.cases)
    if chosen is not None:
        _take(op, op.case_regions[cases.index(chosen)] if chosen in cases else op.default_region)
        return
    _merge_equal_results(op)


def _execute_region(op: scf.ExecuteRegionOp) -> None:
    if op.region.first_block is op.region.last_block:
        _take(op, op.region)


def _merge_equal_results(op: Operation) -> None:
    """A result that is the same value in all branches is that value."""
    ends = [_ends(r.block) if r.first_block is not None else () for r in op.regions]
    for k, result in enumerate(op.results):
        values = {end[k] for end in ends}
        if len(values) == 1:
            (value,) = values
            if not is_defined_in(value, op):
                result.replace_all_uses_with(value)


def _take(op: Operation, region: Region) -> None:
    if region.first_block is None:
        _replace_results(op, ())
    else:
        _write_out(op, region, ())


def _write_out(op: Operation, region: Region, arguments: Sequence[SSAValue]) -> None:
    """The ops of a region in place of the op."""
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
    _replace_results(op, ends)


def _replace_results(op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        if value.name_hint is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _ends(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert last is not None
    return last.operands


_RULES: dict[type[Operation], Callable[[Any], None]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    scf.IndexSwitchOp: _index_switch,
    scf.ExecuteRegionOp: _execute_region,
}
