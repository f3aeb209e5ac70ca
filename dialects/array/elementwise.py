"""array: elementwise ops on tensors of one shape. Broadcasting is array.broadcast_to."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects import body as b
from gradir.dialects.attributes import Attributes
from gradir.dialects.interfaces import Cotangents, TensorOp
from gradir.dialects.kinds import (
    BinaryOp,
    CompareOp,
    ElementwiseOp,
    UnaryOp,
    require_elements,
    require_equal_types,
)
from gradir.dialects.loopnest import scalar_type
from gradir.dialects.shapes import element_of, is_bool, is_float, shape_of, tensor
from gradir.dialects.value import Scalar, Value

# Unary.


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value.   vjp: ct * sign(x), so 0 at 0"""

    name = "array.abs"
    NUMPY: ClassVar[str] = "abs"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * SignOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.absolute(x)


@irdl_op_definition
class NegativeOp(UnaryOp):
    """-x.   vjp: -ct"""

    name = "array.negative"
    NUMPY: ClassVar[str] = "negative"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct]

    def body(self, x: Scalar) -> Scalar:
        return -x  # pyright: ignore[reportReturnType]

    def simplify(self, x: Value) -> Value | None:
        match x.ssa.owner:
            case NegativeOp() as inner:
                return x.emitter.value(inner.x)
            case _:
                return None


@irdl_op_definition
class ExpOp(UnaryOp):
    """e ** x.   vjp: ct * y"""

    name = "array.exp"
    NUMPY: ClassVar[str] = "exp"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * y]

    def body(self, x: Scalar) -> Scalar:
        return b.exp(x)


@irdl_op_definition
class Expm1Op(UnaryOp):
    """e ** x - 1, exact near 0.   vjp: ct * (y + 1)"""

    name = "array.expm1"
    NUMPY: ClassVar[str] = "expm1"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (y + 1)]

    def body(self, x: Scalar) -> Scalar:
        return b.expm1(x)


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm; -inf at 0, nan below.   vjp: ct / x"""

    name = "array.log"
    NUMPY: ClassVar[str] = "log"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / x]

    def body(self, x: Scalar) -> Scalar:
        return b.log(x)


@irdl_op_definition
class Log1pOp(UnaryOp):
    """log(1 + x), exact near 0.   vjp: ct / (1 + x)"""

    name = "array.log1p"
    NUMPY: ClassVar[str] = "log1p"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / (1 + x)]

    def body(self, x: Scalar) -> Scalar:
        return b.log1p(x)


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root; nan below 0.   vjp: ct / (2 * y), so inf at 0"""

    name = "array.sqrt"
    NUMPY: ClassVar[str] = "sqrt"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / (2 * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.sqrt(x)


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x).   vjp: ct * -y / (2 * x)"""

    name = "array.rsqrt"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-y / (2 * x))]

    def body(self, x: Scalar) -> Scalar:
        return b.rsqrt(x)

    def numpy(self, x: Any) -> Any:
        import numpy

        return 1 / numpy.sqrt(x)


@irdl_op_definition
class SquareOp(UnaryOp):
    """x * x.   vjp: ct * 2 * x"""

    name = "array.square"
    NUMPY: ClassVar[str] = "square"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (2 * x)]

    def body(self, x: Scalar) -> Scalar:
        return b.multiply(x, x)


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x.   vjp: -ct * y * y"""

    name = "array.reciprocal"
    NUMPY: ClassVar[str] = "reciprocal"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct * (y * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.divide(b.constant(x, 1), x)


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine of radians.   vjp: ct * cos(x)"""

    name = "array.sin"
    NUMPY: ClassVar[str] = "sin"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * CosOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.sin(x)


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine of radians.   vjp: -ct * sin(x)"""

    name = "array.cos"
    NUMPY: ClassVar[str] = "cos"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct * SinOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.cos(x)


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent.   vjp: ct * (1 - y * y)"""

    name = "array.tanh"
    NUMPY: ClassVar[str] = "tanh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (1 - y * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.tanh(x)


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function 2/sqrt(pi) * integral of exp(-t*t) from 0 to x.

    vjp: ct * 2/sqrt(pi) * exp(-x * x)
    """

    name = "array.erf"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (2 / sqrt(pi) * ExpOp.on(-(x * x)))]

    def body(self, x: Scalar) -> Scalar:
        return b.erf(x)

    def numpy(self, x: Any) -> Any:
        import math

        import numpy

        return numpy.vectorize(math.erf, otypes=[numpy.float64])(x)


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; nan of nan.   vjp: zero"""

    name = "array.sign"
    NUMPY: ClassVar[str] = "sign"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [None]

    def body(self, x: Scalar) -> Scalar:
        zero = b.constant(x, 0)
        positive = b.select(b.greater(x, zero), b.constant(x, 1), zero)
        signed = b.select(b.less(x, zero), b.constant(x, -1), positive)
        # nan + 0 is nan; x * 0 keeps no sign for finite x
        return b.select(b.unordered(x, x), x, signed) if is_float(x.type) else signed


@irdl_op_definition
class FloorOp(UnaryOp):
    """Largest integer not above x.   vjp: zero"""

    name = "array.floor"
    NUMPY: ClassVar[str] = "floor"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [None]

    def body(self, x: Scalar) -> Scalar:
        return b.floor(x)


# Binary.


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap.   vjp: ct, ct"""

    name = "array.add"
    NUMPY: ClassVar[str] = "add"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct, ct]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.add(x, y)


@irdl_op_definition
class SubtractOp(BinaryOp):
    """lhs - rhs; integers wrap.   vjp: ct, -ct"""

    name = "array.subtract"
    NUMPY: ClassVar[str] = "subtract"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct, -ct]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.subtract(x, y)


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """lhs * rhs; integers wrap.   vjp: ct * rhs, ct * lhs"""

    name = "array.multiply"
    NUMPY: ClassVar[str] = "multiply"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct * rhs, ct * lhs]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.multiply(x, y)

    def simplify(self, lhs: Value, rhs: Value) -> Value | None:
        if splat_of(lhs) == 1:
            return rhs
        return lhs if splat_of(rhs) == 1 else None


@irdl_op_definition
class DivideOp(BinaryOp):
    """lhs / rhs, floating.   vjp: ct / rhs, -ct * y / rhs"""

    name = "array.divide"
    NUMPY: ClassVar[str] = "divide"
    DOMAIN: ClassVar[str] = "float"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        scaled = ct / rhs
        return [scaled, -scaled * y]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.divide(x, y)

    def simplify(self, lhs: Value, rhs: Value) -> Value | None:
        return lhs if splat_of(rhs) == 1 else None


class _ExtremumOp(BinaryOp):
    """Ties split in halves: the sum of both cotangents stays ct."""

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        zero, half = ct.full(0), ct * 0.5
        tied = WhereOp.on(lhs.equal(rhs), half, zero)
        to_lhs = WhereOp.on(self.prefers(lhs, rhs), ct, tied)
        to_rhs = WhereOp.on(self.prefers(rhs, lhs), ct, tied)
        return [to_lhs, to_rhs]

    def prefers(self, x: Value, other: Value) -> Value:
        """Where x is the strict winner."""
        raise NotImplementedError


@irdl_op_definition
class MaximumOp(_ExtremumOp):
    """The larger operand; nan where one is nan.   vjp: ct to the larger, halves at ties"""

    name = "array.maximum"
    NUMPY: ClassVar[str] = "maximum"

    def prefers(self, x: Value, other: Value) -> Value:
        return x > other

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.maximum(x, y)


@irdl_op_definition
class MinimumOp(_ExtremumOp):
    """The smaller operand; nan where one is nan.   vjp: ct to the smaller, halves at ties"""

    name = "array.minimum"
    NUMPY: ClassVar[str] = "minimum"

    def prefers(self, x: Value, other: Value) -> Value:
        return x < other

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.minimum(x, y)


# Comparisons.


@irdl_op_definition
class EqualOp(CompareOp):
    """lhs == rhs; false of nan."""

    name = "array.equal"
    NUMPY: ClassVar[str] = "equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.equal(x, y)


@irdl_op_definition
class NotEqualOp(CompareOp):
    """lhs != rhs; true of nan."""

    name = "array.not_equal"
    NUMPY: ClassVar[str] = "not_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.not_equal(x, y)


class _OrderOp(CompareOp):
    """An order, so not of bools."""

    def verify_types(self) -> None:
        require_elements(self.lhs.type, "number")


@irdl_op_definition
class LessOp(_OrderOp):
    """lhs < rhs; false of nan."""

    name = "array.less"
    NUMPY: ClassVar[str] = "less"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.less(x, y)


@irdl_op_definition
class LessEqualOp(_OrderOp):
    """lhs <= rhs; false of nan."""

    name = "array.less_equal"
    NUMPY: ClassVar[str] = "less_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.less_equal(x, y)


@irdl_op_definition
class GreaterOp(_OrderOp):
    """lhs > rhs; false of nan."""

    name = "array.greater"
    NUMPY: ClassVar[str] = "greater"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.greater(x, y)


@irdl_op_definition
class GreaterEqualOp(_OrderOp):
    """lhs >= rhs; false of nan."""

    name = "array.greater_equal"
    NUMPY: ClassVar[str] = "greater_equal"

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.greater_equal(x, y)


# Logic, selection, conversion.


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """Both hold (i1)."""

    name = "array.logical_and"
    NUMPY: ClassVar[str] = "logical_and"
    DOMAIN: ClassVar[str] = "bool"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.logical_and(x, y)


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """Does not hold (i1)."""

    name = "array.logical_not"
    NUMPY: ClassVar[str] = "logical_not"
    DOMAIN: ClassVar[str] = "bool"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.logical_not(x)


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """x where cond (i1) holds, else y.   vjp: ct where cond, ct where not"""

    name = "array.where"
    NUMPY: ClassVar[str] = "where"

    cond = operand_def()
    x = operand_def()
    y = operand_def()
    result = result_def()

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        cond, x, y = operands
        require_elements(cond, "bool")
        require_equal_types([x, y])
        require_equal_types([cond, tensor(shape_of(x), i1)])
        return [x]

    def vjp(self, ct: Value, result: Value, cond: Value, x: Value, y: Value) -> Cotangents:
        zero = ct.full(0)
        return [None, WhereOp.on(cond, ct, zero), WhereOp.on(cond, zero, ct)]

    def body(self, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return b.select(cond, x, y)


@irdl_op_definition
class AstypeOp(ElementwiseOp):
    """Converted to the result's element type, rounded once.

    Floats become integers toward 0, the nearest end where out of range, 0 of nan; integers wrap;
    what is not 0 is true.
    vjp: astype(ct) between floats; from or to an integer none flows.
    """

    name = "array.astype"

    x = operand_def()
    y = result_def()

    def verify_types(self) -> None:
        if shape_of(self.x.type) != shape_of(self.y.type):
            raise VerifyException(
                f"shapes must be equal, got {self.x.type} and {self.y.type}; "
                "broadcast with array.broadcast_to"
            )

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [AstypeOp.on(ct, type=x.type) if is_float(x.element) else None]

    def body(self, x: Scalar) -> Scalar:
        source, target = element_of(self.x.type), element_of(self.y.type)
        if is_bool(target):
            return b.not_equal(x, b.constant(x, 0))
        # at once, not by way of the compute type: that would round, or saturate, twice
        return b.cast(x, scalar_type(target), b.is_unsigned(source), b.is_unsigned(target))

    def numpy(self, x: Any) -> Any:
        return x  # the interpreter casts to the result type

    def simplify(self, x: Value) -> Value | None:
        return x if x.type == self.y.type else None


def splat_of(value: Value) -> float | None:
    """The number of which every element of a value is a copy, where that is known."""
    from gradir.dialects.array.creation import ConstantOp, FullOp
    from gradir.dialects.array.movement import BroadcastToOp

    match value.ssa.owner:
        case FullOp() as op:
            return op.number
        case ConstantOp() as op:
            return op.splat
        case BroadcastToOp() as op:
            return splat_of(value.emitter.value(op.x))
        case _:
            return None


OPS: tuple[type[TensorOp], ...] = (
    AbsOp, NegativeOp, ExpOp, Expm1Op, LogOp, Log1pOp, SqrtOp, RsqrtOp, SquareOp, ReciprocalOp,
    SinOp, CosOp, TanhOp, ErfOp, SignOp, FloorOp, AddOp, SubtractOp, MultiplyOp, DivideOp,
    MaximumOp, MinimumOp, EqualOp, NotEqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp,
    LogicalAndOp, LogicalNotOp, WhereOp, AstypeOp,
)  # fmt: skip

BY_NAME: dict[str, type[TensorOp]] = {op.name: op for op in OPS}
