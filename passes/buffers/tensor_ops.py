"""gradir-bufferize: the ops of the `tensor` dialect, as loads, stores and windows of buffers.

An insertion happens in place where nobody reads the tensor any more, else in a copy. A slice of
elements that lie together is a window; what computes a slice that is inserted writes to its window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from gradir.dialects.base.attributes import integers_of
from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.diagnostics import PassError, location_text
from gradir.dialects.base.shapes import is_float, shape_of
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp, WindowOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import CheckIndexOp
from gradir.passes.analysis.region_ops import is_loop
from gradir.passes.analysis.tensor_slices import Slice, is_contiguous
from gradir.passes.buffers.state import BufferState, buffer_type, is_window, root_of


def bufferize_host_call(s: BufferState, op: HostCallOp) -> None:
    """Results that nobody reads get no buffer, but for calls that only start."""
    inputs = [s.values[o] for o in op.inputs]
    buffers: dict[OpResult, SSAValue] = {}
    unread: dict[int, Attribute] = {}
    for k, result in enumerate(op.results):
        if result.first_use is None and not op.is_started:
            unread[k] = buffer_type(result.type)
        else:
            buffers[result] = _fresh(s, op, result, [*buffers.values()])
    message = f"{location_text(op)}{op.name} @{op.callee.data}"
    outputs = [*buffers.values()]
    made = HostInvokeOp(op.callee, inputs, outputs, message, op.of, unread, op.exec)
    s.emit(made, op)
    for result, buffer in buffers.items():
        s.place(result, buffer)


def _fresh(s: BufferState, op: Operation, result: OpResult, taken: Sequence[SSAValue]) -> SSAValue:
    """A buffer for a result beside others."""
    claimed = s.destinations.get(result)
    if claimed is not None and root_of(claimed) not in map(root_of, taken):
        if not is_window(claimed) and s.is_free_before(claimed, op):
            return claimed
    return s.alloc(result.type, op, result.name_hint)


def bufferize_extract(s: BufferState, op: tensor.ExtractOp) -> None:
    if _fails_for_lack_of_elements(s, op, op.tensor, op.indices):
        s.values[op.result] = s.emit(_zero(op.result.type), op).results[0]
        return
    indices = _checked_indices(s, op, shape_of(op.tensor.type), op.indices)
    load = s.emit(memref.LoadOp.get(s.values[op.tensor], indices), op)
    s.values[op.result] = load.results[0]
    load.results[0].name_hint = op.result.name_hint


def bufferize_insert(s: BufferState, op: tensor.InsertOp) -> None:
    buffer = _updated(s, op, op.dest, op.result)
    if _fails_for_lack_of_elements(s, op, op.dest, op.indices):
        s.place(op.result, buffer)
        return
    indices = _checked_indices(s, op, shape_of(op.dest.type), op.indices)
    s.emit(memref.StoreOp.get(s.values[op.scalar], buffer, indices), op)
    s.place(op.result, buffer)


def _updated(s: BufferState, op: Operation, dest: SSAValue, result: OpResult) -> SSAValue:
    """The buffer in which `dest` is updated: its own if it dies, else a copy."""
    source = s.values[dest]
    if s.is_free(source, op):
        return source
    buffer = s.alloc_for(result, op)
    if not isinstance(dest.owner, tensor.EmptyOp):
        s.copy(source, buffer)
    return buffer


def bufferize_empty(s: BufferState, op: tensor.EmptyOp) -> None:
    s.place(op.tensor, s.alloc_for(op.results[0], op))


def bufferize_from_elements(s: BufferState, op: tensor.FromElementsOp) -> None:
    """Rank 0: a slot that each thread has for itself, so that no thread waits for another."""
    type_ = buffer_type(op.result.type)
    result = op.results[0]
    if shape_of(type_) == () and not _is_carried(result):
        buffer = s.emit(memref.AllocaOp.get(type_.element_type, None, []), op).results[0]
        buffer.name_hint = result.name_hint
    else:
        buffer = s.alloc_for(result, op)
    for k, element in enumerate(op.elements):
        indices = [_constant(s, op, i) for i in _unravel(k, shape_of(type_))]
        s.emit(memref.StoreOp.get(s.values[element], buffer, indices), op)
    s.place(result, buffer)


def _is_carried(value: OpResult) -> bool:
    """Better made in the buffer where it ends up."""
    return any(use.operation.next_op is None or is_loop(use.operation) for use in value.uses)


def bufferize_dim(s: BufferState, op: tensor.DimOp) -> None:
    axis = constant_integer(op.index)
    shape = shape_of(op.source.type)
    if axis is None or not 0 <= axis < len(shape):
        raise PassError(f"tensor.dim: native code needs a constant axis below {len(shape)}", op)
    s.values[op.result] = _constant(s, op, shape[axis])


def bufferize_extract_slice(s: BufferState, op: tensor.ExtractSliceOp) -> None:
    window = _window(s, op, s.values[op.source], op.source.type, op.result.type)
    s.place(op.result, window, beside=True)


def bufferize_insert_slice(s: BufferState, op: tensor.InsertSliceOp) -> None:
    if op in s.windows:
        # computed in its place
        s.place(op.result, s.values[op.dest])
        return
    source = s.values[op.source]
    overlaps = root_of(source) is root_of(s.values[op.dest])
    buffer = _updated(s, op, op.dest, op.result)
    if overlaps and root_of(source) is root_of(buffer):
        aside = s.alloc(op.source.type, op, "aside")
        s.copy(source, aside)
        source = aside
    s.copy(source, _window(s, op, buffer, op.dest.type, op.source.type))
    s.place(op.result, buffer)


def window_for(s: BufferState, op: Operation, result: OpResult) -> SSAValue | None:
    """The place of a result of `op` that is only inserted into a tensor, if it can be computed
    there: nobody else reads that tensor from `op` on, and the place is known."""
    uses = list(result.uses)
    insertion = uses[0].operation if len(uses) == 1 else None
    if not isinstance(insertion, tensor.InsertSliceOp) or insertion.parent is not op.parent:
        return None
    if insertion.source is not result or not is_contiguous(insertion):
        return None
    buffer = s.values.get(insertion.dest)
    scalars = (*insertion.offsets, *insertion.sizes, *insertion.strides)
    if buffer is None or not all(v in s.values for v in scalars):
        return None
    reads = {root_of(s.values[v]) for v in op.operands if v in s.values}
    if root_of(buffer) in reads or not s.is_free(buffer, insertion):
        return None
    for value in s.holders(buffer):
        users = {use.operation for use in value.uses} - {insertion}
        if any(s.live.first(user) > s.live.first(op) for user in users):
            return None
    window = _window(s, insertion, buffer, insertion.dest.type, result.type)
    s.windows.add(insertion)
    return window


# Slices.


def _window(s: BufferState, op: Slice, buffer: SSAValue, whole: Any, part: Any) -> SSAValue:
    """The window of a contiguous slice."""
    if not is_contiguous(op):
        raise PassError(
            f"{op.name}: native code needs elements that lie together; run gradir-lower first", op
        )
    shape = shape_of(whole)
    dynamic = iter(op.offsets)
    offset: SSAValue | None = None
    rows = zip(shape, integers_of(op.static_offsets), integers_of(op.static_sizes), strict=True)
    for axis, (extent, start, size) in enumerate(rows):
        step = prod(shape[axis + 1 :])
        if start == DYNAMIC_INDEX:
            term = _checked(s, op, next(dynamic), extent - size + 1)
        elif start:
            term = _constant(s, op, start)
        else:
            continue
        if step != 1:
            term = s.emit(arith.MuliOp(term, _constant(s, op, step)), op).results[0]
        offset = term if offset is None else s.emit(arith.AddiOp(offset, term), op).results[0]
    at = _constant(s, op, 0) if offset is None else offset
    return s.emit(WindowOp(buffer, at, buffer_type(part)), op).results[0]


# Indices.


def _fails_for_lack_of_elements(
    s: BufferState, op: Operation, whole: SSAValue, indices: Sequence[SSAValue]
) -> bool:
    """Whether a tensor has no elements; then a check that fails stands for the access.

    It fails where it runs, not here: the op may be in a loop over no rows.
    """
    shape = shape_of(whole.type)
    if 0 not in shape:
        return False
    _checked(s, op, indices[shape.index(0)], 0)
    return True


def _checked_indices(
    s: BufferState, op: Operation, shape: Sequence[int], indices: Sequence[SSAValue]
) -> list[SSAValue]:
    return [_checked(s, op, i, n) for i, n in zip(indices, shape, strict=True)]


def _checked(s: BufferState, op: Operation, index: SSAValue, bound: int) -> SSAValue:
    """An index that is known to be in [0, bound), or is checked when it is used."""
    ours = s.values[index]
    if _is_below(index, bound):
        return ours
    message = f"{location_text(op)}{op.name}"
    return s.emit(CheckOffsetOp(ours, bound, message), op).results[0]


def _is_below(index: SSAValue, bound: int) -> bool:
    """A constant, an induction variable with constant bounds, or an index checked before."""
    number = constant_integer(index)
    if number is not None:
        return 0 <= number < bound
    if isinstance(cast := index.owner, arith.IndexCastOp):
        checked = cast.input.owner
        return isinstance(checked, CheckIndexOp) and checked.bound.value.data <= bound
    loop = index.owner.parent_op() if isinstance(index, BlockArgument) else None
    if not isinstance(loop, scf.ForOp) or loop.body.block.args[0] is not index:
        return False
    low, high = constant_integer(loop.lb), constant_integer(loop.ub)
    return low is not None and high is not None and 0 <= low and high <= bound


def _zero(type_: Attribute) -> arith.ConstantOp:
    if is_float(type_):
        return arith.ConstantOp(FloatAttr(0.0, type_))
    assert isinstance(type_, IntegerType | IndexType)
    return arith.ConstantOp(IntegerAttr(0, type_))


def _constant(s: BufferState, op: Operation, number: int) -> SSAValue:
    return s.emit(arith.ConstantOp(IntegerAttr(number, IndexType())), op).results[0]


def _unravel(position: int, shape: Sequence[int]) -> list[int]:
    indices: list[int] = []
    for extent in reversed(shape):
        position, index = divmod(position, extent)
        indices.append(index)
    return indices[::-1]


BUFFERIZERS: dict[type[Operation], Callable[[BufferState, Any], None]] = {
    HostCallOp: bufferize_host_call,
    tensor.ExtractOp: bufferize_extract,
    tensor.InsertOp: bufferize_insert,
    tensor.EmptyOp: bufferize_empty,
    tensor.FromElementsOp: bufferize_from_elements,
    tensor.DimOp: bufferize_dim,
    tensor.ExtractSliceOp: bufferize_extract_slice,
    tensor.InsertSliceOp: bufferize_insert_slice,
}
