"""A compiled function that is called with arrays.

A call checks its arguments, fills a table of addresses, and runs native code with the GIL released.
A native function does all of that (`native_call.py`) where each argument is an array that can be
read in place or a plain number; any other call, and every message, is made here. Calls are
re-entrant: each takes a table and an arena of its own. Results are new arrays, large ones on pooled
memory, or the arrays given as `out`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.dialects.func import FuncOp

from gradir.codegen.driver.entry import LIBRARY_SYMBOLS, OPENMP_SYMBOLS
from gradir.codegen.driver.growing_memory import (
    CAPACITY,
    GROWING_SYMBOLS,
    NO_MEMORY,
    POINTER,
    as_limit,
)
from gradir.codegen.driver.program import CompiledProgram, emit_program
from gradir.codegen.driver.scalars import NO_BOUND, PLAIN
from gradir.codegen.text.callback_functions import HOST_OBJECT, HOST_SYMBOL, POLL_SYMBOL
from gradir.codegen.text.kernel import ERROR_BOUND, ERROR_CODE, ERROR_INDEX
from gradir.codegen.text.table import TABLE_ARGUMENTS, TABLE_ERROR, TABLE_THREADS
from gradir.codegen.text.target import MachineTarget, host
from gradir.dialects.base.attributes import integers_of
from gradir.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    ExecutionError,
    IndexOutOfRange,
)
from gradir.passes.analysis.arguments import READ_RESULTS
from gradir.runtime import jit, threads
from gradir.runtime.arrays import (
    Array,
    ArraySpec,
    address_of,
    as_input,
    as_output,
    require_unchanged,
    spec_of,
)
from gradir.runtime.callbacks import callback_address, take_raised
from gradir.runtime.host import HostCalls
from gradir.runtime.memory import Block, ResultBuffer, shared_pool
from gradir.runtime.native_call import NativeCall
from gradir.runtime.recompiled import Recompiled
from gradir.runtime.tapes import GrownMemory, NativeTape, unboxed

# From this size on a result is placed on pooled memory: the system would give fresh pages for it.
POOLED_RESULT_BYTES = 1 << 16
# Up to this size the arena of an idle call is kept with its table.
KEPT_ARENA_BYTES = 1 << 16
# An arena may lie in a free block so many times as large.
ARENA_SLACK = 8


class _Call:
    """What a running call owns: the table, and an arena if a small one does.

    `run` makes the whole call natively, if it can.
    """

    __slots__ = ("address", "block", "growing", "run", "table")

    def __init__(self, words: int, growing: Sequence[tuple[int, int, int]], native: NativeCall):
        self.table: Any = (ctypes.c_int64 * words)()
        self.address = ctypes.addressof(self.table)
        self.growing = growing
        self.block: Block | None = None
        self.run = native.runner(self.address)
        self.prepare()

    def prepare(self) -> None:
        """Give memory that grows an address, though there is room for no record yet."""
        for word, stride, _ in self.growing:
            if not self.table[word + POINTER]:
                self.table[word + POINTER] = threads.allocate(stride)

    def free(self) -> None:
        """Free what the table holds; it has no further use."""
        take_raised(self.table)
        for word, _, _ in self.growing:
            threads.free(self.table[word + POINTER])
            self.table[word + POINTER] = 0

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # at the end of the process the system frees everything, and what frees here may be gone
        if not is_ending():
            self.free()


class Executable(Recompiled):
    """One compiled function: `executable(*arrays, out=None)` gives a tuple of arrays.

    Inputs are NumPy arrays, CPU arrays that speak DLPack, and for rank 0 also Python numbers; dtype
    and shape must be exactly those of the function. Contiguous arrays are read in place, others are
    copied. `out` holds one array, or None, for each result: C-contiguous, of the result's dtype
    and shape, sharing no memory with an input or another entry.
    """

    def __init__(
        self,
        program: CompiledProgram,
        code: jit.LoadedCode,
        target: MachineTarget,
        thread_count: int,
        plan: Any = None,
        times: jit.CompileTimes | None = None,
    ):
        self.program = program
        self.plan = plan
        self.target = target
        self._threads = thread_count
        self.compile_times = times
        self.inputs = tuple(spec_of(p.name, p.type) for p in program.inputs)
        self.results = tuple(spec_of(p.name, p.type) for p in program.results)
        self._code = code
        self._run = code.function()
        self._pool = shared_pool()
        self._idle: list[_Call] = []
        self._constants = [np.frombuffer(c.data or b"\0", np.uint8) for c in program.constants]
        self._arena_bytes = program.arena_bytes or 0
        self._first_input = TABLE_ARGUMENTS + (program.arena_bytes is not None)
        self._first_result = self._first_input + len(self.inputs)
        # whether the table of each run is told the arena, or how many threads there are
        self._is_lent = self._arena_bytes > KEPT_ARENA_BYTES or program.is_parallel
        # the words of memory that grows and belongs to a result
        self._grown = {kept: word for word, _, kept in program.growing if kept >= 0}
        # where a result is a tape, how many arrays stand for each result
        self._result_sizes = [
            NativeTape.slots(type_, k in self._grown)
            for k, type_ in enumerate(program.result_tapes)
        ]
        self.host: HostCalls | None = None
        # results that are added to, so that their arrays must be given
        self.read_results: tuple[int, ...] = ()
        makers = [_pooled_maker(spec) for spec in self.results]
        self._makers = [made or _maker(s) for made, s in zip(makers, self.results, strict=True)]
        self._native = NativeCall(
            code.address, self.inputs, self.results, makers, self._first_input, program.table_words
        )

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def threads(self) -> int:
        """How many threads a call uses at most: one in a forked child."""
        return threads.usable(self._threads)

    @property
    def llvm_ir(self) -> str:
        """The LLVM module as gradir wrote it."""
        return self.program.text

    @property
    def asm(self) -> str:
        """The machine code as assembly text."""
        return jit.assembly(self.program.text, self.target)

    def __repr__(self) -> str:
        inputs = ", ".join(f"%{s.name}: {s}" for s in self.inputs)
        results = ", ".join(map(str, self.results))
        return f"<gradir function {self.name}({inputs}) -> ({results}), {self.threads} threads>"

    def __call__(self, *arrays: object, out: object = None) -> tuple[Array, ...]:
        if self._result_sizes and out is not None:
            out = self._unboxed_out(out)
        if self.read_results:
            self._require_given(out)
        if self.program.input_tapes:
            arrays = self._unboxed(arrays)
        return self._call(arrays, out, self._checked)

    def attempt(self, arrays: tuple[object, ...], out: object) -> tuple[Any, ...] | None:
        """The call, if it can be made without a look at the arguments in Python, else None."""
        if self.read_results or self.program.input_tapes or self._result_sizes:
            return None
        return self._call(arrays, out, None)

    def _call(
        self, arrays: tuple[object, ...], out: object, checked: Callable[..., Any] | None
    ) -> Any:
        """The native call, else what `checked` makes of it."""
        try:
            call = self._idle.pop()
        except IndexError:
            call = self._new_call()
        block = self._lend(call) if self._is_lent else None
        try:
            results = call.run(arrays, out)
            if results is None and checked is not None:
                results = checked(call, arrays, out)
        finally:
            if block is not None:
                self._pool.give(block)
        if results is False:
            failure = take_raised(call.table) or self._index_error(call.table)
            call.free()
            raise failure
        if self.program.result_tapes and results is not None:
            results = self._boxed(call, results)
        self._idle.append(call)
        return results

    def _lend(self, call: _Call) -> Block | None:
        """Give a run its threads, and an arena if the table has none of its own."""
        call.table[TABLE_THREADS] = self.threads
        if self._arena_bytes <= KEPT_ARENA_BYTES:
            return None
        block = self._pool.take(self._arena_bytes, ARENA_SLACK)
        call.table[TABLE_ARGUMENTS] = block.address
        return block

    def _checked(self, call: _Call, arrays: Sequence[object], out: object) -> Any:
        """A run with arguments of any kind: the results, or False after an error."""
        if len(arrays) != len(self.inputs):
            raise self._wrong_count(len(arrays))
        table = call.table
        entries = None if out is None else tuple(self._entries(out))
        read = [
            array if _fits(array, spec) else as_input(array, spec, self._input_place(k))
            for k, (array, spec) in enumerate(zip(arrays, self.inputs, strict=True))
        ]
        # methods of foreign arrays ran above; from here on no code but gradir's does
        for k, (array, spec) in enumerate(zip(read, self.inputs, strict=True)):
            if array is arrays[k]:
                require_unchanged(array, spec, self._input_place(k))
            table[self._first_input + k] = address_of(array)
        if entries is None:
            results = self._new_results(table)
        else:
            results = self._given_results(table, entries)
        self._run(call.address)
        return False if table[TABLE_ERROR] else results

    # Tapes.

    def _unboxed(self, arguments: Sequence[object]) -> tuple[object, ...]:
        types = self.program.input_tapes
        if len(arguments) != len(types):
            raise ArgumentTypeError(
                f"{self.name}: expected {len(types)} arguments, got {len(arguments)}"
            )
        return tuple(unboxed(arguments, types, self.name))

    def _boxed(self, call: _Call, arrays: Sequence[Array]) -> tuple[Any, ...]:
        """The results with one object for the arrays of each tape."""
        rest, results = iter(arrays), list[Any]()
        for k, type_ in enumerate(self.program.result_tapes):
            if type_ is None:
                results.append(next(rest))
            elif k in self._grown:
                word = self._grown[k]
                count = next(rest)
                memory = GrownMemory(call.table[word + POINTER], int(count))
                call.table[word + POINTER] = call.table[word + CAPACITY] = 0
                call.prepare()
                results.append(NativeTape.grown(type_, memory, count))
            else:
                own = tuple(islice(rest, self._result_sizes[k]))
                results.append(NativeTape(type_, own))
        return tuple(results)

    def _unboxed_out(self, out: object) -> list[object]:
        """An entry of `out` for each buffer. A tape is always new."""
        flat: list[object] = []
        entries = self._entries(out, len(self._result_sizes))
        types = self.program.result_tapes
        for k, (entry, size) in enumerate(zip(entries, self._result_sizes, strict=True)):
            if types[k] is not None and entry is not None:
                raise ArgumentTypeError(
                    f"{self.name}: out[{self._out_index(len(flat))}]: expected None for a tape, "
                    f"got {type(entry).__name__}"
                )
            flat += [entry] * size
        return flat

    # Parts of a call.

    def _new_call(self) -> _Call:
        words = self.program.table_words + len(self.inputs)
        call = _Call(words, self.program.growing, self._native)
        for constant, array in zip(self.program.constants, self._constants, strict=True):
            call.table[constant.word] = array.ctypes.data
        if 0 < self._arena_bytes <= KEPT_ARENA_BYTES:
            call.block = self._pool.take(self._arena_bytes)
            call.table[TABLE_ARGUMENTS] = call.block.address
        return call

    def _new_results(self, table: Any) -> tuple[Array, ...]:
        results: list[Array] = []
        for word, make in enumerate(self._makers, self._first_result):
            array = make()
            table[word] = address_of(array)
            results.append(array)
        return tuple(results)

    def _given_results(self, table: Any, entries: Sequence[object]) -> tuple[Array, ...]:
        """Results in the arrays of `out`, new ones where it says None."""
        taken = [
            (table[word], table[word] + spec.nbytes)
            for word, spec in enumerate(self.inputs, self._first_input)
        ]
        results: list[Any] = []
        word = self._first_result
        for entry, spec, make in zip(entries, self.results, self._makers, strict=True):
            if entry is None:
                entry = make()
                address = address_of(entry)
            else:
                array = (
                    entry if _fits(entry, spec) else as_output(entry, spec, self._out_place(word))
                )
                address = address_of(array)
                end = address + spec.nbytes
                for low, high in taken:
                    if address < high and low < end:
                        raise self._overlap(table, word, address, spec)
            taken.append((address, address + spec.nbytes))
            table[word] = address
            results.append(entry)
            word += 1
        return tuple(results)

    def _require_given(self, out: object) -> None:
        """ArgumentError if an array is not given that is read before it is written."""
        entries = (None,) * len(self.results) if out is None else self._entries(out)
        for k in self.read_results:
            if entries[k] is None:
                raise ArgumentError(
                    f"{self.name}: out[{self._out_index(k)}]: expected the array that the "
                    "result is added to, "
                    f"a {self.results[k]}"
                )

    def _entries(self, out: object, count: int | None = None) -> Sequence[object]:
        """The entries of `out`, one for each of `count` results, or for each buffer."""
        entries = cast(Sequence[object], out) if isinstance(out, tuple | list) else (out,)
        count = len(self.results) if count is None else count
        if len(entries) != count:
            raise ArgumentError(
                f"{self.name}: out: expected {count} entries, one for each result, "
                f"got {len(entries)}"
            )
        return entries

    # Messages.

    def _input_place(self, index: int) -> str:
        """An argument by one of its buffers."""
        types = self.program.input_tapes
        place = place_of(index, [NativeTape.slots(t) for t in types]) if types else index
        return f"{self.name}: argument {place} (%{self.inputs[index].name})"

    def _out_place(self, word: int) -> str:
        return f"{self.name}: out[{self._out_index(word - self._first_result)}]"

    def _out_index(self, word: int) -> int:
        """The place in `out` of the buffer of a result."""
        return place_of(word, self._result_sizes) if self._result_sizes else word

    def _overlap(self, table: Any, word: int, address: int, spec: ArraySpec) -> ArgumentError:
        places = [f"argument {k} (%{s.name})" for k, s in enumerate(self.inputs)]
        places += [f"out[{k}]" for k in range(len(self.results))]
        specs = (*self.inputs, *self.results)
        for other, (name, taken) in enumerate(zip(places, specs, strict=True), self._first_input):
            start = table[other]
            if other < word and address < start + taken.nbytes and start < address + spec.nbytes:
                return ArgumentError(f"{self._out_place(word)} shares memory with {name}")
        raise AssertionError("no overlap")

    def _wrong_count(self, count: int) -> ArgumentError:
        names = ", ".join(f"%{spec.name}" for spec in self.inputs)
        return ArgumentTypeError(
            f"{self.name}: expected {len(self.inputs)} arguments ({names}), got {count}"
        )

    def _index_error(self, table: Any) -> ExecutionError:
        words = (ERROR_CODE, ERROR_INDEX, ERROR_BOUND)
        code, index, bound = (int(table[TABLE_ERROR + word]) for word in words)
        message = self.program.messages[code - 1]
        if bound < 0:
            return ExecutionError(_failure(message, index, bound))
        return IndexOutOfRange(f"{message}: index {index} is out of range for a size of {bound}")


def place_of(buffer: int, sizes: Sequence[int]) -> int:
    """Of entries of so many buffers each, the one that has the buffer."""
    return next(k for k in range(len(sizes)) if buffer < sum(sizes[: k + 1]))


def _failure(message: str, number: int, bound: int) -> str:
    """What went wrong, where no index is out of range."""
    if bound == PLAIN:
        return message
    if bound == NO_BOUND:
        return f"{message}, got {number}"
    if bound == NO_MEMORY:
        return f"{message} finds no memory for {number} bytes"
    return f"{message}'s limit is {as_limit(bound)} bytes, needed {number}"


ExecutableT = TypeVar("ExecutableT", bound=Executable)


def compile_function(
    function: FuncOp,
    thread_count: int | None = None,
    target: MachineTarget | None = None,
    plan: Any = None,
    kind: type[ExecutableT] = Executable,
) -> ExecutableT:
    """Native code for a function at buffer level, for the given number of threads at most."""
    target = runnable(target or host())
    count = threads.thread_count(thread_count)
    program = emit_program(function, target, count)
    compiled = jit.compile_object(program.text, target)
    host_calls = HostCalls(program) if program.host_calls else None
    symbols = symbols_of(program)
    if host_calls is not None:
        symbols[HOST_OBJECT] = id(host_calls)
    code = jit.LoadedCode(compiled.data, (program.entry,), symbols)
    made = kind(program, code, target, count, plan, compiled.times)
    made.host = host_calls
    if isinstance(read := function.attributes.get(READ_RESULTS), DenseArrayBase):
        made.read_results = tuple(integers_of(cast(DenseArrayBase[Any], read)))
    return made


def runnable(target: MachineTarget) -> MachineTarget:
    """The target; CompileError where this machine lacks what its code needs."""
    if target.lacking:
        raise CompileError(
            f"code for {target.level} cannot run on this machine, which lacks "
            f"{', '.join(target.lacking)}; as an object or as assembly it can be written"
        )
    return target


def symbols_of(program: CompiledProgram) -> dict[str, int]:
    """The addresses of the functions that the module calls."""
    functions: dict[str, int] = {}
    if program.growing:
        for symbol, name in GROWING_SYMBOLS.items():
            functions[symbol] = threads.library_function(name)
    if program.can_stop:
        functions |= {symbol: callback_address(symbol) for symbol in (POLL_SYMBOL, HOST_SYMBOL)}
    if not program.is_parallel:
        return functions
    for symbol, name in OPENMP_SYMBOLS.items():
        functions[symbol] = threads.openmp_function(name)
    for symbol, name in LIBRARY_SYMBOLS.items():
        functions[symbol] = threads.library_function(name)
    return functions


def _fits(array: object, spec: ArraySpec) -> TypeGuard[Array]:
    """The common case, quickly: an array that the code can read and write in place."""
    return (
        type(array) is np.ndarray
        and array.dtype is spec.dtype
        and array.shape == spec.shape
        and array.flags.carray
    )


def _pooled_maker(spec: ArraySpec) -> Callable[[], Array] | None:
    """What makes new arrays for a result on pooled memory; None where it is small."""
    if spec.nbytes < POOLED_RESULT_BYTES:
        return None
    return ResultBuffer(shared_pool(), spec.shape, spec.dtype, spec.nbytes).make


def _maker(spec: ArraySpec) -> Callable[[], Array]:
    shape, dtype = spec.shape, spec.dtype
    return lambda: np.empty(shape, dtype)
