"""grad.join: the boundary of a call that is inlined before differentiation.

    %y = grad.join %x        y = x; contributions to y are summed before they join those to x

So cotangents of an inlined call are summed like cotangents of the call, in the same order and with
the same bits: the cotangent of a callee's argument is one contribution to the operand. The op is in
no derivative.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from gradir.dialects.base.op_rules import register_zero_operands
from gradir.dialects.base.shapes import element_of, is_inexact, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter


@irdl_op_definition
class JoinOp(IRDLOperation):
    """y = x."""

    name = "grad.join"

    T: ClassVar = VarConstraint("T", AnyAttr())

    x = operand_def(T)
    y = result_def(T)
    traits = traits_def(Pure())


def join(value: SSAValue, emitter: Emitter) -> SSAValue:
    """A join of a value; the value itself if it has no summed cotangent."""
    if not _has_sums(value.type):
        return value
    return emitter.insert(JoinOp(operands=[value], result_types=[value.type])).y


def _has_sums(type_: Attribute) -> bool:
    if isinstance(type_, AnyFloat) or is_slices(type_):
        return True
    return is_tensor(type_) and is_inexact(element_of(type_))


register_zero_operands(JoinOp, lambda op: op.operands)
