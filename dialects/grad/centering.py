"""Lines less their mean by given shares, and the transpose: the derivatives of softmax and its log.

With p the shares of a line, which sum to 1, a component of the derivative of softmax is
p[i] * sum_j p[j] * (x[i] - x[j]). The difference x[i] - sum_j p[j] * x[j] has lost it where p[i] is
nearly 1. At most one share of a line, the leading one, is above 1/2: where there is one, all
elements count from its element, and the sums leave it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from gradir.dialects.array.lines import lines_reached
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.base.access import Access, constant_row, dim_row
from gradir.dialects.base.attributes import Attributes, Types, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import element_of, normalize_axis, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar, Value
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements, require_equal_types
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output


class LinesOp(TensorOp):
    """Operands of one type, and a result like them, in lines along `axis` (the last where absent).

    The first operand is x.
    """

    SUMS_PRODUCTS: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis",)
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_equal_types(operands)
        require_elements(operands[0], "float")
        normalize_axis(integer(attributes, "axis", -1), len(shape_of(operands[0])))
        return [operands[0]]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        return None if mask is None else lines_reached(mask, [self.axis], mask.shape)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))


class LineOp(LinesOp):
    """x and the shares p."""

    p = operand_def()
    y = result_def()

    def line_sum(self, x: Value) -> Value:
        """The sum along the axis, repeated along it."""
        return BroadcastToOp.on(SumOp.on(x, axis=self.axis, keepdims=True), type=x.type)

    def summands(self, x: Scalar, p: Scalar) -> Sequence[Scalar]:
        """An element's summand in each sum of its line."""
        raise NotImplementedError(self.name)

    def result(self, x: Scalar, p: Scalar, *sums: Scalar) -> Scalar:
        """An element, from the sums of its line."""
        raise NotImplementedError(self.name)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        # two nests, not a decomposition: fusion would store what the sums are made of
        shape, element = shape_of(self.x.type), element_of(self.x.type)
        rank, here = len(shape), Access.identity(len(shape))
        rows = [constant_row(rank, 0) if d == self.axis else dim_row(rank, d) for d in range(rank)]
        line = Access(rank, tuple(rows))
        extents = [1 if d == self.axis else n for d, n in enumerate(shape)]
        sum_type = tensor(extents, b.compute_type(element))
        reads = [Read(o, here) for o in operands]

        def summed(*xs: Scalar) -> Sequence[Scalar]:
            return self.summands(*(b.to_compute(x, element) for x in xs))

        def made(x: Scalar, p: Scalar, *sums: Scalar) -> Scalar:
            wide = (b.to_compute(v, element) for v in (x, p))
            return b.from_compute(self.result(*wide, *sums), element)

        sums = nest(emitter, shape, reads, [Output(sum_type, line, "add")] * 3, summed)
        reads += [Read(s, line) for s in sums]
        return nest(emitter, shape, reads, [Output(self.y.type, here)], made)

    def total(self, x: Any) -> Any:
        """The sum along the axis in NumPy."""
        return np.sum(x, self.axis, keepdims=True)


def _leads(p: Scalar) -> Scalar:
    return p > 0.5


@irdl_op_definition
class CenteredOp(LineOp):
    """x - sum(p * x) along `axis`, p shares that sum to 1: exact in the leading element too.

    vjp: grad.balanced(ct, p); -x * sum(ct)
    """

    name = "grad.centered"

    def vjp(self, ct: Value, y: Value, x: Value, p: Value) -> Cotangents:
        return [BalancedOp.on(ct, p, axis=self.axis), -(x * self.line_sum(ct))]

    def summands(self, x: Scalar, p: Scalar) -> Sequence[Scalar]:
        leads, zero = _leads(p), b.constant(x, 0)
        rest = b.select(leads, zero, p)
        return [b.select(leads, x, zero), rest, rest * x]

    def result(self, x: Scalar, p: Scalar, *sums: Scalar) -> Scalar:
        lead, rest, others = sums
        return (x - lead) + (lead * rest - others)

    def numpy(self, x: Any, p: Any) -> Any:
        leads = p > 0.5
        small = np.where(leads, 0, p)
        lead = self.total(np.where(leads, x, 0))
        return (x - lead) + (lead * self.total(small) - self.total(small * x))


@irdl_op_definition
class BalancedOp(LineOp):
    """x - p * sum(x) along `axis`, p shares that sum to 1: exact in the leading element too.

    vjp: grad.centered(ct, p); -ct * sum(x)
    """

    name = "grad.balanced"

    def vjp(self, ct: Value, y: Value, x: Value, p: Value) -> Cotangents:
        return [CenteredOp.on(ct, p, axis=self.axis), -(ct * self.line_sum(x))]

    def summands(self, x: Scalar, p: Scalar) -> Sequence[Scalar]:
        leads, zero = _leads(p), b.constant(x, 0)
        return [b.select(leads, x, zero), b.select(leads, zero, p), b.select(leads, zero, x)]

    def result(self, x: Scalar, p: Scalar, *sums: Scalar) -> Scalar:
        lead, rest, others = sums
        return b.select(_leads(p), x * rest - p * others, x - p * (lead + others))

    def numpy(self, x: Any, p: Any) -> Any:
        leads = p > 0.5
        lead, others = (self.total(np.where(m, x, 0)) for m in (leads, ~leads))
        leading = x * self.total(np.where(leads, 0, p)) - p * others
        return np.where(leads, leading, x - p * (lead + others))


OPS: tuple[type[TensorOp], ...] = (CenteredOp, BalancedOp)
