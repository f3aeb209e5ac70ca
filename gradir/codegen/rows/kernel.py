"""The kernel of `loopnest.rows`: a function for shares of the blocks, then functions for its sums.

An item of the first phase is a share: chunks that follow each other, each block by block, through
all nests. Their functions are handed the parts of the buffers that the block has.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from gradir.codegen.contractions.kernel import planned_threads
from gradir.codegen.nests.kernel import parameters, write_passes
from gradir.codegen.rows.plan_rows import RowsPlan, plan_rows, start_of
from gradir.codegen.text.functions import Needs
from gradir.codegen.text.kernel import Kernel, KernelPhase
from gradir.codegen.text.kinds import bytes_of
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import LINE_BYTES, FunctionWriter
from gradir.dialects.base.shapes import byte_size, element_of, shape_of
from gradir.dialects.loopnest.loopnest import NestOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.buffers.state import root_of


def rows_scratch_bytes(op: RowsOp, target: MachineTarget, threads: int) -> int:
    """The bytes of scratch memory that the kernel needs."""
    return plan_rows(op, target, threads).scratch_bytes


def emit_rows(op: RowsOp, name: str, target: MachineTarget, threads: int) -> Kernel:
    """The kernel, for the threads that it was planned for; for `threads` where nothing planned."""
    plan = plan_rows(op, target, planned_threads(op) or threads)
    needs = Needs()
    writer = _Writer(op, plan, needs)
    texts: list[str] = []
    cost = 0.0
    for k, (nest, passes) in enumerate(plan.blocks):
        text, phases = write_passes(
            passes, f"{name}.{k}", parameters(nest), target, needs, _kept(op, nest), op.blocks
        )
        texts.append(text)
        cost += sum(phase.cost for phase in phases)
        writer.calls.append(([*nest.inputs, *nest.outputs], phases))
    head = _parameters(op)
    symbol = f"{name}.rows"
    texts.append(writer.text(symbol, head, target))
    ends, end_phases = write_passes(plan.ends, f"{name}.end", head, target, needs)
    phase = KernelPhase(symbol, plan.shares, op.blocks * cost)
    return Kernel.of("\n".join([*texts, ends]), (phase, *end_phases), needs)


def _kept(op: RowsOp, nest: NestOp) -> frozenset[str]:
    """The outputs of a nest that stay in the cache: buffers of a block, or touched again."""
    touched = [root_of(v) for n in op.body.block.ops if isinstance(n, NestOp) for v in n.operands]
    return frozenset(
        f"%out{k}"
        for k, value in enumerate(nest.outputs)
        if (root := root_of(value)) in op.locals or touched.count(root) > 1
    )


def _parameters(op: RowsOp) -> list[str]:
    names = [f"ptr %in{k}" for k in range(len(op.inputs))]
    names += [f"ptr %out{k}" for k in range(len(op.outputs))]
    return [*names, "ptr noalias %scratch", "ptr noalias %error", "i64 %begin", "i64 %end"]


class _Writer:
    """Writes the function over shares; `calls` are the operands and functions of each nest."""

    def __init__(self, op: RowsOp, plan: RowsPlan, needs: Needs):
        self.op, self.plan = op, plan
        self.f = FunctionWriter(needs)
        self.calls: list[tuple[list[SSAValue], tuple[KernelPhase, ...]]] = []

    def text(self, symbol: str, head: list[str], target: MachineTarget) -> str:
        plan, f = self.plan, self.f
        with f.loop("%begin", "%end", hint="share") as share:
            mine = f.address("i8", "%scratch", f.multiply(share, plan.share_bytes))
            mine = f.address("i8", mine, plan.shares_at)
            first, last = f.share_of(plan.chunks, share, plan.shares)
            with f.loop(first, last, hint="chunk") as chunk:
                record = f.address("i8", "%scratch", f.multiply(chunk, plan.record_bytes))
                self._start_sums(record)
                begin, end = self._blocks_of(chunk)
                with f.loop(begin, end, hint="block") as block:
                    self._block(block, mine, record)
        f.ret()
        return f.define(symbol, ", ".join(head), target.attributes, linkage="")

    def _blocks_of(self, chunk: str) -> tuple[str, str]:
        op, f = self.op, self.f
        begin = self.f.multiply(chunk, op.chunk_blocks)
        end = f.add(begin, op.chunk_blocks)
        if not op.overlaps:
            return begin, f.minimum(end, op.blocks)
        is_last = f.emit(f"icmp eq i64 {end}, {op.blocks - 1}")
        return begin, f.emit(f"select i1 {is_last}, i64 {op.blocks}, i64 {end}")

    def _start_sums(self, record: str) -> None:
        """Set the accumulators of a chunk, in whole cache lines, to their first values."""
        for one in self.plan.sums:
            width = bytes_of(one.kind)
            lanes = LINE_BYTES // width
            start = self.f.splat(one.kind, lanes, start_of(one))
            size = -(-one.size // lanes) * lanes
            place = self.f.address("i8", record, one.offset)
            with self.f.loop("0", str(size), lanes, hint="start", at_least_once=True) as k:
                address = self.f.address(one.kind, place, k)
                self.f.store(one.kind, lanes, address, start)

    def _block(self, block: str, mine: str, record: str) -> None:
        places = self._places(block, mine)
        for values, phases in self.calls:
            handed_on = [f"ptr {places[root_of(value)]}" for value in values]
            arguments = ", ".join([*handed_on, f"ptr {record}", "ptr %error"])
            for phase in phases:
                items = f"i64 0, i64 {phase.items}"
                self.f.call("void", f"@{phase.symbol}", f"{arguments}, {items}")

    def _places(self, block: str, mine: str) -> dict[SSAValue, str]:
        """The pointer to the block's part of each buffer."""
        args = self.op.body.block.args
        names = [f"%in{k}" for k in range(len(self.op.inputs))]
        names += [f"%out{k}" for k in range(len(self.op.outputs))]
        places: dict[SSAValue, str] = {}
        rows, size = self.op.rows.value.data, self.op.size.value.data
        row = self.f.multiply(block, size)
        if self.op.overlaps:
            row = self.f.minimum(row, rows - size)
        for k, name in enumerate(names):
            stride = _bytes(args[k]) // size
            is_blocked = self.op.is_blocked(k)
            offset = self.f.multiply(row, stride) if is_blocked else "0"
            places[args[k]] = self.f.address("i8", name, offset)
        for local, offset in self.plan.locals.items():
            places[local] = self.f.address("i8", mine, offset)
        return places


def _bytes(buffer: SSAValue) -> int:
    shape = shape_of(buffer.type)
    size = byte_size(element_of(buffer.type))
    for extent in shape:
        size *= extent
    return size
