"""Contractions: a ContractOp as a packed, register-tiled kernel with the op's body as its epilogue.

The order in which an element's products are summed follows from the bounds, the types and the
width of vectors; how the factors lie in memory and what the body does have no part in it:

- floats in an f32 or f64 accumulator: one chain `acc = fma(lhs, rhs, acc)` over k = 0, 1, ..., in
  the tiled kernel, the last of several dimensions k running fastest. (On a machine without fma the
  product is rounded first.) A factor with padding is first copied to scratch memory; under an
  epilogue that reduces, scatters or pads, the sums go to scratch memory and a nest applies the
  body to them.
- dot products of that kind (m = n = 1) of at least LONG_SUM terms, where a chain has nothing to run
  beside it: a reducing nest over products that are rounded, in the order of `nest_reductions`.
- integers, narrower accumulators, and factors that vary along the free dimension of the other one,
  which makes it no matrix product: reducing nests, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute

from gradir.codegen import costs
from gradir.codegen.contractions.choose_tiles import plan_product
from gradir.codegen.contractions.chunks import (
    Chunks,
    emit_rows,
    row_chunks,
    summed_chunks,
    summed_steps,
)
from gradir.codegen.contractions.dims import Tiling, tiling
from gradir.codegen.contractions.epilogue import BodyEpilogue
from gradir.codegen.contractions.product import emit_product
from gradir.codegen.contractions.product_plan import ProductPhase, ProductPlan
from gradir.codegen.contractions.steps import (
    ContractionStep,
    Steps,
    emit_steps,
    nest_steps,
    tiled_steps,
)
from gradir.codegen.nests.kernel import emit_nest, nest_scratch_bytes
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.attribute_names import THREADS
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.contraction_chains import copied_factors, is_single_chain


def emit_contract(op: ContractOp, name: str, target: MachineTarget, threads: int) -> Kernel:
    """The kernel of a contraction at buffer level, split for the threads that it was planned for;
    for `threads` of them where nothing planned it."""
    return _emit(op, name, target, planned_threads(op) or threads)


def planned_threads(op: ContractOp | RowsOp) -> int | None:
    """The number of threads that gradir-allocate-scratch wrote on an op, if it did."""
    planned = op.attributes.get(THREADS)
    if planned is None:
        return None
    if not isinstance(planned, IntegerAttr) or planned.value.data < 1:
        raise LocatedError(f"{op.name}: {THREADS} must be a positive number, got {planned}", op)
    return planned.value.data


def _emit(
    op: ContractOp, name: str, target: MachineTarget, threads: int, resumes: bool = False
) -> Kernel:
    """The kernel; with `resumes` its chains go on from what the output holds."""

    def emit(step: ContractionStep, label: str, threads: int = threads) -> Kernel:
        if isinstance(step.op, ContractOp):
            return _emit(step.op, label, target, threads, step.resumes)
        return emit_nest(step.op, label, target)

    plan = _plan(op, target, threads)
    if (needed := _scratch_of_plan(plan, target, threads)) > _available(op):
        raise LocatedError(
            f"{op.name}: needs {needed} bytes of scratch, got {_available(op)}; "
            "contract_scratch_bytes tells how many",
            op,
        )
    match plan:
        case _RowChunks():
            alone = partial(emit, threads=1)
            kernel = emit_steps(plan.chunks.part, plan.steps, f"{name}.part", target, alone)
            return emit_rows(op, plan.chunks, kernel, plan.share_bytes, plan.shares, name, target)
        case Steps():
            return emit_steps(op, plan, name, target, emit)
        case _:
            return _emit_tiled(op, name, tiling(op, target), plan, resumes)


def contract_scratch_bytes(op: ContractOp, target: MachineTarget, threads: int) -> int:
    """The bytes of scratch that `emit_contract` wants, aligned to 64; `op` may be on tensors."""
    return _scratch_of_plan(_plan(op, target, threads), target, threads)


def _plan(op: ContractOp, target: MachineTarget, threads: int) -> _RowChunks | Steps | ProductPlan:
    """The way a contraction is computed: in chunks of rows, in steps, or by the tiled kernel."""
    rows = _rows(op, target, threads)
    if rows is not None:
        return rows
    steps = _steps(op)
    if steps is not None:
        return steps
    return plan_product(tiling(op, target).product, target, threads)


def _scratch_of_plan(
    plan: _RowChunks | Steps | ProductPlan, target: MachineTarget, threads: int
) -> int:
    return _scratch_of(plan, target, threads) if isinstance(plan, Steps) else plan.scratch_bytes


def _scratch_of(steps: Steps, target: MachineTarget, threads: int) -> int:
    inner = [
        contract_scratch_bytes(step.op, target, threads)
        if isinstance(step.op, ContractOp)
        else nest_scratch_bytes(step.op, target)
        for step in {step.op: step for step in steps.steps}.values()
    ]
    return steps.scratch_bytes + max(inner)


@dataclass(frozen=True)
class _RowChunks:
    """A contraction in chunks of rows: the steps of one, and how the chunks are shared out."""

    chunks: Chunks
    steps: Steps
    share_bytes: int
    shares: int

    @property
    def scratch_bytes(self) -> int:
        return self.shares * self.share_bytes


def _rows(op: ContractOp, target: MachineTarget, threads: int) -> _RowChunks | None:
    """The contraction in chunks of rows; None unless chunks make its copies smaller."""
    copied = copied_factors(op)
    if not copied or not is_single_chain(op) or not _has_plain_epilogue(op):
        return None
    chunks = row_chunks(op, copied, threads)
    if chunks is None or not is_single_chain(chunks.part):
        return None
    steps = tiled_steps(chunks.part, copied, True)
    return _RowChunks(chunks, steps, _scratch_of(steps, target, 1), min(threads, chunks.count))


def _steps(op: ContractOp) -> Steps | None:
    """What the contraction is split into; None if the tiled kernel does it at once."""
    if not is_single_chain(op):
        return nest_steps(op)
    copied = copied_factors(op)
    has_plain_epilogue = _has_plain_epilogue(op)
    if has_plain_epilogue and not copied:
        return None
    # chunks of sums begin to write the result before they have read all of the factors
    in_place = not set(op.outputs).isdisjoint(op.inputs[:2])
    chunks = summed_chunks(op, copied) if copied and not in_place else None
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


def _available(op: ContractOp) -> int:
    """The bytes of scratch memory that a contraction has."""
    return sum(prod(cast(MemRefType[Attribute], s.type).get_shape()) for s in op.scratch)


def _emit_tiled(
    op: ContractOp, name: str, tiled: Tiling, plan: ProductPlan, resumes: bool
) -> Kernel:
    needs = Needs()
    if resumes:
        # sums that chains go on from are read as they are written: along the columns
        tiled = replace(tiled, is_turned=False)
    epilogue = BodyEpilogue(op, tiled)
    text = emit_product(
        plan,
        name,
        epilogue.finish,
        _parameters(op, tiled.is_swapped),
        turned=tiled.is_turned,
        start=epilogue.start if resumes else None,
        needs=needs,
    )
    phases = tuple(
        KernelPhase(f"{name}.{phase.suffix}", phase.items, _phase_cost(plan, phase, epilogue.cost))
        for phase in plan.phases
    )
    return Kernel.of(text, phases, needs)


def _parameters(op: ContractOp, is_swapped: bool) -> str:
    # the epilogue's buffers may be the same (in place), but the factors are not written
    factors = ["%lhs", "%rhs"]
    names = [f"ptr noalias readonly {n}" for n in (factors[::-1] if is_swapped else factors)]
    names += [f"ptr %in{k}" for k in range(2, len(op.inputs))]
    names += [f"ptr %out{k}" for k in range(len(op.output_types))]
    return ", ".join([*names, "ptr noalias %scratch", "ptr %error", "i64 %begin", "i64 %end"])


def _phase_cost(plan: ProductPlan, phase: ProductPhase, epilogue_cost: float) -> float:
    """Nanoseconds of one phase on one thread."""
    c = plan.product
    if not phase.flops:
        return phase.bytes * costs.PACK_BYTE_COST
    vectors = prod(c.batch) * -(-c.n // plan.lanes)
    is_turned = plan.pack_rhs == "registers"
    load = costs.TRANSPOSED_LOAD_COST if is_turned else costs.PANEL_LOAD_COST
    steps = c.m * costs.MULTIPLY_COST + plan.row_panels * load
    return vectors * (c.k * steps + c.m * epilogue_cost)
