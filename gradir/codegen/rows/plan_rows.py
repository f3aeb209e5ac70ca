"""The passes of `loopnest.rows`: its nests' passes for one block, and the passes that end its sums.

A sum over rows goes on from block to block of a chunk in accumulators that lie in scratch memory,
a record for each chunk; of a sum along the last dimension they are the lanes, which are folded once
all blocks are done. Then the sums of all chunks are combined like the parts of a split reduction.
Behind the records lie the buffers of a block alone, once for each share of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from gradir.codegen.nests.plan import SCRATCH_ALIGNMENT, CopyBody, NestPlan, NestPlanner
from gradir.codegen.nests.space import (
    Linear,
    LinearRead,
    LinearWrite,
    Pass,
    accumulator_lanes,
    choose_vector_dim,
    chunk_folds,
    interleave,
    narrow_lanes,
    normalize,
    vector_lanes,
)
from gradir.codegen.rows.nest_rows import sum_folds
from gradir.codegen.text.kinds import bytes_of, identity
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.shapes import byte_size, element_of, shape_of
from gradir.dialects.loopnest.loopnest import NestOp, ViewOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.buffers.plan_memory import Range, assign_offsets
from gradir.passes.buffers.state import root_of


@dataclass(frozen=True)
class RowSum:
    """A sum over rows: `accumulators` at `offset` of the record, each of `partials` numbers.

    `write` is the output of all rows; its dimensions are `kept` in the nest, and have `extents`.
    """

    write: LinearWrite
    offset: int
    kept: tuple[int, ...]
    extents: tuple[int, ...]
    partials: int

    @property
    def kind(self) -> str:
        return self.write.value_kind

    @property
    def size(self) -> int:
        return prod(self.extents) * self.partials


@dataclass
class RowsPlan:
    """The passes for each block, and after all blocks; and the places in scratch memory."""

    blocks: list[tuple[NestOp, list[Pass]]] = field(default_factory=list[tuple[NestOp, list[Pass]]])
    sums: list[RowSum] = field(default_factory=list[RowSum])
    ends: list[Pass] = field(default_factory=list[Pass])
    record_bytes: int = 0
    chunks: int = 0
    shares: int = 1
    share_bytes: int = 0
    shares_at: int = 0
    locals: dict[BlockArgument, int] = field(default_factory=dict[BlockArgument, int])

    @property
    def scratch_bytes(self) -> int:
        return self.shares_at + self.shares * self.share_bytes


def plan_rows(op: RowsOp, target: MachineTarget, threads: int) -> RowsPlan:
    """Plan for at most `threads` threads."""
    plan = RowsPlan()
    memory = NestPlan()
    for nest in op.body.block.ops:
        if isinstance(nest, NestOp):
            planner = _BlockPlanner(op, nest, target, memory)
            plan.blocks.append((nest, planner.plan().passes))
            plan.sums += planner.sums
            memory.passes = []
    # a last block that overlaps the one ahead of it is in the same chunk, so in the same thread
    plan.chunks = op.blocks - 1 if op.overlaps else -(-op.blocks // op.chunk_blocks)
    plan.record_bytes = memory.scratch_bytes
    end = NestPlan(scratch_bytes=plan.chunks * plan.record_bytes)
    for one in plan.sums:
        plan.ends += _ends(one, plan, end, target)
    plan.shares = min(threads, plan.chunks)
    plan.shares_at = end.scratch_bytes
    _place_locals(op, plan)
    return plan


def _place_locals(op: RowsOp, plan: RowsPlan) -> None:
    """The buffers of a block, for as long as they are needed, in the memory of a share."""
    times = {inner: k for k, inner in enumerate(op.body.block.ops)}
    ranges: list[Range] = []
    for k, buffer in enumerate(op.locals):
        users = [times[user] for user in _users(buffer)]
        size = prod(shape_of(buffer.type)) * byte_size(element_of(buffer.type))
        ranges.append((str(k), size, min(users, default=0), max(users, default=0)))
    placed = assign_offsets(ranges)
    plan.locals = {op.locals[int(one.name)]: one.offset for one in placed.buffers}
    plan.share_bytes = -(-placed.peak_bytes // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT


def _users(buffer: SSAValue) -> list[Operation]:
    found: list[Operation] = []
    for use in buffer.uses:
        view = use.operation
        found += _users(view.result) if isinstance(view, ViewOp) else [view]
    return found


class _BlockPlanner(NestPlanner):
    """Plans a nest over the rows of a block; outputs that leave the rows out are sums."""

    def __init__(self, rows: RowsOp, op: NestOp, target: MachineTarget, memory: NestPlan):
        super().__init__(op, target)
        self.rows, self.result = rows, memory
        self.sums: list[RowSum] = []

    def reduced_by(self, write: LinearWrite) -> frozenset[int] | None:
        reduced = super().reduced_by(write)
        is_sum = 0 not in self.op.output_accesses[write.position].used
        return reduced | {0} if is_sum and reduced is not None else reduced

    def reduce(
        self, reduced: frozenset[int], writes: Sequence[LinearWrite], plain: Sequence[LinearWrite]
    ) -> None:
        if 0 not in reduced:
            super().reduce(reduced, writes, plain)
            return
        parts = [self._part(w, reduced) for w in writes]
        assert self.rows.chunk is not None
        whole = (self.rows.rows.value.data, *self.bounds[1:])
        folds = sum_folds(whole, reduced, self.rows.chunk.value.data)
        self.add(replace(self.make_pass([*parts, *plain]), reduced=reduced, folds=folds))

    def _part(self, write: LinearWrite, reduced: frozenset[int]) -> LinearWrite:
        """The output of a sum that goes on in the record of its chunk."""
        lanes = accumulator_lanes(write.value_kind, self.target)
        partials = lanes if choose_vector_dim(self.bounds, reduced) in reduced else 1
        kept = tuple(d for d in range(len(self.bounds)) if d not in reduced)
        extents = tuple(self.bounds[d] for d in kept)
        pointer = self.result.allocate(prod(extents) * partials, write.value_kind)
        steps = {d: partials * prod(extents[k + 1 :]) for k, d in enumerate(kept)}
        linear = Linear(tuple(steps.get(d, 0) for d in range(len(self.bounds))))
        outputs = list(self.rows.outputs)
        buffer = root_of(self.op.outputs[write.position])
        number = outputs.index(self._operand(buffer))
        whole = replace(write, pointer=f"%out{number}", position=0)
        offset = int(pointer.rpartition(".")[2])
        self.sums.append(RowSum(whole, offset, kept, extents, partials))
        return replace(
            write, pointer=pointer, kind=write.value_kind, offset=linear, starts=False, resumes=True
        )

    def _operand(self, argument: SSAValue) -> SSAValue:
        operands = (*self.rows.inputs, *self.rows.outputs)
        arguments: list[SSAValue] = [*self.rows.body.block.args]
        return operands[arguments.index(argument)]


def _ends(one: RowSum, plan: RowsPlan, memory: NestPlan, target: MachineTarget) -> list[Pass]:
    """The passes that fold the lanes of all chunks, and combine the chunks in order."""
    outputs = prod(one.extents)
    steps = [prod(one.extents[k + 1 :]) for k in range(len(one.extents))]
    record = plan.record_bytes // bytes_of(one.kind)
    source = LinearRead(f"%scratch.{one.offset}", one.kind, Linear((record, *steps)))
    lanes = vector_lanes([one.kind], True, target)
    passes: list[Pass] = []
    if one.partials > 1:
        pointer = memory.allocate(plan.chunks * outputs, one.kind)
        read = Linear((record, *(s * one.partials for s in steps), 1))
        write = Linear((outputs, *steps, 0))
        last = len(one.extents) + 1
        passes.append(
            Pass(
                bounds=(plan.chunks, *one.extents, one.partials),
                reads=(replace(source, offset=read),),
                writes=(
                    replace(one.write, pointer=pointer, kind=one.kind, offset=write, starts=False),
                ),
                body=CopyBody(),
                reduced=frozenset([last]),
                lanes=lanes,
            )
        )
        source = LinearRead(pointer, one.kind, Linear((outputs, *steps)))
    goal = Linear(
        (0, *(one.write.offset.coefficients[d] for d in one.kept)), one.write.offset.constant
    )
    passes.append(
        Pass(
            bounds=(plan.chunks, *one.extents),
            reads=(source,),
            writes=(replace(one.write, offset=goal),),
            body=CopyBody(),
            reduced=frozenset([0]),
            folds=chunk_folds(plan.chunks),
            across_lanes=False,
            lanes=lanes,
        )
    )
    return [interleave(narrow_lanes(normalize(p)), target) for p in passes]


def start_of(one: RowSum) -> str:
    """The number that a sum starts from."""
    return identity(one.write.combiner, one.kind)
