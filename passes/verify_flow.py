"""What gradir-verify checks of `scf` ops beyond their own rules: that every value which goes into a
region, around a loop or out of a region keeps its type, that a constant step is positive, and that
loop policies are some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.dialects.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.attributes import integers_of
from gradir.dialects.diagnostics import VerifyError
from gradir.dialects.loop_policy import LoopPolicyAttr


def verify_flow(op: Operation) -> None:
    """VerifyError at what is wrong with an `scf` op, or with a loop policy on any op."""
    if (policy := op.attributes.get(POLICY_ATTRIBUTE)) is not None:
        _verify_policy(op, policy)
    rule = _RULES.get(type(op))
    if rule is not None:
        rule(op)


def _verify_policy(op: Operation, policy: Attribute) -> None:
    if not isinstance(policy, LoopPolicyAttr):
        raise VerifyError(
            f"{op.name}: {POLICY_ATTRIBUTE} must be a policy such as #grad.loop<every = 2>, got "
            f"{policy}",
            op,
        )


def constant_integer(value: SSAValue) -> int | None:
    """The number that an arith.constant gives."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return cast(IntegerAttr[Any], owner.value).value.data
    return None


def _verify_for(op: scf.ForOp) -> None:
    step = constant_integer(op.step)
    if step is not None and step <= 0:
        raise VerifyError(f"scf.for: step must be positive, got {step}", op)
    block = _block(op, op.body)
    if not block.args:
        raise VerifyError("scf.for: the body must take the induction variable", op)
    _same_types(op, "carried value", op.iter_args, block.args[1:], "as an argument of the body")
    _same_types(op, "carried value", op.iter_args, _handed_back(op, block), "from scf.yield", block)
    _same_types(op, "carried value", op.iter_args, op.results, "as a result")


def _verify_while(op: scf.WhileOp) -> None:
    before, after = _block(op, op.before_region), _block(op, op.after_region)
    carried, passed = op.arguments, op.results
    _same_types(op, "carried value", carried, before.args, "as an argument of the condition")
    last = before.last_op
    if not isinstance(last, scf.ConditionOp):
        raise VerifyError("scf.while: the first region must end in scf.condition", last or op)
    _same_types(op, "passed value", passed, last.args, "from scf.condition", before)
    _same_types(op, "passed value", passed, after.args, "as an argument of the body")
    _same_types(op, "carried value", carried, _handed_back(op, after), "from scf.yield", after)


def _verify_if(op: scf.IfOp) -> None:
    if op.results and op.false_region.first_block is None:
        raise VerifyError("scf.if: an op with results needs an else branch", op)
    for region in op.regions:
        if region.first_block is not None:
            _verify_branch(op, region)


def _verify_execute_region(op: scf.ExecuteRegionOp) -> None:
    _verify_branch(op, op.region)


def _verify_index_switch(op: scf.IndexSwitchOp) -> None:
    values = integers_of(op.cases)
    if len(values) != len(op.case_regions):
        raise VerifyError(
            f"scf.index_switch: {len(values)} case regions expected, got {len(op.case_regions)}", op
        )
    for region in op.regions:
        _verify_branch(op, region)


def _verify_branch(op: Operation, region: Region) -> None:
    block = _block(op, region)
    if block.args:
        raise VerifyError(f"{op.name}: a branch takes no arguments, got {len(block.args)}", op)
    _same_types(op, "result", op.results, _handed_back(op, block), "from scf.yield", block)


def _block(op: Operation, region: Region) -> Block:
    first = region.first_block
    if first is None or first.next_block is not None:
        raise VerifyError(
            f"{op.name}: a region must have one block; write branches and loops with scf", op
        )
    return first


def _handed_back(op: Operation, block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    if not isinstance(last, scf.YieldOp):
        raise VerifyError(f"{op.name}: a region must end in scf.yield", last or op)
    return last.operands


def _same_types(
    op: Operation,
    what: str,
    expected: Sequence[SSAValue],
    given: Sequence[SSAValue],
    where: str,
    block: Block | None = None,
) -> None:
    """VerifyError at the end of `block`, or at `op`, where types or their number change."""
    place = op if block is None or block.last_op is None else block.last_op
    if len(expected) != len(given):
        raise VerifyError(
            f"{op.name}: {len(expected)} {what}(s) expected, got {len(given)} {where}", place
        )
    for k, (one, other) in enumerate(zip(expected, given, strict=True)):
        if one.type != other.type:
            raise VerifyError(
                f"{op.name}: {what} {k} must be {one.type}, got {other.type} {where}", place
            )


_RULES: dict[type[Operation], Callable[[Any], None]] = {
    scf.ForOp: _verify_for,
    scf.WhileOp: _verify_while,
    scf.IfOp: _verify_if,
    scf.ExecuteRegionOp: _verify_execute_region,
    scf.IndexSwitchOp: _verify_index_switch,
}
