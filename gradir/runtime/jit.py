"""LLVM text to native code: optimize, emit an object, load it into this process.

LLVM is imported when the first function is compiled. The steps are separate so that an object can
be stored and loaded again without LLVM's optimizer.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gradir.errors import CompileError
from gradir.lowering.target import Target

SPEED_LEVEL = 2

# The lowering writes vectors, tiles and unrolled loops itself. What is left to do takes LLVM's
# default pipeline ten times as long, for code that is no faster (measured on networks and on
# fused elementwise functions).
PASSES = (
    "always_inliner",
    "sroa",
    "instruction_combine",
    "simplify_cfg",
    "loop_simplify",
    "lcssa",
    "loop_rotate",
    "new_gvn",
    "instruction_combine",
    "simplify_cfg",
)

# NewGVN's search for operations of phis takes operands for safe by what it has found at another
# place. Programs of nested loops end the process there, by an assertion of LLVM 22
# (llvm-project issue 63335). It is a setting of the process; LLVM's default pipelines have no
# NewGVN.
OPTION = "--enable-phi-of-ops=false"

# One thread at a time: LLVM's modules share one global context.
_llvm_lock = threading.RLock()


@dataclass(frozen=True)
class CompileTimes:
    """Where the time of one compilation went, in microseconds."""

    parse: float
    optimize: float
    emit: float


@dataclass(frozen=True)
class CompiledObject:
    """An object file, and how long LLVM took to make it."""

    data: bytes
    times: CompileTimes


class LoadedCode:
    """Native code in memory, which lives as long as this object."""

    def __init__(self, data: bytes, entry: str, symbols: Mapping[str, int]):
        """Load an object file; `symbols` are the addresses of the functions that it calls."""
        llvm = _llvm()
        library = llvm.JITLibraryBuilder().add_object_img(data).export_symbol(entry)
        library.add_current_process()  # memset and the like
        for name, address in symbols.items():
            library.import_symbol(name, address)
        with _llvm_lock:
            self._tracker = library.link(_linker(), f"gradir_{next(_library_numbers)}")
        self.address = int(self._tracker[entry])
        if not self.address:
            raise CompileError(f"the compiled code has no function {entry}")

    def function(self) -> Any:
        """The function `void (ptr)`, callable with an address; it releases the GIL."""
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)


def compile_object(text: str, target: Target, level: int = SPEED_LEVEL) -> CompiledObject:
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


def assembly(text: str, target: Target) -> str:
    """The assembly of the code that `compile_object` emits."""
    with _llvm_lock:
        module, machine = _parse(text, target), _machine(target)
        _optimize(module, machine)
        return str(machine.emit_assembly(module))


_initialized = False
_library_numbers = itertools.count()


def _llvm() -> Any:
    global _initialized
    from llvmlite import binding as untyped  # pyright: ignore[reportMissingTypeStubs]

    binding: Any = untyped
    with _llvm_lock:
        if not _initialized:
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            binding.set_option("gradir", OPTION)
            _initialized = True
    return binding


@cache
def _linker() -> Any:
    # JITLink places code and constants in one allocation, so that 32-bit offsets reach them; the
    # older linker asks for them one by one, which fails in a process that has mapped gigabytes
    return _llvm().create_lljit_compiler(use_jit_link=True)


def _machine(target: Target, level: int = SPEED_LEVEL) -> Any:
    llvm = _llvm()
    # the large code model, the default of a JIT, would load each address from an immediate
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=level,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def _parse(text: str, target: Target) -> Any:
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.data_layout = str(_machine(target).target_data)
    module.verify()
    return module


def _optimize(module: Any, machine: Any) -> None:
    llvm = _llvm()
    passes: Any = llvm.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    options: Any = llvm.create_pipeline_tuning_options(speed_level=SPEED_LEVEL)
    passes.run(module, llvm.create_pass_builder(machine, options))
