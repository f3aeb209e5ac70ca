"""nn: dropout by counter-based random numbers: a replay drops the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i1
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.array import philox
from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.random import UniformOp, require_key
from gradir.dialects.array.reductions import narrowed, widened
from gradir.dialects.base.attributes import Attributes, Types, number
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.rounding import rounded
from gradir.dialects.base.shapes import shape_of, tensor
from gradir.dialects.base.value import Value
from gradir.dialects.building.kinds import require_elements


def kept(key: Value, counter: Value, shape: Sequence[int], p: float) -> Value:
    """The mask of the kept elements: a function of key and counter alone."""
    drawn = UniformOp.on(key, counter, type=tensor(shape, f32))
    return drawn >= p


@irdl_op_definition
class DropoutOp(TensorOp):
    """x / (1 - p), or 0 for dropped elements; each is dropped with probability `p`.

    `p = 0.5`, in [0, 1]; p = 0 keeps everything, p = 1 nothing. The hidden second result is the
    mask, true where kept: array.uniform(key, counter) in f32 >= p, for any type of x. A dropped
    element is 0 even if x is infinite or nan there. The scale 1 / (1 - p) is PyTorch's.
    vjp: ct / (1 - p) where the mask is true, else 0; none to key and counter
    """

    name = "nn.dropout"
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("p",)

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
        p = number(attributes, "p", 0.5)
        if not 0 <= p <= 1:
            raise VerifyException(f"p must be in [0, 1], got {p}")
        return [x, tensor(shape_of(x), i1)]

    @property
    def p(self) -> float:
        return number(self.attributes, "p", 0.5)

    @property
    def factor(self) -> float:
        """The scale 1 / (1 - p), which keeps the mean; 0 for p = 1."""
        return 1 / (1 - self.p) if self.p < 1 else 0.0

    def _masked(self, x: Value, mask: Value) -> Value:
        wide = widened(x)
        return narrowed(WhereOp.on(mask, wide * self.factor, wide.full(0)), x.type)

    def vjp_all(
        self, cts: Cotangents, results: Sequence[Value], operands: Sequence[Value]
    ) -> Cotangents:
        if cts[0] is None:
            return [None] * 3
        return [self._masked(cts[0], results[1]), None, None]

    def decompose(self, x: Value, key: Value, counter: Value) -> Sequence[Value]:
        mask = kept(key, counter, x.shape, self.p)
        return [self._masked(x, mask), mask]

    def numpy(self, x: Any, key: Any, counter: Any) -> Any:
        drawn = philox.numpy_uniform(key, counter, prod(x.shape), "f32").reshape(x.shape)
        mask = drawn >= np.float32(rounded(self.p, f32))
        return np.where(mask, x * x.dtype.type(self.factor), 0), mask


OPS: tuple[type[TensorOp], ...] = (DropoutOp,)
