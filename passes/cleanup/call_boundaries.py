"""Where a call is inlined before differentiation: what comes in and goes out stays apart.

    %y = grad.join %x        y = x; contributions to y are summed before they join those to x

So the sums of an inlined call are those of the call, in the same order and with the same bits: what
flows to an argument in the callee is one contribution to the operand. The op is in no derivative.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from gradir.dialects.base.interfaces import Cotangents
from gradir.dialects.base.shapes import element_of, is_float, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter, Value

if TYPE_CHECKING:
    from gradir.passes.differentiate.differentiator import Differentiator


@irdl_op_definition
class JoinOp(IRDLOperation):
    """y = x."""

    name = "grad.join"

    T: ClassVar = VarConstraint("T", AnyAttr())

    x = operand_def(T)
    y = result_def(T)
    traits = traits_def(Pure())


class JoinRule:
    """The structural rule: no code, forward or backward."""

    def forward(self, outer: Differentiator, op: JoinOp) -> None:
        outer.shared.primal[op.y] = outer.primal(op.x)

    def backward(
        self, outer: Differentiator, op: JoinOp, saved: object, cts: Cotangents
    ) -> Iterable[tuple[SSAValue, Value | None]]:
        return [(op.x, cts[0])]


def join(value: SSAValue, emitter: Emitter) -> SSAValue:
    """A join of a value; the value itself if it has no cotangent that sums."""
    if not _has_sums(value.type):
        return value
    return emitter.insert(JoinOp(operands=[value], result_types=[value.type])).y


def _has_sums(type_: Attribute) -> bool:
    if isinstance(type_, AnyFloat) or is_slices(type_):
        return True
    return is_tensor(type_) and is_float(element_of(type_))


def remove_joins(block: Block) -> None:
    """Replace the joins in a block and its regions by what they read."""
    for op in list(block.walk()):
        if isinstance(op, JoinOp):
            op.y.replace_all_uses_with(op.x)
            op.detach()
            op.erase()
