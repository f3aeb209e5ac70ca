"""The stages from a program to the input of code generation, as one list.

Each line has the precondition and the postcondition of a stage; `check` verifies the latter. Every
stage is a pass of the same name, and `gradir-opt -p "gradir-stages{until=NAME}"` shows the program
after one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.traits import ConstantLike
from xdsl.transforms.common_subexpression_elimination import cse

from gradir.codegen.driver.scratch import allocate_scratch
from gradir.codegen.rows.group_rows import group_rows
from gradir.codegen.text.target import MachineTarget, host
from gradir.dialects.base.attribute_names import THREADS
from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.op_rules import decomposition
from gradir.dialects.base.shapes import is_complex_tensor, is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.buffers.bufferize import bufferize
from gradir.passes.buffers.plan_memory import MemoryPlan, plan_memory
from gradir.passes.cleanup.dce import dce
from gradir.passes.cleanup.decompose import decompose
from gradir.passes.cleanup.hoist import hoist
from gradir.passes.cleanup.inline import inline
from gradir.passes.cleanup.simplify import simplify
from gradir.passes.cleanup.split_complex import split_complex
from gradir.passes.fusion.fuse import fuse
from gradir.passes.fusion.schedule import schedule
from gradir.passes.lower.expand_slices import expand_slices
from gradir.passes.lower.lower import lower
from gradir.passes.lower.scalarize import scalarize
from gradir.passes.lower.sum_slices import sum_slices
from gradir.passes.recompute.inline_checkpoints import inline_checkpoints
from gradir.passes.verify.verify import verify
from gradir.runtime.threads import thread_count
from gradir.validation.compare import BITS, ROUNDING

Plans: TypeAlias = dict[str, MemoryPlan]
"""The memory plans by function name."""


@dataclass(frozen=True)
class Machine:
    """The target of native code: a processor, and the planned number of threads."""

    target: MachineTarget
    threads: int

    @staticmethod
    def here(threads: int | None = None) -> Machine:
        """This machine, or the one of the environment; `threads` as in `thread_count`."""
        return Machine(host(), thread_count(threads))


@dataclass(frozen=True)
class Stage:
    """A step on a whole module, and a property of every op after it.

    `transform` may read the machine; the last stage's returns the memory plans. `keeps` is
    what it promises of the numbers of a program, by the interpreter: their bits, or rounding.
    """

    name: str
    transform: Callable[[ModuleOp, Machine], Plans | None]
    leaves: Callable[[Operation], bool] = lambda op: True
    keeps: str = BITS

    def run(self, module: ModuleOp, machine: Machine, check: bool = False) -> Plans | None:
        """Run it; with `check`, then verify the module and the property."""
        plans = self.transform(module, machine)
        if check:
            verify(module)
            for op in module.walk():
                assert self.leaves(op), f"{self.name} left {op.name}"
        return plans


def _stage(
    name: str,
    transform: Callable[[ModuleOp], object],
    leaves: Callable[[Operation], bool] = lambda op: True,
    keeps: str = BITS,
) -> Stage:
    """A stage without a target machine."""

    def on_any_machine(module: ModuleOp, machine: Machine) -> None:
        del machine
        transform(module)

    return Stage(name, on_any_machine, leaves, keeps)


def _allocate_scratch(module: ModuleOp, machine: Machine) -> None:
    allocate_scratch(module, machine.target, machine.threads)


def _group_rows(module: ModuleOp, machine: Machine) -> None:
    group_rows(module, machine.target, machine.threads)


def _plan_memory(module: ModuleOp, machine: Machine) -> Plans:
    del machine
    return plan_memory(module)


def _is_simple(op: Operation) -> bool:
    return decomposition(op) is None


def _is_dense(op: Operation) -> bool:
    return not any(is_slices(v.type) for v in (*op.operands, *op.results))


def _is_real(op: Operation) -> bool:
    return not any(is_complex_tensor(v.type) for v in (*op.operands, *op.results))


def _is_lowered(op: Operation) -> bool:
    return not isinstance(op, TensorOp) or op.has_trait(ConstantLike)


def _is_on_buffers(op: Operation) -> bool:
    return not any(is_tensor(v.type) for v in (*op.operands, *op.results))


def _is_split(op: Operation) -> bool:
    return not isinstance(op, ContractOp | RowsOp) or THREADS in op.attributes


def _is_placed(op: Operation) -> bool:
    return not isinstance(op, memref.AllocOp)


STAGES: tuple[Stage, ...] = (
    # needs: a verified module;       leaves: no calls
    _stage("gradir-inline", inline, lambda op: not isinstance(op, CallOp)),
    # needs: nothing;                 leaves: no checkpoint stages
    _stage(
        "gradir-inline-checkpoints", inline_checkpoints, lambda op: not isinstance(op, CheckpointOp)
    ),
    # needs: nothing;                 leaves: sums with parts in zeros as updates of parts
    _stage("gradir-sum-slices", sum_slices),
    # needs: nothing;                 leaves: tensors in the place of row slices
    _stage("gradir-expand-slices", expand_slices, _is_dense),
    # needs: nothing;                 leaves: cheaper ops with the same bits
    _stage("gradir-simplify", simplify),
    # needs: no row slices;           leaves: real planes in the place of complex tensors
    # (NumPy's functions of complex numbers round elsewhere)
    _stage("gradir-split-complex", split_complex, _is_real, ROUNDING),
    # needs: nothing;                 leaves: no compound op (softmax, losses, ...)
    # (NumPy's meaning of one may round elsewhere)
    _stage("gradir-decompose", decompose, _is_simple, ROUNDING),
    # needs: nothing;                 leaves: cheaper ops with the same bits
    _stage("gradir-simplify", simplify),
    # needs: nothing;                 leaves: each pure value computed once, barriers respected
    _stage("cse", cse),
    # needs: nothing;                 leaves: no dead value
    _stage("gradir-dce", dce),
    # needs: nothing;                 leaves: loop invariants outside of their loops
    _stage("gradir-hoist", hoist),
    # needs: static shapes;           leaves: loop nests and constants
    # (sums and products of matrices in the order of the loops, not in NumPy's)
    _stage("gradir-lower", lower, _is_lowered, ROUNDING),
    # needs: nests not fused;         leaves: in loops, numbers for tensors of one element
    _stage("gradir-scalarize", scalarize),
    # needs: nothing;                 leaves: invariant numbers outside of their loops
    _stage("gradir-hoist", hoist),
    # needs: loop nests on tensors;   leaves: fewer of them
    _stage("gradir-fuse", fuse),
    # needs: loop nests on tensors;   leaves: them in an order with few bytes alive
    _stage("gradir-schedule", schedule),
    # needs: one block a function;    leaves: buffers, no tensors; results in the caller's memory
    _stage("gradir-bufferize", bufferize, _is_on_buffers),
    # needs: buffers, not planned;    leaves: nests that share rows as one op, block by block
    Stage("gradir-group-rows", _group_rows, _is_on_buffers),
    # needs: all other buffers;       leaves: scratch, and the threads each contraction is split for
    Stage("gradir-allocate-scratch", _allocate_scratch, _is_split),
    # needs: static buffers, all;     leaves: one arena a function, with its plan
    Stage("gradir-plan-memory", _plan_memory, _is_placed),
)


def run_stages(
    module: ModuleOp, machine: Machine, check: bool = False, stages: Sequence[Stage] = STAGES
) -> Plans:
    """Run all stages, or the given ones; returns the memory plans.

    With `check`, the module and each stage's property are verified after it.
    """
    plans = None
    for stage in stages:
        plans = stage.run(module, machine, check)
    return plans or {}


def stages_until(name: str) -> Sequence[Stage] | None:
    """The stages up to and with the last one of a name; None where there is none."""
    last = max((k for k, stage in enumerate(STAGES) if stage.name == name), default=None)
    return None if last is None else STAGES[: last + 1]
