"""Loops that may repeat iterations: without effects, and with snapshots of all carried values."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.diagnostics import PassError, kind_name, value_name
from gradir.dialects.base.shapes import is_static, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.loop_policy import loop_policy
from gradir.dialects.grad.tape import is_tape
from gradir.passes.differentiate.program import ModuleFunctions


def op_with_effects(program: ModuleFunctions, loop: Operation) -> Operation | None:
    """An op in a loop that must not run twice; None if there is none."""
    return next(filter(program.has_own_effect, loop.walk()), None)


def can_be_kept(type_: Attribute) -> bool:
    """Whether values of a type can be in a snapshot."""
    return not (is_tape(type_) or is_slices(type_) or (is_tensor(type_) and not is_static(type_)))


def check_replayable(program: ModuleFunctions, op: Operation) -> None:
    """PassError for an op in the loop that must not run twice."""
    if (inner := op_with_effects(program, op)) is not None:
        kind = loop_policy(op).kind.data
        raise PassError(
            f"{kind_name(inner)}: has effects, so that a loop of policy {kind} cannot run it "
            "again; use store_all",
            inner,
        )


def check_can_be_kept(op: Operation, value: SSAValue) -> None:
    """PassError for a carried value without a snapshot."""
    if not can_be_kept(value.type):
        kind = loop_policy(op).kind.data
        raise PassError(
            f"{op.name}: {kind} keeps carried values, which must be numbers or tensors of static "
            f"shape, got {value_name(value)}: {value.type}; use store_all",
            op,
        )
