"""nn: losses of predictions against targets of the same type, with PyTorch's semantics.

`reduction = "mean" | "sum" | "none"`; "mean" divides by the number of all elements: nan of none.
They are differentiable in predictions and targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod
from typing import Any, ClassVar, cast

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.elementwise import (
    AbsOp,
    ExpOp,
    Log1pOp,
    LogOp,
    MaximumOp,
    SignOp,
)
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.array.reductions import MeanOp, SumOp, narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types, number, text
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import one_shape, require_elements, require_equal_types
from gradir.dialects.building.slopes import SoftplusSlopeOp, slope
from gradir.dialects.grad.nll import REDUCTIONS
from gradir.dialects.nn.activations import ReluOp


class RegressionLossOp(TensorOp):
    """A reduced loss of elements. A subclass defines it and its two derivatives."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("reduction",)

    x = operand_def()
    target = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        require_elements(operands[0], "float")
        reduction = text(attributes, "reduction", "mean", REDUCTIONS)
        shape = shape_of(operands[0])
        return [tensor(shape if reduction == "none" else [], element_of(operands[0]))]

    def known_shapes(self) -> Iterable[tuple[SSAValue, Sequence[int]]]:
        return one_shape([self.x, self.target])

    @property
    def reduction(self) -> str:
        return text(self.attributes, "reduction", "mean", REDUCTIONS)

    def each(self, x: Value, target: Value) -> Value:
        """The loss of each element."""
        raise NotImplementedError(self.name)

    def slopes(self, x: Value, target: Value) -> tuple[Value, Value]:
        """The derivatives of `each` in x and in the target."""
        raise NotImplementedError(self.name)

    def numpy_each(self, x: Any, target: Any) -> Any:
        """`each` on NumPy arrays."""
        raise NotImplementedError(self.name)

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        return masks[0] if self.reduction == "none" else None

    def vjp(self, ct: Value, y: Value, x: Value, target: Value) -> Cotangents:
        scale = widened(ct)
        if self.reduction == "mean" and 0 not in x.shape:
            scale = scale / prod(x.shape)
        spread = BroadcastToOp.on(scale, type=tensor(x.shape, scale.element))
        slopes = self.slopes(widened(x), widened(target))
        return [narrowed(spread * slope, x.type) for slope in slopes]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        """The losses of all elements, reduced in each row."""
        how = text(self.attributes, "reduction", "mean")
        x, target = batch.all_with_rows()
        [each] = batch.same_op([x, target], [x.type], reduction="none")
        axes = list(range(1, len(x.shape)))
        if how == "none":
            return [each]
        return [(SumOp if how == "sum" else MeanOp).on(each, axis=axes)]

    def decompose(self, x: Value, target: Value) -> Value:
        total = self.each(widened(x), widened(target))
        if self.reduction != "none":
            total = SumOp.on(total)
        if self.reduction == "mean":
            total = total / prod(x.shape)
        return narrowed(total, self.y.type)

    def numpy(self, x: Any, target: Any) -> Any:
        each = self.numpy_each(x, target)
        if self.reduction == "none":
            return each
        total = np.sum(each)
        with np.errstate(invalid="ignore"):
            return total / np.asarray(x.size, each.dtype) if self.reduction == "mean" else total


class _DifferenceLossOp(RegressionLossOp):
    """A function of d = x - target."""

    def of_difference(self, d: Value) -> Value:
        raise NotImplementedError(self.name)

    def slope(self, d: Value) -> Value:
        raise NotImplementedError(self.name)

    def each(self, x: Value, target: Value) -> Value:
        return self.of_difference(x - target)

    def slopes(self, x: Value, target: Value) -> tuple[Value, Value]:
        slope = self.slope(x - target)
        return slope, -slope


@irdl_op_definition
class MseLossOp(_DifferenceLossOp):
    """(x - target) ** 2.   vjp: ct * 2 * (x - target), and its negative"""

    name = "nn.mse_loss"

    def of_difference(self, d: Value) -> Value:
        return d * d

    def slope(self, d: Value) -> Value:
        return 2 * d

    def numpy_each(self, x: Any, target: Any) -> Any:
        return (x - target) ** 2


@irdl_op_definition
class L1LossOp(_DifferenceLossOp):
    """|x - target|.   vjp: ct * sign(x - target), so 0 where they are equal, and its negative"""

    name = "nn.l1_loss"

    def of_difference(self, d: Value) -> Value:
        return AbsOp.on(d)

    def slope(self, d: Value) -> Value:
        return SignOp.on(d)

    def numpy_each(self, x: Any, target: Any) -> Any:
        return abs(x - target)


@irdl_op_definition
class HuberLossOp(_DifferenceLossOp):
    """d * d / 2 where |d| < delta, else delta * (|d| - delta / 2), d = x - target; `delta = 1.0`.

    delta > 0. vjp: ct * d limited to [-delta, delta], and its negative
    """

    name = "nn.huber_loss"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("reduction", "delta")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        delta = number(attributes, "delta", 1.0)
        if not 0 < delta < inf:
            raise VerifyException(f"delta must be positive and finite, got {delta}")
        return super().infer_types(operands, attributes)

    @property
    def delta(self) -> float:
        return number(self.attributes, "delta", 1.0)

    def of_difference(self, d: Value) -> Value:
        size = AbsOp.on(d)
        far = (size - self.delta / 2) * self.delta
        return WhereOp.on(size < self.delta, d * d * 0.5, far)

    def slope(self, d: Value) -> Value:
        low, high = d.full(-self.delta), d.full(self.delta)
        return WhereOp.on(d <= low, low, WhereOp.on(d >= high, high, d))

    def numpy_each(self, x: Any, target: Any) -> Any:
        d = x - target
        far = self.delta * (abs(d) - self.delta / 2)
        return cast(Any, np.where(abs(d) < self.delta, d * d / 2, far))


@irdl_op_definition
class SmoothL1LossOp(_DifferenceLossOp):
    """d * d / (2 * beta) where |d| < beta, else |d| - beta / 2, d = x - target; `beta = 1.0`.

    beta >= 0; with 0 it is l1_loss. vjp: ct * d / beta limited to [-1, 1], and its negative
    """

    name = "nn.smooth_l1_loss"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("reduction", "beta")

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        beta = number(attributes, "beta", 1.0)
        if not 0 <= beta < inf:
            raise VerifyException(f"beta must be finite and not negative, got {beta}")
        return super().infer_types(operands, attributes)

    @property
    def beta(self) -> float:
        return number(self.attributes, "beta", 1.0)

    def of_difference(self, d: Value) -> Value:
        size = AbsOp.on(d)
        if self.beta == 0:
            return size
        return WhereOp.on(size < self.beta, d * d * 0.5 / self.beta, size - self.beta / 2)

    def slope(self, d: Value) -> Value:
        if self.beta == 0:
            return SignOp.on(d)
        high = WhereOp.on(d >= self.beta, d.full(1), d / self.beta)
        return WhereOp.on(d <= -self.beta, d.full(-1), high)

    def numpy_each(self, x: Any, target: Any) -> Any:
        d = x - target
        near = d * d / 2 / self.beta if self.beta else d
        return cast(Any, np.where(abs(d) < self.beta, near, abs(d) - self.beta / 2))


# Logarithms of the binary cross entropy are not below this: its loss stays finite at 0 and 1.
LEAST_LOG = -100
# The least divisor x * (1 - x) in its derivative.
LEAST_VARIANCE = 1e-12


@irdl_op_definition
class BceLossOp(RegressionLossOp):
    """-target * log(x) - (1 - target) * log(1 - x), logarithms at least -100; x in [0, 1].

    vjp: ct * (x - target) / max(x * (1 - x), 1e-12); ct * (log(1 - x) - log(x)), so limited
    """

    name = "nn.bce_loss"

    def each(self, x: Value, target: Value) -> Value:
        present, absent = self._logs(x)
        return (target - 1) * absent - target * present

    def slopes(self, x: Value, target: Value) -> tuple[Value, Value]:
        variance = x * (1 - x)
        small = variance < LEAST_VARIANCE
        present, absent = self._logs(x)
        to_x = (x - target) / WhereOp.on(small, x.full(LEAST_VARIANCE), variance)
        return to_x, absent - present

    def _logs(self, x: Value) -> tuple[Value, Value]:
        """log(x) and log(1 - x), limited from below."""
        # never the logarithm of 0: infinities make second derivatives nan
        at_zero, at_one, least = x.equal(0), x.equal(1), x.full(LEAST_LOG)
        present = LogOp.on(WhereOp.on(at_zero, x.full(1), x))
        absent = Log1pOp.on(-WhereOp.on(at_one, x.full(0), x))
        return (
            WhereOp.on(at_zero, least, MaximumOp.on(present, least)),
            WhereOp.on(at_one, least, MaximumOp.on(absent, least)),
        )

    def numpy_each(self, x: Any, target: Any) -> Any:
        least = np.asarray(LEAST_LOG, x.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            present = np.maximum(np.log(x), least)
            absent = np.maximum(np.log1p(-x), least)
        return (target - 1) * absent - target * present


@irdl_op_definition
class BceWithLogitsOp(RegressionLossOp):
    """bce_loss(sigmoid(x), target) without overflow and without limits.

    (1 - target) * x - log(sigmoid(x)).
    vjp: ct * (sigmoid(x) - target) as (1 - target) * sigmoid(x) - target * sigmoid(-x); -ct * x
    """

    name = "nn.bce_with_logits"

    def each(self, x: Value, target: Value) -> Value:
        # products that do not cancel: x is not subtracted from a term that holds x
        linear = (1 - target) * ReluOp.on(x) + target * ReluOp.on(-x)
        return linear + Log1pOp.on(ExpOp.on(-AbsOp.on(x)))

    def slopes(self, x: Value, target: Value) -> tuple[Value, Value]:
        return (1 - target) * slope(SoftplusSlopeOp, x) - target * slope(SoftplusSlopeOp, -x), -x

    def numpy_each(self, x: Any, target: Any) -> Any:
        zero = np.zeros((), x.dtype)
        linear = (1 - target) * np.maximum(x, zero) + target * np.maximum(-x, zero)
        return linear + np.log1p(np.exp(-abs(x)))


@irdl_op_definition
class KlDivOp(RegressionLossOp):
    """target * (log(target) - x): x log probabilities, target probabilities; 0 where target is 0.

    vjp: -ct * target; ct * (log(target) + 1 - x), 0 where target is 0
    """

    name = "nn.kl_div"

    def each(self, x: Value, target: Value) -> Value:
        return target * (self._safe_log(target) - x)

    def slopes(self, x: Value, target: Value) -> tuple[Value, Value]:
        slope = self._safe_log(target) + 1 - x
        return -target, WhereOp.on(target.equal(0), target.full(0), slope)

    def _safe_log(self, target: Value) -> Value:
        """log(target), 0 where it is 0."""
        return LogOp.on(WhereOp.on(target.equal(0), target.full(1), target))

    def numpy_each(self, x: Any, target: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return target * (np.log(np.where(target == 0, 1, target)) - x)


OPS: tuple[type[TensorOp], ...] = (
    MseLossOp, L1LossOp, HuberLossOp, SmoothL1LossOp, BceLossOp, BceWithLogitsOp, KlDivOp,
)  # fmt: skip
