"""Refusals of the gradient pass in advance: all active ops without a derivative, with paths."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, kind_name, value_name
from gradir.dialects.base.interfaces import TensorOp, is_terminator
from gradir.dialects.base.op_rules import foreign_type, refusal, remedy, vjp_rule
from gradir.dialects.base.shapes import has_open_types
from gradir.dialects.grad.derivative import DerivativeOp
from gradir.passes.analysis.activity import Activity
from gradir.passes.analysis.region_flow import ops_within
from gradir.passes.differentiate.structural_rule import Rules


def check_differentiable(
    function: FuncOp,
    block: Block,
    activity: Activity,
    rules: Rules,
) -> None:
    """PassError that lists every active op without a derivative, and a path from `wrt` to it."""
    offenders: list[tuple[Operation, str, SSAValue | None]] = []
    for op in ops_within(block):
        if is_terminator(op):
            continue
        if not any(map(activity.is_active, op.results)):
            continue
        if (problem := _problem(op, activity, rules)) is not None:
            offenders.append((op, *problem))
    if not offenders:
        return
    first, why, cause = offenders[0]
    notes = [(f"reached by {_path_text(first, cause, activity)}", first)]
    for op, text, operand in offenders[1:]:
        notes.append((f"{text}; reached by {_path_text(op, operand, activity)}", op))
    advice = remedy(first, "wrap it in grad.no_grad to leave it out")
    raise PassError(f"{why}; {advice}", first, notes)


def _problem(op: Operation, activity: Activity, rules: Rules) -> tuple[str, SSAValue | None] | None:
    """The problem of an op, and the operand to blame, if any."""
    if isinstance(op, DerivativeOp) or (isinstance(op, tensor.CastOp) and has_open_types(op)):
        # gradir-specialize removes these before differentiation
        return None
    if (text := refusal(op, activity.is_active)) is not None:
        return f"{kind_name(op)}: {text}", None
    structural = rules.get(type(op))
    if (structural is None or structural.reverse is None) and vjp_rule(op) is None:
        what = "its regions cannot be differentiated" if op.regions else "it has no derivative"
        if (type_ := foreign_type(op)) is not None:
            what += f" on {type_}"
        return f"{kind_name(op)}: {what}, and its result depends on wrt and reaches a target", None
    if isinstance(op, TensorOp):
        for k in op.NOT_DIFFERENTIABLE:
            if k < len(op.operands) and activity.is_active(op.operands[k]):
                operand = op.operands[k]
                return f"{op.name}: no derivative in operand {k} ({value_name(operand)})", operand
    return None


def _path_text(op: Operation, cause: SSAValue | None, activity: Activity) -> str:
    """The path from `wrt` to the op, through the operand to blame if there is one."""
    result = next(r for r in op.results if activity.is_active(r))
    steps = activity.path_to(result) if cause is None else [*activity.path_to(cause), result]
    names = [value_name(v) for v in steps]
    shown = names if len(names) <= 6 else [*names[:3], "...", *names[-2:]]
    return " -> ".join(shown)
