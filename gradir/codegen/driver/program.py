"""A whole function at buffer level to LLVM modules: kernels, and a driver that calls them.

All threads run the driver together, inside one parallel region. Each phase of a kernel is split
into contiguous shares of its items, or left to thread 0 where it is too short to share. Threads
wait for each other only where a phase touches memory that another thread may have touched since
the last barrier, and one of the two wrote. The same share of the items goes to the same thread in
every kernel, so that rows stay in one core's cache.

Control flow is run by all threads alike, on numbers that each computes for itself; where it shares
no work thread 0 runs it alone, and then no thread waits inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, Operation, SSAValue

from gradir.codegen.driver.attributes import graph_of, parameters_of, tapes_of
from gradir.codegen.driver.buffers import BufferTable
from gradir.codegen.driver.costs import driver_cost, driver_costs
from gradir.codegen.driver.entry import entry_function
from gradir.codegen.driver.growing_memory import (
    grow_function,
    trim_function,
)
from gradir.codegen.driver.kernels import KernelCache
from gradir.codegen.driver.loop_blocks import LoopBlocks
from gradir.codegen.driver.modules import HandOut, ModuleWriter
from gradir.codegen.driver.parts import LONG_LIST, DriverParts
from gradir.codegen.driver.report import (
    CompiledProgram,
    Constant,
    HostCallSite,
    KernelReport,
    Parameter,
    PhaseReport,
    Timed,
    byte_size,
)
from gradir.codegen.driver.scalars import ScalarCode
from gradir.codegen.driver.table import TableWords
from gradir.codegen.driver.threads import SharedWork, Use
from gradir.codegen.text.callback_functions import (
    ACTIONS,
    CALL,
    HOST_RECORDS,
    HOST_SYMBOL,
    WAIT,
)
from gradir.codegen.text.control_flow import ControlFlow
from gradir.codegen.text.kinds import kind_of
from gradir.codegen.text.polls import POLL_DECLARATION, Polls
from gradir.codegen.text.target import MachineTarget
from gradir.codegen.text.writer import FunctionWriter
from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.loopnest.buffer_ops import ReserveOp, WindowOp
from gradir.dialects.loopnest.host_invoke import HostInvokeOp
from gradir.dialects.loopnest.loopnest import KernelOp
from gradir.passes.analysis.liveness import is_control_flow
from gradir.passes.analysis.region_ops import blocks_of

if TYPE_CHECKING:
    from gradir.codegen.driver.stopwatch import Stopwatch
    from gradir.codegen.text.sized import SizedFunctions

    stopwatch, sized_functions = Stopwatch, SizedFunctions
else:
    sized_functions = lazy_function("gradir.codegen.text.sized", "SizedFunctions")
    stopwatch = lazy_function("gradir.codegen.driver.stopwatch", "Stopwatch")

__all__ = [
    "CompiledProgram", "Constant", "HostCallSite", "KernelReport", "Parameter", "PhaseReport",
    "byte_size", "emit_program",
]  # fmt: skip


def emit_program(
    function: func.FuncOp,
    target: MachineTarget,
    threads: int,
    profile: bool = False,
    hand_out: HandOut = lambda text, is_quick: None,
    may_be_quick: bool = False,
) -> CompiledProgram:
    """`function` in LLVM text, for at most `threads` threads.

    With `profile` the driver takes the time of its parts. `hand_out` is given the modules for LLVM
    one by one, the first of them while others are written; if they `may_be_quick`, code with short
    runs is in modules that are to be compiled quickly first.
    """
    modules = ModuleWriter(target, hand_out, may_be_quick)
    driver = _Driver(function, target, modules, threads, profile)
    driver.function_block()
    return driver.program()


class _Driver:
    """Walks the function's blocks and writes the driver that calls the kernels."""

    def __init__(
        self,
        function: func.FuncOp,
        target: MachineTarget,
        modules: ModuleWriter,
        threads: int,
        profile: bool = False,
    ):
        self.function, self.target, self.modules = function, target, modules
        self.text = FunctionWriter()
        self.work = SharedWork(self.text, threads)
        self.table = TableWords(self.text)
        self.stopwatch: Stopwatch | None = None
        self.host_calls: list[HostCallSite] = []
        # the async and started calls of the block that have not been waited for
        self.started: list[tuple[int, HostInvokeOp]] = []
        self.buffers = BufferTable(function, self.text, self.table)
        self.sizes = graph_of(function)
        if self.sizes is not None:
            modules.sized = sized_functions(self.table.take())
        self.parts = DriverParts(self.work, target)
        self.kernels = KernelCache(target, self.work, self.buffers, modules)
        self.scalars = ScalarCode(
            self.text, self.work, self.buffers.__getitem__, self.kernels.own_error
        )
        self.blocks = LoopBlocks(self.scalars, target)
        self.polls = Polls(self.text, driver_costs(lambda op: self.kernels.emitted(op).kernel))
        self.control = ControlFlow(
            *(self.text, self.scalars.names, self.region_block),
            condition_of=self.condition,
            blocks_of=self.blocks.of,
            chunk_of=self.polls.chunk,
            at_back_edge=self.polls.back_edge,
        )
        if profile:
            self.stopwatch = watch = stopwatch(self.work, self.table)
            self.work.around_waits = lambda: watch.around(watch.waiting())
        # whether a block of a region ends with a barrier where memory was touched
        self.synchronizes = False

    # Ops.

    def function_block(self) -> None:
        block = self.function.body.block
        self.declare(block)
        self.kernels.find_kernels(block)
        phases = list(self.kernels.phases(block))
        if self.sizes is not None and self.work.threads > 1:
            self.work.hold_cost(sum(phase.cost for phase, _ in phases))
        if not self.work.is_worth_waking(phases):
            self.work.threads = 1
        self.work.can_stop = self.can_stop(block)
        self.ops(block)
        last = block.last_op
        if isinstance(last, func.ReturnOp) and last.operands:
            raise LocatedError("func.return: results go to buffers at this level", last)

    def declare(self, block: Block) -> None:
        """Say where all buffers are, in regions too, so that kernels can be emitted."""
        for op in block.ops:
            if isinstance(op, arith.ConstantOp):
                self.scalars.emit(op)
            elif not self.buffers.declare(op) and is_control_flow(op):
                for inner in blocks_of(op):
                    self.declare(inner)

    def can_stop(self, block: Block) -> bool:
        """Whether anything in a function may end its call before its time."""
        return (
            any(isinstance(op, HostInvokeOp) for op in block.walk())
            or any(emitted.kernel.polls for emitted in self.kernels.all())
            or self.polls.costs.has_long_loop(block)
        )

    def ops(self, block: Block) -> None:
        """Write all ops of a block but its terminator."""
        outer, self.started = self.started, list[tuple[int, HostInvokeOp]]()
        calls = 0
        for op in block.ops:
            if isinstance(op, WindowOp):
                self.scalars.emit(op)
            elif self.is_declared(op) or op.next_op is None or op in self.blocks.ahead:
                continue
            else:
                self.wait_for_uses(op)
                self.op(op)
                calls += 1
                if self.buffers.is_long_list and calls % LONG_LIST == 0:
                    self.cut()
        self.wait_for(list(self.started))
        self.started = outer

    def cut(self) -> None:
        """Code written so far is a function of its own."""
        self.parts.cut()
        self.buffers.new_part()

    def op(self, op: Operation) -> None:
        if isinstance(op, KernelOp):
            self.loop(op)
        elif is_control_flow(op):
            with self.timed_flow(op):
                self.flow(op)
        elif isinstance(op, HostInvokeOp):
            self.host_call(op)
        elif not self.scalars.emit(op):
            raise LocatedError(f"{op.name}: no native code for this op at buffer level", op)

    def timed_flow(self, op: Operation) -> AbstractContextManager[None]:
        """Around control flow of the function itself, in a profile."""
        watch = self.stopwatch
        if watch is None or op.parent_op() is not self.function:
            return nullcontext()
        return watch.apart(watch.loop(op))

    def is_declared(self, op: Operation) -> bool:
        """Nothing is left to write for `op` after `declare`."""
        return isinstance(op, arith.ConstantOp) or type(op) in self.buffers.DECLARATIONS

    # Control flow.

    def region_block(self, block: Block) -> None:
        self.ops(block)
        if self.synchronizes:
            self.work.synchronize()
        else:
            self.work.on_all_threads()

    def condition(self, decision: scf.ConditionOp) -> str:
        """The condition of another trip; false after records found no room, so that loops end."""
        condition, loop = self.scalars.names[decision.condition], decision.parent_op()
        assert loop is not None
        for records in {op.records: None for op in loop.walk() if isinstance(op, ReserveOp)}:
            condition = self.scalars.unless_failed(condition, records)
        return condition

    def flow(self, op: Operation) -> None:
        """Control flow: all threads run it together, or thread 0 alone where it shares no work."""
        work = self.work
        blocks = blocks_of(op)
        uses = [use for block in blocks for use in self.buffers.uses(block)]
        if work.is_alone:
            self.control.emit(op)
        elif not any(use.writes for use in uses):
            work.synchronize_writes()
            self.emit_flow(op, synchronizes=False)
        elif work.is_shared_anywhere(p for block in blocks for p, _ in self.kernels.phases(block)):
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
        names, f = self.scalars.names, self.scalars.f
        results = [r for r in op.results if r.first_use is not None]
        slots = [self.buffers.new_slot() for _ in results]
        with self.work.keep_on_thread_zero([*uses, *(slot.use(writes=True)[0] for slot in slots)]):
            self.control.emit(op)
            for result, slot in zip(results, slots, strict=True):
                f.store(kind_of(result.type), 1, slot.pointer, names[result])
        self.work.on_all_threads([slot.use(writes=False)[0] for slot in slots])
        for result, slot in zip(results, slots, strict=True):
            names[result] = f.load(kind_of(result.type), 1, slot.pointer)

    # Host calls and kernels.

    def host_call(self, op: HostInvokeOp) -> None:
        """A host call: of an async or started one, the start."""
        number = len(self.host_calls)
        self.host_calls.append(HostCallSite.of_op(op))
        if op.is_async:
            self.started.append((number, op))
            uses = self.buffers.all_uses(op.inputs, writes=False)
            self.call_back(CALL, number, op, op.inputs, uses)
        else:
            if op.is_started:
                self.started.append((number, op))
            self.call_back(CALL, number, op, op.operands, self.buffers.uses_of(op))

    def wait_for_uses(self, op: Operation) -> None:
        """Wait for the calls under way whose outputs an op touches, or whose inputs it writes."""
        if not self.started:
            return
        uses = [*self.buffers.uses_of(op)]
        self.wait_for(
            [
                (number, call)
                for number, call in self.started
                if any(use.conflicts(other) for other in self.uses_under_way(call) for use in uses)
            ]
        )

    def wait_for(self, calls: Sequence[tuple[int, HostInvokeOp]]) -> None:
        """Wait for calls under way, and write their outputs."""
        for number, op in calls:
            touched = op.operands if op.is_started else op.outputs
            self.call_back(WAIT, number, op, touched, self.uses_under_way(op))
            self.started.remove((number, op))

    def uses_under_way(self, call: HostInvokeOp) -> Iterable[Use]:
        """The buffers that a call touches between its start and its end."""
        if call.is_lent:
            return self.buffers.uses_of(call)
        return self.buffers.all_uses(call.outputs, writes=True)

    def call_back(
        self,
        action: int,
        number: int,
        op: HostInvokeOp,
        operands: Sequence[SSAValue],
        uses: Iterable[Use],
    ) -> None:
        """Thread 0, which is the caller's, calls back with the addresses of the buffers.

        The call ends here where a function raises, or a signal's handler meanwhile.
        """
        with self.text.early():
            table = self.text.allocate("ptr", max(len(operands), 1), 8, "buffers")
        self.work.on_thread_zero([*uses])
        for k, operand in enumerate(operands):
            place = self.text.address("ptr", table, k)
            self.text.store("ptr", 1, place, self.buffers.pointer(operand))
        code = ACTIONS * number + action
        arguments = f"ptr @{HOST_RECORDS}, i64 {code}, ptr {table}, ptr %table"
        watch = self.stopwatch
        with nullcontext() if watch is None else watch.around(watch.host(op), action == CALL):
            stopped = self.text.call("i64", f"@{HOST_SYMBOL}", arguments)
        self.polls.leave_if(stopped)

    def loop(self, op: KernelOp) -> None:
        emitted = self.kernels.emitted(op)
        buffers = [self.buffers[operand] for operand in op.operands]
        ends = ["ptr null"] if not op.scratch else []
        ends.append(f"ptr {self.kernels.error_of(emitted)}")
        if emitted.kernel.polls:
            ends.append("ptr %table")

        distances = self.kernels.distances.get(op, (0,) * len(op.operands))

        def arguments() -> str:
            places = zip(op.operands, distances, strict=True)
            pointers = [f"ptr {self.buffers.pointer(o, distance)}" for o, distance in places]
            return ", ".join(pointers + ends)

        reads = len(op.inputs)
        uses = [use for k, b in enumerate(buffers) for use in b.use(k >= reads)]
        timed = None if self.stopwatch is None else self.stopwatch.kernel(op, emitted.report.name)
        first = next((p for p in emitted.kernel.phases if p.items), None)
        for phase in emitted.kernel.phases:
            self.work.phase(phase, arguments, uses, self.timed_phase(timed, phase is first))
            if emitted.kernel.polls:
                self.polls.check()
        emitted.report.calls += 1

    def timed_phase(self, timed: Timed | None, counts: bool) -> AbstractContextManager[None]:
        """Around the call of a kernel's phase; the first one counts the kernel's calls."""
        if timed is None or self.stopwatch is None:
            return nullcontext()
        return self.stopwatch.around(timed, counts)

    # The module.

    def program(self) -> CompiledProgram:
        """The program that the walk has written."""
        self.work.finish()
        if self.buffers.is_long_list:
            self.cut()
        self.kernels.finish(self.text.needs.messages)
        arena, inputs, results = parameters_of(self.function)
        return CompiledProgram(
            name=self.function.sym_name.data,
            text=self.module_text(),
            arena_bytes=byte_size(arena.type) if arena else None,
            inputs=inputs,
            results=results,
            constants=tuple(constant for constant, _ in self.buffers.constants.values()),
            messages=tuple(self.kernels.messages),
            table_words=self.table.count,
            is_parallel=self.work.shared_phases > 0,
            growing=tuple(self.buffers.growing),
            input_tapes=tapes_of(self.function, "inputs"),
            result_tapes=tapes_of(self.function, "results"),
            barriers=self.work.barriers,
            kernels=tuple(e.report for e in self.kernels.all()),
            host_calls=tuple(self.host_calls),
            can_stop=self.work.can_stop,
            timed=() if self.stopwatch is None else self.stopwatch.timed,
            sizes_word=None if self.modules.sized is None else self.modules.sized.word,
        )

    def module_text(self) -> str:
        """The text of the program, whose last module is handed out."""
        is_parallel = self.work.shared_phases > 0
        parts: list[str] = []
        if self.host_calls:
            parts.append(f"declare i64 @{HOST_SYMBOL}(ptr, i64, ptr, ptr)")
            parts.append(f"@{HOST_RECORDS} = external global i8")
        if self.work.can_stop:
            parts.append(POLL_DECLARATION)
        if self.stopwatch is not None:
            parts.append(self.stopwatch.function)
        parts += [*self.parts.texts, self.driver_text()]
        if self.scalars.grows:
            parts += [grow_function(self.target), trim_function(self.target, self.buffers.growing)]
        ends = ["gradir_trim"] if self.scalars.grows else []
        entry = entry_function(
            self.target, self.kernels.records, ends, is_parallel, self.work.can_stop
        )
        cost = driver_cost(self.function)
        return self.modules.finish([*parts, entry], self.text.needs.functions, cost)

    def driver_text(self) -> str:
        """`@gradir_driver`, which every thread runs."""
        if self.buffers.is_long_list:
            self.parts.calls()
        else:
            self.work.end()
        return self.parts.define("gradir_driver", "void")
