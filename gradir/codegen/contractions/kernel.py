"""Contractions: a ContractOp as a packed, register-tiled kernel with the op's body as its epilogue.

The order in which an element's products are summed follows from the bounds, the types and the
width of vectors; how the factors lie in memory and what the body does have no part in it:

- floats in an f32 or f64 accumulator: one chain `acc = fma(lhs, rhs, acc)` over k = 0, 1, ..., in
  the tiled kernel, the last of several dimensions k running fastest. (On a machine without fma the
  product is rounded first.) A factor with padding is first copied to scratch memory; under an
  epilogue that reduces, scatters or pads, the sums go to scratch memory and a nest applies the
  body to them.
- dot products of that kind (m = n = 1) of at least LONG_SUM terms, where a chain has nothing to run
  beside it: a reducing nest over products that are rounded, in the order of `nests/reductions.py`.
- integers, narrower accumulators, and factors that vary along the free dimension of the other one,
  which makes it no matrix product: reducing nests, too.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Attribute

from gradir.codegen import costs
from gradir.codegen.contractions.chunks import emit_rows
from gradir.codegen.contractions.epilogue import BodyEpilogue
from gradir.codegen.contractions.plan import (
    ChunkedPlan,
    ContractionPlan,
    SteppedPlan,
    TiledPlan,
    plan_contraction,
)
from gradir.codegen.contractions.product import emit_product
from gradir.codegen.contractions.product_plan import ProductPhase, ProductPlan
from gradir.codegen.contractions.steps import ContractionStep, emit_steps
from gradir.codegen.nests.kernel import emit_nest
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.attribute_names import THREADS
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import ContractOp
from gradir.dialects.loopnest.rows import RowsOp


def emit_contract(op: ContractOp, name: str, target: MachineTarget, threads: int) -> Kernel:
    """The kernel of a contraction at buffer level, split for the threads that it was planned for;
    for `threads` of them where nothing planned it."""
    plan = plan_contraction(op, target, planned_threads(op) or threads)
    if plan.scratch_bytes > _available(op):
        raise LocatedError(
            f"{op.name}: needs {plan.scratch_bytes} bytes of scratch, got {_available(op)}; "
            "contract_scratch_bytes tells how many",
            op,
        )
    return _emit(op, plan, name, target)


def planned_threads(op: ContractOp | RowsOp) -> int | None:
    """The number of threads that gradir-allocate-scratch wrote on an op, if it did."""
    planned = op.attributes.get(THREADS)
    if planned is None:
        return None
    if not isinstance(planned, IntegerAttr) or planned.value.data < 1:
        raise LocatedError(f"{op.name}: {THREADS} must be a positive number, got {planned}", op)
    return planned.value.data


def _available(op: ContractOp) -> int:
    """The bytes of scratch memory that a contraction has."""
    return sum(prod(cast(MemRefType[Attribute], s.type).get_shape()) for s in op.scratch)


def _emit(
    op: ContractOp, plan: ContractionPlan, name: str, target: MachineTarget, resumes: bool = False
) -> Kernel:
    """The kernel; with `resumes` its chains go on from what the output holds."""
    match plan:
        case ChunkedPlan(chunks, part, shares):
            kernel = _emit_steps(chunks.part, part, f"{name}.part", target)
            return emit_rows(op, chunks, kernel, part.scratch_bytes, shares, name, target)
        case SteppedPlan():
            return _emit_steps(op, plan, name, target)
        case TiledPlan():
            return _emit_tiled(op, name, plan, resumes)


def _emit_steps(op: ContractOp, plan: SteppedPlan, name: str, target: MachineTarget) -> Kernel:
    def emit(step: ContractionStep, label: str) -> Kernel:
        if isinstance(step.op, ContractOp):
            return _emit(step.op, plan.plans[step.op], label, target, step.resumes)
        return emit_nest(step.op, label, target)

    return emit_steps(op, plan.steps, name, target, emit)


def _emit_tiled(op: ContractOp, name: str, plan: TiledPlan, resumes: bool) -> Kernel:
    needs, tiled = Needs(), plan.tiling
    if resumes:
        # sums that chains go on from are read as they are written: along the columns
        tiled = replace(tiled, is_turned=False)
    epilogue = BodyEpilogue(op, tiled)
    text = emit_product(
        plan.product,
        name,
        epilogue.finish,
        _parameters(op, tiled.is_swapped),
        turned=tiled.is_turned,
        start=epilogue.start if resumes else None,
        needs=needs,
    )
    phases = [
        KernelPhase(f"{name}.{p.suffix}", p.items, _phase_cost(plan.product, p, epilogue.cost))
        for p in plan.product.phases
    ]
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
