"""gradir-sum-slices: a sum of a tensor and a part in zeros becomes a sum on that part.

    %z = grad.zero : tensor<100x3xf64>
    %p = tensor.insert_slice %row into %z[%i, 0] [1, 3] [1, 1] : ...
    %y = grad.accumulate %sum, %p : tensor<100x3xf64>

becomes an extract_slice of %sum, a sum of two rows, and an insert_slice into %sum, in place in
native code: a loop that contributes a row per step costs a row per step. The elements beside the
part keep their bits: x + 0 is x for all x but -0, and sums that began at 0 are never -0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from gradir.dialects.array.creation import FullOp
from gradir.dialects.array.dynamic_slices import DynamicSliceOp, DynamicUpdateSliceOp
from gradir.dialects.base.attributes import splat_number
from gradir.dialects.base.shapes import shape_of
from gradir.dialects.foreign.elements import dense_of
from gradir.dialects.grad.grad import AccumulateOp, is_zero
from gradir.passes.analysis.edits import replace_results
from gradir.passes.analysis.region_ops import slot_of
from gradir.passes.cleanup.dead_code import blocks_inside_out

Part = tensor.InsertOp | tensor.InsertSliceOp | DynamicUpdateSliceOp

# The most values that are searched for a proof that a sum began at 0.
MOST_VALUES = 1000


def sum_slices(module: ModuleOp) -> None:
    """Add parts in place of whole tensors, in every block."""
    for block in blocks_inside_out(module):
        for op in list(block.ops):
            if isinstance(op, AccumulateOp):
                _sum(block, op)


def _sum(block: Block, op: AccumulateOp) -> None:
    parts = [_part_of(x, op) for x in op.xs]
    wholes = [k for k, part in enumerate(parts) if part is None]
    # with the tensor second, the sum of it and the first part is the same either way round
    if len(wholes) != 1 or wholes[0] > 1 or len(parts) < 2:
        return
    total = op.xs[wholes[0]]
    if not _began_at_zero(total):
        return
    for part in parts:
        if part is not None:
            total = _added(block, op, total, part)
    total.name_hint = op.y.name_hint
    replace_results(op, [total])


def _part_of(value: SSAValue, reader: Operation) -> Part | None:
    """The op that inserts a part into zeros, for this reader alone; None for other values."""
    op = value.owner
    if not isinstance(op, Part) or {use.operation for use in value.uses} != {reader}:
        return None
    if len(list(value.uses)) != 1 or op.parent is not reader.parent:
        return None
    whole = op.x if isinstance(op, DynamicUpdateSliceOp) else op.dest
    return op if _is_zero(whole) else None


def _added(block: Block, op: Operation, total: SSAValue, part: Part) -> SSAValue:
    """`total` with a part added to it."""

    def emit(made: Operation) -> SSAValue:
        made.location = op.location
        block.insert_op_before(made, op)
        return made.results[0]

    match part:
        case tensor.InsertOp():
            element = emit(tensor.ExtractOp(total, part.indices, part.scalar.type))
            summed = emit(arith.AddfOp(element, part.scalar))
            return emit(tensor.InsertOp(summed, total, part.indices))
        case tensor.InsertSliceOp():
            places = part.operands[2:]
            sizes = dict(part.properties) | {"operandSegmentSizes": _segments(part)}
            slice_ = tensor.ExtractSliceOp.create(
                operands=[total, *places], result_types=[part.source.type], properties=sizes
            )
            summed = emit(AccumulateOp.of([emit(slice_), part.source]))
            made = tensor.InsertSliceOp.create(
                operands=[summed, total, *places],
                result_types=[total.type],
                properties=part.properties,
            )
            return emit(made)
        case _:
            sizes = list(shape_of(part.update.type))
            slice_ = DynamicSliceOp.of([total, *part.starts], sizes=sizes)
            summed = emit(AccumulateOp.of([emit(slice_), part.update]))
            return emit(DynamicUpdateSliceOp.of([total, summed, *part.starts]))


def _segments(part: tensor.InsertSliceOp) -> Attribute:
    """The operand segments of an extraction of the same slice."""
    counts = [1, len(part.offsets), len(part.sizes), len(part.strides)]
    return DenseArrayBase.from_list(i32, counts)


# Zeros.


def _is_zero(value: SSAValue) -> bool:
    """Whether every element is 0, not -0."""
    op = value.owner
    if isinstance(op, FullOp):
        return str(float(op.number)) == "0.0"
    if isinstance(op, Operation) and (dense := dense_of(op)) is not None:
        return str(splat_number(dense)) == "0.0"
    return is_zero(value)


def _began_at_zero(value: SSAValue) -> bool:
    """Whether no element is ever -0: zeros, and sums on them, also around loops.

    Carried values are assumed to be so during the proof: induction.
    """
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in seen or _is_zero(value):
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None or len(seen) > MOST_VALUES:
            return False
        pending += sources
    return True


def _sources(value: SSAValue) -> Sequence[SSAValue] | None:
    """The values that must have no -0 for this one to have none; None if that is unknown."""
    if (slot := slot_of(value)) is not None:
        return [entry.value for entry in slot.entries]
    if isinstance(value, BlockArgument):
        return None
    assert isinstance(value, OpResult)
    op = value.owner
    count = _READS.get(type(op))
    return None if count is None else list(op.operands[:count])


# Ops without -0 where their first operands have none. For a sum one such operand is enough: the
# accumulated one, which stands first.
_READS: dict[type[Operation], int] = {
    tensor.InsertOp: 2,
    tensor.InsertSliceOp: 2,
    DynamicUpdateSliceOp: 2,
    tensor.ExtractOp: 1,
    tensor.ExtractSliceOp: 1,
    DynamicSliceOp: 1,
    AccumulateOp: 1,
    arith.AddfOp: 1,
}


@dataclass(frozen=True)
class SumSlicesPass(ModulePass):
    """Add parts in zeros to the same part of a sum."""

    name = "gradir-sum-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sum_slices(op)
