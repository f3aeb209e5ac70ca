"""Facts about ops that read or write a part of a tensor, and about the integers that say where.

Parts are boxes: a slice, a row, an element. Starts are integers or values, one for each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.array.comparison import LessOp, WhereOp
from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.array.elementwise import AddOp, SubtractOp
from gradir.dialects.array.gather_scatter import IndexUpdateOp
from gradir.dialects.array.indexing import ScatterAddOp, TakeOp
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.shapes import element_of, is_float, is_tensor, shape_of
from gradir.dialects.grad.grad import ZeroOp


@dataclass(frozen=True)
class TensorPart:
    """A part of a tensor: where it begins, and how long it is, along each axis."""

    starts: Sequence[SSAValue | int]
    sizes: Sequence[int]


def part_read(op: Operation) -> TensorPart | None:
    """The part of its first operand that an op's result is; None for other ops."""
    match op:
        case DynamicSliceOp():
            return TensorPart(op.starts, shape_of(op.y.type))
        case TakeOp():
            return _at_index(op)
        case tensor.ExtractSliceOp():
            return _slice(op)
        case tensor.ExtractOp():
            return TensorPart(op.indices, [1] * len(op.indices))
        case _:
            return None


def part_written(op: Operation) -> tuple[SSAValue, TensorPart] | None:
    """A tensor and the part of it that an op's result has not; None for other ops."""
    match op:
        case DynamicUpdateSliceOp():
            return op.x, TensorPart(op.starts, shape_of(op.update.type))
        case IndexUpdateOp() | ScatterAddOp():
            part = _at_index(op)
            return None if part is None else (op.x, part)
        case tensor.InsertSliceOp():
            part = _slice(op)
            return None if part is None else (op.dest, part)
        case tensor.InsertOp():
            return op.dest, TensorPart(op.indices, [1] * len(op.indices))
        case _:
            return None


def _at_index(op: TakeOp | IndexUpdateOp | ScatterAddOp) -> TensorPart | None:
    """The part at one index; None of several."""
    if shape_of(op.indices.type):
        return None
    shape, axis = shape_of(op.x.type), op.axis
    starts = [op.indices if d == axis else 0 for d in range(len(shape))]
    return TensorPart(starts, [1 if d == axis else n for d, n in enumerate(shape)])


def _slice(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> TensorPart | None:
    strides, sizes = integers_of(op.static_strides), integers_of(op.static_sizes)
    if DYNAMIC_INDEX in sizes or any(stride != 1 for stride in strides):
        return None
    given, fixed = iter(op.offsets), integers_of(op.static_offsets)
    return TensorPart([next(given) if n == DYNAMIC_INDEX else n for n in fixed], sizes)


def constant_part(whole: SSAValue, type_: Attribute) -> Operation | None:
    """An op that makes a part, of a tensor type, of a tensor of equal elements; None of others."""
    op = whole.owner
    if not isinstance(op, FullOp | ZeroOp):
        return None
    return type(op).create(result_types=[type_], attributes=op.attributes)


# Integers.


def known_integer(value: SSAValue) -> int | None:
    """A constant integer, or the element of a constant tensor of rank 0."""
    op = value.owner
    if isinstance(op, FullOp) and not shape_of(op.y.type) and not is_float(element_of(op.y.type)):
        return int(op.number)
    return None if is_tensor(value.type) else constant_integer(value)


def same_integer(op: Operation) -> SSAValue | None:
    """The operand that an op only converts; None for other ops."""
    is_conversion = isinstance(op, arith.IndexCastOp | arith.ExtSIOp | tensor.FromElementsOp)
    return op.operands[0] if is_conversion and len(op.operands) == 1 else None


def signed_sum(op: Operation) -> tuple[SSAValue, SSAValue, int] | None:
    """x, y and 1 for x + y, and -1 for x - y; None for other ops."""
    match op:
        case arith.AddiOp() | AddOp():
            return op.lhs, op.rhs, 1
        case arith.SubiOp() | SubtractOp():
            return op.lhs, op.rhs, -1
        case _:
            return None


def index_from_start(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """i and j of where(i < 0, ..., j): an index that may count from the end; None for others."""
    match op:
        case WhereOp(operands=[condition, _, other]) if isinstance(condition.owner, LessOp):
            index, zero = condition.owner.operands
            return (index, other) if known_integer(zero) == 0 else None
        case _:
            return None
