"""tensor.pad, concat, expand_shape, collapse_shape and reshape as ops of `array`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    i1,
)
from xdsl.ir import Operation, SSAValue

from gradir.dialects.array.comparison import WhereOp
from gradir.dialects.array.movement import ReshapeOp
from gradir.dialects.array.slicing import ConcatOp, PadOp
from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.op_rules import register_decomposition
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.base.shapes import tensor as tensor_type
from gradir.dialects.base.value import Value


def _reshaped(op: Operation, x: Value, *shape: Value) -> Sequence[Value]:
    del shape  # the result's type says it
    return [ReshapeOp.on(x, type=op.results[0].type)]


def _concat(op: tensor.ConcatOp, *operands: Value) -> Sequence[Value]:
    if len(operands) == 1:
        return [operands[0]]
    return [ConcatOp.on(*operands, axis=op.dim.value.data)]


def _pad(op: tensor.PadOp, x: Value, *widths: Value) -> Sequence[Value]:
    """A number around x: of the body, or from around it."""
    del widths
    low, high = (_constants(op, static) for static in (op.static_low, op.static_high))
    block = op.region.block
    number = block.last_op.operands[0]  # pyrefly: ignore
    owner = number.owner
    value = owner.value if isinstance(owner, arith.ConstantOp) else None
    if isinstance(value, FloatAttr | IntegerAttr):
        return [PadOp.on(x, low=low, high=high, value=value.value.data)]
    if (isinstance(owner, Operation) and owner.parent is block) or number in block.args:
        raise PassError("tensor.pad: the body must yield a number from around it", op)
    return [_padded(x, low, high, number)]


def _padded(x: Value, low: Sequence[int], high: Sequence[int], number: SSAValue) -> Value:
    """x with a number around it that is known at run time."""
    emitter = x.emitter
    wide = PadOp.on(x, low=list(low), high=list(high), value=0)
    around = emitter.insert(tensor.SplatOp(number, [], wide.type)).result
    truth: Any = tensor_type(shape_of(x.type), i1)
    inside = emitter.insert(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(truth, [1])))
    mask = PadOp.on(emitter.value(inside.result), low=list(low), high=list(high), value=0)
    return WhereOp.on(mask, wide, emitter.value(around))


def _constants(op: Operation, numbers: DenseArrayBase) -> list[int]:
    found = list(integers_of(numbers))
    if DYNAMIC_INDEX in found or any(n < 0 for n in found):
        raise PassError(f"{op.name}: widths must be constants and not negative, got {found}", op)
    return found


for _kind in (tensor.ExpandShapeOp, tensor.CollapseShapeOp, tensor.ReshapeOp):
    register_decomposition(_kind, _reshaped)
register_decomposition(tensor.ConcatOp, _concat)
register_decomposition(tensor.PadOp, _pad)
