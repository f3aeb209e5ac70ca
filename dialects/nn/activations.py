"""nn: activations, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from gradir.dialects import body as b
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.elementwise import ExpOp, LogOp
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.array.reductions import MaxOp, SumOp, narrowed, widened
from gradir.dialects.attributes import Attributes, integer
from gradir.dialects.interfaces import Cotangents, TensorOp
from gradir.dialects.kinds import UnaryOp, require_elements
from gradir.dialects.shapes import normalize_axis, shape_of
from gradir.dialects.value import Scalar, Value


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); nan of nan.   vjp: ct where y > 0, so 0 at 0"""

    name = "nn.relu"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [WhereOp.on(y > 0, ct, ct.full(0))]

    def body(self, x: Scalar) -> Scalar:
        return b.maximum(x, b.constant(x, 0))

    def numpy(self, x: Any) -> Any:
        import numpy

        return numpy.maximum(x, numpy.zeros((), x.dtype))


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """1 / (1 + exp(-x)), without overflow.   vjp: ct * y * (1 - y)"""

    name = "nn.sigmoid"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [ct * (y * (1 - y))]

    def body(self, x: Scalar) -> Scalar:
        small = b.exp(-b.absolute(x))  # pyright: ignore[reportArgumentType]
        one = b.constant(x, 1)
        positive = b.divide(one, b.add(one, small))
        negative = b.multiply(small, positive)
        return b.select(b.less(x, b.constant(x, 0)), negative, positive)

    def numpy(self, x: Any) -> Any:
        import numpy

        small = numpy.exp(-numpy.abs(x))
        return numpy.where(x < 0, small, 1) / (1 + small)


class _SoftOp(TensorOp):
    """An op on lines along `axis` (the last where absent)."""

    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(
        cls, operands: Sequence[Attribute], attributes: Attributes
    ) -> Sequence[Attribute]:
        require_elements(operands[0], "float")
        rank = len(shape_of(operands[0]))
        normalize_axis(integer(attributes, "axis", -1), rank)
        return [operands[0]]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

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
        import numpy

        with numpy.errstate(invalid="ignore"):
            powers = numpy.exp(x - numpy.max(x, axis=self.axis, keepdims=True, initial=-numpy.inf))
            return powers / numpy.sum(powers, axis=self.axis, keepdims=True)


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
        # not x - logsumexp(x): where x is large, that loses all digits behind the point
        low = wide - self.repeated(top, wide)
        return narrowed(low - LogOp.on(self.line_sum(ExpOp.on(low))), x.type)

    def numpy(self, x: Any) -> Any:
        import numpy

        with numpy.errstate(invalid="ignore"):
            low = x - numpy.max(x, axis=self.axis, keepdims=True, initial=-numpy.inf)
            return low - numpy.log(numpy.sum(numpy.exp(low), axis=self.axis, keepdims=True))


OPS: tuple[type[TensorOp], ...] = (ReluOp, SigmoidOp, SoftmaxOp, LogSoftmaxOp)
