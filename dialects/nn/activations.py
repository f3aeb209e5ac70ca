"""nn: smooth activations, relu, and softmax, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, sqrt
from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.elementwise import AbsOp, ExpOp, Log1pOp
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.array.series import (
    register_series,
    series_of_sigmoid,
    series_of_softplus,
)
from gradir.dialects.base import extrema
from gradir.dialects.base.attributes import Attributes, Types, number, text
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_complex
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building import points
from gradir.dialects.building.gate import gated
from gradir.dialects.building.kinds import UnaryOp
from gradir.dialects.building.points import SigmoidAtOp, SigmoidPointOp, through_point
from gradir.dialects.building.slopes import (
    NormalCdfOp,
    NormalDensityOp,
    SigmoidSlopeOp,
    SoftplusSlopeOp,
    logistic,
    normal_cdf,
    numpy_logistic,
    slope,
    small_exp,
)
from gradir.dialects.grad.centering import BalancedOp, CenteredOp
from gradir.dialects.grad.saturation import (
    SoftOp,
    TanhSoftplusOp,
    numpy_log_softmax,
    tanh_softplus_slope,
)


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
    """1 / (1 + exp(-x)), without overflow.   vjp: ct * y * (1 - y)

    Differentiation reads it off a point (grad.sigmoid_point), as array.tanh; of complex numbers,
    which have none, the derivative is grad.sigmoid_slope of x.
    """

    name = "nn.sigmoid"
    COMPLEX: ClassVar[bool] = True

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        if is_complex(x.element):
            return [ct * slope(SigmoidSlopeOp, x)]
        return [ct * (y * (1 - y))]

    def apart(self) -> Callable[..., Value] | None:
        return through_point(self.x, self.y, SigmoidPointOp, SigmoidAtOp)

    def body(self, x: Scalar) -> Scalar:
        return b.sigmoid(x)

    def numpy(self, x: Any) -> Any:
        return numpy_logistic(x) if np.iscomplexobj(x) else points.sigmoid(x)


class ActivationOp(UnaryOp):
    """y = f(x) with a derivative written as ops on x.   vjp: ct * f'(x)"""

    def derivative(self, x: Value) -> Value:
        """f'(x), with x in the op's compute type."""
        raise NotImplementedError(self.name)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [narrowed(widened(ct) * self.derivative(widened(x)), ct.type)]


@irdl_op_definition
class SiluOp(ActivationOp):
    """x * sigmoid(x), without overflow.   vjp: ct * (s + x * s'), s = sigmoid(x)"""

    name = "nn.silu"
    COMPLEX: ClassVar[bool] = True

    def derivative(self, x: Value) -> Value:
        return slope(SoftplusSlopeOp, x) + x * slope(SigmoidSlopeOp, x)

    def body(self, x: Scalar) -> Scalar:
        return x * logistic(x)

    def numpy(self, x: Any) -> Any:
        return x * numpy_logistic(x)


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
            doubled = x * (1 + square * TANH_CUBIC) * (2 * TANH_SCALE)
            steepness = (1 + square * (3 * TANH_CUBIC)) * (2 * TANH_SCALE)
            return slope(SoftplusSlopeOp, doubled) + x * slope(SigmoidSlopeOp, doubled) * steepness
        return slope(NormalCdfOp, x) + x * slope(NormalDensityOp, x)

    def body(self, x: Scalar) -> Scalar:
        if self.is_tanh:
            # (1 + tanh(u)) / 2 is sigmoid(2 * u), which does not cancel where u is negative
            cubic = b.constant(x, 1) + x * x * TANH_CUBIC
            doubled = x * cubic * (2 * TANH_SCALE)
            return x * logistic(doubled)
        return x * b.normal_cdf(x)

    def numpy(self, x: Any) -> Any:
        if self.is_tanh:
            return x * numpy_logistic(x * (1 + x * x * TANH_CUBIC) * (2 * TANH_SCALE))
        return x * normal_cdf(x)


@irdl_op_definition
class MishOp(ActivationOp):
    """x * tanh(softplus(x)), without overflow.   vjp: ct * (t + x * t'), t = tanh(softplus(x))"""

    name = "nn.mish"

    def derivative(self, x: Value) -> Value:
        return TanhSoftplusOp.on(x) + x * tanh_softplus_slope(x)

    def body(self, x: Scalar) -> Scalar:
        return x * TanhSoftplusOp.body(cast(Any, self), x)

    def numpy(self, x: Any) -> Any:
        return x * TanhSoftplusOp.numpy(cast(Any, self), x)


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
        return slope(SoftplusSlopeOp, x if self.beta == 1 else x * self.beta)

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
        return slope(SoftplusSlopeOp, -x)

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


@irdl_op_definition
class SoftmaxOp(SoftOp):
    """exp(x) / sum(exp(x)) along `axis`, without overflow; nan of all -inf.

    vjp: y * (ct - sum(ct * y)), by grad.centered
    """

    name = "nn.softmax"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [y * CenteredOp.on(ct, y, axis=self.axis)]

    def decompose(self, x: Value) -> Value:
        if self.is_empty:
            return x
        powers = ExpOp.on(self.below_top(widened(x)))
        return narrowed(powers / self.repeated(self.sum_along(powers), powers), x.type)

    def numpy(self, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            powers = np.exp(x - np.max(x, axis=self.axis, keepdims=True, initial=-np.inf))
            return powers / np.sum(powers, axis=self.axis, keepdims=True)


@irdl_op_definition
class LogSoftmaxOp(SoftOp):
    """log(softmax(x)) along `axis`, without overflow; nan of all -inf.

    vjp: ct - exp(y) * sum(ct), by grad.balanced
    """

    name = "nn.log_softmax"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [BalancedOp.on(ct, ExpOp.on(y), axis=self.axis)]

    def decompose(self, x: Value) -> Value:
        if self.is_empty:
            return x
        # not x - logsumexp(x), which cancels where x is large
        low = self.below_top(widened(x))
        _, others = self.sums(low)
        return narrowed(low - self.repeated(Log1pOp.on(others), low), x.type)

    def numpy(self, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return numpy_log_softmax(x, self.axis)


register_series(SigmoidOp, series_of_sigmoid)
register_series(SoftplusOp, series_of_softplus)

OPS: tuple[type[TensorOp], ...] = (
    ReluOp, SigmoidOp, SiluOp, GeluOp, MishOp, SoftplusOp, LogsigmoidOp, SoftsignOp, SoftmaxOp,
    LogSoftmaxOp,
)  # fmt: skip
