"""array: powers, division with remainder, angles and lengths of pairs, clipping."""

from __future__ import annotations

from math import inf, isnan, log, nan
from typing import Any, ClassVar

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import IsinfOp, LogicalAndOp, LogicalOrOp, WhereOp
from gradir.dialects.array.complex_parts import real_part
from gradir.dialects.array.elementwise import AbsOp, LogOp, SignOp, splat_of
from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import Attributes, Types, number
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    byte_size,
    element_of,
    is_complex,
    is_float,
    is_unsigned,
)
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import by_convention, gated, zero_or_nan
from gradir.dialects.building.kinds import BinaryOp, UnaryOp, require_number
from gradir.dialects.building.slopes import SoftplusSlopeOp, slope

# The smallest normal numbers, whose reciprocals are finite.
_SMALLEST_F64, _SMALLEST_F32 = 2.0**-1022, 2.0**-126


class _FloatBinaryOp(BinaryOp):
    """y = f(lhs, rhs) on floats."""

    DOMAIN: ClassVar[str] = "float"


@irdl_op_definition
class PowOp(BinaryOp):
    """lhs ** rhs; nan for lhs < 0 and fractional rhs, as in C.

    Integers wrap; to a negative power they are rounded towards 0, so 0 but for 1 and -1.
    vjp: ct * rhs * lhs ** (rhs - 1), 0 where both are 0; ct * y * log(lhs), 0 where lhs is 0 and
    rhs >= 0 or lhs is inf and rhs < 0, -inf where lhs is 0 and rhs < 0, as y is inf, nan below 0;
    of complex numbers ct * rhs * lhs ** (rhs - 1), 0 where rhs is 0, and ct * y * log(lhs), 0 where
    lhs is 0
    """

    name = "array.pow"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        from gradir.dialects.array.reductions import narrowed, widened

        if is_complex(lhs.element):
            return self._complex_vjp(ct, y, lhs, rhs)
        wide, base, exponent = widened(ct), widened(lhs), widened(rhs)
        to_lhs = wide * (exponent * PowOp.on(base, _lower(base, exponent)))
        at_zero = LogicalAndOp.on(base.equal(0), exponent >= 0)
        vanishing = LogicalOrOp.on(at_zero, LogicalAndOp.on(base.equal(inf), exponent < 0))
        logarithm = LogOp.on(WhereOp.on(vanishing, base.full(1), base))
        to_rhs = WhereOp.on(vanishing, wide.full(0), wide * (widened(y) * logarithm))
        return [narrowed(to_lhs, ct.type), narrowed(to_rhs, ct.type)]

    @staticmethod
    def _complex_vjp(ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        lower = WhereOp.on(rhs.equal(0), rhs.full(1), rhs - 1)
        nothing = lhs.equal(0)
        logarithm = LogOp.on(WhereOp.on(nothing, lhs.full(1), lhs))
        to_rhs = WhereOp.on(nothing, ct.full(0), ct * (y * logarithm))
        return [ct * (rhs * PowOp.on(lhs, lower)), to_rhs]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        element = element_of(self.lhs.type)
        if is_float(element):
            return b.power(x, y)
        bits = 8 * byte_size(element)
        return b.integer_power(x, y, bits if is_unsigned(element) else bits - 1)

    def numpy(self, x: Any, y: Any) -> Any:
        if x.dtype.kind in "fc":
            return np.power(x, y)
        where: Any = np.where
        of_units = np.power(x, where(y < 0, y & 1, y))
        return where((y < 0) & (x != 1) & (x != -1), 0, of_units)


def _lower(base: Value, exponent: Value) -> Value:
    """exponent - 1, and 1 where both are 0: 0 * 0 ** -1 would be nan, and no inf is to enter a
    derivative."""
    known = splat_of(exponent.ssa)
    if isinstance(known, int | float) and known:
        stored = known if base.element == f64 else float(np.float32(known))
        return exponent.full(stored - 1)
    smallest = _SMALLEST_F64 if base.element == f64 else _SMALLEST_F32
    vanishes = LogicalAndOp.on(exponent.equal(0), AbsOp.on(base) < smallest)
    return WhereOp.on(vanishes, exponent.full(1), exponent - 1)


@irdl_op_definition
class Atan2Op(_FloatBinaryOp):
    """Angle in [-pi, pi] of the point with ordinate lhs and abscissa rhs.

    vjp: ct * rhs / (lhs**2 + rhs**2), -ct * lhs / (lhs**2 + rhs**2); 0 where both are 0 (a
    convention, PyTorch's) and where one is infinite, nan of nan; the second derivative is nan at 0
    """

    name = "array.atan2"
    NUMPY: ClassVar[str] = "arctan2"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        length = HypotOp.on(lhs, rhs)
        regular = LogicalAndOp.on(length > 0, length < inf)
        scaled = ct / WhereOp.on(regular, length, length.full(1))
        is_nan = LogicalOrOp.on(lhs.not_equal(lhs), rhs.not_equal(rhs))
        rest = WhereOp.on(is_nan, ct.full(nan), ct.full(0))
        cosine, sine = (by_convention(x / length, regular, rest) for x in (rhs, lhs))
        return [scaled * cosine, -scaled * sine]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.atan2(x, y)


@irdl_op_definition
class HypotOp(_FloatBinaryOp):
    """sqrt(lhs**2 + rhs**2) without overflow; inf where one is infinite.

    vjp: ct * lhs / y, ct * rhs / y; 0 where y is 0, and the second derivative nan, as there is none
    """

    name = "array.hypot"
    NUMPY: ClassVar[str] = "hypot"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        apart, zero = y.not_equal(0), ct.full(0)
        return [ct * by_convention(x / y, apart, zero) for x in (lhs, rhs)]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.hypot(x, y)


@irdl_op_definition
class LogaddexpOp(_FloatBinaryOp):
    """log(exp(lhs) + exp(rhs)) without overflow.

    Of complex numbers it is z + log1p(exp(w - z)), z the operand with the larger real part: the
    imaginary part goes on beyond pi with that of z, as PyTorch has it.
    vjp: ct * exp(lhs - y), ct * exp(rhs - y); 0 where y is -inf
    """

    name = "array.logaddexp"
    COMPLEX: ClassVar[bool] = True
    NUMPY: ClassVar[str] = "logaddexp"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        # not exp(lhs - y): y is rounded, which counts where it is large
        left, right = real_part(lhs), real_part(rhs)
        stuck = LogicalAndOp.on(left.equal(right), IsinfOp.on(left))
        lead = WhereOp.on(stuck, lhs.full(0), lhs - rhs)
        shares = slope(SoftplusSlopeOp, lead), slope(SoftplusSlopeOp, -lead)
        empty = real_part(y).equal(-inf)
        return [ct * WhereOp.on(empty, y.full(0), share) for share in shares]

    def numpy(self, x: Any, y: Any) -> Any:
        if not np.iscomplexobj(x):
            return np.logaddexp(x, y)
        is_first = x.real >= y.real
        top, low = np.where(is_first, x, y), np.where(is_first, y, x)
        with np.errstate(invalid="ignore"):
            gap = np.where(np.isinf(top.real) & (top.real == low.real), 0, low - top)
        return top + np.log1p(np.exp(gap))

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        top, apart = b.maximum(x, y), b.absolute(x - y)
        sum_ = top + b.log1p(b.exp(-apart))
        # inf - inf is nan
        return b.select(b.equal(x, y), x + log(2), sum_)


# Division with remainder.


@irdl_op_definition
class RemainderOp(BinaryOp):
    """lhs - rhs * floor_divide(lhs, rhs), with the sign of rhs; nan by 0, 0 of integers.

    vjp: ct, -ct * floor_divide(lhs, rhs)
    """

    name = "array.remainder"
    NUMPY: ClassVar[str] = "remainder"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct, -ct * FloorDivideOp.on(lhs, rhs)]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.floor_remainder(x, y)


@irdl_op_definition
class FloorDivideOp(BinaryOp):
    """Largest integer not above lhs / rhs; by 0 lhs / rhs, 0 of integers.   vjp: zero"""

    name = "array.floor_divide"
    NUMPY: ClassVar[str] = "floor_divide"
    INACTIVE: ClassVar[bool] = True

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.floor_divide(x, y)


@irdl_op_definition
class CopysignOp(_FloatBinaryOp):
    """|lhs| with the sign of rhs, also of -0.   vjp: ct * sign(lhs) * copysign(1, rhs), zero"""

    name = "array.copysign"
    NUMPY: ClassVar[str] = "copysign"

    def vjp(self, ct: Value, y: Value, lhs: Value, rhs: Value) -> Cotangents:
        return [ct * (SignOp.on(lhs) * CopysignOp.on(rhs.full(1), rhs)), None]

    def body(self, x: Scalar, y: Scalar) -> Scalar:
        return b.copysign(x, y)


# Clipping.


@irdl_op_definition
class ClipOp(UnaryOp):
    """minimum(maximum(x, min), max); `min` or `max` may be absent; nan of nan.

    vjp: ct where min < x < max, halves at the ends; nan of nan
    """

    name = "array.clip"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("min", "max")
    DOMAIN: ClassVar[str] = "number"

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [type_] = super().infer_types(operands, attributes)
        bounds = [_bound(attributes, name) for name in ("min", "max")]
        for name, bound in zip(("min", "max"), bounds, strict=True):
            if bound is not None:
                _require_bound(name, bound, type_)
        low, high = bounds
        if low is not None and high is not None and low > high:
            raise VerifyException(f"min must not be above max, got {low} and {high}")
        return [type_]

    @property
    def low(self) -> float | None:
        return _bound(self.attributes, "min")

    @property
    def high(self) -> float | None:
        return _bound(self.attributes, "max")

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        share, kept = ct, x.equal(x)
        for bound, is_low in ((self.low, True), (self.high, False)):
            if bound is not None:
                end = x.full(bound)
                share *= WhereOp.on(x.equal(end), ct.full(0.5), ct.full(1))
                kept = LogicalAndOp.on(kept, x >= end if is_low else x <= end)
        return [gated(share, kept, zero_or_nan(x))]

    def body(self, x: Scalar) -> Scalar:
        raised = x if self.low is None else b.maximum(x, b.constant(x, self.low))
        return raised if self.high is None else b.minimum(raised, b.constant(x, self.high))

    def simplify(self, x: Value) -> Value | None:
        return x if self.low is None and self.high is None else None

    def numpy(self, x: Any) -> Any:
        low, high = (None if v is None else np.asarray(v, x.dtype) for v in (self.low, self.high))
        raised = x if low is None else extrema.maximum(x, low)
        return raised if high is None else extrema.minimum(raised, high)


def _bound(attributes: Attributes, name: str) -> float | None:
    return None if attributes.get(name) is None else number(attributes, name)


def _require_bound(name: str, bound: float, type_: Attribute) -> None:
    if isnan(bound):
        raise VerifyException(f"{name} must be a number, got nan")
    try:
        require_number(bound, type_)
    except VerifyException as error:
        raise VerifyException(str(error).replace("value", name, 1)) from None


OPS: tuple[type[TensorOp], ...] = (
    PowOp,
    Atan2Op,
    HypotOp,
    LogaddexpOp,
    RemainderOp,
    FloorDivideOp,
    CopysignOp,
    ClipOp,
)
