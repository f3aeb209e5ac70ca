"""gradir-allocate-scratch: buffers for what code generation needs beside its outputs.

Packed panels of contractions and partial results of split reductions live in the arena too, so
that the planned peak is the whole truth. How many threads a contraction is split for decides on its
scratch; the number is written on it, and code generation reads it there.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from gradir.cache.memory import Store
from gradir.codegen.kernel_key import kernel_key
from gradir.codegen.nests.kernel import nest_scratch_bytes
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.attribute_names import THREADS
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.shapes import memref_type
from gradir.dialects.base.value_names import SCRATCH
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, NestOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.edits import erase, insert_before
from gradir.passes.buffers.plan_memory import check_on_buffers
from gradir.passes.buffers.state import alloc_of

if TYPE_CHECKING:
    from gradir.codegen.contractions.plan import contract_scratch_bytes
    from gradir.codegen.rows.kernel import rows_scratch_bytes
else:
    contract_scratch_bytes = lazy_function(
        "gradir.codegen.contractions.plan", "contract_scratch_bytes"
    )
    rows_scratch_bytes = lazy_function("gradir.codegen.rows.kernel", "rows_scratch_bytes")


def allocate_scratch(module: ModuleOp, target: MachineTarget, threads: int) -> None:
    """Needs: buffers, not yet planned. Leaves: a `memref.alloc` for each loop op that wants one,
    and on each contraction, and nests over rows, the number of threads that it is split for."""
    for function in [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]:
        name = function.sym_name.data
        if "gradir.arena" in function.attributes:
            raise PassError(
                f"@{name}: has its arena already; run gradir-allocate-scratch before "
                "gradir-plan-memory",
                function,
            )
        check_on_buffers(function, "gradir-allocate-scratch")
    # of equal ops, one is planned
    sizes = Store[Hashable, int]()
    for op in list(module.walk()):
        if isinstance(op, RowsOp):
            op.attributes[THREADS] = IntegerAttr(threads, i64)
            # of its blocks and sums; its nests have none
            plan = partial(rows_scratch_bytes, op, target, threads)
            if size := sizes.find_or_make(kernel_key(op, op.operands), plan):
                op.take_scratch(_alloc(op, size))
        elif isinstance(op, ContractOp) and _may_want_scratch(op):
            op.attributes[THREADS] = IntegerAttr(threads, i64)
            _attach(op, contract_scratch_bytes(op, target, threads))
        elif isinstance(op, NestOp) and _may_want_scratch(op):
            plan = partial(nest_scratch_bytes, op, target)
            _attach(op, sizes.find_or_make(kernel_key(op, op.operands), plan))


def _may_want_scratch(op: LoopOp) -> bool:
    """Whether an op is on buffers, without scratch, and combines what its iterations yield."""
    is_map = isinstance(op, NestOp) and all(c == "none" for c in op.output_combiners)
    is_in_rows = isinstance(op.parent_op(), RowsOp)
    return bool(op.outputs) and not op.scratch and not is_map and not is_in_rows


def _alloc(op: Operation, size: int) -> SSAValue:
    """A new buffer of bytes before an op."""
    alloc = alloc_of(memref_type([size], i8))
    alloc.memref.name_hint = SCRATCH
    insert_before(alloc, op)
    return alloc.memref


def _attach(op: LoopOp, size: int) -> None:
    """Give an op the scratch memory that it wants."""
    if not size:
        return
    scratch = _alloc(op, size)
    new = type(op)(
        op.extents, op.inputs, op.input_accesses, op.output_list, op.detach_region(op.body),
        op.input_pads, op.outputs, op.starting_outputs, scratch, op.roles,
        op.precision,
    )  # fmt: skip
    new.attributes |= op.attributes
    insert_before(new, op)
    erase(op)
