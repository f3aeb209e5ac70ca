"""A whole function at buffer level to one LLVM module: kernels, and a driver that calls them.

All threads run the driver together, inside one parallel region. Each phase of a kernel is split
into contiguous shares of its items, or left to thread 0 where it is too short to share. Threads
wait for each other only where a phase touches memory that another thread may have touched since
the last barrier, and one of the two wrote. The same share of the items goes to the same thread in
every kernel, so that rows stay in one core's cache.

Control flow is run by all threads alike, on numbers that each computes for itself; where it shares
no work thread 0 runs it alone, and then no thread waits inside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    IntegerAttr,
)
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.contractions.kernel import emit_contract
from gradir.codegen.driver.attributes import global_data, parameters_of, tapes_of
from gradir.codegen.driver.costs import driver_costs
from gradir.codegen.driver.entry import parallel_entry, serial_entry
from gradir.codegen.driver.growing_memory import (
    GROW_DECLARATIONS,
    RECORDS_WORDS,
    grow_function,
    trim_function,
)
from gradir.codegen.driver.kernel_key import kernel_key
from gradir.codegen.driver.loop_blocks import LoopBlocks
from gradir.codegen.driver.report import (
    BufferType,
    CompiledProgram,
    Constant,
    HostCallSite,
    KernelReport,
    Parameter,
    PhaseReport,
    byte_size,
)
from gradir.codegen.driver.scalars import Buffer, ScalarCode
from gradir.codegen.driver.threads import SharedWork, Use
from gradir.codegen.nests.kernel import emit_nest
from gradir.codegen.programs.kernel import emit_forall
from gradir.codegen.text.callback_functions import HOST_OBJECT, HOST_SYMBOL
from gradir.codegen.text.control_flow import ControlFlow
from gradir.codegen.text.functions import FunctionText
from gradir.codegen.text.instructions import kind_of
from gradir.codegen.text.kernel import ERROR_RECORD_BYTES, Kernel, KernelPhase
from gradir.codegen.text.polls import POLL_DECLARATION, UNLIKELY_DEFINITION, Polls
from gradir.codegen.text.table import TABLE_ARGUMENTS
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.vector_math import collect
from gradir.codegen.vector_math.target_functions import complete
from gradir.dialects.base.diagnostics import LocatedError, value_name
from gradir.dialects.loopnest.buffer_ops import RecordsAtOp, RecordsOp, ReserveOp, WindowOp
from gradir.dialects.loopnest.forall import ForallOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import ContractOp, LoopOp, NestOp, ReshapeOp
from gradir.passes.analysis.liveness import is_control_flow
from gradir.passes.analysis.region_flow import times, trips

__all__ = [
    "CompiledProgram", "Constant", "HostCallSite", "KernelReport", "Parameter", "PhaseReport",
    "byte_size", "emit_program",
]  # fmt: skip


def emit_program(function: func.FuncOp, target: MachineTarget, threads: int) -> CompiledProgram:
    """The LLVM module of `function`, for at most `threads` threads."""
    driver = _Driver(function, target, threads)
    driver.function_block()
    return driver.program()


@dataclass(frozen=True)
class _Emitted:
    """A kernel in the module, and the error record that it is handed."""

    kernel: Kernel
    error: str
    report: KernelReport


class _Driver:
    """Walks the function's blocks and writes the driver; `EMITTERS` says how for each op."""

    def __init__(self, function: func.FuncOp, target: MachineTarget, threads: int):
        self.function, self.target, self.threads = function, target, threads
        self.text = FunctionText()
        self.work = SharedWork(self.text, threads)
        self.buffers: dict[SSAValue, Buffer] = {}
        self.offsets: dict[SSAValue, int] = {}
        self.kernels: dict[Hashable, _Emitted] = {}
        self.constants: dict[str, tuple[Constant, Buffer]] = {}
        self.messages: list[str] = []
        self.records: list[tuple[int, int]] = []
        self.words = TABLE_ARGUMENTS
        self.own_record = ""
        self.growing: list[tuple[int, int, int]] = []
        self.host_calls: list[HostCallSite] = []
        self.roots = 0
        self.scalars = ScalarCode(
            self.text, self.work, lambda buffer: self.buffers[buffer], self.own_error
        )
        self.blocks = LoopBlocks(self.scalars, target)
        self.polls = Polls(self.text, driver_costs(lambda op: self.emitted(op).kernel))
        self.control = ControlFlow(
            *(self.text, self.scalars.names, self.region_block),
            condition_of=self.condition,
            blocks_of=self.blocks.of,
            chunk_of=self.polls.chunk,
            at_back_edge=self.polls.back_edge,
        )
        # whether a block of a region ends with a barrier where memory was touched
        self.synchronizes = False
        for argument in function.body.block.args:
            self.buffers[argument] = self.new_buffer(cast(BufferType, argument.type))

    # Ops.

    def function_block(self) -> None:
        block = self.function.body.block
        self.declare(block)
        if not self.work.is_worth_waking(self.phases(block)):
            self.work.threads = 1
        self.work.can_stop = self.can_stop(block)
        self.ops(block)
        last = block.last_op
        if isinstance(last, func.ReturnOp) and last.operands:
            raise LocatedError("func.return: results go to buffers at this level", last)

    def declare(self, block: Block) -> None:
        """Say where all buffers are, those of regions too, so that kernels can be emitted."""
        for op in block.ops:
            declared = self.DECLARATIONS.get(type(op))
            if declared is not None:
                declared(self, op)
            elif is_control_flow(op):
                for region in op.regions:
                    for inner in region.blocks:
                        self.declare(inner)

    def phases(
        self, block: Block, executions: int | None = 1
    ) -> Iterator[tuple[KernelPhase, int | None]]:
        """The phases of all kernels in a block and its regions, and how often each runs at most."""
        for op in block.ops:
            if isinstance(op, LoopOp | ForallOp):
                for phase in self.emitted(op).kernel.phases:
                    yield phase, executions
            elif is_control_flow(op):
                for region in op.regions:
                    for inner in region.blocks:
                        yield from self.phases(inner, times(executions, trips(op)))

    def can_stop(self, block: Block) -> bool:
        """Whether anything in a function may end its call before its time."""
        return (
            any(isinstance(op, HostInvokeOp) for op in block.walk())
            or any(emitted.kernel.polls for emitted in self.kernels.values())
            or self.polls.costs.has_long_loop(block)
        )

    def ops(self, block: Block) -> None:
        """Write all ops of a block but its terminator."""
        for op in block.ops:
            if isinstance(op, WindowOp):
                self.scalars.emit(op)
            elif type(op) in self.DECLARATIONS or op.next_op is None or op in self.blocks.ahead:
                continue
            elif isinstance(op, LoopOp | ForallOp):
                self.loop(op)
            elif is_control_flow(op):
                self.flow(op)
            elif isinstance(op, HostInvokeOp):
                self.host_call(op)
            elif not self.scalars.emit(op):
                raise LocatedError(f"{op.name}: no native code for this op at buffer level", op)

    # Control flow.

    def region_block(self, block: Block) -> None:
        self.ops(block)
        if self.synchronizes:
            self.work.synchronize()
        else:
            self.work.on_all_threads()

    def condition(self, decision: scf.ConditionOp) -> str:
        """What decides on another trip: a loop whose records find no room might never end."""
        condition, loop = self.scalars.names[decision.condition], decision.parent_op()
        assert loop is not None
        for records in {op.records: None for op in loop.walk() if isinstance(op, ReserveOp)}:
            condition = self.scalars.unless_failed(condition, records)
        return condition

    def flow(self, op: Operation) -> None:
        """Control flow: all threads run it together, or thread 0 alone where it shares no work."""
        work = self.work
        blocks = [block for region in op.regions for block in region.blocks]
        uses = [use for block in blocks for use in self.uses(block)]
        if work.is_alone:
            self.control.emit(op)
        elif not any(use.writes for use in uses):
            work.synchronize_writes()
            self.emit_flow(op, synchronizes=False)
        elif work.is_shared_anywhere(p for block in blocks for p, _ in self.phases(block)):
            work.synchronize()
            self.emit_flow(op, synchronizes=True)
        else:
            self.flow_alone(op, uses)

    def emit_flow(self, op: Operation, synchronizes: bool) -> None:
        outer, self.synchronizes = self.synchronizes, synchronizes
        self.control.emit(op)
        self.synchronizes = outer

    def flow_alone(self, op: Operation, uses: Sequence[Use]) -> None:
        """Thread 0 runs it, and hands the scalar results to the others through memory."""
        names, memory = self.scalars.names, self.scalars.memory
        results = [r for r in op.results if r.first_use is not None]
        slots = [self.new_slot() for _ in results]
        with self.work.alone([*uses, *(slot.use(writes=True)[0] for slot in slots)]):
            self.control.emit(op)
            for result, slot in zip(results, slots, strict=True):
                memory.store(kind_of(result.type), 1, slot.pointer, names[result])
        self.work.on_all_threads([slot.use(writes=False)[0] for slot in slots])
        for result, slot in zip(results, slots, strict=True):
            names[result] = memory.load(kind_of(result.type), 1, slot.pointer)

    def uses(self, block: Block) -> Iterator[Use]:
        """What the ops in a block and its regions touch."""
        for op in block.ops:
            if isinstance(op, LoopOp | ForallOp):
                for k, operand in enumerate(op.operands):
                    yield from self.buffers[operand].use(k >= len(op.inputs))
            elif isinstance(op, HostInvokeOp):
                yield from self.host_uses(op)
            elif isinstance(op, ReserveOp):
                yield from self.buffers[op.records].use(writes=True)
            elif isinstance(op, memref.LoadOp | memref.StoreOp):
                yield from self.buffers[op.memref].use(isinstance(op, memref.StoreOp))
            elif is_control_flow(op):
                for region in op.regions:
                    for inner in region.blocks:
                        yield from self.uses(inner)

    # Host calls.

    def host_uses(self, op: HostInvokeOp) -> Iterator[Use]:
        for values, writes in ((op.inputs, False), (op.outputs, True)):
            for value in values:
                yield from self.buffers[value].use(writes)

    def host_call(self, op: HostInvokeOp) -> None:
        """Thread 0, which is the caller's, calls back with the addresses of the buffers.

        The call ends here where a function raises, or a signal's handler meanwhile.
        """
        inputs, outputs = (
            tuple(cast(BufferType, v.type) for v in vs) for vs in (op.inputs, op.outputs)
        )
        site = HostCallSite(op.callee.data, op.message.data, inputs, outputs)
        number, count = len(self.host_calls), max(len(op.operands), 1)
        self.host_calls.append(site)
        table = self.work.early(f"alloca [{count} x ptr], align 8", "buffers")
        self.work.on_thread_zero(list(self.host_uses(op)))
        for k, operand in enumerate(op.operands):
            place = self.text.emit(f"getelementptr ptr, ptr {table}, i64 {k}")
            self.text.line(f"store ptr {self.buffers[operand].pointer}, ptr {place}, align 8")
        arguments = f"ptr @{HOST_OBJECT}, i64 {number}, ptr {table}, ptr %table"
        self.polls.leave_if(self.text.emit(f"call i64 @{HOST_SYMBOL}({arguments})"))

    # Kernels.

    def loop(self, op: LoopOp | ForallOp) -> None:
        emitted = self.emitted(op)
        buffers = [self.buffers[operand] for operand in op.operands]
        pointers = [f"ptr {buffer.pointer}" for buffer in buffers]
        if not op.scratch:
            pointers.append("ptr null")
        pointers.append(f"ptr {emitted.error}")
        if emitted.kernel.polls:
            pointers.append("ptr %table")
        reads = len(op.inputs)
        uses = [use for k, b in enumerate(buffers) for use in b.use(k >= reads)]
        for phase in emitted.kernel.phases:
            self.work.phase(phase, ", ".join(pointers), uses)
            if emitted.kernel.polls:
                self.polls.check()
        emitted.report.calls += 1

    def emitted(self, op: LoopOp | ForallOp) -> _Emitted:
        """The kernel of `op`, which is written to the module if no equal op was before."""
        key = kernel_key(op, [self.buffers[operand].place for operand in op.operands])
        if key not in self.kernels:
            kind = op.name.partition(".")[2]
            name = f"{kind}_{len(self.kernels)}"
            kernel = self.emit(op, name)
            phases = [PhaseReport(p.items, p.cost, self.work.is_shared(p)) for p in kernel.phases]
            report = KernelReport(name, op.name, tuple(phases))
            self.kernels[key] = _Emitted(kernel, self.error_record(kernel), report)
        return self.kernels[key]

    def emit(self, op: LoopOp | ForallOp, name: str) -> Kernel:
        if isinstance(op, ContractOp):
            return emit_contract(op, name, self.target, self.threads)
        if isinstance(op, ForallOp):
            return emit_forall(op, name, self.target)
        assert isinstance(op, NestOp)
        return emit_nest(op, name, self.target)

    def error_record(self, kernel: Kernel) -> str:
        """The record of a kernel: codes of different kernels mean different messages."""
        if not kernel.messages:
            return "%table"
        self.records.append((self.words, len(self.messages)))
        record = self.work.early(f"getelementptr i64, ptr %table, i64 {self.words}", "error")
        self.words += ERROR_RECORD_BYTES // 8
        self.messages += kernel.messages
        return record

    def own_error(self) -> str:
        """The record for what the driver itself checks, in the last words of the table."""
        if not self.own_record:
            self.own_record = self.work.early(
                f"getelementptr i64, ptr %table, i64 {self.words}", "error"
            )
            self.own_word = self.words
            self.words += ERROR_RECORD_BYTES // 8
        return self.own_record

    # Buffers and constants.

    def constant(self, op: arith.ConstantOp) -> None:
        self.scalars.emit(op)
        if isinstance(op.value, IntegerAttr):
            self.offsets[op.result] = cast(IntegerAttr[Any], op.value).value.data

    def view(self, op: memref.ViewOp) -> None:
        offset = self.offsets.get(op.byte_shift)
        if offset is None:
            raise LocatedError("memref.view: the byte shift must be an arith.constant", op)
        source, size = self.buffers[op.source], byte_size(op.result.type)
        low = source.low + offset
        if offset < 0 or low + size > source.high:
            raise LocatedError(
                f"memref.view: {size} bytes at {offset} do not fit {value_name(op.source)} of "
                f"{source.high - source.low} bytes",
                op,
            )
        pointer = self.work.early(f"getelementptr i8, ptr {source.pointer}, i64 {offset}", "view")
        self.buffers[op.result] = Buffer(source.root, low, low + size, pointer)

    def reshape(self, op: ReshapeOp) -> None:
        self.buffers[op.result] = self.buffers[op.operand]

    def get_global(self, op: memref.GetGlobalOp) -> None:
        name = op.name_.string_value()
        if name not in self.constants:
            word, buffer = self.words, self.new_buffer(op.memref.type)
            data = global_data(self.function, name, op)
            if len(data) != buffer.high:
                raise LocatedError(
                    f"memref.get_global: {buffer.high} bytes expected in @{name}, got {len(data)}",
                    op,
                )
            constant = Constant(name, op.memref.type, data, word)
            self.constants[name] = constant, buffer
        self.buffers[op.memref] = self.constants[name][1]

    def alloca(self, op: memref.AllocaOp) -> None:
        size = byte_size(op.memref.type)
        pointer = self.work.early(f"alloca [{size} x i8], align 8", "slot")
        self.buffers[op.memref] = Buffer(self.new_root(), 0, size, pointer, is_private=True)

    def window(self, op: WindowOp) -> None:
        source = self.buffers[op.source]
        pointer = "%" + self.text.fresh("window")
        self.buffers[op.result] = replace(source, pointer=pointer, is_window=True)

    def grown(self, op: RecordsOp) -> None:
        """Words of the table for memory that grows."""
        word = self.words
        self.words += RECORDS_WORDS
        kept = -1 if op.kept is None else op.kept.value.data
        self.growing.append((word, op.stride.value.data, kept))
        pointer = self.work.early(f"getelementptr i64, ptr %table, i64 {word}")
        self.buffers[op.result] = Buffer(word, 0, 1 << 62, pointer)

    def grown_before(self, op: RecordsAtOp) -> None:
        slot = self.buffers[op.slot]
        self.buffers[op.result] = Buffer(self.new_root(), 0, 1 << 62, slot.pointer)

    DECLARATIONS: ClassVar[dict[type[Operation], Callable[[Any, Any], None]]] = {
        ReshapeOp: reshape,
        arith.ConstantOp: constant,
        memref.ViewOp: view,
        memref.AllocaOp: alloca,
        memref.GetGlobalOp: get_global,
        RecordsOp: grown,
        RecordsAtOp: grown_before,
        WindowOp: window,
    }

    def new_root(self) -> int:
        """The number of an allocation that is no word of the table."""
        self.roots += 1
        return -self.roots

    def new_slot(self) -> Buffer:
        """A word of the table, to hand a number from one thread to the others."""
        word = self.words
        self.words += 1
        pointer = self.work.early(f"getelementptr i64, ptr %table, i64 {word}")
        return Buffer(self.new_root(), 0, 8, pointer)

    def new_buffer(self, type_: BufferType) -> Buffer:
        """A buffer whose address is the next word of the table."""
        word = self.words
        self.words += 1
        slot = self.work.early(f"getelementptr i64, ptr %table, i64 {word}")
        return Buffer(word, 0, byte_size(type_), self.work.early(f"load ptr, ptr {slot}, align 8"))

    # The module.

    def program(self) -> CompiledProgram:
        """What the walk has gathered."""
        self.work.finish()
        if self.own_record:
            self.records.append((self.own_word, len(self.messages)))
            self.messages += self.scalars.needs.messages
        arena, inputs, results = parameters_of(self.function)
        return CompiledProgram(
            name=self.function.sym_name.data,
            text=self.module_text(),
            arena_bytes=byte_size(arena.type) if arena else None,
            inputs=inputs,
            results=results,
            constants=tuple(constant for constant, _ in self.constants.values()),
            messages=tuple(self.messages),
            table_words=self.words,
            is_parallel=self.work.shared_phases > 0,
            growing=tuple(self.growing),
            input_tapes=tapes_of(self.function, "inputs"),
            result_tapes=tapes_of(self.function, "results"),
            barriers=self.work.barriers,
            kernels=tuple(e.report for e in self.kernels.values()),
            host_calls=tuple(self.host_calls),
            can_stop=self.work.can_stop,
        )

    def module_text(self) -> str:
        kernels = [emitted.kernel for emitted in self.kernels.values()]
        ours = self.scalars.needs
        functions = frozenset(ours.functions).union(*(k.functions for k in kernels))
        declarations = frozenset(ours.declarations).union(*(k.declarations for k in kernels))
        if self.scalars.grows:
            declarations -= GROW_DECLARATIONS
        is_parallel = self.work.shared_phases > 0
        parts = [collect(functions), *sorted(declarations), *(k.text for k in kernels)]
        if self.host_calls:
            parts.append(f"declare i64 @{HOST_SYMBOL}(ptr, i64, ptr, ptr)")
            parts.append(f"@{HOST_OBJECT} = external global i8")
        if self.work.can_stop:
            parts += [POLL_DECLARATION, UNLIKELY_DEFINITION]
        parts.append(self.driver_text())
        if self.scalars.grows:
            parts += [grow_function(self.target), trim_function(self.target, self.growing)]
        ends = ["gradir_trim"] if self.scalars.grows else []
        if is_parallel:
            parts.append(parallel_entry(self.target, self.records, ends, self.work.can_stop))
        else:
            parts.append(serial_entry(self.target, self.records, ends))
        return complete("\n".join(parts), self.target)

    def driver_text(self) -> str:
        """`@gradir_driver`, which every thread runs."""
        lines = [*self.work.prologue, *self.polls.prologue, self.text.text(), "  ret void"]
        lines.append(self.work.ways_out())
        return (
            "define internal void @gradir_driver(ptr %table, i64 %thread, i64 %threads, "
            f"ptr %barrier) noinline {self.target.attributes} {{\nentry:\n"
            "  %first = icmp eq i64 %thread, 0\n" + "\n".join(lines) + "\n}\n"
        )
