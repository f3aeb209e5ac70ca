"""grad: dropout in two steps, for derivatives: the mask, from key and counter alone, and the rest.

So a derivative reads the mask, and draws it again without the tensor that it drops from.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array import philox
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.random import UniformOp, require_key
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types, number
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import can_be, element_of, met, shape_of, tensor
from gradir.dialects.base.support import Mask, Supports, both
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements


def dropped_share(attributes: Attributes) -> float:
    """The attribute `p`; VerifyException unless in [0, 1]."""
    p = number(attributes, "p", 0.5)
    if not 0 <= p <= 1:
        raise VerifyException(f"p must be in [0, 1], got {p}")
    return p


def numpy_mask(key: Any, counter: Any, shape: Sequence[int], p: float) -> Any:
    drawn = philox.numpy_uniform(key, counter, prod(shape), "f32").reshape(shape)
    return drawn >= np.float32(rounded(p, f32))


def _scale(p: float) -> float:
    """1 / (1 - p), which keeps the mean; 0 for p = 1."""
    return 1 / (1 - p) if p < 1 else 0.0


def numpy_drop(x: Any, mask: Any, p: float) -> Any:
    return np.where(mask, x * x.dtype.type(_scale(p)), 0)


@irdl_op_definition
class DropoutMaskOp(TensorOp):
    """The mask of nn.dropout: array.uniform(key, counter) in f32 >= p; `p = 0.5`, in [0, 1].

    It costs more to draw than to pack: for backward code it is kept as bits.
    """

    name = "grad.dropout_mask"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("p",)
    INACTIVE: ClassVar[bool] = True
    KEPT_AS_BITS: ClassVar[bool] = True

    key = operand_def()
    counter = operand_def()
    mask = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        require_key(self.key.type, self.counter.type)
        require_elements(self.mask.type, "bool")
        dropped_share(self.attributes)

    def decompose(self, key: Value, counter: Value) -> Value:
        drawn = UniformOp.on(key, counter, type=tensor(shape_of(self.mask.type), f32))
        return drawn >= dropped_share(self.attributes)

    def numpy(self, key: Any, counter: Any) -> Any:
        shape = shape_of(self.mask.type)
        return numpy_mask(key, counter, shape, dropped_share(self.attributes))


@irdl_op_definition
class DropOp(TensorOp):
    """x / (1 - p) where the mask is true, else 0, even if x is infinite or nan; `p = 0.5`.

    The scale is 0 for p = 1.
    vjp: grad.drop of ct by the same mask, as the op is linear
    """

    name = "grad.drop"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("p",)

    x = operand_def()
    mask = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        x, mask = operands
        require_elements(x, "float")
        wanted = tensor(shape_of(x), i1)
        if not can_be(mask, wanted):
            raise VerifyException(f"mask must be {wanted}, got {mask}")
        dropped_share(attributes)
        return [tensor(met(shape_of(x), shape_of(mask)), element_of(x))]

    def vjp(self, ct: Value, y: Value, x: Value, mask: Value) -> Cotangents:
        return [DropOp.on(ct, mask, p=dropped_share(self.attributes)), None]

    def zero_operands(self) -> Sequence[SSAValue]:
        return [self.x]

    def support(self, of: Supports) -> Mask | None:
        # no row is dropped whole, so that products need not ask
        kept = of.of(self.x)
        return kept if of.strict else both(Mask.of(self.mask), kept)

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front()

    def decompose(self, x: Value, mask: Value) -> Value:
        wide = widened(x)
        scaled = wide * _scale(dropped_share(self.attributes))
        return narrowed(WhereOp.on(mask, scaled, wide.full(0)), x.type)

    def numpy(self, x: Any, mask: Any) -> Any:
        return numpy_drop(x, mask, dropped_share(self.attributes))


OPS: tuple[type[TensorOp], ...] = (DropoutMaskOp, DropOp)
