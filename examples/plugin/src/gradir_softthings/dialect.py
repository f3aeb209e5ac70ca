"""The ops of the dialect `soft`: an elementwise op by its body, another by simpler ops."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.build import (
    Attributes,
    Batch,
    Cotangents,
    TensorOp,
    Types,
    UnaryOp,
    Value,
    array,
    body,
    require_elements,
    shape_of,
)


@irdl_op_definition
class SoftsignOp(UnaryOp):
    """x / (1 + |x|), elementwise, of floats.   vjp: ct / (1 + |x|)**2"""

    name = "soft.softsign"

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        size = 1 + array.elementwise.AbsOp.on(x)
        return [ct / (size * size)]

    def body(self, x: Any) -> Any:
        return x / (body.constant(x, 1) + body.absolute(x))

    def numpy(self, x: Any) -> Any:
        return x / (1 + np.abs(x))


@irdl_op_definition
class CenterOp(TensorOp):
    """x without its mean along the last axis, of floats of rank >= 1.   vjp: center(ct)"""

    name = "soft.center"
    SAME_TYPE: ClassVar[bool] = True

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        require_elements(operands[0], "float")
        if not shape_of(operands[0]):
            raise VerifyException(f"x must have an axis, got {operands[0]}")
        return [operands[0]]

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [CenterOp.on(ct)]

    def vmap(self, batch: Batch) -> list[Value]:
        return batch.in_front()

    def decompose(self, x: Value) -> Value:
        last = [len(x.shape) - 1]
        mean = array.reductions.MeanOp.on(x, axis=last, keepdims=True)
        return x - array.movement.BroadcastToOp.on(mean, type=x.type)

    def numpy(self, x: Any) -> Any:
        return x - x.mean(-1, keepdims=True)


Soft = Dialect("soft", [SoftsignOp, CenterOp])
