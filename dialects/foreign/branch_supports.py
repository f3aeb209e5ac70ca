"""The supports of results of scf.if: zeros of the branch that was not taken."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.array.comparison import chosen_support
from gradir.dialects.array.movement import BroadcastToOp
from gradir.dialects.base.op_rules import register_support
from gradir.dialects.base.shapes import is_tensor, shape_of, tensor
from gradir.dialects.base.support import NOWHERE, Mask, Supports
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.foreign.elements import as_tensor


def _support(op: scf.IfOp, number: int, of: Supports) -> Mask | None:
    ends = [region.block.last_op for region in op.regions if region.blocks]
    if len(ends) < 2:
        return None
    masks = [_support_outside(end.operands[number], op, of) for end in ends if end is not None]
    condition, result = op.cond, op.results[number]

    def where(emitter: Emitter) -> Value:
        if not is_tensor(result.type):
            return emitter.value(condition)
        bools = emitter.value(as_tensor(emitter, condition))
        return BroadcastToOp.on(bools, type=tensor(shape_of(result.type), condition.type))

    return chosen_support(Mask(where), *masks)


def _support_outside(value: SSAValue, op: Operation, of: Supports) -> Mask | None:
    """The support of a value that a branch yields, where it is made outside of it."""
    home = value.owner
    assert isinstance(home, Operation | Block)
    found = of.of(value)
    # bools of inside are not to be read outside
    return None if op.is_ancestor(home) and found is not NOWHERE else found


register_support(scf.IfOp, _support)
