"""Functions of numbers in bodies of loop nests that the math dialect lacks."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure


class SpecialOp(IRDLOperation, ABC):
    """y = f(x) on one float."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    x = operand_def(T)
    y = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x)"

    def __init__(self, x: SSAValue):
        super().__init__(operands=[x], result_types=[x.type])


@irdl_op_definition
class ErfcOp(SpecialOp):
    """1 - erf(x)."""

    name = "loopnest.erfc"


@irdl_op_definition
class NormalCdfOp(SpecialOp):
    """(1 + erf(x / sqrt(2))) / 2, exact in its tails."""

    name = "loopnest.normal_cdf"


@irdl_op_definition
class NormalDensityOp(SpecialOp):
    """exp(-x * x / 2) / sqrt(2 * pi), the derivative of the normal distribution function."""

    name = "loopnest.normal_density"


@irdl_op_definition
class RemainderOp(IRDLOperation):
    """lhs - rhs * trunc(lhs / rhs), exactly: the remainder of C, with the sign of lhs."""

    name = "loopnest.remainder"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=[lhs, rhs], result_types=[lhs.type])


OPS: tuple[type[IRDLOperation], ...] = (
    ErfcOp, NormalCdfOp, NormalDensityOp, RemainderOp,
)  # fmt: skip
