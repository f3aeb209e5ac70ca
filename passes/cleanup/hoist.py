"""gradir-hoist: loop-invariant ops move out of their loops.

Ops that may fail at run time (index checks) or have effects stay, and so do checkpoint stages and
constants of one number, which are free inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from gradir.dialects.base.constants import constant_integer
from gradir.dialects.base.interfaces import TensorOp, is_terminator
from gradir.dialects.base.shapes import is_tensor, shape_of
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.loopnest.buffer_ops import CheckOffsetOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import CheckIndexOp, LoopOp
from gradir.passes.analysis.liveness import all_operands, flow_blocks, is_control_flow
from gradir.passes.analysis.region_ops import is_loop


def hoist(module: ModuleOp) -> None:
    """Move loop invariants out of all loops, from the innermost ones outwards."""
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            for block in function.body.blocks:
                for inner in flow_blocks(block):
                    for op in list(inner.ops):
                        if is_loop(op):
                            _hoist_from(op)


def _hoist_from(loop: Operation) -> None:
    """Move the invariants of one loop in front of it."""
    home = loop.parent
    assert home is not None
    inside: set[SSAValue] = set()
    for block in _blocks(loop):
        inside.update(block.args)
        inside.update(result for op in block.ops if not _is_number(op) for result in op.results)
    for block in _blocks(loop):
        for op in list(block.ops):
            if _may_move(op) and not _reads(op, inside):
                for operand in all_operands(op):
                    # a constant stays, and is copied for hoisted readers
                    _bring_out(operand, op, loop)
                op.detach()
                home.insert_op_before(op, loop)
                inside.difference_update(op.results)


def _is_number(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp) and not is_tensor(op.result.type)


def _bring_out(value: SSAValue, op: Operation, loop: Operation) -> None:
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp) or not _is_number(constant):
        return
    if constant.parent is not op.parent:
        return
    copy = constant.clone()
    copy.location = constant.location
    home = loop.parent
    assert home is not None
    home.insert_op_before(copy, loop)
    for use in list(value.uses):
        if use.operation is op or _is_around(op, use.operation):
            use.operation.operands[use.index] = copy.result


def _is_around(op: Operation, inner: Operation) -> bool:
    place: Operation | None = inner
    while place is not None and place is not op:
        place = place.parent_op()
    return place is op


def _blocks(loop: Operation) -> Iterator[Block]:
    for region in loop.regions:
        yield from region.blocks


def _reads(op: Operation, values: set[SSAValue]) -> bool:
    return any(operand in values for operand in all_operands(op))


def _may_move(op: Operation) -> bool:
    """Whether a move pays, and is safe where the loop never runs."""
    if _is_number(op) or isinstance(op, CheckpointOp) or is_terminator(op):
        return False
    inner = list(op.walk()) if is_control_flow(op) else [op]
    if any(is_loop(each) for each in inner):
        # it might not end
        return False
    return all(map(_is_harmless, inner))


def _is_harmless(op: Operation) -> bool:
    if isinstance(op, TensorOp) and op.CHECKS_INDICES:
        return False
    if isinstance(op, LoopOp | ForallOp):
        return not any(isinstance(inner, CheckIndexOp) for inner in op.walk())
    if isinstance(op, tensor.ExtractOp):
        shape = shape_of(op.tensor.type)
        return all(_is_inside(i, n) for i, n in zip(op.indices, shape, strict=True))
    if isinstance(op, CheckOffsetOp | CheckIndexOp | tensor.InsertOp):
        return False
    if isinstance(op, tensor.ExtractSliceOp | tensor.InsertSliceOp | tensor.EmptyOp):
        return False
    return is_control_flow(op) or is_terminator(op) or is_side_effect_free(op)


def _is_inside(index: SSAValue, extent: int) -> bool:
    number = constant_integer(index)
    return number is not None and 0 <= number < extent


@dataclass(frozen=True)
class HoistPass(ModulePass):
    """Move loop invariants out of loops."""

    name = "gradir-hoist"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        hoist(op)
