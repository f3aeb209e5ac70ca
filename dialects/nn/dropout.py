"""nn: dropout by counter-based random numbers: a replay drops the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from gradir.dialects.array.random import require_key
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.grad.dropout import (
    DropOp,
    DropoutMaskOp,
    dropped_share,
    numpy_drop,
    numpy_mask,
)


@irdl_op_definition
class DropoutOp(TensorOp):
    """x / (1 - p), or 0 for dropped elements; each is dropped with probability `p`.

    `p = 0.5`, in [0, 1]; p = 0 keeps everything, p = 1 nothing. The hidden second result is the
    mask, true where kept: array.uniform(key, counter) in f32 >= p, for any type of x. A dropped
    element is 0 even if x is infinite or nan there. The scale 1 / (1 - p) is PyTorch's.
    vjp: ct / (1 - p) where the mask is true, else 0; none to key and counter. Of the operands it
    reads none: the mask is kept as bits, or drawn again
    """

    name = "nn.dropout"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("p",)
    IS_TAKEN_APART: ClassVar[bool] = True
    HIDDEN: ClassVar[tuple[int, ...]] = (1,)

    x = operand_def()
    key = operand_def()
    counter = operand_def()
    y = result_def()
    mask = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, key, counter = operands
        require_elements(x, "float")
        require_key(key, counter)
        dropped_share(attributes)
        return [x, tensor(shape_of(x), i1)]

    def decompose(self, x: Value, key: Value, counter: Value) -> Sequence[Value]:
        p = dropped_share(self.attributes)
        mask = DropoutMaskOp.on(key, counter, type=self.mask.type, p=p)
        return [DropOp.on(x, mask, p=p), mask]

    def numpy(self, x: Any, key: Any, counter: Any) -> Any:
        p = dropped_share(self.attributes)
        mask = numpy_mask(key, counter, x.shape, p)
        return numpy_drop(x, mask, p), mask


OPS: tuple[type[TensorOp], ...] = (DropoutOp,)
