"""grad: bools as bits, an eighth of their bytes, for residuals of forward code.

The bits lie in planes: bit k of byte j is element k * M + j of M bytes in row-major order. So
neighbours in memory stay neighbours in each plane, and both kernels move whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from gradir.dialects.base.access import Access, Row, dim_row
from gradir.dialects.base.attributes import Attributes, Types
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.lazy_numpy import np
from gradir.dialects.base.shapes import DYNAMIC, can_be, shape_of, tensor
from gradir.dialects.base.value import Emitter, Scalar
from gradir.dialects.building import body as b
from gradir.dialects.building.kinds import require_elements
from gradir.dialects.building.nests import Read, nest
from gradir.dialects.loopnest.loopnest import Output
from gradir.dialects.loopnest.loopnest import ReshapeOp as LoopnestReshapeOp

PLANES = 8


def byte_count(shape: Sequence[int]) -> int:
    """The bytes that hold one bit for each element of a shape."""
    return DYNAMIC if DYNAMIC in shape else -(-prod(shape) // PLANES)


def _planes(count: int) -> int:
    """The planes with elements of `count`; one of none for none."""
    return -(-count // byte_count([count])) if count else 1


@irdl_op_definition
class PackBitsOp(TensorOp):
    """The elements of an i1 tensor of n elements as bits of M = ceil(n / 8) bytes.

    Bit k of byte j is element k * M + j in row-major order, 0 where there is none.
    """

    name = "grad.pack_bits"
    INACTIVE: ClassVar[bool] = True

    mask = operand_def()
    bits = result_def()
    traits = traits_def(Pure())

    @classmethod
    def infer_types(cls, operands: Types, attributes: Attributes) -> Types:
        [mask] = operands
        require_elements(mask, "bool")
        return [tensor([byte_count(shape_of(mask))], i8)]

    def numpy(self, mask: Any) -> Any:
        planes = np.zeros((PLANES, byte_count(mask.shape)), np.uint8)
        planes.reshape(-1)[: mask.size] = mask.reshape(-1)
        weights = np.left_shift(1, np.arange(PLANES)).astype(np.uint8)
        return (planes * weights[:, None]).sum(0, dtype=np.uint8).view(np.int8)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count = prod(shape_of(self.mask.type))
        size = byte_count([count])
        flat = _reshaped(emitter, operands[0], [count])
        reads: list[Read] = []
        for k in range(_planes(count)):
            leaves = (k + 1) * size > count
            access = Access(1, (dim_row(1, 0, constant=k * size),))
            reads.append(Read(flat, access, IntegerAttr(0, i1) if leaves else None))

        def byte(*elements: Scalar) -> Scalar:
            made = b.cast(elements[0], i8)
            for k, element in enumerate(elements[1:], 1):
                made = made + b.cast(element, i8) * b.literal(element, 1 << k, i8)
            return made

        return nest(emitter, [size], reads, [Output(self.bits.type, Access.identity(1))], byte)


@irdl_op_definition
class UnpackBitsOp(TensorOp):
    """The i1 tensor of n elements that grad.pack_bits packed to these ceil(n / 8) bytes."""

    name = "grad.unpack_bits"
    INACTIVE: ClassVar[bool] = True
    KEPT_AS_BITS: ClassVar[bool] = True
    IS_READ_OFF: ClassVar[bool] = True

    bits = operand_def()
    mask = result_def()
    traits = traits_def(Pure())

    def verify_types(self) -> None:
        require_elements(self.mask.type, "bool")
        wanted = tensor([byte_count(shape_of(self.mask.type))], i8)
        if not can_be(self.bits.type, wanted):
            raise VerifyException(f"bits must be {wanted}, got {self.bits.type}")

    def numpy(self, bits: Any) -> Any:
        shape = shape_of(self.mask.type)
        planes = bits.view(np.uint8) >> np.arange(PLANES, dtype=np.uint8)[:, None] & 1
        return planes.reshape(-1)[: prod(shape)].reshape(shape).astype(bool)

    def lower(self, emitter: Emitter, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        shape = shape_of(self.mask.type)
        count = prod(shape)
        size = byte_count([count])
        full = count // size if size else 1
        type_: Attribute = tensor([count], i1)
        # dimensions are the plane and the byte
        output = Output(type_, Access(2, (Row((size, 1)),)))
        [flat] = _planes_of(emitter, operands[0], [full, size], output, 0)
        if rest := count - full * size:
            output = Output(type_, Access(2, (Row((size, 1), full * size),)), init=flat)
            [flat] = _planes_of(emitter, operands[0], [1, rest], output, full)
        return [_reshaped(emitter, flat, shape)]


def _planes_of(
    emitter: Emitter, bits: SSAValue, bounds: Sequence[int], output: Output, first: int
) -> list[SSAValue]:
    """The elements of some planes, from the first bytes of the bits."""

    def bit(byte: Scalar) -> Scalar:
        number = b.index(byte, 0)
        plane = b.cast(number + first if first else number, i8)
        shifted = byte.emit(arith.ShRUIOp(byte.ssa, plane.ssa))
        return b.logical_and(shifted, b.constant(byte, 1)).not_equal(0)

    return nest(emitter, bounds, [Read(bits, Access.of_dims(2, [1]))], [output], bit)


def _reshaped(emitter: Emitter, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    type_: Attribute = tensor(shape, i1)
    if value.type == type_:
        return value
    return emitter.insert(LoopnestReshapeOp(value, type_)).result


OPS: tuple[type[TensorOp], ...] = (PackBitsOp, UnpackBitsOp)
