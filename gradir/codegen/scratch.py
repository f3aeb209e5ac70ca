"""gradir-allocate-scratch: buffers for what code generation needs beside its outputs.

Packed panels of contractions and partial results of split reductions live in the arena too, so
that the planned peak is the whole truth.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from gradir.codegen.contractions.kernel import contract_scratch_bytes
from gradir.codegen.driver.kernel_key import kernel_key
from gradir.codegen.nests.kernel import nest_scratch_bytes
from gradir.codegen.text.target import MachineTarget, host
from gradir.dialects.base.diagnostics import PassError
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, NestOp
from gradir.passes.buffers.plan_memory import check_on_buffers


def allocate_scratch(module: ModuleOp, target: MachineTarget, threads: int | None = None) -> None:
    """Needs: buffers, not yet planned. Leaves: a `memref.alloc` for each loop op that wants one."""
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
    sizes: dict[Hashable, int] = {}
    for op in list(module.walk()):
        if isinstance(op, LoopOp) and op.outputs and not op.scratch:
            key = kernel_key(op, op.operands)
            if key not in sizes:
                sizes[key] = _scratch_bytes(op, target, threads)
            if sizes[key]:
                _attach(op, sizes[key])


def _scratch_bytes(op: LoopOp, target: MachineTarget, threads: int | None) -> int:
    if isinstance(op, ContractOp):
        return contract_scratch_bytes(op, target, threads)
    assert isinstance(op, NestOp)
    return nest_scratch_bytes(op, target)


def _attach(op: LoopOp, size: int) -> None:
    block = op.parent
    assert block is not None
    alloc = memref.AllocOp.get(i8, None, [size])
    alloc.location = op.location
    alloc.memref.name_hint = "scratch"
    block.insert_op_before(alloc, op)
    new = type(op)(
        op.extents, op.inputs, op.input_accesses, op.output_list, op.detach_region(op.body),
        op.input_pads, op.outputs, op.starting_outputs, alloc.memref, op.roles,
    )  # fmt: skip
    new.location = op.location
    new.attributes |= op.attributes
    block.insert_op_before(new, op)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class AllocateScratchPass(ModulePass):
    """Allocate the scratch buffers that native code for this machine needs."""

    name = "gradir-allocate-scratch"

    threads: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allocate_scratch(op, host(), self.threads)
