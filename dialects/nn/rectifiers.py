"""nn: piecewise activations, with PyTorch's semantics and its derivatives at kinks."""

from __future__ import annotations

from math import isfinite
from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.elementwise import AbsOp, ExpOp
from gradir.dialects.base.attributes import Attributes, Types, number
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.gate import gated, unless_nan, zero_or_nan
from gradir.dialects.building.kinds import UnaryOp
from gradir.dialects.nn.activations import ActivationOp


@irdl_op_definition
class LeakyReluOp(UnaryOp):
    """x where x > 0, else slope * x; `slope = 0.01`.

    vjp: ct where x > 0, else slope * ct; nan of nan
    """

    name = "nn.leaky_relu"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("slope",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        number(attributes, "slope", 0.01)
        return super().infer_types(operands, attributes)

    @property
    def slope(self) -> float:
        return number(self.attributes, "slope", 0.01)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        slope = WhereOp.on(x > 0, x.full(1), x.full(self.slope))
        return [unless_nan(ct * slope, x)]

    def body(self, x: Scalar) -> Scalar:
        below = x * self.slope
        return b.select(x > 0, x, below)

    def numpy(self, x: Any) -> Any:
        return cast(Any, np.where(x > 0, x, x * self.slope))


class _ExponentialOp(ActivationOp):
    """above * x where x > 0, else below * (exp(rate * x) - 1)."""

    @property
    def above(self) -> float:
        return 1.0

    @property
    def below(self) -> float:
        raise NotImplementedError

    @property
    def rate(self) -> float:
        return 1.0

    def derivative(self, x: Value) -> Value:
        # not x <= 0: of nan the exponential is nan
        positive = x > 0
        # an overflow in the other branch would make second derivatives nan
        safe = WhereOp.on(positive, x.full(0), x)
        steep = ExpOp.on(safe * self.rate) * (self.below * self.rate)
        return WhereOp.on(positive, x.full(self.above), steep)

    def body(self, x: Scalar) -> Scalar:
        power = b.expm1(x * self.rate)
        negative = power * self.below
        positive = x * self.above
        return b.select(x <= 0, negative, positive)

    def numpy(self, x: Any) -> Any:
        return cast(Any, np.where(x <= 0, np.expm1(x * self.rate) * self.below, x * self.above))


class _AlphaOp(_ExponentialOp):
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("alpha",)

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        number(attributes, "alpha", 1.0)
        return super().infer_types(operands, attributes)

    @property
    def below(self) -> float:
        return number(self.attributes, "alpha", 1.0)


@irdl_op_definition
class EluOp(_AlphaOp):
    """x where x > 0, else alpha * (exp(x) - 1); `alpha = 1.0`.

    vjp: ct where x > 0, else ct * alpha * exp(x), so alpha at 0
    """

    name = "nn.elu"


@irdl_op_definition
class CeluOp(_AlphaOp):
    """x where x > 0, else alpha * (exp(x / alpha) - 1); `alpha = 1.0`, not 0.

    vjp: ct where x > 0, else ct * exp(x / alpha), so 1 at 0
    """

    name = "nn.celu"

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        alpha = number(attributes, "alpha", 1.0)
        if alpha == 0 or not isfinite(alpha):
            raise VerifyException(f"alpha must be finite and not 0, got {alpha}")
        return super().infer_types(operands, attributes)

    @property
    def rate(self) -> float:
        return 1 / self.below


@irdl_op_definition
class SeluOp(_ExponentialOp):
    """scale * elu(x) with alpha 1.6732632423543772 and scale 1.0507009873554805.

    vjp: ct * scale where x > 0, else ct * scale * alpha * exp(x), also at 0
    """

    name = "nn.selu"

    @property
    def above(self) -> float:
        return 1.0507009873554804934193349852946

    @property
    def below(self) -> float:
        return 1.6732632423543772848170429916717 * self.above


@irdl_op_definition
class HardtanhOp(UnaryOp):
    """x limited to [-1, 1]; nan of nan.   vjp: ct where -1 < x < 1, else 0; nan of nan"""

    name = "nn.hardtanh"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [gated(ct, AbsOp.on(x) < 1, zero_or_nan(x))]

    def body(self, x: Scalar) -> Scalar:
        return b.minimum(b.maximum(x, b.constant(x, -1)), b.constant(x, 1))

    def numpy(self, x: Any) -> Any:
        return np.clip(x, -1, 1)


def _six(x: Scalar) -> Scalar:
    """x + 3 limited to [0, 6]."""
    moved = x + 3
    return b.minimum(b.maximum(moved, b.constant(x, 0)), b.constant(x, 6))


@irdl_op_definition
class HardsigmoidOp(UnaryOp):
    """x + 3 limited to [0, 6], divided by 6; nan of nan.

    vjp: ct / 6 where -3 < x < 3, else 0; nan of nan
    """

    name = "nn.hardsigmoid"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [gated(ct / 6, AbsOp.on(x) < 3, zero_or_nan(x))]

    def body(self, x: Scalar) -> Scalar:
        return _six(x) / 6

    def numpy(self, x: Any) -> Any:
        return np.clip(x + 3, 0, 6) / 6


@irdl_op_definition
class HardswishOp(ActivationOp):
    """x * hardsigmoid(x).

    vjp: 0 where x <= -3, ct where x >= 3, else ct * (x + 3 / 2) / 3
    """

    name = "nn.hardswish"

    def derivative(self, x: Value) -> Value:
        rising = WhereOp.on(x >= 3, x.full(1), (x + 1.5) / 3)
        return WhereOp.on(x <= -3, x.full(0), rising)

    def body(self, x: Scalar) -> Scalar:
        # x * 6 would overflow
        return x * (_six(x) / 6)

    def numpy(self, x: Any) -> Any:
        return x * (np.clip(x + 3, 0, 6) / 6)


OPS: tuple[type[TensorOp], ...] = (
    LeakyReluOp, EluOp, CeluOp, SeluOp, HardtanhOp, HardsigmoidOp, HardswishOp,
)  # fmt: skip
