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

from gradir.codegen.bodies.emitter import (
    BodyEmitter,
    LlvmValue,
    Surroundings,
    body_cost,
    element_kind,
    required_ops,
)
from gradir.codegen.contractions.chunks import (
    Chunks,
    emit_rows,
    row_chunks,
    summed_chunks,
    summed_steps,
)
from gradir.codegen.contractions.dims import Tiling, tiling
from gradir.codegen.contractions.steps import (
    ContractionStep,
    Steps,
    emit_steps,
    nest_steps,
    tiled_steps,
)
from gradir.codegen.gemm import kernel as gemm
from gradir.codegen.gemm.tile import add, multiply
from gradir.codegen.nests.kernel import emit_nest, nest_scratch_bytes
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.instructions import Needs, kind_of, llvm_type
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.memory import MemoryInstructions
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.access import Access
from gradir.dialects.base.attribute_names import THREADS
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.loopnest.loopnest import ContractOp, ShapedType
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.contraction_chains import copied_factors, is_single_chain

# Nanoseconds, as measured: to pack a byte, to multiply and add a vector, to load one of the right
# factor (once for each tile of rows), to load it out of squares that are transposed.
PACK_COST, MULTIPLY_COST, LOAD_COST, TRANSPOSED_LOAD_COST = 0.1, 0.11, 0.5, 1.0


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


def _plan(
    op: ContractOp, target: MachineTarget, threads: int
) -> _RowChunks | Steps | gemm.GemmPlan:
    """The way a contraction is computed: in chunks of rows, in steps, or by the tiled kernel."""
    rows = _rows(op, target, threads)
    if rows is not None:
        return rows
    steps = _steps(op)
    if steps is not None:
        return steps
    return gemm.plan(tiling(op, target).contraction, target, threads)


def _scratch_of_plan(
    plan: _RowChunks | Steps | gemm.GemmPlan, target: MachineTarget, threads: int
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
    op: ContractOp, name: str, tiled: Tiling, plan: gemm.GemmPlan, resumes: bool
) -> Kernel:
    needs = Needs()
    if resumes:
        # sums that chains go on from are read as they are written: along the columns
        tiled = replace(tiled, is_turned=False)
    epilogue = _Epilogue(op, tiled, needs)
    parameters = _parameters(op, tiled.is_swapped)
    start = epilogue.start if resumes else None
    text = gemm.emit(plan, name, epilogue.emit, parameters, turned=tiled.is_turned, start=start)
    phases = tuple(
        KernelPhase(f"{name}.{phase.suffix}", phase.items, _cost(plan, phase, epilogue.cost))
        for phase in plan.phases
    )
    return Kernel(
        text,
        phases,
        frozenset(needs.functions),
        frozenset(needs.declarations),
        tuple(needs.messages),
    )


def _parameters(op: ContractOp, is_swapped: bool) -> str:
    # the epilogue's buffers may be the same (in place), but the factors are not written
    factors = ["%lhs", "%rhs"]
    names = [f"ptr noalias readonly {n}" for n in (factors[::-1] if is_swapped else factors)]
    names += [f"ptr {_input_name(k)}" for k in range(2, len(op.inputs))]
    names += [f"ptr {_output_name(k)}" for k in range(len(op.output_types))]
    return ", ".join([*names, "ptr noalias %scratch", "ptr %error", "i64 %begin", "i64 %end"])


def _input_name(index: int) -> str:
    return f"%in{index}"


def _output_name(index: int) -> str:
    return f"%out{index}"


def _cost(plan: gemm.GemmPlan, phase: gemm.GemmPhase, epilogue_cost: float) -> float:
    """Nanoseconds of one phase on one thread."""
    c = plan.contraction
    if not phase.flops:
        return phase.bytes * PACK_COST
    vectors = prod(c.batch) * -(-c.n // plan.lanes)
    load = TRANSPOSED_LOAD_COST if plan.pack_rhs == "registers" else LOAD_COST
    steps = c.m * MULTIPLY_COST + plan.row_panels * load
    return vectors * (c.k * steps + c.m * epilogue_cost)


class _Epilogue:
    """Writes the op's body for the accumulators of consecutive columns of one row."""

    def __init__(self, op: ContractOp, tiled: Tiling, needs: Needs):
        self.op, self.tiled, self.needs = op, tiled, needs
        self.ops = required_ops(op.body.block)
        self.cost = 1.0 + body_cost(self.ops) + len(op.inputs) - 2 + len(op.output_types)

    def emit(
        self,
        f: FunctionText,
        accumulator: str,
        lanes: int,
        batch: list[str],
        row: str,
        column: str,
        mask: str | None,
    ) -> None:
        """Compute and store one vector."""
        op, memory = self.op, MemoryInstructions(f, self.needs)
        indices = self._indices(batch, row, column)
        if lanes == 1:
            # bodies know scalars, not vectors of one lane
            kind = kind_of(op.accumulator_type)
            accumulator = f.emit(f"extractelement <1 x {llvm_type(kind)}> {accumulator}, i64 0")
        surroundings = Surroundings(indices, self.tiled.vector_dim, mask)
        arguments: list[str | LlvmValue] = [accumulator]
        for k in range(2, len(op.inputs)):
            arguments.append(self._load(memory, k, indices, lanes, mask))
        emitter = BodyEmitter(f, lanes, self.needs, surroundings)
        values = emitter.emit(op.body.block, arguments, self.ops)
        for k, (value, yielded) in enumerate(zip(values, op.yielded, strict=True)):
            assert value is not None
            kind = kind_of(yielded.type)
            self._store(memory, k, indices, lanes, kind, emitter.vector(value, kind), mask)

    def start(
        self,
        f: FunctionText,
        lanes: int,
        batch: list[str],
        row: str,
        column: str,
        mask: str | None,
    ) -> str:
        """What the result holds of one vector of sums."""
        memory, kind = MemoryInstructions(f, self.needs), kind_of(self.op.accumulator_type)
        access, type_ = self.op.output_accesses[0], self.op.output_types[0]
        indices = self._indices(batch, row, column)
        pointer, step = self._element(memory, _output_name(0), access, type_, indices)
        if lanes > 1:
            return memory.load_strided(kind, lanes, pointer, step, mask)
        value, vector = memory.load(kind, 1, pointer), f"<1 x {llvm_type(kind)}>"
        return f.emit(f"insertelement {vector} poison, {llvm_type(kind)} {value}, i64 0")

    def _indices(self, batch: list[str], row: str, column: str) -> dict[int, str]:
        """The index along each dimension that is not summed."""
        indices = dict.fromkeys(range(self.op.free_dims), "0")
        indices |= dict(zip(self.tiled.batch_dims, batch, strict=True))
        for dim, index in ((self.tiled.row_dim, row), (self.tiled.column_dim, column)):
            if dim is not None:
                indices[dim] = index
        return indices

    def _load(
        self,
        memory: MemoryInstructions,
        index: int,
        indices: dict[int, str],
        lanes: int,
        mask: str | None,
    ) -> LlvmValue:
        access, type_ = self.op.input_accesses[index], self.op.inputs[index].type
        if access is None:
            return LlvmValue(_input_name(index), 1)
        kind = element_kind(cast(ShapedType, type_))
        pointer, step = self._element(memory, _input_name(index), access, type_, indices)
        if step == 0:
            return LlvmValue(memory.load(kind, 1, pointer), 1)
        return LlvmValue(memory.load_strided(kind, lanes, pointer, step, mask), lanes)

    def _store(
        self,
        memory: MemoryInstructions,
        index: int,
        indices: dict[int, str],
        lanes: int,
        kind: str,
        value: str,
        mask: str | None,
    ) -> None:
        access, type_ = self.op.output_accesses[index], self.op.output_types[index]
        stored = element_kind(cast(ShapedType, type_))
        if stored != kind:
            value = memory.resize(kind, stored, lanes, value)
        pointer, step = self._element(memory, _output_name(index), access, type_, indices)
        memory.store_strided(stored, lanes, pointer, step, value, mask)

    def _element(
        self,
        memory: MemoryInstructions,
        base: str,
        access: Access,
        type_: Attribute,
        indices: dict[int, str],
    ) -> tuple[str, int]:
        """The pointer to the element of the first lane, and the step to that of the next."""
        shaped = cast(ShapedType, type_)
        kind = element_kind(shaped)
        steps, constant = access.strides(shaped.get_shape())
        offset = str(constant)
        for dim, index in indices.items():
            offset = add(memory.f, offset, multiply(memory.f, index, steps[dim]))
        along = self.tiled.vector_dim
        return memory.address(kind, base, offset), 0 if along is None else steps[along]
