"""Contractions: a ContractOp as a packed, register-tiled kernel with the op's body as its epilogue.

Which code is used follows from the shapes and types alone:

- floats in a float or double accumulator: the tiled kernel, in which each element is one chain
  `acc = fma(lhs, rhs, acc)` over k. With one column the factors change places where that makes
  loads contiguous, which leaves the chains as they are.
- products of a matrix that is contiguous along k with one vector, of integers, with a narrow
  accumulator, with an epilogue that reduces, scatters or pads: nests (see contraction_nests).
  Their sums follow the order of a reducing nest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from gradir.dialects.access import Access
from gradir.dialects.diagnostics import LocatedError
from gradir.dialects.loopnest import ContractOp, ShapedType
from gradir.lowering import gemm
from gradir.lowering.contraction_nests import emit_as_nests, scratch_bytes_as_nests
from gradir.lowering.gemm_tile import add, multiply
from gradir.lowering.kernel import Kernel, Phase
from gradir.lowering.llvm_text import FunctionText
from gradir.lowering.scalar_instructions import Needs, bits_of, kind_of, llvm_type
from gradir.lowering.scalars import (
    BodyEmitter,
    Surroundings,
    Value,
    body_cost,
    element_kind,
    required_ops,
)
from gradir.lowering.target import Target
from gradir.lowering.vector_memory import Memory
from gradir.runtime.threads import thread_count

# From this length of a chain on, a sum along contiguous elements is better vectorized along k.
LONG_SUM = 32

# Nanoseconds, as measured: to pack a byte, to multiply and add a vector, to load one of the right
# factor (once for each tile of rows).
PACK_COST, MULTIPLY_COST, LOAD_COST = 0.1, 0.11, 0.5


def emit_contract(op: ContractOp, name: str, target: Target, threads: int | None = None) -> Kernel:
    """The kernel of a contraction at buffer level, for probably `threads` threads."""
    tiled = _tiled(op, target)
    if tiled is None:
        return emit_as_nests(op, name, target)
    return _emit_tiled(op, name, tiled, _fitting_plan(op, tiled, target, threads))


def contract_scratch_bytes(op: ContractOp, target: Target, threads: int | None = None) -> int:
    """The bytes of scratch that `emit_contract` wants, aligned to 64; `op` may be on tensors."""
    tiled = _tiled(op, target)
    if tiled is None:
        return scratch_bytes_as_nests(op, target)
    return gemm.plan(tiled.contraction, target, threads or thread_count()).scratch_bytes


@dataclass(frozen=True)
class _Tiled:
    """A contraction for the tiled kernel, and which dimensions are its rows and columns."""

    contraction: gemm.Contraction
    is_swapped: bool
    row_dim: int
    column_dim: int


def _tiled(op: ContractOp, target: Target) -> _Tiled | None:
    """The contraction for the tiled kernel, None where nests are to be used."""
    kinds = [element_kind(cast(ShapedType, v.type)) for v in op.inputs[:2]]
    accumulator = kind_of(op.accumulator_type)
    if accumulator not in ("f32", "f64") or not all(_widens(kind, accumulator) for kind in kinds):
        return None
    if not _has_plain_epilogue(op):
        return None
    rank = len(op.extents)
    m, n, k = rank - 3, rank - 2, rank - 1
    strides = [_strides(op, index) for index in range(2)]
    if strides[0] is None or strides[1] is None or strides[0][n] or strides[1][m]:
        return None
    left, right = strides[0], strides[1]
    is_long = op.extents[k] >= LONG_SUM
    # one column: rows are columns of the transposed product; one row: nothing to gain from that
    is_swapped = op.extents[n] == 1 and op.extents[m] > 1 and left[m] == 1
    if is_long and op.extents[n] == 1 and left[k] == 1 and right[k] == 1:
        return None
    if is_long and op.extents[m] == 1 and right[k] == 1 and right[n] != 1 and left[k] == 1:
        return None
    types = [llvm_type(kind) for kind in kinds]
    operands = [
        gemm.Operand(types[0], left[m], left[k], left[:m]),
        gemm.Operand(types[1], right[k], right[n], right[:m]),
    ]
    rows, columns = m, n
    if is_swapped:
        rows, columns = n, m
        operands = [
            gemm.Operand(types[1], right[n], right[k], right[:m]),
            gemm.Operand(types[0], left[k], left[m], left[:m]),
        ]
    contraction = gemm.Contraction(
        batch=op.extents[:m],
        m=op.extents[rows],
        n=op.extents[columns],
        k=op.extents[k],
        lhs=operands[0],
        rhs=operands[1],
        accumulator=llvm_type(accumulator),
    )
    return _Tiled(contraction, is_swapped, rows, columns)


def _widens(kind: str, accumulator: str) -> bool:
    return kind in ("f16", "bf16", "f32", "f64") and bits_of(kind) <= bits_of(accumulator)


def _has_plain_epilogue(op: ContractOp) -> bool:
    """The body reads and writes elements at affine places, each once."""
    k = len(op.extents) - 1
    accesses = [a for a in op.input_accesses[2:] if a is not None] + op.output_accesses
    return (
        all(combiner == "none" for combiner in op.output_combiners)
        and all(pad is None for pad in op.input_pads)
        and all(row.symbol is None for access in accesses for row in access.rows)
        and all(k not in access.used for access in accesses)
    )


def _strides(op: ContractOp, index: int) -> tuple[int, ...] | None:
    """The step of a factor along each dimension, None if it is not simply strided."""
    access = op.input_accesses[index]
    if access is None or any(row.symbol is not None for row in access.rows):
        return None
    steps, offset = access.strides(cast(ShapedType, op.inputs[index].type).get_shape())
    return None if offset or min(steps) < 0 else steps


def _fitting_plan(
    op: ContractOp, tiled: _Tiled, target: Target, threads: int | None
) -> gemm.GemmPlan:
    """The plan for so many threads, or for those that the scratch buffer was planned for."""
    available = 0
    for scratch in op.scratch:
        available = prod(cast(MemRefType[Attribute], scratch.type).get_shape())
    smallest = 0
    for count in (threads or thread_count(), thread_count(), 1):
        plan = gemm.plan(tiled.contraction, target, count)
        if plan.scratch_bytes <= available:
            return plan
        smallest = plan.scratch_bytes
    raise LocatedError(
        f"{op.name}: needs {smallest} bytes of scratch, got {available}; "
        "contract_scratch_bytes tells how many",
        op,
    )


def _emit_tiled(op: ContractOp, name: str, tiled: _Tiled, plan: gemm.GemmPlan) -> Kernel:
    needs = Needs()
    epilogue = _Epilogue(op, tiled, needs)
    text = gemm.emit(plan, name, epilogue.emit, _parameters(op, tiled.is_swapped))
    phases = tuple(
        Phase(f"{name}.{phase.suffix}", phase.items, _cost(plan, phase, epilogue.cost))
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


def _cost(plan: gemm.GemmPlan, phase: gemm.Phase, epilogue_cost: float) -> float:
    """Nanoseconds of one phase on one thread."""
    c = plan.contraction
    if not phase.flops:
        return phase.bytes * PACK_COST
    vectors = prod(c.batch) * -(-c.n // plan.lanes)
    steps = c.m * MULTIPLY_COST + plan.row_panels * LOAD_COST
    return vectors * (c.k * steps + c.m * epilogue_cost)


class _Epilogue:
    """Writes the op's body for the accumulators of consecutive columns of one row."""

    def __init__(self, op: ContractOp, tiled: _Tiled, needs: Needs):
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
        op, memory = self.op, Memory(f, self.needs)
        if lanes == 1:
            # bodies know scalars, not vectors of one lane
            kind = kind_of(op.accumulator_type)
            accumulator = f.emit(f"extractelement <1 x {llvm_type(kind)}> {accumulator}, i64 0")
        indices = dict(enumerate(batch))
        indices[self.tiled.row_dim], indices[self.tiled.column_dim] = row, column
        surroundings = Surroundings(indices, self.tiled.column_dim, mask)
        arguments: list[str | Value] = [accumulator]
        for k in range(2, len(op.inputs)):
            arguments.append(self._load(memory, k, indices, lanes, mask))
        emitter = BodyEmitter(f, lanes, self.needs, surroundings)
        values = emitter.emit(op.body.block, arguments, self.ops)
        for k, (value, yielded) in enumerate(zip(values, op.yielded, strict=True)):
            assert value is not None
            kind = kind_of(yielded.type)
            self._store(memory, k, indices, lanes, kind, emitter.vector(value, kind), mask)

    def _load(
        self, memory: Memory, index: int, indices: dict[int, str], lanes: int, mask: str | None
    ) -> Value:
        access, type_ = self.op.input_accesses[index], self.op.inputs[index].type
        if access is None:
            return Value(_input_name(index), 1)
        kind = element_kind(cast(ShapedType, type_))
        pointer, step = self._element(memory, _input_name(index), access, type_, indices)
        if step == 0:
            return Value(memory.load(kind, 1, pointer), 1)
        return Value(memory.load_strided(kind, lanes, pointer, step, mask), lanes)

    def _store(
        self,
        memory: Memory,
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
        memory: Memory,
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
        return memory.address(kind, base, offset), steps[self.tiled.column_dim]
