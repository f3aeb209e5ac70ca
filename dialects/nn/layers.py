"""nn: layers, with PyTorch's semantics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array.contraction import MatmulOp, numpy_product
from gradir.dialects.array.lines import factor_reached
from gradir.dialects.array.movement import BroadcastToOp, ReshapeOp, reshaped, transposed
from gradir.dialects.array.reductions import SumOp
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.precision import PRECISION, precision_in, require_precision
from gradir.dialects.base.shapes import compatible, element_of, shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements_agree


@irdl_op_definition
class LinearOp(TensorOp):
    """x weight^T + bias: x [..., in], weight [out, in], bias [out], result [..., out].

    `precision` is that of the product, as for array.matmul.
    vjp: ct weight, ct^T x, sum of ct over the rows
    """

    name = "nn.linear"
    COMPLEX: ClassVar[bool] = True
    SUMS_PRODUCTS: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = (PRECISION,)

    x = operand_def()
    weight = operand_def()
    bias = opt_operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, weight, *bias = operands
        require_elements_agree(operands, "float", cls.COMPLEX)
        require_precision(attributes, operands[:2])
        inputs = shape_of(x)[-1:]
        if len(shape_of(weight)) != 2 or not compatible(inputs, shape_of(weight)[1:]):
            raise VerifyException(
                f"x [..., in] and weight [out, in] expected, got {x} and {weight}"
            )
        size = shape_of(weight)[0]
        if bias and not compatible(shape_of(bias[0]), [size]):
            raise VerifyException(f"bias must be {tensor([size], element_of(x))}, got {bias[0]}")
        return [tensor([*shape_of(x)[:-1], size], element_of(x))]

    def vjp(self, ct: Value, y: Value, x: Value, weight: Value, *bias: Value) -> Cotangents:
        rows = prod(x.shape[:-1])
        flat_ct = reshaped(ct, [rows, weight.shape[0]])
        flat_x = reshaped(x, [rows, weight.shape[1]])
        to_weight = self._product(transposed(flat_ct), flat_x)
        to_bias = [SumOp.on(flat_ct, axis=0)] if bias else []
        return [self._product(ct, weight), to_weight, *to_bias]

    def _product(self, lhs: Value, rhs: Value) -> Value:
        return MatmulOp.on(lhs, rhs, type=None, **precision_in(self.attributes))

    def reached(self, place: int, masks: Sequence[Value | None]) -> Value | None:
        [mask] = masks
        if mask is None:
            return None
        names = list(range(len(mask.shape)))
        own = ([*names[:-1], "in"], [names[-1], "in"], [names[-1]])[place]
        return factor_reached(mask, names, own, shape_of(self.operands[place].type))

    def vmap(self, batch: Batch) -> Sequence[Value] | None:
        """Rows of x are more of its leading axes; layers with rows are products of matrices."""
        if not any(batch.has_rows[1:]):
            return batch.same_op(batch.operands)
        x, weight = batch.with_rows(0), batch.with_rows(1)
        lines = reshaped(x, [batch.size, prod(x.shape[1:-1]), x.shape[-1]])
        y = self._product(lines, transposed(weight))
        if len(batch.operands) > 2:
            line = reshaped(batch.with_rows(2), [batch.size, 1, y.shape[-1]])
            y = y + BroadcastToOp.on(line, type=y.type)
        return [ReshapeOp.on(y, type=batch.result_types()[0])]

    def decompose(self, x: Value, weight: Value, *bias: Value) -> Value:
        product = self._product(x, transposed(weight))
        return product + BroadcastToOp.on(bias[0], type=product.type) if bias else product

    def numpy(self, x: Any, weight: Any, bias: Any = None) -> Any:
        product = numpy_product(x, weight.T)
        return product if bias is None else product + bias


OPS: tuple[type[TensorOp], ...] = (LinearOp,)
