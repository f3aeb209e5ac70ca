"""Ops with effects, and arguments that are buffers: both hide dependences from activity.

Activity follows results only. A value read back from memory would have no cotangent, so such
programs are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.diagnostics import PassError, kind_name, value_name
from gradir.dialects.base.interfaces import TensorOp, is_terminator
from gradir.dialects.base.op_rules import is_inactive, remedy, vjp_rule


def check_arguments(function: FuncOp) -> None:
    """PassError if an argument is a buffer."""
    for index, argument in enumerate(function.body.block.args):
        type_: object = argument.type
        if isinstance(type_, MemRefType | UnrankedMemRefType):
            raise PassError(
                f"@{function.sym_name.data}: only functions of tensors can be differentiated, got "
                f"{argument.type} for argument {index}; differentiate before gradir-bufferize",
                function,
            )


def effect_problem(op: Operation, active: Iterable[SSAValue]) -> PassError | None:
    """The error for an op that reads active values and may have effects; None if it has none."""
    if isinstance(op, TensorOp | CallOp) or is_inactive(op) or vjp_rule(op) is not None:
        return None
    if is_terminator(op) or is_side_effect_free(op):
        return None
    names = ", ".join(dict.fromkeys(map(value_name, active)))
    return PassError(
        f"{kind_name(op)}: an op with effects has no derivative, and it reads {names}, which "
        f"depends on wrt; {remedy(op, 'hand it the result of grad.no_grad')}",
        op,
    )
