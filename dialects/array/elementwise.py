"""array: elementwise ops on tensors of one shape. Broadcasting is array.broadcast_to."""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Callable, Sequence
from math import pi, sqrt
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from gradir.dialects.array import comparison
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import Attributes, Types, splat_number
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    element_of,
    is_complex,
    is_float,
    is_inexact,
    real_element,
    shape_of,
    tensor,
)
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building import points
from gradir.dialects.building.gate import by_convention, gated, inside, zero_or_nan
from gradir.dialects.building.kinds import (
    BinaryOp,
    UnaryOp,
)
from gradir.dialects.building.points import TanhAtOp, TanhPointOp, through_point
from gradir.dialects.building.slopes import GaussianOp, slope

# Unary.


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value, a real number; of complex ones without overflow.

    vjp: ct * sign(x), so 0 at 0; of complex x ct * conj(x) / y, 0 where y is 0 (the second
    derivative is nan there)
    """

    name = "array.abs"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "abs"
    DOMAIN: ClassVar[str] = "number"

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [type_] = super().infer_types(operands, attributes)
        return [tensor(shape_of(type_), real_element(element_of(type_)))]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_complex(x.element):
            return [self._vjp_of_length(ct, y, x)]
        return [ct * SignOp.on(x)]

    @staticmethod
    def _vjp_of_length(ct: Value, y: Value, x: Value) -> Value:
        """ct * conj(x) / y, by the parts, so that nothing overflows."""
        from gradir.dialects.array.complex_parts import ComplexOp, ImagOp, RealOp

        apart, zero = y.not_equal(0), ct.full(0)
        real, imag = (ct * by_convention(part.on(x) / y, apart, zero) for part in (RealOp, ImagOp))
        return ComplexOp.on(real, -imag)

    def body(self, x: Scalar) -> Scalar:
        return b.absolute(x)


@irdl_op_definition
class NegativeOp(UnaryOp):
    """-x.   vjp: -ct"""

    name = "array.negative"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "negative"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct]

    def zero_operands(self) -> Sequence[SSAValue]:
        return self.operands

    def body(self, x: Scalar) -> Scalar:
        return -x

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
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "exp"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * y]

    def body(self, x: Scalar) -> Scalar:
        return b.exp(x)


@irdl_op_definition
class Expm1Op(UnaryOp):
    """e ** x - 1, exact near 0.   vjp: ct * exp(x)"""

    name = "array.expm1"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "expm1"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * ExpOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.expm1(x)

    def numpy(self, x: Any) -> Any:
        if not np.iscomplexobj(x):
            return np.expm1(x)
        # NumPy's has nan where exp is infinite or 0
        is_plain = np.isfinite(x)
        return np.where(is_plain, np.expm1(np.where(is_plain, x, 0)), np.exp(x) - 1)


@irdl_op_definition
class LogOp(UnaryOp):
    """Natural logarithm; -inf at 0, nan below.   vjp: ct / x, nan below 0

    Of complex numbers log(|x|) + i * angle(x), whose cut are the negative numbers.
    """

    name = "array.log"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "log"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_complex(x.element):
            return [ct / x]
        return [inside(ct / x, x >= 0)]

    def body(self, x: Scalar) -> Scalar:
        return b.log(x)


@irdl_op_definition
class Log1pOp(UnaryOp):
    """log(1 + x), exact near 0.   vjp: ct / (1 + x), nan below -1"""

    name = "array.log1p"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "log1p"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_complex(x.element):
            return [ct / (1 + x)]
        return [inside(ct / (1 + x), x >= -1)]

    def body(self, x: Scalar) -> Scalar:
        return b.log1p(x)


@irdl_op_definition
class SqrtOp(UnaryOp):
    """Square root; nan below 0.   vjp: ct / (2 * y), so inf at 0

    Of complex numbers the root whose real part is not negative; the cut are the negative numbers.
    """

    name = "array.sqrt"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "sqrt"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / (2 * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.sqrt(x)


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """1 / sqrt(x).   vjp: ct * -y / (2 * x)"""

    name = "array.rsqrt"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-y / (2 * x))]

    def body(self, x: Scalar) -> Scalar:
        return b.rsqrt(x)

    def numpy(self, x: Any) -> Any:
        return 1 / np.sqrt(x)


@irdl_op_definition
class SquareOp(UnaryOp):
    """x * x.   vjp: ct * 2 * x

    Of an absolute value differentiation takes the square of what is inside: it is smooth at 0.
    """

    name = "array.square"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "square"
    DOMAIN: ClassVar[str] = "number"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (2 * x)]

    def apart(self) -> Callable[..., Value] | None:
        return _square_of_length(self.x)

    def body(self, x: Scalar) -> Scalar:
        return x * x


def _square_of_length(length: SSAValue) -> Callable[..., Value] | None:
    """|x| ** 2 from x, for the op of |x|; None of other values."""
    inner = length.owner
    if not isinstance(inner, AbsOp) or not is_inexact(element_of(inner.x.type)):
        return None

    def apart(size: Value, *others: Value) -> Value:
        from gradir.dialects.array.complex_parts import ImagOp, RealOp

        x = size.emitter.value(inner.x)
        if not is_complex(x.element):
            return SquareOp.on(x)
        return SquareOp.on(RealOp.on(x)) + SquareOp.on(ImagOp.on(x))

    return apart


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """1 / x.   vjp: -ct * y * y"""

    name = "array.reciprocal"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "reciprocal"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct * (y * y)]

    def body(self, x: Scalar) -> Scalar:
        return 1 / x


@irdl_op_definition
class SinOp(UnaryOp):
    """Sine of radians.   vjp: ct * cos(x)"""

    name = "array.sin"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "sin"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * CosOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.sin(x)


@irdl_op_definition
class CosOp(UnaryOp):
    """Cosine of radians.   vjp: -ct * sin(x)"""

    name = "array.cos"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "cos"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct * SinOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.cos(x)


@irdl_op_definition
class TanhOp(UnaryOp):
    """Hyperbolic tangent.   vjp: ct * (1 - y * y)

    Differentiation reads it off a point (grad.tanh_point), whose slope keeps its digits, of f32 and
    f64; but not where derivatives keep the result itself, as for a product of matrices.
    """

    name = "array.tanh"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (1 - y * y)]

    def apart(self) -> Callable[..., Value] | None:
        return through_point(self.x, self.y, TanhPointOp, TanhAtOp)

    def body(self, x: Scalar) -> Scalar:
        return b.tanh(x)

    def numpy(self, x: Any) -> Any:
        return np.tanh(x) if x.dtype.kind == "c" else points.tanh(x)


@irdl_op_definition
class ErfOp(UnaryOp):
    """Error function 2/sqrt(pi) * integral of exp(-t*t) from 0 to x.

    vjp: ct * 2/sqrt(pi) * exp(-x * x)
    """

    name = "array.erf"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (2 / sqrt(pi) * slope(GaussianOp, x))]

    def body(self, x: Scalar) -> Scalar:
        return b.erf(x)

    def numpy(self, x: Any) -> Any:
        import math

        return np.vectorize(math.erf, otypes=[np.float64])(x)


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; nan of nan.   vjp: zero"""

    name = "array.sign"
    NUMPY: ClassVar[str] = "sign"
    DOMAIN: ClassVar[str] = "number"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        zero = b.constant(x, 0)
        positive = b.select(x > zero, b.constant(x, 1), zero)
        signed = b.select(x < zero, b.constant(x, -1), positive)
        # nan + 0 is nan; x * 0 keeps no sign for finite x
        return b.select(b.unordered(x, x), x, signed) if is_float(x.type) else signed


@irdl_op_definition
class FloorOp(UnaryOp):
    """Largest integer not above x.   vjp: zero"""

    name = "array.floor"
    NUMPY: ClassVar[str] = "floor"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.floor(x)


# Binary.


@irdl_op_definition
class AddOp(BinaryOp):
    """lhs + rhs; integers wrap.   vjp: ct, ct"""

    name = "array.add"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "add"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct, ct]

    def zero_operands(self) -> Sequence[SSAValue]:
        return self.operands

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x + y


@irdl_op_definition
class SubtractOp(BinaryOp):
    """lhs - rhs; integers wrap.   vjp: ct, -ct"""

    name = "array.subtract"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "subtract"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct, -ct]

    def zero_operands(self) -> Sequence[SSAValue]:
        return self.operands

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x - y


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """lhs * rhs; integers wrap.   vjp: ct * rhs, ct * lhs

    The square of an absolute value is differentiated as by array.square.
    """

    name = "array.multiply"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "multiply"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct * rhs, ct * lhs]

    def apart(self) -> Callable[..., Value] | None:
        left, right = self.lhs.owner, self.rhs.owner
        is_square = isinstance(left, AbsOp) and isinstance(right, AbsOp) and left.x is right.x
        return _square_of_length(self.lhs) if is_square else None

    def zero_operands(self) -> Sequence[SSAValue] | None:
        pairs = ((self.lhs, self.rhs), (self.rhs, self.lhs))
        return [x for x, factor in pairs if is_known_finite(factor)] or None

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x * y

    def simplify(self, lhs: Value, rhs: Value) -> Value | None:
        if is_complex(lhs.element):
            return None  # inf * (1 + 0i) has a nan
        if splat_of(lhs.ssa) == 1:
            return rhs
        return lhs if splat_of(rhs.ssa) == 1 else None


@irdl_op_definition
class DivideOp(BinaryOp):
    """lhs / rhs, floating.   vjp: ct / rhs, -ct * y / rhs"""

    name = "array.divide"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "divide"
    DOMAIN: ClassVar[str] = "float"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        scaled = ct / rhs
        return [scaled, -scaled * y]

    def zero_operands(self) -> Sequence[SSAValue] | None:
        return [self.lhs] if is_known_finite(self.rhs) and splat_of(self.rhs) else None

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return x / y

    def simplify(self, lhs: Value, rhs: Value) -> Value | None:
        if is_complex(lhs.element):
            return None
        return lhs if splat_of(rhs.ssa) == 1 else None


class _ExtremumOp(BinaryOp):
    """Ties split in halves: the sum of both cotangents stays ct."""

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        share = ct * WhereOp.on(lhs.equal(rhs), ct.full(0.5), ct.full(1))
        return [
            gated(share, self.prefers(lhs, rhs), zero_or_nan(lhs)),
            gated(share, self.prefers(rhs, lhs), zero_or_nan(rhs)),
        ]

    def prefers(self, x: Value, other: Value) -> Value:
        """Whether x wins or ties."""
        raise NotImplementedError


@irdl_op_definition
class MaximumOp(_ExtremumOp):
    """The larger operand, of 0 and -0 the 0; nan where one is nan.

    vjp: ct to the larger, halves at ties; nan to nan
    """

    name = "array.maximum"

    def prefers(self, x: Value, other: Value) -> Value:
        return x >= other

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.maximum(x, y)

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        return extrema.maximum(lhs, rhs)


@irdl_op_definition
class MinimumOp(_ExtremumOp):
    """The smaller operand, of 0 and -0 the -0; nan where one is nan.

    vjp: ct to the smaller, halves at ties; nan to nan
    """

    name = "array.minimum"

    def prefers(self, x: Value, other: Value) -> Value:
        return x <= other

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.minimum(x, y)

    def numpy(self, lhs: Any, rhs: Any) -> Any:
        return extrema.minimum(lhs, rhs)


def is_known_finite(x: SSAValue) -> bool:
    """Whether a number, or all elements, are known to be finite: one constant, or a choice."""
    match x.owner:
        case WhereOp() as op:
            return is_known_finite(op.x) and is_known_finite(op.y)
        case arith.SelectOp() as op:
            return is_known_finite(op.lhs) and is_known_finite(op.rhs)
        case _:
            number = splat_of(x)
            return number is not None and (is_traced(number) or isfinite(number))


def splat_of(value: SSAValue) -> complex | None:
    """The known number, or common value of all elements; None where there is none."""
    from gradir.dialects.array.creation import ConstantOp, FullOp
    from gradir.dialects.array.movement import BroadcastToOp

    match value.owner:
        case FullOp() as op:
            return op.whole
        case ConstantOp() as op:
            return op.splat
        case BroadcastToOp() as op:
            return splat_of(op.x)
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            return splat_number(dense)
        case arith.ConstantOp(value=FloatAttr() as number):
            return number.value.data
        case _:
            return None


OPS: tuple[type[TensorOp], ...] = (
    AbsOp,
    NegativeOp,
    ExpOp,
    Expm1Op,
    LogOp,
    Log1pOp,
    SqrtOp,
    RsqrtOp,
    SquareOp,
    ReciprocalOp,
    SinOp,
    CosOp,
    TanhOp,
    ErfOp,
    SignOp,
    FloorOp,
    AddOp,
    SubtractOp,
    MultiplyOp,
    DivideOp,
    MaximumOp,
    MinimumOp,
)

Value.OPERATORS.update({op.name.removeprefix("array."): op.on for op in (*OPS, *comparison.OPS)})
