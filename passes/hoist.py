"""gradir-hoist: ops in loops that compute the same in every iteration move out of the loop.

What may fail at run time (an index check) and what has effects stays, and so does what is free
inside: constants of one number.
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
from xdsl.traits import IsTerminator, is_side_effect_free

from gradir.dialects.interfaces import TensorOp
from gradir.dialects.window import CheckOffsetOp
from gradir.passes.liveness import LOOPS, all_operands, flow_blocks, is_control_flow


def hoist(module: ModuleOp) -> None:
    """Move loop invariants out of all loops, from the innermost ones outwards."""
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            for block in function.body.blocks:
                for inner in flow_blocks(block):
                    for op in list(inner.ops):
                        if isinstance(op, LOOPS):
                            _hoist_from(op)


def _hoist_from(loop: Operation) -> None:
    """Move the invariants of one loop in front of it."""
    home = loop.parent
    assert home is not None
    inside: set[SSAValue] = set()
    for block in _blocks(loop):
        inside.update(block.args)
        inside.update(result for op in block.ops for result in op.results)
    for block in _blocks(loop):
        for op in list(block.ops):
            if _may_move(op) and not _reads(op, inside):
                op.detach()
                home.insert_op_before(op, loop)
                inside.difference_update(op.results)


def _blocks(loop: Operation) -> Iterator[Block]:
    for region in loop.regions:
        yield from region.blocks


def _reads(op: Operation, values: set[SSAValue]) -> bool:
    return any(operand in values for operand in all_operands(op))


def _may_move(op: Operation) -> bool:
    """Runs as well outside, where it may run though the loop does not, and gains by it."""
    if isinstance(op, arith.ConstantOp) or op.has_trait(IsTerminator):
        return False
    inner = list(op.walk()) if is_control_flow(op) else [op]
    if any(isinstance(each, LOOPS) for each in inner):
        # might not end
        return False
    return all(map(_is_harmless, inner))


def _is_harmless(op: Operation) -> bool:
    if isinstance(op, TensorOp) and op.CHECKS_INDICES:
        return False
    if isinstance(op, CheckOffsetOp | tensor.ExtractOp | tensor.InsertOp):
        return False
    if isinstance(op, tensor.ExtractSliceOp | tensor.InsertSliceOp | tensor.EmptyOp):
        return False
    return is_control_flow(op) or op.has_trait(IsTerminator) or is_side_effect_free(op)


@dataclass(frozen=True)
class HoistPass(ModulePass):
    """Move loop invariants out of loops."""

    name = "gradir-hoist"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        hoist(op)
