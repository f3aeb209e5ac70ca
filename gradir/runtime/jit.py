"""LLVM text to native code: optimize, emit an object, load it into this process.

LLVM is imported when the first function is compiled. The steps are separate so that an object can
be stored and loaded again without LLVM's optimizer.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from gradir.codegen.text.target import MachineTarget
from gradir.codegen.vector_math.target_functions import LIBRARY_FUNCTIONS
from gradir.errors import CompileError
from gradir.forking import compiler_lock
from gradir.runtime.object_file import undefined_symbols
from gradir.runtime.threads import library_function

# LLVM's -O2.
SPEED_LEVEL = 2

# gradir writes vectors, tiles and unrolled loops itself. LLVM's default pipeline takes ten times as
# long, for code that is no faster (measured on networks and on fused elementwise functions). NewGVN
# would save up to 3 % of a run, and does not come to an end on some loops with several sums.
PASSES = (
    "always_inliner",
    "sroa",
    "instruction_combine",
    "simplify_cfg",
    "loop_simplify",
    "lcssa",
    "loop_rotate",
    "instruction_combine",
    "simplify_cfg",
)

# One thread at a time: LLVM's modules share one global context.
_llvm_lock = compiler_lock()


@dataclass(frozen=True)
class CompileTimes:
    """The times of one compilation's steps, in microseconds."""

    parse: float
    optimize: float
    emit: float


@dataclass(frozen=True)
class CompiledObject:
    """An object file, and LLVM's times."""

    data: bytes
    times: CompileTimes


class _Linker:
    """An LLVM linker for a few libraries; closed after `leave` and the last `unload`.

    LLVM keeps some kilobytes of each library until its linker is closed, and a linker takes
    longer to make than a library. `unload` takes no lock: it may run at any point, when an object
    is collected.
    """

    LIBRARIES = 16

    def __init__(self) -> None:
        # JITLink places code and constants in one allocation, so that 32-bit offsets reach them;
        # the older linker asks for them one by one, which fails in a process that has mapped
        # gigabytes
        self._linker = _llvm().create_lljit_compiler(use_jit_link=True)
        # empty when the linker is closed or being closed: the taker of the entry closes it
        self._open = [self._linker]
        self._live: set[int] = set()
        self._free_places = self.LIBRARIES
        self._is_left = False

    def link(self, library: Any) -> tuple[Any, int]:
        """Load a library; returns its tracker and number, for `unload`."""
        number = next(_library_numbers)
        self._free_places -= 1
        self._live.add(number)
        try:
            return library.link(self._linker, f"gradir_{number}"), number
        except BaseException:
            self._live.discard(number)
            raise

    def unload(self, tracker: Any, number: int) -> None:
        """Free a library."""
        tracker.close()
        self._live.discard(number)
        self._close_if_unused()

    def is_full(self) -> bool:
        return self._free_places <= 0

    def leave(self) -> None:
        """Close the linker after its last library."""
        self._is_left = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._is_left or self._live:
            return
        try:
            linker = self._open.pop()
        except IndexError:
            return
        linker.close()


class LoadedCode:
    """Native code in memory with the lifetime of this object."""

    def __init__(self, data: bytes, entries: Sequence[str], symbols: Mapping[str, int]):
        """Load an object file; `symbols` are the addresses of the functions that it calls.

        `addresses` says where the functions `entries` begin.
        """
        llvm = _llvm()
        library = llvm.JITLibraryBuilder().add_object_img(data)
        for entry in entries:
            library.export_symbol(entry)
        imported = _imported(data, symbols)
        if imported is None:
            library.add_current_process()
            imported = symbols
        for name, address in imported.items():
            library.import_symbol(name, address)
        with _llvm_lock:
            linker = _linker()
            try:
                tracker, number = linker.link(library)
            except RuntimeError as error:
                raise CompileError(f"native code that cannot be loaded: {error}") from None
        # at the end of the process the system frees everything, and threads may still run code
        end: Any = weakref.finalize(self, linker.unload, tracker, number)
        end.atexit = False
        self.addresses = {entry: int(tracker[entry]) for entry in entries}
        for entry, address in self.addresses.items():
            if not address:
                raise CompileError(f"the compiled code has no function {entry}")
        self.address = self.addresses[entries[0]]

    def function(self) -> Any:
        """The first function, `void (ptr)`, callable with an address; it releases the GIL."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)


def _imported(data: bytes, symbols: Mapping[str, int]) -> dict[str, int] | None:
    """The addresses of an object's undefined symbols; None for an unknown format.

    CompileError for a symbol that is none of the allowed functions of the C library: a loaded
    library may define the name with another meaning. LLVM's linker would print a missing symbol,
    and stop.
    """
    undefined = undefined_symbols(data)
    if undefined is None:
        return None
    unknown = [n for n in undefined if n not in symbols and n not in LIBRARY_FUNCTIONS]
    if unknown:
        raise CompileError(
            f"the native code calls functions that gradir does not have: {', '.join(unknown)}"
        )
    called = {n: library_function(n) for n in undefined if n not in symbols}
    return called | dict(symbols)


def compile_object(text: str, target: MachineTarget, level: int = SPEED_LEVEL) -> CompiledObject:
    """Emit the native code of a module, optimized unless the level is 0."""
    with _llvm_lock:
        start = time.perf_counter()
        module, machine = _parse(text, target), _machine(target, level)
        parsed = time.perf_counter()
        if level:
            _optimize(module, machine)
        optimized = time.perf_counter()
        data = bytes(machine.emit_object(module))
        emitted = time.perf_counter()
    times = [1e6 * (b - a) for a, b in ((start, parsed), (parsed, optimized), (optimized, emitted))]
    return CompiledObject(data, CompileTimes(*times))


def assembly(text: str, target: MachineTarget) -> str:
    """The assembly of the code that `compile_object` emits."""
    with _llvm_lock:
        module, machine = _parse(text, target), _machine(target)
        _optimize(module, machine)
        return str(machine.emit_assembly(module))


def kernel_assembly(text: str, kernel: str) -> str:
    """The functions of one kernel in the assembly of a module."""
    function = rf'^_?"?{re.escape(kernel)}\.[^:\n]*:.*?^\.?Lfunc_end\d+:'
    return "\n".join(re.findall(function, text, re.DOTALL | re.MULTILINE))


_initialized = False
_all_initialized = False
_library_numbers = itertools.count()


def _llvm() -> Any:
    global _initialized
    from llvmlite import binding as untyped

    binding: Any = untyped
    with _llvm_lock:
        if not _initialized:
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            _initialized = True
    return binding


_linkers: list[_Linker] = []


def _linker() -> _Linker:
    """The linker for the next library; the lock is held."""
    if _linkers and _linkers[0].is_full():
        _linkers.pop().leave()
    if not _linkers:
        _linkers.append(_Linker())
    return _linkers[0]


def _triple(target: MachineTarget) -> str:
    """The triple of a target; initializes its code generator."""
    global _all_initialized
    llvm = _llvm()
    if target.triple is None:
        return str(llvm.get_process_triple())
    with _llvm_lock:
        if not _all_initialized:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            _all_initialized = True
    return target.triple


@cache
def _machine(target: MachineTarget, level: int = SPEED_LEVEL) -> Any:
    """LLVM's code generator for a target, kept: it takes longer to make than a small function.

    It holds state of the function that it compiles, so it is used under the lock.
    """
    # the large code model, the default of a JIT, would load each address from an immediate
    return (
        _llvm()
        .Target.from_triple(_triple(target))
        .create_target_machine(
            cpu=target.cpu,
            features=target.features,
            opt=level,
            reloc="pic",
            codemodel="small",
            jit=True,
        )
    )


@cache
def _data_layout(target: MachineTarget) -> str:
    return str(_machine(target).target_data)


def _parse(text: str, target: MachineTarget) -> Any:
    try:
        module = _llvm().parse_assembly(text)
        module.triple = _triple(target)
        module.data_layout = _data_layout(target)
        module.verify()
    except RuntimeError as error:
        # llvmlite's error for all refusals of LLVM
        raise CompileError(f"LLVM does not take the code that gradir wrote: {error}") from None
    return module


def _optimize(module: Any, machine: Any) -> None:
    llvm = _llvm()
    passes: Any = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    options: Any = llvm.create_pipeline_tuning_options(speed_level=SPEED_LEVEL)
    try:
        passes.run(module, llvm.create_pass_builder(machine, options))
    finally:
        _dispose(passes)


def _dispose(passes: Any) -> None:
    """Free a pass manager: llvmlite's classes inherit an empty method before the real one."""
    methods = [c.__dict__["_dispose"] for c in type(passes).__mro__ if "_dispose" in c.__dict__]
    if len(methods) > 1 and methods[0].__module__.endswith(".ffi"):
        methods[1](passes)
        passes.detach()
    passes.close()
