"""Compiled functions on arrays.

A call checks its arguments, fills a table of addresses, and runs native code without the GIL. A
native function does all of that (`native_call.py`) for arrays that can be read in place and plain
numbers; any other call is made in Python (`checked_call.py`), and so is every message
(`messages.py`). Calls are re-entrant: each takes a table (`call_table.py`) and an arena of its own.
Results are new arrays, large ones on pooled memory, or the arrays given as `out`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Never, NoReturn, Protocol, Self

import numpy as np

from gradir.codegen.driver.report import CompiledProgram, Timed
from gradir.codegen.text.table import TABLE_ARGUMENTS, TABLE_THREADS
from gradir.codegen.text.target import MachineTarget
from gradir.errors import ArgumentError
from gradir.runtime import jit, pool
from gradir.runtime.arrays import Array, ArraySpec, spec_of
from gradir.runtime.call_table import CallTable
from gradir.runtime.callbacks import take_raised
from gradir.runtime.checked_call import CheckedCall
from gradir.runtime.llvm import CompileTimes, assembly
from gradir.runtime.memory import MemoryBlock, ResultBuffer, shared_pool
from gradir.runtime.messages import Messages
from gradir.runtime.native_call import NativeCall, Runner
from gradir.runtime.packed import (
    ComplexLayout,
    SliceParts,
    SlicesLayout,
    TapeBoxes,
    as_complex,
    result_sizes,
)
from gradir.runtime.recompiled import Recompiled
from gradir.runtime.tapes import NativeTape
from gradir.runtime.team import Team

if TYPE_CHECKING:
    from gradir.runtime.host import HostCalls


class BetterCode(Protocol):
    """Code that is on its way, to run in the place of quick code."""

    def finish(self) -> None:
        """Put it in its place now."""
        ...


# The least size of results on pooled memory: malloc would map fresh pages for them.
POOLED_RESULT_BYTES = 1 << 16
# The largest arena that an idle call's table keeps.
KEPT_ARENA_BYTES = 1 << 16
# The most slack of an arena: its block may be this many times as large.
ARENA_SLACK = 8


class Executable(Recompiled):
    """One compiled function: `executable(*arrays, out=None)` gives a tuple of arrays.

    Inputs are NumPy arrays, CPU arrays that speak DLPack, and for rank 0 also Python numbers; dtype
    and shape must be exactly the function's. Contiguous arrays are read in place, others are
    copied. `out` holds one array, or None, for each result: C-contiguous, of the result's dtype
    and shape, sharing no memory with an input or another entry. Row slices are `RowSlices`, also in
    `out`, and a tape is an object that another function has returned.
    """

    def __init__(
        self,
        program: CompiledProgram,
        code: jit.LoadedCode,
        target: MachineTarget,
        thread_count: int,
        plan: Any = None,
        times: CompileTimes | None = None,
        read_results: Sequence[int] = (),
        layout: SlicesLayout | None = None,
        complexes: ComplexLayout | None = None,
    ):
        self.program = program
        self.plan = plan
        self.target = target
        self._threads = thread_count
        self.compile_times = times
        self.inputs = tuple(spec_of(p.name, p.type) for p in program.inputs)
        self.results = tuple(spec_of(p.name, p.type) for p in program.results)
        if complexes is not None:
            sizes = [NativeTape.slots(type_) for type_ in program.input_tapes]
            self.inputs = as_complex(self.inputs, complexes.inputs, sizes)
            self.results = as_complex(self.results, complexes.results, result_sizes(program))
        # the last one runs; calls may be under way in those before it
        self._codes = [code]
        self.improvement: BetterCode | None = None
        self._pool = shared_pool()
        self._idle: list[CallTable] = []
        self._constants = [np.frombuffer(c.data or b"\0", np.uint8) for c in program.constants]
        self._arena_bytes = program.arena_bytes or 0
        first = TABLE_ARGUMENTS + (program.arena_bytes is not None)
        # whether each run writes its arena to the table
        self._is_lent = self._arena_bytes > KEPT_ARENA_BYTES
        self._team = self._new_team()
        self.host: HostCalls | None = None
        self._messages = Messages(program, self.inputs, self.results, first)
        makers = [_pooled_maker(spec) for spec in self.results]
        for k in read_results:  # these are added to: their arrays must be given
            makers[k] = partial(self._messages.refuse_missing, k)
        self._native = NativeCall(
            code.address, self.inputs, self.results, makers, first, program.table_words
        )
        self._boxes = TapeBoxes(program, self._messages)
        self._slices = None if layout is None else SliceParts(layout, self._messages)
        # whether an argument or a result is several arrays
        self._is_packed = bool(layout or program.input_tapes or program.result_tapes)
        every = [made or _maker(s) for made, s in zip(makers, self.results, strict=True)]
        self._checked = CheckedCall(
            code.function(), self.inputs, self.results, every, first, self._messages
        )

    def _new_team(self) -> Team | None:
        is_shared = self.program.is_parallel and self._threads > 1
        return Team(self._threads) if is_shared else None

    def replace_code(self, code: jit.LoadedCode) -> None:
        """Run other code of the same program from the next call on."""
        self._codes.append(code)
        self._native.replace_entry(code.address)
        self._checked.replace_function(code.function())
        self._team = self._new_team()

    def wait_for_code(self) -> Self:
        """Wait until the better code runs, where quickly compiled code runs first."""
        if (improvement := self.improvement) is not None:
            improvement.finish()
        return self

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def threads(self) -> int:
        """The most threads of a call."""
        return self._threads

    @property
    def llvm_ir(self) -> str:
        """The LLVM module as gradir wrote it."""
        return self.program.text

    @property
    def asm(self) -> str:
        """The machine code as assembly text."""
        return assembly(self.program.text, self.target)

    def kernel_asm(self, name: str) -> str:
        """The assembly of one kernel, by its name in a profile."""
        names = [kernel.name for kernel in self.program.kernels]
        if name not in names:
            known = ", ".join(names) or "no kernel"
            raise ArgumentError(f"kernel_asm: expected one of {known}, got {name}")
        return jit.kernel_assembly(self.asm, name)

    def __repr__(self) -> str:
        inputs = ", ".join(f"%{s.name}: {s}" for s in self.inputs)
        results = ", ".join(map(str, self.results))
        return f"<gradir function {self.name}({inputs}) -> ({results}), {self.threads} threads>"

    def _repr_html_(self) -> str:
        return self.cell(self.plan)

    def __call__(self, *arrays: object, out: object = None, **named: Never) -> tuple[Array, ...]:
        if named:
            self.refuse_named(named, [spec.name for spec in self.inputs])
        if self._is_packed:
            return self._packed_call(arrays, out)
        return self._call(arrays, out, self._checked)

    def call_native(self, arrays: tuple[object, ...], out: object) -> tuple[Any, ...] | None:
        """The results of a native call; None where Python must look at the arguments."""
        return None if self._is_packed else self._call(arrays, out, None)

    def _packed_call(self, arguments: tuple[object, ...], out: object) -> tuple[Any, ...]:
        """A call with row slices or tapes, which are several arrays each."""
        slices = self._slices
        if slices is not None:
            arguments, out = slices.inputs(arguments), slices.out(out)
        if self.program.result_tapes and out is not None:
            out = self._boxes.unboxed_out(out)
        if self.program.input_tapes:
            arguments = self._boxes.unboxed(arguments)
        results = self._call(arguments, out, self._checked)
        return results if slices is None else slices.results(results)

    def timings(self) -> list[tuple[Timed, int, int]]:
        """What a program for a profile has timed, with its calls and nanoseconds in all runs."""
        tables = [call.table for call in self._idle]

        def total(word: int) -> int:
            return sum(table[word] for table in tables)

        return [(t, total(t.calls), total(t.nanoseconds)) for t in self.program.timed]

    def _call(
        self, arrays: tuple[object, ...], out: object, checked: Callable[..., Any] | None
    ) -> Any:
        """The native call, or else the call of `checked`."""
        try:
            call = self._idle.pop()
        except IndexError:
            call = self._new_call()
        block = self._lend(call) if self._is_lent else None
        try:
            if (team := self._team) is not None:
                results = self._timed(call, team, arrays, out, checked)
            elif (results := call.run(arrays, out)) is None and checked is not None:
                results = _by_python(call, arrays, out, checked)
        finally:
            if block is not None:
                self._pool.give(block)
        if results is False:
            self._fail(call)
        if self.program.result_tapes and results is not None:
            results = self._boxes.boxed(call, results)
        self._idle.append(call)
        return results

    def _fail(self, call: CallTable) -> NoReturn:
        """Raise what a run has left in its table, which is not used again."""
        failure = take_raised(call.table) or self._messages.failure(call.table)
        if self.host is not None:
            self.host.drop(call.address, failure)
        call.free()
        raise failure

    def single_runner(self) -> tuple[Runner, Callable[[], NoReturn]] | None:
        """A runner that one call at a time may use without this class, and what raises its error.

        None where a run takes an arena, threads, tapes or row slices.
        """
        if self._is_packed or self._is_lent or self._team is not None:
            return None
        call = self._new_call()
        return self._native.runner(call.address), partial(self._fail, call)

    def _timed(
        self,
        call: CallTable,
        team: Team,
        arrays: tuple[object, ...],
        out: object,
        checked: Callable[..., Any] | None,
    ) -> Any:
        """The call of a program with threads, on as many as pays."""
        size = team.size()
        if size > (workers := pool.shared()).size:
            workers.grow(size)
        call.table[TABLE_THREADS] = size
        is_clocked = team.needs_clock(size)
        # a host function may wait by itself: then that is no time that others take
        clock = time.thread_time_ns if self.host is None else time.perf_counter_ns
        used = clock() if is_clocked else 0
        start = time.perf_counter_ns()
        results = call.run(arrays, out)
        if results is None and checked is not None:
            results = _by_python(call, arrays, out, checked)
        if results is not None:
            end = time.perf_counter_ns()
            team.note(size, end - start, end, clock() - used if is_clocked else None)
        return results

    def _lend(self, call: CallTable) -> MemoryBlock | None:
        """Lend an arena, if the table has none of its own."""
        block = self._pool.take(self._arena_bytes, ARENA_SLACK)
        call.table[TABLE_ARGUMENTS] = block.address
        return block

    def _new_call(self) -> CallTable:
        words = self.program.table_words + len(self.inputs)
        call = CallTable(words, self.program.growing, self._native)
        for constant, array in zip(self.program.constants, self._constants, strict=True):
            call.table[constant.word] = array.ctypes.data
        if 0 < self._arena_bytes <= KEPT_ARENA_BYTES:
            call.block = self._pool.take(self._arena_bytes)
            call.table[TABLE_ARGUMENTS] = call.block.address
        return call


def _by_python(
    call: CallTable, arrays: tuple[object, ...], out: object, checked: Callable[..., Any]
) -> Any:
    call.by_python()
    return checked(call, arrays, out)


def _pooled_maker(spec: ArraySpec) -> Callable[[], Array] | None:
    """The maker of arrays on pooled memory for a result; None for small ones."""
    if spec.nbytes < POOLED_RESULT_BYTES:
        return None
    return ResultBuffer(shared_pool(), spec.shape, spec.dtype, spec.nbytes).make


def _maker(spec: ArraySpec) -> Callable[[], Array]:
    shape, dtype = spec.shape, spec.dtype
    return lambda: np.empty(shape, dtype)
