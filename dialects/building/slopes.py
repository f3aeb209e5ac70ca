"""grad: derivatives of functions from their operand, to the last digits in the tails too.

A formula in the function's value has lost them there: 1 - y * y is 0 where tanh is 1. Each of these
functions is smooth, and its derivative is a product of such functions again. They are on tensors or
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_float, is_scalar
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import UnaryOp


class SlopeOp(UnaryOp):
    """y = f(x) on a tensor or on a number."""

    TAKES_SCALARS: ClassVar[bool] = True

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        if is_scalar(operands[0]):
            if not is_float(operands[0]):
                raise VerifyException(f"the operand must be a float, got {operands[0]}")
            return [operands[0]]
        return super().infer_types(operands, attributes)

    def known_shapes(self) -> Any:
        return () if is_scalar(self.x.type) else super().known_shapes()

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if not is_scalar(self.x.type):
            return super().lower(emitter, operands)
        [x] = operands
        made = self.body(b.to_compute(Scalar(x, emitter), x.type))
        return [b.from_compute(made, x.type).ssa]


def slope(kind: type[SlopeOp], x: Value, **attributes: Any) -> Value:
    """The op on a tensor or a number."""
    op = x.emitter.insert(kind.of([x.ssa], **attributes))
    return x.emitter.value(op.y)


@irdl_op_definition
class SoftplusSlopeOp(SlopeOp):
    """1 / (1 + exp(-x)), the derivative of softplus.   vjp: ct * sigmoid_slope(x)

    nn.sigmoid is the same function; its derivatives keep a point (points.py) in place of x.
    """

    name = "grad.softplus_slope"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * slope(SigmoidSlopeOp, x)]

    def body(self, x: Scalar) -> Scalar:
        return logistic(x)

    def numpy(self, x: Any) -> Any:
        return numpy_logistic(x)


def logistic(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x)), without overflow."""
    small = small_exp(x)
    positive = b.constant(x, 1) / (b.constant(x, 1) + small)
    return b.select(x < 0, small * positive, positive)


def small_exp(x: Scalar) -> Scalar:
    """exp(-|x|), which is in [0, 1]."""
    return b.exp(-b.absolute(x))


def numpy_logistic(x: Any) -> Any:
    """1 / (1 + exp(-x)) of an array, without overflow."""
    small = _small_power(x)
    return np.where(x.real < 0, small, 1) / (1 + small)


def _small_power(x: Any) -> Any:
    """exp(x) of an array where the real part is negative, else exp(-x)."""
    return np.exp(np.where(x.real < 0, x, -x))


@irdl_op_definition
class SigmoidSlopeOp(SlopeOp):
    """sigmoid(x) * sigmoid(-x), the derivative of sigmoid.   vjp: ct * -tanh(x / 2) * y"""

    name = "grad.sigmoid_slope"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-((x * 0.5).apply("tanh") * y))]

    def body(self, x: Scalar) -> Scalar:
        power = small_exp(x)
        share = 1 / (power + 1)
        return power * share * share

    def numpy(self, x: Any) -> Any:
        power = _small_power(x)
        share = 1 / (power + 1)
        return power * share * share


# From here on exp(-x * x) is 0.
GAUSSIAN_END = {32: 10.5, 64: 27.5}


@irdl_op_definition
class GaussianOp(SlopeOp):
    """exp(-x * x), with the rounding of x * x made good.   vjp: ct * -2 * x * y"""

    name = "grad.gaussian"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-2 * x * y)]

    def body(self, x: Scalar) -> Scalar:
        end = GAUSSIAN_END[32 if x.type == f32 else 64]
        size = b.minimum(b.absolute(x), b.constant(x, end))
        square = size * size
        power = b.exp(-square)
        # exp(-(square + rest)) to first order in the rest
        return b.fma(-power, b.fma(size, size, -square), power)

    def numpy(self, x: Any) -> Any:
        size = np.minimum(np.abs(x), np.asarray(40, x.dtype))
        power = np.exp(-(size * size))
        return power - power * _square_rest(size)


def _square_rest(x: Any) -> Any:
    """The rounding error of x * x, by T. Dekker's splitting, Numer. Math. 18 (1971)."""
    scaled = x * np.asarray(2.0**27 + 1 if x.dtype == np.float64 else 2.0**12 + 1, x.dtype)
    high = scaled - (scaled - x)
    low = x - high
    return ((high * high - x * x) + 2 * high * low) + low * low


@irdl_op_definition
class NormalDensityOp(SlopeOp):
    """exp(-x * x / 2) / sqrt(2 * pi), to the last digits in the tails.   vjp: ct * -x * y"""

    name = "grad.normal_density"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * -(x * y)]

    def body(self, x: Scalar) -> Scalar:
        return b.normal_density(x)

    def numpy(self, x: Any) -> Any:
        return normal_density(x)


def normal_density(x: Any) -> Any:
    """exp(-x * x / 2) / sqrt(2 * pi) of an array."""
    size = np.minimum(np.abs(x), np.asarray(40, x.dtype))
    power = np.exp(size * size / -2)
    return (power - power * _square_rest(size) / 2) * np.asarray(1 / sqrt(2 * pi), x.dtype)


@irdl_op_definition
class NormalCdfOp(SlopeOp):
    """(1 + erf(x / sqrt(2))) / 2, exact in its tails.   vjp: ct * exp(-x * x / 2) / sqrt(2 * pi)"""

    name = "grad.normal_cdf"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * slope(NormalDensityOp, x)]

    def body(self, x: Scalar) -> Scalar:
        return b.normal_cdf(x)

    def numpy(self, x: Any) -> Any:
        return normal_cdf(x)


def normal_cdf(x: Any) -> Any:
    """(1 + erf(x / sqrt(2))) / 2 of an array."""
    from math import erfc

    wide = np.maximum(np.asarray(x, np.float64), -60.0)
    scaled = wide * -sqrt(0.5)
    # x * x / 2 - scaled * scaled, by which exp(-scaled * scaled) is too large
    square = scaled * scaled
    rest = wide * wide / 2 - square + _square_rest(wide) / 2 - _square_rest(scaled)
    made = np.vectorize(erfc, otypes=[np.float64])(scaled) / 2
    made = np.where(wide < -1, made - made * rest, made)
    return made.astype(x.dtype)


@irdl_op_definition
class AtanSlopeOp(SlopeOp):
    """1 / (1 + x * x), the derivative of atan.   vjp: ct * -2 * x * y * y"""

    name = "grad.atan_slope"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        # y * y would vanish before the product does
        return [ct * (-2 * x * y * y)]

    def body(self, x: Scalar) -> Scalar:
        return 1 / (x * x + 1)

    def numpy(self, x: Any) -> Any:
        return 1 / (x * x + 1)


@irdl_op_definition
class SquareComplementOp(SlopeOp):
    """1 - x * x, exact where it is small.   vjp: ct * -2 * x"""

    name = "grad.square_complement"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (-2 * x)]

    def body(self, x: Scalar) -> Scalar:
        return (1 - x) * (x + 1)

    def numpy(self, x: Any) -> Any:
        return (1 - x) * (x + 1)


OPS: tuple[type[TensorOp], ...] = (
    SoftplusSlopeOp, SigmoidSlopeOp, GaussianOp, NormalDensityOp, NormalCdfOp, AtanSlopeOp,
    SquareComplementOp,
)  # fmt: skip
