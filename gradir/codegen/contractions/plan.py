"""How a contraction is computed, planned once: by the tiled kernel, in steps, in chunks of rows.

gradir-allocate-scratch asks a plan for its bytes, code generation writes its code. Both look it
up by all that a plan depends on, so that no plan is stale: an op that has changed in between has
another key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gradir.cache.memory import Store
from gradir.codegen.contractions.choose_tiles import plan_product
from gradir.codegen.contractions.chunks import Chunks, row_chunks, summed_chunks, summed_steps
from gradir.codegen.contractions.dims import Tiling, tiling
from gradir.codegen.contractions.precision import precise_steps
from gradir.codegen.contractions.product_plan import ProductPlan
from gradir.codegen.contractions.steps import Steps, nest_steps, tiled_steps
from gradir.codegen.kernel_key import plan_key
from gradir.codegen.nests.kernel import nest_scratch_bytes
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.precision import PRECISIONS
from gradir.dialects.base.traced_sizes import is_traced
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.passes.analysis.contraction_chains import copied_factors, is_single_chain

# The plans that are kept: the ones used last.
MOST_PLANS = 1024


@dataclass(frozen=True)
class TiledPlan:
    """By the tiled kernel, at once."""

    tiling: Tiling
    product: ProductPlan

    @property
    def scratch_bytes(self) -> int:
        return self.product.scratch_bytes


@dataclass(frozen=True)
class SteppedPlan:
    """In steps; `plans` has those that are contractions. All share the scratch memory."""

    steps: Steps
    plans: Mapping[ContractOp, ContractionPlan]
    scratch_bytes: int


@dataclass(frozen=True)
class ChunkedPlan:
    """In chunks of rows, which `shares` threads compute: the steps of one are `part`."""

    chunks: Chunks
    part: SteppedPlan
    shares: int

    @property
    def scratch_bytes(self) -> int:
        return self.shares * self.part.scratch_bytes


ContractionPlan: TypeAlias = TiledPlan | SteppedPlan | ChunkedPlan

_plans = Store[Hashable, ContractionPlan](MOST_PLANS)


def plan_contraction(op: ContractOp, target: MachineTarget, threads: int) -> ContractionPlan:
    """The plan for `threads`; `op` may be on tensors, and its scratch memory does not count.

    Ops with equal bodies, accesses and types have one plan, which knows none of their buffers.
    """
    key = plan_key(op), target, threads
    return _plans.find_or_make(key, lambda: _plan(op, target, threads))


def contract_scratch_bytes(op: ContractOp, target: MachineTarget, threads: int) -> int:
    """The bytes of scratch that the kernel of a contraction wants, aligned to 64."""
    return plan_contraction(op, target, threads).scratch_bytes


def _plan(op: ContractOp, target: MachineTarget, threads: int) -> ContractionPlan:
    if op.precision is not None and op.precision.data in PRECISIONS:
        return _plan_steps(precise_steps(op, _has_plain_epilogue(op), target), target, threads)
    chunked = _row_chunks(op, target, threads)
    if chunked is not None:
        return chunked
    steps = _steps(op)
    if steps is not None:
        return _plan_steps(steps, target, threads)
    tiled = tiling(op, target)
    return TiledPlan(tiled, plan_product(tiled.product, target, threads))


def _row_chunks(op: ContractOp, target: MachineTarget, threads: int) -> ChunkedPlan | None:
    """The contraction in chunks of rows; None unless chunks make its copies smaller."""
    copied = copied_factors(op)
    if any(map(is_traced, op.extents)):
        return None
    if not copied or not is_single_chain(op) or not _has_plain_epilogue(op):
        return None
    chunks = row_chunks(op, copied, threads)
    if chunks is None or not is_single_chain(chunks.part):
        return None
    part = _plan_steps(tiled_steps(chunks.part, copied, True), target, 1)
    return ChunkedPlan(chunks, part, min(threads, chunks.count))


def _plan_steps(steps: Steps, target: MachineTarget, threads: int) -> SteppedPlan:
    plans: dict[ContractOp, ContractionPlan] = {}
    sizes: list[int] = []
    for op in dict.fromkeys(step.op for step in steps.steps):
        if isinstance(op, ContractOp):
            plans[op] = _plan(op, target, threads)
            sizes.append(plans[op].scratch_bytes)
        else:
            sizes.append(nest_scratch_bytes(op, target))
    return SteppedPlan(steps, plans, steps.scratch_bytes + max(sizes))


def _steps(op: ContractOp) -> Steps | None:
    """The steps of the contraction; None if the tiled kernel does it at once."""
    if not is_single_chain(op):
        return nest_steps(op)
    copied = copied_factors(op)
    has_plain_epilogue = _has_plain_epilogue(op)
    if has_plain_epilogue and not copied:
        return None
    # chunks of sums begin to write the result before they have read all of the factors
    in_place = not set(op.outputs).isdisjoint(op.inputs[:2])
    is_sized = any(map(is_traced, op.extents))
    chunks = summed_chunks(op, copied) if copied and not in_place and not is_sized else None
    if chunks is not None:
        return summed_steps(op, chunks, copied)
    return tiled_steps(op, copied, has_plain_epilogue)


def _has_plain_epilogue(op: ContractOp) -> bool:
    """The body reads and writes elements at affine places, each once."""
    summed = set(range(op.free_dims, len(op.extents)))
    accesses = [a for a in op.input_accesses[2:] if a is not None] + op.output_accesses
    return (
        all(combiner == "none" for combiner in op.output_combiners)
        and all(pad is None for pad in op.input_pads[op.HIDDEN_INPUTS :])
        and all(row.symbol is None for access in accesses for row in access.rows)
        and all(summed.isdisjoint(access.used) for access in accesses)
    )
