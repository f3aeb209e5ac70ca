"""nn: smooth activations, relu, and softmax, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, pi, sqrt
from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.elementwise import AbsOp, ErfOp, ExpOp, LogOp, TanhOp
from gradir.dialects.array.lines import lines_reached
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.array.reductions import MaxOp, SumOp, narrowed, widened
from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import Attributes, Types, integer, number, text
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import normalize_axis, shape_of
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import gated
from gradir.dialects.building.kinds import UnaryOp, require_elements


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); nan of nan.   vjp: ct where y > 0, so 0 at 0; nan of nan"""

    name = "nn.relu"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        # y is 0 or nan where it is not positive
        return [gated(ct, y > 0, y)]

    def body(self, x: Scalar) -> Scalar:
        return b.maximum(x, b.constant(x, 0))

    def numpy(self, x: Any) -> Any:
        return extrema.maximum(x, np.zeros((), x.dtype))


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), without overflow.   vjp: ct * y * (1 - y)"""

    name = "nn.sigmoid"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (y * (1 - y))]

    def body(self, x: Scalar) -> Scalar:
        return logistic(x)

    def numpy(self, x: Any) -> Any:
        return _numpy_logistic(x)


class ActivationOp(UnaryOp):
    """y = f(x) with a derivative written as ops on x.   vjp: ct * f'(x)"""

    def derivative(self, x: Value) -> Value:
        """f'(x), with x in the op's compute type."""
        raise NotImplementedError(self.name)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [narrowed(widened(ct) * self.derivative(widened(x)), ct.type)]


def logistic(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x)), without overflow."""
    small = small_exp(x)
    positive = b.constant(x, 1) / (b.constant(x, 1) + small)
    return b.select(x < 0, small * positive, positive)


def small_exp(x: Scalar) -> Scalar:
    """exp(-|x|), which is in [0, 1]."""
    return b.exp(b.absolute(x) * -1)


def _numpy_logistic(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


@irdl_op_definition
class SiluOp(ActivationOp):
    """x * sigmoid(x), without overflow.   vjp: ct * s * (1 + x * (1 - s)), s = sigmoid(x)"""

    name = "nn.silu"

    def derivative(self, x: Value) -> Value:
        s = SigmoidOp.on(x)
        return s * (1 + x * (1 - s))

    def body(self, x: Scalar) -> Scalar:
        return x * logistic(x)

    def numpy(self, x: Any) -> Any:
        return x * _numpy_logistic(x)


# gelu's tanh form: tanh(TANH_SCALE * (x + TANH_CUBIC * x**3)).
TANH_SCALE, TANH_CUBIC = sqrt(2 / pi), 0.044715


@irdl_op_definition
class GeluOp(ActivationOp):
    """x * (1 + erf(x / sqrt(2))) / 2, or by `approximate = "tanh"`
    x * (1 + tanh(u)) / 2 with u = sqrt(2 / pi) * (x + 0.044715 * x ** 3).

    vjp: ct * (c + x * c'), c the factor of x
    """

    name = "nn.gelu"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("approximate",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        text(attributes, "approximate", "none", ("none", "tanh"))
        return super().infer_types(operands, attributes)

    @property
    def is_tanh(self) -> bool:
        return text(self.attributes, "approximate", "none") == "tanh"

    def derivative(self, x: Value) -> Value:
        if self.is_tanh:
            square = x * x
            s = SigmoidOp.on(x * (1 + square * TANH_CUBIC) * (2 * TANH_SCALE))
            steepness = (1 + square * (3 * TANH_CUBIC)) * (2 * TANH_SCALE)
            return s + x * (s * (1 - s)) * steepness
        below = (1 + ErfOp.on(x * sqrt(0.5))) * 0.5
        return below + x * (ExpOp.on(x * x * -0.5) * (1 / sqrt(2 * pi)))

    def body(self, x: Scalar) -> Scalar:
        one = b.constant(x, 1)
        if self.is_tanh:
            # (1 + tanh(u)) / 2 is sigmoid(2 * u), which does not cancel where u is negative
            cubic = one + x * x * TANH_CUBIC
            doubled = x * cubic * (2 * TANH_SCALE)
            return x * logistic(doubled)
        below = one + b.erf(x * sqrt(0.5))
        return x * (below * 0.5)

    def numpy(self, x: Any) -> Any:
        import math

        if self.is_tanh:
            return x * _numpy_logistic(x * (1 + x * x * TANH_CUBIC) * (2 * TANH_SCALE))
        erf = np.vectorize(math.erf, otypes=[np.float64])
        return x * ((1 + erf(x * sqrt(0.5)).astype(x.dtype)) * 0.5)


@irdl_op_definition
class MishOp(ActivationOp):
    """x * tanh(softplus(x)), without overflow.

    vjp: ct * (t + x * (1 - t * t) * sigmoid(x)), t = tanh(softplus(x))
    """

    name = "nn.mish"

    def derivative(self, x: Value) -> Value:
        t = TanhOp.on(SoftplusOp.on(x))
        return t + x * ((1 - t * t) * SigmoidOp.on(x))

    def body(self, x: Scalar) -> Scalar:
        # tanh(log(1 + e)) is (e * e + 2 * e) / (e * e + 2 * e + 2), e = exp(x)
        small, two = small_exp(x), b.constant(x, 2)
        below = small * (small + two)
        above = b.constant(x, 1) + small * two
        rest = small * small * two
        negative = below / (below + two)
        positive = above / (above + rest)
        return x * b.select(x < 0, negative, positive)

    def numpy(self, x: Any) -> Any:
        small = np.exp(-np.abs(x))
        below, above = small * (small + 2), 1 + 2 * small
        positive = above / (above + 2 * (small * small))
        return x * cast(Any, np.where(x < 0, below / (below + 2), positive))


@irdl_op_definition
class SoftplusOp(ActivationOp):
    """log(1 + exp(beta * x)) / beta, without overflow and without a threshold; `beta = 1.0` > 0.

    vjp: ct * sigmoid(beta * x)
    """

    name = "nn.softplus"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("beta",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        beta = number(attributes, "beta", 1.0)
        if not 0 < beta < inf:
            raise VerifyException(f"beta must be positive and finite, got {beta}")
        return super().infer_types(operands, attributes)

    @property
    def beta(self) -> float:
        return number(self.attributes, "beta", 1.0)

    def derivative(self, x: Value) -> Value:
        return SigmoidOp.on(x if self.beta == 1 else x * self.beta)

    def body(self, x: Scalar) -> Scalar:
        beta, positive = b.constant(x, self.beta), b.maximum(x, b.constant(x, 0))
        rest = b.log1p(small_exp(x * beta))
        return positive + rest / beta

    def numpy(self, x: Any) -> Any:
        rest = np.log1p(np.exp(-np.abs(x * self.beta)))
        return np.maximum(x, np.zeros((), x.dtype)) + rest / self.beta


@irdl_op_definition
class LogsigmoidOp(ActivationOp):
    """log(sigmoid(x)), without overflow.   vjp: ct * sigmoid(-x)"""

    name = "nn.logsigmoid"

    def derivative(self, x: Value) -> Value:
        return SigmoidOp.on(-x)

    def body(self, x: Scalar) -> Scalar:
        return b.minimum(x, b.constant(x, 0)) - b.log1p(small_exp(x))

    def numpy(self, x: Any) -> Any:
        rest = np.log1p(np.exp(-np.abs(x)))
        return np.minimum(x, np.zeros((), x.dtype)) - rest


@irdl_op_definition
class SoftsignOp(ActivationOp):
    """x / (1 + |x|).   vjp: ct / (1 + |x|) ** 2"""

    name = "nn.softsign"

    def derivative(self, x: Value) -> Value:
        size = 1 + AbsOp.on(x)
        return 1 / (size * size)

    def body(self, x: Scalar) -> Scalar:
        return x / (b.constant(x, 1) + b.absolute(x))

    def numpy(self, x: Any) -> Any:
        return x / (1 + np.abs(x))


class _SoftOp(TensorOp):
    """An op on lines along `axis` (the last where absent)."""

    SUMS_PRODUCTS: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "float")
        rank = len(shape_of(operands[0]))
        normalize_axis(integer(attributes, "axis", -1), rank)
        return [operands[0]]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        return None if mask is None else lines_reached(mask, [self.axis], mask.shape)

    def line_sum(self, x: Value) -> Value:
        """The sum along the axis, repeated along it."""
        return self.repeated(SumOp.on(x, axis=self.axis, keepdims=True), x)

    def repeated(self, line: Value, x: Value) -> Value:
        return BroadcastToOp.on(line, type=x.type)

    @property
    def is_empty(self) -> bool:
        return 0 in shape_of(self.x.type)


@irdl_op_definition
class SoftmaxOp(_SoftOp):
    """exp(x) / sum(exp(x)) along `axis`, without overflow; nan of all -inf.

    vjp: y * (ct - sum(ct * y))
    """

    name = "nn.softmax"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [y * (ct - self.line_sum(ct * y))]

    def decompose(self, x: Value) -> Value:
        if self.is_empty:
            return x
        wide = widened(x)
        top = MaxOp.on(wide, axis=self.axis, keepdims=True)
        powers = ExpOp.on(wide - self.repeated(top, wide))
        return narrowed(powers / self.line_sum(powers), x.type)

    def numpy(self, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            powers = np.exp(x - np.max(x, axis=self.axis, keepdims=True, initial=-np.inf))
            return powers / np.sum(powers, axis=self.axis, keepdims=True)


@irdl_op_definition
class LogSoftmaxOp(_SoftOp):
    """log(softmax(x)) along `axis`, without overflow; nan of all -inf.

    vjp: ct - exp(y) * sum(ct)
    """

    name = "nn.log_softmax"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct - ExpOp.on(y) * self.line_sum(ct)]

    def decompose(self, x: Value) -> Value:
        if self.is_empty:
            return x
        wide = widened(x)
        top = MaxOp.on(wide, axis=self.axis, keepdims=True)
        # not x - logsumexp(x), which cancels where x is large
        low = wide - self.repeated(top, wide)
        return narrowed(low - LogOp.on(self.line_sum(ExpOp.on(low))), x.type)

    def numpy(self, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            low = x - np.max(x, axis=self.axis, keepdims=True, initial=-np.inf)
            return low - np.log(np.sum(np.exp(low), axis=self.axis, keepdims=True))


OPS: tuple[type[TensorOp], ...] = (
    ReluOp, SigmoidOp, SiluOp, GeluOp, MishOp, SoftplusOp, LogsigmoidOp, SoftsignOp, SoftmaxOp,
    LogSoftmaxOp,
)  # fmt: skip
