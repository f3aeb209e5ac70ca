"""Bools that derivatives keep as bits (grad.pack_bits): their bytes, packing, unpacking.

Those are the results of ops that cost more than to pack (`KEPT_AS_BITS`); a comparison does not,
and fusion computes it where it is read.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import element_of, is_bool, is_static, is_tensor, shape_of
from gradir.dialects.base.value import Emitter
from gradir.dialects.grad.bits import PackBitsOp, UnpackBitsOp, byte_count
from gradir.passes.analysis.live_bytes import held_bytes

# Tensors of fewer elements stay as they are.
FEWEST_ELEMENTS = 64


def is_kept_as_bits(value: SSAValue) -> bool:
    """Whether derivatives keep a value as bits."""
    op, type_ = value.owner, value.type
    if not (isinstance(op, TensorOp) and op.KEPT_AS_BITS and is_tensor(type_)):
        return False
    if not (is_static(type_) and is_bool(element_of(type_))):
        return False
    return prod(shape_of(type_)) >= FEWEST_ELEMENTS


def kept_bytes(value: SSAValue) -> int:
    """The bytes of a value that a derivative keeps."""
    return byte_count(shape_of(value.type)) if is_kept_as_bits(value) else held_bytes(value)


def to_bits(value: SSAValue) -> SSAValue:
    """The bits of a value, packed right behind its op; those it is unpacked from, if it is."""
    op = value.owner
    assert isinstance(op, TensorOp)
    if isinstance(op, UnpackBitsOp):
        return op.bits
    if isinstance(following := op.next_op, PackBitsOp) and following.mask is value:
        return following.bits
    block = op.parent
    assert block is not None
    made = PackBitsOp.of([value])
    made.location = op.location
    block.insert_op_after(made, op)
    made.bits.name_hint = f"{value.name_hint}_bits" if value.name_hint else None
    return made.bits


def from_bits(bits: SSAValue, value: SSAValue, emitter: Emitter) -> SSAValue:
    """The value of these bits."""
    [made] = emitter.insert(UnpackBitsOp.of([bits], [value.type])).results
    made.name_hint = value.name_hint
    return made
