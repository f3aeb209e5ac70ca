"""gradir-verify: `scf` ops beyond their own rules. The values of a slot have one type, a constant
step is positive, and loop policies are valid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, Region

from gradir.dialects.base.attribute_names import POLICY_ATTRIBUTE
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import VerifyError
from gradir.dialects.grad.loop_policy import LoopPolicyAttr
from gradir.passes.analysis.region_ops import is_loop, region_flow, unverified_ends


def verify_flow(op: Operation) -> None:
    """VerifyError for a wrong `scf` op, or a wrong loop policy on any op."""
    if (policy := op.attributes.get(POLICY_ATTRIBUTE)) is not None:
        _verify_policy(op, policy)
    if (ends := unverified_ends(op)) is not None:
        for region, kind in ends:
            _verify_end(op, region, kind)
        if (rule := _RULES.get(type(op))) is not None:
            rule(op)
        _verify_slots(op)


def _verify_policy(op: Operation, policy: Attribute) -> None:
    if not isinstance(policy, LoopPolicyAttr):
        raise VerifyError(
            f"{op.name}: {POLICY_ATTRIBUTE} must be a policy such as #grad.loop<every = 2>, got "
            f"{policy}",
            op,
        )


def _verify_end(op: Operation, region: Region, kind: type[Operation]) -> None:
    """VerifyError unless a region is one block with a terminator of `kind`."""
    first = region.first_block
    if first is None and isinstance(op, scf.IfOp) and not op.results:
        return
    if first is None or first.next_block is not None:
        if first is None and isinstance(op, scf.IfOp):
            raise VerifyError("scf.if: an op with results needs an else branch", op)
        raise VerifyError(
            f"{op.name}: a region must have one block; write branches and loops with scf", op
        )
    if not isinstance(first.last_op, kind):
        which = "a region" if kind is scf.YieldOp else "the first region"
        raise VerifyError(f"{op.name}: {which} must end in {kind.name}", first.last_op or op)
    if first.args and not is_loop(op):
        raise VerifyError(f"{op.name}: a branch takes no arguments, got {len(first.args)}", op)


def _verify_for(op: scf.ForOp) -> None:
    step = constant_integer(op.step)
    if step is not None and step <= 0:
        raise VerifyError(f"scf.for: step must be positive, got {step}", op)
    if not op.body.block.args:
        raise VerifyError("scf.for: the body must take the induction variable", op)


def _verify_index_switch(op: scf.IndexSwitchOp) -> None:
    values = integers_of(op.cases)
    if len(values) != len(op.case_regions):
        raise VerifyError(
            f"scf.index_switch: {len(values)} case regions expected, got {len(op.case_regions)}", op
        )


def _verify_slots(op: Operation) -> None:
    """VerifyError at an op, or at a terminator in it, with other types or numbers than slots."""
    flow = region_flow(op)
    assert flow is not None
    for group in flow.groups:
        first, *others = group.sides
        for side in others:
            place, count = side.reader or op, len(first.values)
            if count != len(side.values):
                raise VerifyError(
                    f"{op.name}: {count} {group.what}(s) expected, got {len(side.values)} "
                    f"{side.where}",
                    place,
                )
            for k, (one, other) in enumerate(zip(first.values, side.values, strict=True)):
                if one.type != other.type:
                    raise VerifyError(
                        f"{op.name}: {group.what} {k} must be {one.type}, got {other.type} "
                        f"{side.where}",
                        place,
                    )


_RULES: dict[type[Operation], Callable[[Any], None]] = {
    scf.ForOp: _verify_for,
    scf.IndexSwitchOp: _verify_index_switch,
}
