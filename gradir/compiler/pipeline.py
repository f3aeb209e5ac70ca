"""The stages from a program to what code generation reads, as one list.

Each line says what the stage needs and what it leaves true; `check` makes the verifier hold it to
that. `gradir-opt -p` takes the same names, so that one can stop after any stage and look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation
from xdsl.traits import ConstantLike
from xdsl.transforms.common_subexpression_elimination import cse

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.base.shapes import is_tensor
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.checkpoint import CheckpointOp
from gradir.passes.buffers.bufferize import bufferize
from gradir.passes.buffers.plan_memory import MemoryPlan, plan_memory
from gradir.passes.cleanup.dce import dce
from gradir.passes.cleanup.decompose import decompose
from gradir.passes.cleanup.hoist import hoist
from gradir.passes.cleanup.inline import inline
from gradir.passes.cleanup.simplify import simplify
from gradir.passes.fusion.fuse import fuse
from gradir.passes.fusion.schedule import schedule
from gradir.passes.lower.expand_slices import expand_slices
from gradir.passes.lower.lower import lower
from gradir.passes.lower.scalarize import scalarize
from gradir.passes.lower.sum_slices import sum_slices
from gradir.passes.recompute.inline_checkpoints import inline_checkpoints
from gradir.passes.verify.verify import verify


@dataclass(frozen=True)
class Stage:
    """A step on a whole module, and what holds of every op afterwards."""

    name: str
    run: Callable[[ModuleOp], object]
    leaves: Callable[[Operation], bool] = lambda op: True


def _is_simple(op: Operation) -> bool:
    return not (isinstance(op, TensorOp) and op.has_decomposition())


def _is_dense(op: Operation) -> bool:
    return not any(is_slices(v.type) for v in (*op.operands, *op.results))


def _is_lowered(op: Operation) -> bool:
    return not isinstance(op, TensorOp) or op.has_trait(ConstantLike)


def _is_on_buffers(op: Operation) -> bool:
    return not any(is_tensor(v.type) for v in (*op.operands, *op.results))


STAGES: tuple[Stage, ...] = (
    # needs: a verified module;       leaves: no calls
    Stage("gradir-inline", inline, lambda op: not isinstance(op, CallOp)),
    # needs: nothing;                 leaves: no checkpoint stages
    Stage(
        "gradir-inline-checkpoints", inline_checkpoints, lambda op: not isinstance(op, CheckpointOp)
    ),
    # needs: nothing;                 leaves: sums with parts in zeros as updates of parts
    Stage("gradir-sum-slices", sum_slices),
    # needs: nothing;                 leaves: tensors in the place of row slices
    Stage("gradir-expand-slices", expand_slices, _is_dense),
    # needs: nothing;                 leaves: cheaper ops with the same bits
    Stage("gradir-simplify", simplify),
    # needs: nothing;                 leaves: no compound op (softmax, losses, ...)
    Stage("gradir-decompose", decompose, _is_simple),
    # needs: nothing;                 leaves: cheaper ops with the same bits
    Stage("gradir-simplify", simplify),
    # needs: nothing;                 leaves: each pure value computed once, barriers respected
    Stage("cse", cse),
    # needs: nothing;                 leaves: no value that nobody reads
    Stage("gradir-dce", dce),
    # needs: nothing;                 leaves: loop invariants outside of their loops
    Stage("gradir-hoist", hoist),
    # needs: static shapes;           leaves: loop nests and constants
    Stage("gradir-lower", lower, _is_lowered),
    # needs: nests not fused;         leaves: in loops, numbers for tensors of one element
    Stage("gradir-scalarize", scalarize),
    # needs: nothing;                 leaves: invariant numbers outside of their loops
    Stage("gradir-hoist", hoist),
    # needs: loop nests on tensors;   leaves: fewer of them
    Stage("gradir-fuse", fuse),
    # needs: loop nests on tensors;   leaves: them in an order with few bytes alive
    Stage("gradir-schedule", schedule),
    # needs: one block a function;    leaves: buffers, no tensors; results in the caller's memory
    Stage("gradir-bufferize", bufferize, _is_on_buffers),
)


def run_stages(module: ModuleOp, check: bool = False) -> None:
    """Run all stages; with `check`, verify the module and each stage's promise after it."""
    for stage in STAGES:
        stage.run(module)
        if check:
            verify(module)
            for op in module.walk():
                assert stage.leaves(op), f"{stage.name} left {op.name}"


def place_buffers(module: ModuleOp) -> dict[str, MemoryPlan]:
    """The last stage, gradir-plan-memory, after scratch has been allocated for the target."""
    return plan_memory(module)
