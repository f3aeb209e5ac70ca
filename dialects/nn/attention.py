"""nn: scaled dot product attention, with PyTorch's semantics."""

from __future__ import annotations

from typing import Any

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.shapes import element_of, is_bool, shape_of
from gradir.dialects.base.value import Value
from gradir.dialects.grad.attention import (
    AttentionBackwardOp,
    AttentionForm,
    added,
    along,
    mask_block,
    numpy_weights,
    rows_of,
    zeros,
)


@irdl_op_definition
class AttentionOp(AttentionForm):
    """softmax(scale * q k^T + mask) v along the last axis, in blocks of rows.

    q [..., L, E], k [..., S, E], v [..., S, Ev], with equal leading axes; result [..., L, Ev].
    `scale` is 1 / sqrt(E) where absent. A mask broadcasts to [..., L, S]: i1, true where a query
    attends to a key, or a summand of q's type. With `causal = true` query i attends to the keys
    0 ... i only; it combines with a mask. A query that attends to no key gets 0, and gives no
    gradient, as in PyTorch. f16 and bf16 are computed in f32; `precision` is that of the products,
    as for array.matmul.
    vjp: grad.attention_backward(ct, y, q, k, v, mask), which computes each block again
    """

    name = "nn.attention"

    q = operand_def()
    k = operand_def()
    v = operand_def()
    mask = opt_operand_def()
    y = result_def()

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        return [cls.check(operands, attributes)]

    def vjp(self, ct: Value, y: Value, *inputs: Value) -> Cotangents:
        found = iter(AttentionBackwardOp.all_on(ct, y, *inputs, types=None, **self.settings))
        return [None if is_bool(element_of(x.type)) else next(found) for x in inputs]

    def decompose(self, q: Value, k: Value, v: Value, mask: Value | None = None) -> Value:
        wide_q, wide_k, wide_v = map(widened, (q, k, v))
        wide_mask = None if mask is None else widened(mask)
        total: Value | None = None
        shape = shape_of(self.y.type)
        for block, columns in self.blocks(wide_q, wide_k):
            rows, keys = rows_of(wide_q, block), rows_of(wide_k, range(columns))
            part = mask_block(wide_mask, block, columns)
            powers, inverse = self.powers(block, rows, keys, part)
            sums = self.product(powers, rows_of(wide_v, range(columns)))
            start = [0] * (len(q.shape) - 2) + [block.start, 0]
            total = added(total, sums * along(inverse, sums), start, shape)
        return narrowed(zeros(wide_q, shape) if total is None else total, self.y.type)

    def numpy(self, q: Any, k: Any, v: Any, *mask: Any) -> Any:
        return numpy_weights(q, k, mask, self.scale_of(q.shape[-1]), self.is_causal) @ v


OPS: tuple[type[TensorOp], ...] = (AttentionOp,)
