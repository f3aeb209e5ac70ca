"""array: the discrete Fourier transform along one axis. Native: `dialects/planes/fourier.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.attributes import Attributes, Types, flag, integer
from gradir.dialects.base.batch import Batch
from gradir.dialects.base.interfaces import Cotangents, TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import is_complex_tensor, normalize_axis, shape_of
from gradir.dialects.base.value import Value


@irdl_op_definition
class FftOp(TensorOp):
    """y[k] = sum over j of x[j] * exp(-2 pi i j k / n) along `axis`, by default the last one.

    `inverse`: with exp(2 pi i j k / n). Neither is divided by n, the extent of the axis.
    vjp: the same transform of ct, as its matrix is symmetric
    """

    name = "array.fft"
    COMPLEX: ClassVar[bool] = True
    SAME_TYPE: ClassVar[bool] = True
    ATTRIBUTES: ClassVar[tuple[str, ...]] = ("axis", "inverse")

    x = operand_def()
    y = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [x] = operands
        if not is_complex_tensor(x):
            raise VerifyException(f"elements must be complex, got {x}")
        axis = normalize_axis(integer(attributes, "axis", -1), len(shape_of(x)))
        flag(attributes, "inverse", False)
        if shape_of(x)[axis] == 0:
            raise VerifyException(f"the axis must not be empty, got axis {axis} of {x}")
        return [x]

    @property
    def axis(self) -> int:
        return normalize_axis(integer(self.attributes, "axis", -1), len(shape_of(self.x.type)))

    @property
    def inverse(self) -> bool:
        return flag(self.attributes, "inverse", False)

    def vjp(self, ct: Value, y: Value, x: Value) -> Cotangents:
        return [FftOp.on(ct, axis=self.axis, inverse=self.inverse)]

    def vmap(self, batch: Batch) -> Sequence[Value]:
        return batch.in_front(axis=self.axis - batch.operand_rank(0))

    def numpy(self, x: Any) -> Any:
        if self.inverse:
            return np.fft.ifft(x, axis=self.axis, norm="forward")
        return np.fft.fft(x, axis=self.axis)


OPS: tuple[type[TensorOp], ...] = (FftOp,)
