"""gradir-lower: replace tensor ops by loop nests, by each op's `lower`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import ConstantLike

from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_complex_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.base.value import Emitter
from gradir.passes.analysis.edits import replace_results
from gradir.passes.cleanup.dead_code import blocks_inside_out, require_static_shapes
from gradir.passes.lower.number_nests import NumberNests
from gradir.passes.lower.tensor_ops import lower_tensor_op


def lower(module: ModuleOp) -> None:
    """Needs: no compound op. Leaves: loopnest ops and constants only, of the tensor ops."""
    for block in blocks_inside_out(module):
        numbers = NumberNests(block)
        for op in list(block.ops):
            _require_without(op, is_slices, "row slices have no loop nest", "gradir-expand-slices")
            if numbers.take(op):
                continue
            numbers.close_before(op)
            if isinstance(op, TensorOp) and not op.has_trait(ConstantLike):
                _lower_op(block, op)
            else:
                lower_tensor_op(block, op)


def _require_without(
    op: Operation, is_wrong: Callable[[Attribute], bool], why: str, before: str
) -> None:
    """PassError for an op on values that another pass has to replace."""
    for value in (*op.operands, *op.results):
        if is_wrong(value.type):
            raise PassError(f"{op.name}: {why}, got {value.type}; run {before} first", op)


def _lower_op(block: Block, op: TensorOp) -> None:
    if op.has_decomposition():
        raise PassError(f"{op.name}: no loop nest computes it; run gradir-decompose first", op)
    require_static_shapes(op)
    made = op.lower(Emitter(block, op.location, before=op), op.operands)
    replace_results(op, made)


@dataclass(frozen=True)
class LowerPass(ModulePass):
    """Replace tensor ops by structured loop nests."""

    name = "gradir-lower"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():  # the compiler's own stage comes behind gradir-split-complex
            why = "loop nests are of real numbers"
            _require_without(inner, is_complex_tensor, why, "gradir-split-complex")
        lower(op)
