"""Control flow and the `tensor` ops of the interpreter.

`REGION_OPS` maps each op with regions to a generator: it yields the next block and its arguments,
is sent the operands of the block's terminator, and returns the op's results. So the interpreter
needs no Python recursion for nested regions. `TENSOR_OPS` has the meanings of views and of the ops
of the `tensor` dialect on arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase
from xdsl.ir import Block, Operation, Region

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.diagnostics import LocatedError, location_text
from gradir.dialects.base.shapes import element_of, shape_of
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.loopnest.loopnest import BarrierOp, ReshapeOp, ViewOp
from gradir.errors import ExecutionError, IndexOutOfRange
from gradir.interpreter.tape import require_room
from gradir.passes.analysis.region_flow import records_made
from gradir.passes.analysis.region_ops import BRANCH_OPS, chosen_region
from gradir.runtime.arrays import dtype_of

Array = np.ndarray[Any, np.dtype[Any]]
Values: TypeAlias = Sequence[Any]
Steps: TypeAlias = Generator[tuple[Block, Values], Values, Values]
"""A running region op: yields a block and its arguments, gets the terminator's operands."""


def _only_block(region: Region, op: Operation) -> Block:
    first = region.first_block
    if first is None or first.next_block is not None:
        raise LocatedError(
            f"{op.name}: a region must have one block; write branches and loops with scf", op
        )
    return first


def _branch(op: Operation, operands: Values) -> Steps:
    region = chosen_region(op, int(operands[0]))
    if region.first_block is None and not op.results:
        return ()
    return (yield _only_block(region, op), ())


def _for(op: scf.ForOp, operands: Values) -> Steps:
    low, high, step = (int(bound) for bound in operands[:3])
    if step <= 0:
        raise ExecutionError(f"{location_text(op)}scf.for: step must be positive, got {step}")
    dtype, carried = operands[0].dtype, operands[3:]
    block = _only_block(op.body, op)
    for k, push in records_made(op):
        require_room(push, carried[k], max(-((low - high) // step), 0))
    for index in range(low, high, step):
        carried = yield block, (np.array(index, dtype), *carried)
    return carried


def _while(op: scf.WhileOp, operands: Values) -> Steps:
    before, after = _only_block(op.before_region, op), _only_block(op.after_region, op)
    carried = operands
    while True:
        condition, *passed = yield before, carried
        if not condition:
            return passed
        carried = yield after, passed


def _execute_region(op: scf.ExecuteRegionOp, operands: Values) -> Steps:
    del operands
    return (yield _only_block(op.region, op), ())


def _checkpoint(op: CheckpointOp, operands: Values) -> Steps:
    del operands
    return (yield op.body.block, ())


REGION_OPS: dict[type[Operation], Callable[[Any, Values], Steps]] = {
    **dict.fromkeys(BRANCH_OPS, _branch),
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.ExecuteRegionOp: _execute_region,
    CheckpointOp: _checkpoint,
}


# The `tensor` dialect. An index out of range, undefined in MLIR, is an error.


def _subscripts(op: Operation, shape: Sequence[int], indices: Values) -> tuple[int, ...]:
    """The indices as numbers; IndexOutOfRange for one out of range."""
    numbers = tuple(int(i) for i in indices)
    if len(numbers) != len(shape):
        raise LocatedError(f"{op.name}: {len(shape)} indices expected, got {len(numbers)}", op)
    for number, size in zip(numbers, shape, strict=True):
        if not 0 <= number < size:
            raise IndexOutOfRange(
                f"{location_text(op)}{op.name}: index {number} is out of range for a size of {size}"
            )
    return numbers


def _extract(op: tensor.ExtractOp, operands: Values) -> Any:
    source = operands[0]
    return source[_subscripts(op, source.shape, operands[1:])]


def _insert(op: tensor.InsertOp, operands: Values) -> Any:
    result = np.array(operands[1])
    result[_subscripts(op, result.shape, operands[2:])] = operands[0]
    return result


def _mixed(static: DenseArrayBase[Any], dynamic: Values) -> list[int]:
    """Static numbers, with the operands where one is dynamic."""
    rest = iter(dynamic)
    return [int(next(rest)) if n == DYNAMIC_INDEX else n for n in integers_of(static)]


def _slices(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, shape: Sequence[int], operands: Values
) -> tuple[slice, ...]:
    """The part of a tensor in a slice op; all of it must be inside."""
    first, second = len(op.offsets), len(op.offsets) + len(op.sizes)
    offsets = _mixed(op.static_offsets, operands[:first])
    sizes = _mixed(op.static_sizes, operands[first:second])
    strides = _mixed(op.static_strides, operands[second:])
    result: list[slice] = []
    for extent, offset, size, stride in zip(shape, offsets, sizes, strides, strict=True):
        if stride <= 0:
            raise ExecutionError(f"{location_text(op)}{op.name}: strides must be positive")
        last = offset + (size - 1) * stride
        if size > 0 and not (0 <= offset < extent and 0 <= last < extent):
            outside = last if 0 <= offset < extent else offset
            raise IndexOutOfRange(
                f"{location_text(op)}{op.name}: index {outside} is out of range for a size of "
                f"{extent}"
            )
        result.append(slice(offset, last + 1, stride) if size else slice(0, 0))
    return tuple(result)


def _extract_slice(op: tensor.ExtractSliceOp, operands: Values) -> Any:
    source = operands[0]
    return source[_slices(op, source.shape, operands[1:])].reshape(shape_of(op.result.type))


def _insert_slice(op: tensor.InsertSliceOp, operands: Values) -> Any:
    source, result = operands[0], np.array(operands[1])
    place = _slices(op, result.shape, operands[2:])
    result[place] = source.reshape(result[place].shape)
    return result


def _empty(op: tensor.EmptyOp, operands: Values) -> Any:
    """Values that are conspicuous when read: nan, an index out of range, or true."""
    del operands
    dtype = dtype_of(element_of(op.tensor.type))
    if dtype.kind in "iu":
        return np.full(shape_of(op.tensor.type), np.iinfo(dtype).max, dtype)
    return np.full(shape_of(op.tensor.type), np.nan).astype(dtype)


def _from_elements(op: tensor.FromElementsOp, operands: Values) -> Any:
    return np.stack(operands).reshape(shape_of(op.result.type))


def _splat(op: tensor.SplatOp, operands: Values) -> Any:
    return np.broadcast_to(operands[0], shape_of(op.result.type))


def _dim(op: tensor.DimOp, operands: Values) -> Any:
    shape = operands[0].shape
    (axis,) = _subscripts(op, (len(shape),), operands[1:])
    return shape[axis]


def _cast(op: tensor.CastOp, operands: Values) -> Any:
    # dynamic extents are checked against the declared ones
    return operands[0]


def _viewed(op: ViewOp, operands: Values) -> Any:
    return operands[0].reshape(shape_of(op.result.type))


TENSOR_OPS: dict[type[Operation], Callable[[Any, Values], Any]] = {
    ReshapeOp: _viewed,
    BarrierOp: _viewed,
    tensor.CastOp: _cast,
    tensor.ExtractOp: _extract,
    tensor.InsertOp: _insert,
    tensor.ExtractSliceOp: _extract_slice,
    tensor.InsertSliceOp: _insert_slice,
    tensor.EmptyOp: _empty,
    tensor.FromElementsOp: _from_elements,
    tensor.SplatOp: _splat,
    tensor.DimOp: _dim,
}


def tensor_value(op: Operation, operands: Values) -> Any:
    """The result of an op of `TENSOR_OPS`."""
    return TENSOR_OPS[type(op)](op, operands)
