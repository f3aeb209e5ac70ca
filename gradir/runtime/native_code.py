"""Native code with all that running it takes: what the compiler makes, and the disk keeps.

The object files have no addresses of a process. They name the functions that they call, and find
the records of host calls by a symbol; the linker puts in this process's records.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from gradir.codegen.driver.growing_memory import GROWING_SYMBOLS
from gradir.codegen.driver.pool import BARRIER, RUN
from gradir.codegen.driver.report import CompiledProgram
from gradir.codegen.text.callback_functions import HOST_RECORDS, HOST_SYMBOL, POLL_SYMBOL
from gradir.codegen.text.clock import CLOCK
from gradir.codegen.text.target import MachineTarget
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.host_functions import HostFunction
from gradir.errors import CompileError
from gradir.passes.buffers.plan_memory import MemoryPlan
from gradir.runtime import jit, pool, threads
from gradir.runtime.callbacks import callback_address
from gradir.runtime.executable import Executable
from gradir.runtime.llvm import CompileTimes
from gradir.runtime.packed import ComplexLayout, SlicesLayout

if TYPE_CHECKING:
    from gradir.runtime.host import HostCalls

    host_calls_of = HostCalls
else:
    host_calls_of = lazy_function("gradir.runtime.host", "HostCalls")


# Level 1 shrinks LLVM's text to an eighth in the time of writing it.
COMPRESSION = 1

NO_FUNCTIONS: Mapping[str, HostFunction] = MappingProxyType({})


@dataclass(frozen=True)
class NativeCode:
    """A program, its object files, and what the caller of an `Executable` can ask.

    `read_results` are the results that are added to, `layout` has the row slices, `complexes` the
    complex arguments and results. `times` are those
    of its compilation, None where it was not compiled in this process. Quick code has `modules`,
    the compressed texts from which better code is made (`compiler/tiers.py`), of each object that
    is not well compiled.
    """

    program: CompiledProgram
    objects: tuple[bytes, ...]
    threads: int
    plan: MemoryPlan | None
    read_results: tuple[int, ...]
    layout: SlicesLayout | None
    times: CompileTimes | None
    modules: tuple[bytes, ...] = ()
    complexes: ComplexLayout | None = None


def loaded(
    code: NativeCode, target: MachineTarget, functions: Mapping[str, HostFunction] = NO_FUNCTIONS
) -> Executable:
    """The code in memory, as a function; `functions` are those that its host calls name."""
    program = code.program
    host_calls = host_calls_of(program, functions) if program.host_calls else None
    made = Executable(
        *(program, linked(code, host_calls), target, code.threads, code.plan, code.times),
        *(code.read_results, code.layout, code.complexes),
    )
    made.host = host_calls
    return made


def linked(code: NativeCode, host_calls: HostCalls | None) -> jit.LoadedCode:
    """The objects of the code in memory, with the records of its host calls."""
    symbols = symbols_of(code.program)
    if host_calls is not None:
        symbols[HOST_RECORDS] = host_calls.address
    return jit.LoadedCode(code.objects, (code.program.entry,), symbols)


def packed_text(text: str) -> bytes:
    """LLVM text in little memory: hardly anybody asks for it."""
    return zlib.compress(text.encode(), COMPRESSION)


def unpacked_text(packed: bytes) -> str:
    """The text of `packed_text`."""
    return zlib.decompress(packed).decode()


def runnable(target: MachineTarget) -> MachineTarget:
    """The target; CompileError where this machine lacks its instructions."""
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
    if program.timed:
        functions[CLOCK] = threads.library_function(CLOCK)
    if not program.is_parallel:
        return functions
    return functions | {symbol: pool.shared().function(symbol) for symbol in (RUN, BARRIER)}
