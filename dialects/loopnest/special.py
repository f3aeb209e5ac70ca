"""Functions of numbers in bodies of loop nests that the math dialect lacks."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.dialects.math import TanhOp
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
class SigmoidOp(SpecialOp):
    """1 / (1 + exp(-x))."""

    name = "loopnest.sigmoid"


@irdl_op_definition
class SigmoidSlopeOp(SpecialOp):
    """sigmoid'(x)."""

    name = "loopnest.sigmoid_slope"


@irdl_op_definition
class TanhSlopeOp(SpecialOp):
    """tanh'(x)."""

    name = "loopnest.tanh_slope"


@irdl_op_definition
class SigmoidPointOp(SpecialOp):
    """sigmoid(x) and 1 - sigmoid(x) in one number, of f32 or f64.

    It is q = tanh(x / 2) where |q| < 1/2. Elsewhere it is s = 1 / (1 + exp(|x|)) with the sign of x
    and the highest bit of the exponent set, so that its size is 2 or more. nan of nan.

    It stands for x: a cotangent of it is one of x, which the ops that read it count with.
    """

    name = "loopnest.sigmoid_point"


@irdl_op_definition
class TanhPointOp(SpecialOp):
    """tanh(x) and 1 - |tanh(x)| in one number, of f32 or f64.

    It is q = tanh(x) where |q| < 1/2, elsewhere 1 - |q| with the sign of x and the highest bit of
    the exponent, and stands for x, as loopnest.sigmoid_point.
    """

    name = "loopnest.tanh_point"


# From here on tanh'(x) is no normal number of this many bits, and taken for 0.
POINT_END = {32: 44.36141, 64: 354.8913564466}


@irdl_op_definition
class SigmoidAtOp(SpecialOp):
    """sigmoid(x) from loopnest.sigmoid_point."""

    name = "loopnest.sigmoid_at"


@irdl_op_definition
class SigmoidSlopeAtOp(SpecialOp):
    """sigmoid'(x) from loopnest.sigmoid_point."""

    name = "loopnest.sigmoid_slope_at"


@irdl_op_definition
class TanhAtOp(SpecialOp):
    """tanh(x) from loopnest.tanh_point."""

    name = "loopnest.tanh_at"


@irdl_op_definition
class HalfTanhAtOp(SpecialOp):
    """tanh(x / 2) from loopnest.sigmoid_point."""

    name = "loopnest.half_tanh_at"


@irdl_op_definition
class TanhSlopeAtOp(SpecialOp):
    """tanh'(x) from loopnest.tanh_point."""

    name = "loopnest.tanh_slope_at"


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


# The functions of x that the ops behind a point of x have, bit for bit: by the kinds of both.
PAST_POINTS: dict[tuple[type[SpecialOp], type[SpecialOp]], type[SpecialOp | TanhOp]] = {
    (TanhAtOp, TanhPointOp): TanhOp,
    (TanhSlopeAtOp, TanhPointOp): TanhSlopeOp,
    (SigmoidAtOp, SigmoidPointOp): SigmoidOp,
    (SigmoidSlopeAtOp, SigmoidPointOp): SigmoidSlopeOp,
}


OPS: tuple[type[IRDLOperation], ...] = (
    ErfcOp, NormalCdfOp, NormalDensityOp, SigmoidOp, SigmoidSlopeOp, SigmoidPointOp,
    SigmoidAtOp, SigmoidSlopeAtOp, HalfTanhAtOp, TanhSlopeOp, TanhPointOp, TanhAtOp, TanhSlopeAtOp,
    RemainderOp,
)  # fmt: skip
