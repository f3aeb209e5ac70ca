"""nn: activations with a learned slope or a gate, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.batch_axis import vmap_of_batch
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.movement import BroadcastToOp, reshaped, sum_to_shape
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.array.slicing import ConcatOp, SliceOp
from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import (
    DYNAMIC,
    compatible,
    element_of,
    normalize_axis,
    shape_of,
    tensor,
)
from gradir.dialects.base.value import Value
from gradir.dialects.building.gate import unless_nan
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.slopes import SigmoidSlopeOp, SoftplusSlopeOp, slope
from gradir.dialects.nn.activations import SigmoidOp


@irdl_op_definition
class PreluOp(TensorOp):
    """x where x > 0, else weight * x: weight [1], or [C] along axis 1 of x.

    vjp: ct where x > 0, else weight * ct; sum of x * ct where not x > 0, so 0 at 0; nan of nan
    """

    name = "nn.prelu"

    x = operand_def()
    weight = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, weight = operands
        require_elements(x, "float")
        shape = shape_of(x)
        choices = [(1,), shape[1:2]] if len(shape) > 1 else [(1,)]
        fits = any(compatible(shape_of(weight), one) for one in choices)
        if not fits or element_of(weight) != element_of(x):
            one = tensor([1], element_of(x))
            each = f" or {tensor([shape[1]], element_of(x))}" if len(shape) > 1 else ""
            raise VerifyException(f"weight must be {one}{each}, got {weight}")
        return [x]

    def _line(self, x: Value, weight: Value) -> list[int]:
        """The weight's shape for a broadcast to x's shape."""
        rank = len(x.shape)
        return [weight.shape[0] if d == 1 else 1 for d in range(rank)]

    def _spread(self, x: Value, weight: Value) -> Value:
        return BroadcastToOp.on(reshaped(weight, self._line(x, weight)), type=x.type)

    def vjp(self, ct: Value, y: Value, x: Value, weight: Value) -> Cotangents:
        wide_ct, wide_x, wide_weight = widened(ct), widened(x), widened(weight)
        above = wide_x > 0
        below = WhereOp.on(above, wide_ct.full(0), wide_x * wide_ct)
        total = reshaped(sum_to_shape(below, self._line(x, weight)), weight.shape)
        slope = WhereOp.on(above, wide_x.full(1), self._spread(wide_x, wide_weight))
        to_x = unless_nan(slope * wide_ct, wide_x)
        return [narrowed(to_x, x.type), narrowed(total, weight.type)]

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        return vmap_of_batch(batch)

    def decompose(self, x: Value, weight: Value) -> Value:
        wide = widened(x)
        below = self._spread(wide, widened(weight)) * wide
        return narrowed(WhereOp.on(wide > 0, wide, below), x.type)

    def numpy(self, x: Any, weight: Any) -> Any:
        line = [weight.size if d == 1 else 1 for d in range(x.ndim)]
        return cast(Any, np.where(x > 0, x, weight.reshape(line) * x))


@irdl_op_definition
class GluOp(TensorOp):
    """a * sigmoid(b), a and b the halves of x along `axis` (the last where absent).

    vjp: ct * sigmoid(b) and ct * a * sigmoid(b) * sigmoid(-b), joined
    """

    name = "nn.glu"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "float")
        shape = list(shape_of(operands[0]))
        axis = normalize_axis(integer(attributes, "axis", -1), len(shape))
        if shape[axis] != DYNAMIC:
            if shape[axis] % 2:
                raise VerifyException(f"axis {axis} must have an even extent, got {operands[0]}")
            shape[axis] //= 2
        return [tensor(shape, element_of(operands[0]))]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

    def _halves(self, x: Value) -> tuple[Value, Value]:
        half = x.shape[self.axis] // 2
        start = [half if d == self.axis else 0 for d in range(len(x.shape))]
        stop = [half if d == self.axis else n for d, n in enumerate(x.shape)]
        return SliceOp.on(x, stop=stop), SliceOp.on(x, start=start)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        wide = widened(ct)
        values, gates = self._halves(widened(x))
        to_values = wide * slope(SoftplusSlopeOp, gates)
        to_gates = wide * (values * slope(SigmoidSlopeOp, gates))
        return [narrowed(ConcatOp.on(to_values, to_gates, axis=self.axis), x.type)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def decompose(self, x: Value) -> Value:
        values, gates = self._halves(widened(x))
        return narrowed(values * SigmoidOp.on(gates), self.y.type)

    def numpy(self, x: Any) -> Any:
        values, gates = np.split(x, 2, axis=self.axis)
        small = np.exp(-np.abs(gates))
        return values * (np.where(gates < 0, small, 1) / (1 + small))


OPS: tuple[type[TensorOp], ...] = (PreluOp, GluOp)
