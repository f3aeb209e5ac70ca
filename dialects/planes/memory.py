"""Complex numbers in memory: both parts one after the other, as NumPy has them."""

from __future__ import annotations

from xdsl.ir import Attribute

from gradir.dialects.array.assembly import StackOp
from gradir.dialects.array.movement import reshaped
from gradir.dialects.array.slicing import part
from gradir.dialects.base.shapes import element_of, real_element, shape_of, tensor
from gradir.dialects.base.value import Value


def memory_type(type_: Attribute) -> Attribute:
    """The real type of a complex tensor in memory: one more axis, of extent 2."""
    return tensor((*shape_of(type_), 2), real_element(element_of(type_)))


def interleaved(real: Value, imag: Value) -> Value:
    """Both planes as one tensor."""
    return StackOp.on(real, imag, axis=len(real.shape))


def planes_of(x: Value) -> tuple[Value, Value]:
    """The planes of an interleaved tensor."""
    axis = len(x.shape) - 1
    real, imag = (reshaped(part(x, axis, k, k + 1), x.shape[:-1]) for k in range(2))
    return real, imag
