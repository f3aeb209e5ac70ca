"""The kernels of a function: one for all loop ops that are equal, and the error records of all."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Block

from gradir.codegen.driver.anchors import anchored
from gradir.codegen.driver.buffers import BufferTable
from gradir.codegen.driver.costs import trips_or_many
from gradir.codegen.driver.modules import ModuleWriter
from gradir.codegen.driver.report import KernelReport, PhaseReport
from gradir.codegen.driver.threads import SharedWork
from gradir.codegen.kernel_key import kernel_key
from gradir.codegen.nests.kernel import emit_nest
from gradir.codegen.text.kernel import ERROR_RECORD_BYTES, Kernel, KernelPhase
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.traced_sizes import cost_of
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.loopnest import ContractOp, KernelOp, LoopOp, NestOp
from gradir.dialects.loopnest.rows import RowsOp
from gradir.passes.analysis.liveness import is_control_flow
from gradir.passes.analysis.region_flow import times, trips
from gradir.passes.analysis.region_ops import blocks_of

if TYPE_CHECKING:
    from gradir.codegen.contractions.kernel import emit_contract, planned_threads
    from gradir.codegen.contractions.plan import contract_scratch_bytes
    from gradir.codegen.programs.kernel import emit_forall
    from gradir.codegen.rows.kernel import emit_rows
else:
    emit_contract = lazy_function("gradir.codegen.contractions.kernel", "emit_contract")
    planned_threads = lazy_function("gradir.codegen.contractions.kernel", "planned_threads")
    contract_scratch_bytes = lazy_function(
        "gradir.codegen.contractions.plan", "contract_scratch_bytes"
    )
    emit_forall = lazy_function("gradir.codegen.programs.kernel", "emit_forall")
    emit_rows = lazy_function("gradir.codegen.rows.kernel", "emit_rows")


@dataclass(frozen=True)
class EmittedKernel:
    """A kernel in the module, and the word of its error record in the table, if it has one."""

    kernel: Kernel
    error: int | None
    report: KernelReport


@dataclass
class _FoundKernel:
    """The first op that a kernel is for, how often all of them run, and the kernel once written."""

    op: KernelOp
    name: str
    runs: float = 0.0
    emitted: EmittedKernel | None = None


class KernelCache:
    """Emits one kernel for all equal loop ops, and keeps the kernels' error messages.

    An entry of `records` is the first word of an error record, and how many of `messages` stand
    before those that its codes count.
    """

    def __init__(
        self, target: MachineTarget, work: SharedWork, buffers: BufferTable, modules: ModuleWriter
    ):
        self.target, self.work, self.buffers, self.modules = target, work, buffers, modules
        self.table = buffers.table
        # the threads among which kernels share work, even if the driver runs on one
        self.threads = work.threads
        self.messages: list[str] = []
        self.records: list[tuple[int, int]] = []
        self._kernels: dict[Hashable, _FoundKernel] = {}
        # an op is asked for twice: for the costs of its phases, and for their calls
        self._of_ops: dict[KernelOp, _FoundKernel] = {}
        # by loop op, the bytes between the begin of each operand and where its kernel begins
        self.distances: dict[KernelOp, tuple[int, ...]] = {}
        self._own_record: int | None = None

    def all(self) -> list[EmittedKernel]:
        return [found.emitted for found in self._kernels.values() if found.emitted is not None]

    def find_kernels(self, block: Block, executions: float = 1.0) -> None:
        """Find the kernel of each loop op in a block and its regions, and count its runs.

        None is written before all are found: how often one runs decides on its tier.
        """
        for op in block.ops:
            if isinstance(op, KernelOp):
                found = self._of_ops[op] = self._found(op)
                found.runs += executions
            elif is_control_flow(op):
                for inner in blocks_of(op):
                    self.find_kernels(inner, executions * trips_or_many(op))

    def emitted(self, op: KernelOp) -> EmittedKernel:
        """The kernel of `op`, which is written to the module if no equal op was before."""
        found = self._of_ops[op]
        if found.emitted is None:
            found.emitted = self._write(found)
            _erase_moved(found.op)
        return found.emitted

    def _found(self, op: KernelOp) -> _FoundKernel:
        """The kernel of an op, which may be that of an equal op before."""
        places = [self.buffers[operand].place for operand in op.operands]
        kernel_op = self._moved(op, places) if isinstance(op, LoopOp) else op
        key = kernel_key(kernel_op, places)
        known = self._kernels.get(key)
        if known is None:
            name = f"{op.name.partition('.')[2]}_{len(self._kernels)}"
            known = self._kernels[key] = _FoundKernel(kernel_op, name)
        else:
            _erase_moved(kernel_op)
        return known

    def _moved(self, op: LoopOp, places: Sequence[Hashable]) -> LoopOp:
        """The op with accesses that begin at 0, or itself where it would be planned otherwise."""
        moved, distances = anchored(op, places)
        if self._is_planned_alike(op, moved):
            self.distances[op] = distances
            return moved
        moved.erase()
        return op

    def _is_planned_alike(self, op: LoopOp, moved: LoopOp) -> bool:
        """Whether an op with moved pointers has the scratch memory that it wants."""
        if moved is op or not isinstance(op, ContractOp):
            return True
        assert isinstance(moved, ContractOp)
        threads = planned_threads(op) or self.threads
        wanted = [contract_scratch_bytes(each, self.target, threads) for each in (op, moved)]
        return wanted[0] == wanted[1]

    def _write(self, found: _FoundKernel) -> EmittedKernel:
        kernel = self._emit(found.op, found.name)
        self.modules.add_kernel(kernel, found.runs * sum(cost_of(p.cost) for p in kernel.phases))
        phases = [PhaseReport(p.items, p.cost, self.work.is_shared(p)) for p in kernel.phases]
        report = KernelReport(found.name, found.op.name, tuple(phases))
        return EmittedKernel(kernel, self._error_record(kernel), report)

    def phases(
        self, block: Block, executions: int | None = 1
    ) -> Iterator[tuple[KernelPhase, int | None]]:
        """The phases of all kernels in a block and its regions, and how often each runs at most."""
        for op in block.ops:
            if isinstance(op, KernelOp):
                for phase in self.emitted(op).kernel.phases:
                    yield phase, executions
            elif is_control_flow(op):
                for inner in blocks_of(op):
                    yield from self.phases(inner, times(executions, trips(op)))

    def _emit(self, op: KernelOp, name: str) -> Kernel:
        if isinstance(op, ContractOp):
            return emit_contract(op, name, self.target, self.threads)
        if isinstance(op, ForallOp):
            return emit_forall(op, name, self.target)
        if isinstance(op, RowsOp):
            return emit_rows(op, name, self.target, self.threads)
        assert isinstance(op, NestOp)
        return emit_nest(op, name, self.target)

    def _error_record(self, kernel: Kernel) -> int | None:
        """The record of a kernel: codes of different kernels mean different messages."""
        if not kernel.messages:
            return None
        word = self.table.take(ERROR_RECORD_BYTES // 8)
        self.records.append((word, len(self.messages)))
        self.messages += kernel.messages
        return word

    def error_of(self, emitted: EmittedKernel) -> str:
        """The pointer that a kernel gets as its error record."""
        return "%table" if emitted.error is None else self.table.pointer(emitted.error)

    def own_error(self) -> str:
        """The error record of the driver's own checks."""
        if self._own_record is None:
            self._own_record = self.table.take(ERROR_RECORD_BYTES // 8)
        return self.table.pointer(self._own_record)

    def finish(self, messages: list[str]) -> None:
        """Append the messages of the driver's own checks, behind all kernels' messages."""
        if self._own_record is not None:
            self.records.append((self._own_record, len(self.messages)))
            self.messages += messages


def _erase_moved(op: KernelOp) -> None:
    """Erase an op with moved pointers, which stands in no block, once nothing is written of it."""
    if op.parent is None:
        op.erase()
