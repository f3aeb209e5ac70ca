"""Facts about tensor.extract_slice and tensor.insert_slice."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.shapes import shape_of

Slice: TypeAlias = tensor.ExtractSliceOp | tensor.InsertSliceOp


def whole_and_part(op: Slice) -> tuple[Attribute, Attribute]:
    """The types of the whole tensor and of the slice."""
    if isinstance(op, tensor.ExtractSliceOp):
        return op.source.type, op.result.type
    return op.dest.type, op.source.type


def kept_dims(op: Slice) -> dict[int, int]:
    """The part's dimension for each of the whole's; dropped ones of size 1 are absent."""
    _, part = whole_and_part(op)
    shape, kept = shape_of(part), dict[int, int]()
    for axis, size in enumerate(integers_of(op.static_sizes)):
        if len(kept) < len(shape) and shape[len(kept)] == size:
            kept[axis] = len(kept)
    return kept


def is_contiguous(op: Slice) -> bool:
    """Whether the elements are contiguous: ones, then a part of a dimension, then whole ones."""
    whole, _ = whole_and_part(op)
    offsets, sizes, strides = (
        integers_of(p) for p in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    if DYNAMIC_INDEX in sizes:
        return False
    partial = False
    for extent, offset, size, stride in zip(shape_of(whole), offsets, sizes, strides, strict=True):
        if partial and not (offset == 0 and size == extent and stride == 1):
            return False
        if size != 1:
            partial = True
            if stride != 1:
                return False
    return True
