"""Functions that saturate, as factors in derivatives.

They are 1 - softmax(x), the slope of logsumexp, and tanh(softplus(x)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.elementwise import ExpOp
from gradir.dialects.array.lines import any_along
from gradir.dialects.array.movement import BroadcastToOp, reshaped
from gradir.dialects.array.reductions import (
    MaxOp,
    ReductionOp,
    SumOp,
    narrowed,
    shifted_powers,
    widened,
)
from gradir.dialects.array.transcendental import RoundOp
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import compatible, element_of, shape_of
from gradir.dialects.base.value import Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import UnaryOp
from gradir.dialects.building.slopes import SoftplusSlopeOp, slope
from gradir.dialects.grad.centering import CenteredOp, LinesOp


class SoftOp(LinesOp):
    """An op of one operand on lines."""

    y = result_def()

    def sum_along(self, x: Value) -> Value:
        """The sum along the axis, which is kept with extent 1."""
        return SumOp.on(x, axis=self.axis, keepdims=True)

    def repeated(self, line: Value, x: Value) -> Value:
        return BroadcastToOp.on(line, type=x.type)

    def below_top(self, x: Value) -> Value:
        """x less the largest of its line."""
        return x - self.repeated(MaxOp.on(x, axis=self.axis, keepdims=True), x)

    def sums(self, low: Value) -> tuple[Value, Value]:
        """The sum of exp(low) along the axis, for the largest 0, and the sum without one of these,
        which would swallow the others."""
        powers = ExpOp.on(low)
        total = self.sum_along(powers)
        others = self.sum_along(WhereOp.on(low.equal(0), low.full(0), powers))
        return total, others + (RoundOp.on(total - others) - 1)

    @property
    def is_empty(self) -> bool:
        return 0 in shape_of(self.x.type)


@irdl_op_definition
class SoftmaxComplementOp(SoftOp):
    """1 - softmax(x) along `axis`, exact where softmax is nearly 1.   vjp: minus softmax's vjp"""

    name = "grad.softmax_complement"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        from gradir.dialects.nn.activations import SoftmaxOp

        p = SoftmaxOp.on(x, axis=self.axis)
        return [-(p * CenteredOp.on(ct, p, axis=self.axis))]

    def decompose(self, x: Value) -> Value:
        if self.is_empty:
            return x
        low = self.below_top(widened(x))
        total, others = self.sums(low)
        p = ExpOp.on(low) / self.repeated(total, low)
        # one above 1/2 is the only largest one
        return narrowed(WhereOp.on(p > 0.5, self.repeated(others / total, p), 1 - p), x.type)

    def numpy(self, x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return -np.expm1(numpy_log_softmax(x, self.axis))


@irdl_op_definition
class LogsumexpBackwardOp(ReductionOp):
    """ct, one of each line, times softmax(x): the cotangent of x in array.logsumexp.

    0 where all of a line are -inf. array.logsumexp has the same attributes.
    vjp: sum(g * s), and y * (g - sum(g * s)) by grad.centered; g the cotangent, s the softmax
    """

    name = "grad.logsumexp_backward"
    DOMAIN: ClassVar[str] = "float"
    SUMS_PRODUCTS: ClassVar[bool] = True

    ct = operand_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        ct, x = operands
        [line] = super().infer_types([x], attributes)
        fits = compatible(shape_of(ct), shape_of(line))
        if not fits or element_of(ct) != element_of(line):
            raise VerifyException(f"ct must be {line}, got {ct}")
        return [x]

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        if mask is None:
            return None
        line = any_along(mask, self.axes)
        if place == 0:
            return reshaped(line, shape_of(self.ct.type))
        return BroadcastToOp.on(line, type=mask.type)

    def vjp(self, ct: Value, y: Value, line: Value, x: Value) -> Cotangents:
        shares = LogsumexpBackwardOp.on(line.full(1), x, **self.attributes)
        if len(self.axes) == 1:
            apart = CenteredOp.on(ct, shares, axis=self.axes[0])
        else:
            apart = self.along_lines(lambda g, p: CenteredOp.on(g, p, axis=1), ct, shares)
        return [SumOp.on(ct * shares, **self.attributes), y * apart]

    def decompose(self, line: Value, x: Value) -> Value:
        wide = widened(x)
        if self.count == 0:
            return x
        _, powers, total = shifted_powers(self, wide)
        total = WhereOp.on(total.equal(0), total.full(1), total)
        return narrowed(self.spread(widened(line) / total, wide) * powers, x.type)

    def numpy(self, ct: Any, x: Any) -> Any:
        line: Any = {"axis": tuple(self.axes), "keepdims": True}
        with np.errstate(invalid="ignore"):
            top = np.max(x, initial=-np.inf, **line)
            powers = np.exp(x - np.where(np.isfinite(top), top, 0).astype(x.dtype))
            total = np.sum(powers, **line)
            return np.reshape(ct, top.shape) / np.where(total == 0, 1, total) * powers


def numpy_log_softmax(x: Any, axis: int) -> Any:
    """x - log(sum(exp(x))) along an axis."""
    low = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    others = np.sum(np.where(low == 0, 0, np.exp(low)), axis=axis, keepdims=True)
    return low - np.log1p(others + (np.sum(low == 0, axis=axis, keepdims=True) - 1.0))


@irdl_op_definition
class TanhSoftplusOp(UnaryOp):
    """tanh(softplus(x)), the factor of x in mish.

    vjp: ct * 4 * s * r ** 2 / (1 + r ** 2) ** 2, s = sigmoid(x), r = sigmoid(-x)
    """

    name = "grad.tanh_softplus"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [narrowed(widened(ct) * tanh_softplus_slope(widened(x)), ct.type)]

    def body(self, x: Scalar) -> Scalar:
        # tanh(log(1 + e)) is (e * e + 2 * e) / (e * e + 2 * e + 2), e = exp(x)
        small, two = b.exp(-b.absolute(x)), b.constant(x, 2)
        below = small * (small + two)
        above = b.constant(x, 1) + small * two
        rest = small * small * two
        negative = below / (below + two)
        positive = above / (above + rest)
        return b.select(x < 0, negative, positive)

    def numpy(self, x: Any) -> Any:
        small = np.exp(-np.abs(x))
        below, above = small * (small + 2), 1 + 2 * small
        positive = above / (above + 2 * (small * small))
        return cast(Any, np.where(x < 0, below / (below + 2), positive))


def tanh_softplus_slope(x: Value) -> Value:
    """The derivative of tanh(softplus(x))."""
    # tanh(softplus(x)) is s * (1 + r) / (1 + r ** 2)
    r = slope(SoftplusSlopeOp, -x)
    share = r / (1 + r * r)
    return 4 * slope(SoftplusSlopeOp, x) * share * share


OPS: tuple[type[TensorOp], ...] = (SoftmaxComplementOp, LogsumexpBackwardOp, TanhSoftplusOp)
