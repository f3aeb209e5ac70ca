"""array: exponentials, logarithms, cube root, trigonometric and hyperbolic functions, rounding."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition

from gradir.dialects.array.arithmetic import HypotOp
from gradir.dialects.array.elementwise import RsqrtOp, SqrtOp
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_complex
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import inside
from gradir.dialects.building.kinds import UnaryOp
from gradir.dialects.building.slopes import AtanSlopeOp, GaussianOp, SquareComplementOp, slope

# Exponentials and logarithms.


@irdl_op_definition
class Exp2Op(UnaryOp):
    """2 ** x.   vjp: ct * ln 2 * y"""

    name = "array.exp2"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "exp2"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (log(2) * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.exp2(x)


@irdl_op_definition
class Log2Op(UnaryOp):
    """Logarithm to base 2; -inf at 0, nan below.   vjp: ct / (x * ln 2), nan below 0"""

    name = "array.log2"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "log2"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        scaled = ct * (1 / log(2)) / x
        return [scaled if is_complex(x.element) else inside(scaled, x >= 0)]

    def body(self, x: Scalar) -> Scalar:
        return b.log2(x)


@irdl_op_definition
class Log10Op(UnaryOp):
    """Logarithm to base 10; -inf at 0, nan below.   vjp: ct / (x * ln 10), nan below 0"""

    name = "array.log10"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "log10"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        scaled = ct * (1 / log(10)) / x
        return [scaled if is_complex(x.element) else inside(scaled, x >= 0)]

    def body(self, x: Scalar) -> Scalar:
        return b.log10(x)


@irdl_op_definition
class CbrtOp(UnaryOp):
    """The real cube root.   vjp: ct / (3 * y * y), so inf at 0"""

    name = "array.cbrt"
    NUMPY: ClassVar[str] = "cbrt"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / (3 * (y * y))]

    def body(self, x: Scalar) -> Scalar:
        return b.cbrt(x)


@irdl_op_definition
class ErfcOp(UnaryOp):
    """1 - erf(x), exact where erf is close to 1.   vjp: ct * -2/sqrt(pi) * exp(-x * x)"""

    name = "array.erfc"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-2 / sqrt(pi) * slope(GaussianOp, x))]

    def body(self, x: Scalar) -> Scalar:
        return b.erfc(x)

    def numpy(self, x: Any) -> Any:
        import math

        return np.vectorize(math.erfc, otypes=[np.float64])(x)


# Trigonometric functions and their inverses.


@irdl_op_definition
class TanOp(UnaryOp):
    """Tangent of radians.   vjp: ct * (1 + y * y)"""

    name = "array.tan"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "tan"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (1 + y * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.tan(x)


@irdl_op_definition
class AsinOp(UnaryOp):
    """Angle in [-pi/2, pi/2] of a sine; nan outside of [-1, 1].

    vjp: ct / sqrt((1 - x) * (1 + x)), so inf at the ends
    """

    name = "array.asin"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arcsin"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * _slope_of_arcs(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.asin(x)


def _slope_of_arcs(x: Value) -> Value:
    """1 / sqrt((1 - x) * (1 + x)); of complex x by two roots, so that nothing cancels."""
    if is_complex(x.element):
        return 1 / (SqrtOp.on(1 - x) * SqrtOp.on(1 + x))
    return RsqrtOp.on(slope(SquareComplementOp, x))


@irdl_op_definition
class AcosOp(UnaryOp):
    """Angle in [0, pi] of a cosine; nan outside of [-1, 1].

    vjp: -ct / sqrt((1 - x) * (1 + x)), so -inf at the ends
    """

    name = "array.acos"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arccos"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [-ct * _slope_of_arcs(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.acos(x)


@irdl_op_definition
class AtanOp(UnaryOp):
    """Angle in [-pi/2, pi/2] of a tangent.   vjp: ct / (1 + x * x)"""

    name = "array.atan"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arctan"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * slope(AtanSlopeOp, x)]

    def body(self, x: Scalar) -> Scalar:
        return b.atan(x)


# Hyperbolic functions and their inverses.


@irdl_op_definition
class SinhOp(UnaryOp):
    """Hyperbolic sine.   vjp: ct * cosh(x)"""

    name = "array.sinh"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "sinh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * CoshOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.sinh(x)


@irdl_op_definition
class CoshOp(UnaryOp):
    """Hyperbolic cosine.   vjp: ct * sinh(x)"""

    name = "array.cosh"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "cosh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * SinhOp.on(x)]

    def body(self, x: Scalar) -> Scalar:
        return b.cosh(x)


@irdl_op_definition
class AsinhOp(UnaryOp):
    """The number of a hyperbolic sine.   vjp: ct / sqrt(1 + x * x), without overflow"""

    name = "array.asinh"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arcsinh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_complex(x.element):
            return [ct / SqrtOp.on(1 + x * x)]
        return [ct / HypotOp.on(x, x.full(1))]

    def body(self, x: Scalar) -> Scalar:
        return b.asinh(x)


@irdl_op_definition
class AcoshOp(UnaryOp):
    """The number not below 0 of a hyperbolic cosine; nan below 1.

    vjp: ct / (sqrt(x - 1) * sqrt(x + 1)), so inf at 1
    """

    name = "array.acosh"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arccosh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct / (SqrtOp.on(x - 1) * SqrtOp.on(x + 1))]

    def body(self, x: Scalar) -> Scalar:
        return b.acosh(x)


@irdl_op_definition
class AtanhOp(UnaryOp):
    """The number of a hyperbolic tangent; nan outside of [-1, 1].

    vjp: ct / ((1 - x) * (1 + x)), so inf at the ends, nan outside
    """

    name = "array.atanh"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "arctanh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        apart = slope(SquareComplementOp, x)
        if is_complex(x.element):
            return [ct / apart]
        return [inside(ct / apart, apart >= 0)]

    def body(self, x: Scalar) -> Scalar:
        return b.atanh(x)


# Rounding.


@irdl_op_definition
class CeilOp(UnaryOp):
    """Smallest integer not below x.   vjp: zero"""

    name = "array.ceil"
    NUMPY: ClassVar[str] = "ceil"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.ceil(x)


@irdl_op_definition
class RoundOp(UnaryOp):
    """Nearest integer, the even one of two equally near.   vjp: zero"""

    name = "array.round"
    NUMPY: ClassVar[str] = "rint"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.round_even(x)


@irdl_op_definition
class TruncOp(UnaryOp):
    """The integer next to x on the side of 0.   vjp: zero"""

    name = "array.trunc"
    NUMPY: ClassVar[str] = "trunc"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar) -> Scalar:
        return b.trunc(x)


OPS: tuple[type[TensorOp], ...] = (
    Exp2Op,
    Log2Op,
    Log10Op,
    CbrtOp,
    ErfcOp,
    TanOp,
    AsinOp,
    AcosOp,
    AtanOp,
    SinhOp,
    CoshOp,
    AsinhOp,
    AcoshOp,
    AtanhOp,
    CeilOp,
    RoundOp,
    TruncOp,
)
