"""LLVM text to object files: optimize, emit; the modules of a program side by side.

LLVM is imported when the first function is compiled. A module is compiled by a worker, which has a
context of LLVM and code generators of its own, so that several threads may compile at once. LLVM
runs without the GIL: while Python writes the next module, a helper thread compiles the last one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ctypes import c_char_p, string_at
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from gradir.codegen.text.target import MachineTarget
from gradir.errors import CompileError
from gradir.forking import compiler_lock, short_lock
from gradir.runtime.threads import thread_count


@dataclass(frozen=True)
class Tier:
    """How much LLVM does for a module: the level of its code generator, and the passes before."""

    level: int
    passes: tuple[str, ...] = ()


# gradir writes vectors, tiles and unrolled loops itself. LLVM's default pipeline takes ten times as
# long, for code that is no faster (measured on networks and on fused elementwise functions). NewGVN
# would save up to 3 % of a run, and does not come to an end on some loops with several sums.
FULL = Tier(
    2,
    (
        *("always_inliner", "sroa", "instruction_combine", "simplify_cfg", "loop_simplify"),
        *("lcssa", "loop_rotate", "instruction_combine", "simplify_cfg"),
    ),
)
# A fifth of the time of LLVM, for code that takes up to five times as long; the same operations in
# the same order, so the same bits.
QUICK = Tier(0, ("always_inliner", "sroa"))
# For functions that hardly take any time.
PLAIN = Tier(0)

# The text of a module from which on it gets FULL code in any tier. QUICK code has a place on the
# stack for each value that no register holds, at most half as many bytes as text (measured).
LONG_TEXT = 1 << 20


@dataclass(frozen=True)
class CompileTimes:
    """LLVM's times in a compilation, in microseconds, summed over its modules."""

    parse: float
    optimize: float
    emit: float


@dataclass(frozen=True)
class CompiledObject:
    """An object file, and LLVM's times."""

    data: bytes
    times: CompileTimes


def compile_object(text: str, target: MachineTarget, tier: Tier = FULL) -> CompiledObject:
    """Emit the native code of a module."""
    with _worker() as worker:
        return worker.compile(text, target, tier)


def assembly(text: str, target: MachineTarget) -> str:
    """The assembly of the code that `compile_object` emits."""
    with _worker() as worker:
        return worker.assembly(text, target)


class Compilation:
    """The object files of one program, whose modules are compiled as they are added.

    Helper threads begin at once; the thread that calls `finish` takes part. Used in a `with`
    statement: at its end no thread compiles any more.
    """

    def __init__(self, target: MachineTarget, helpers: int | None = None):
        self.target = target
        self._most_helpers = thread_count(None) - 1 if helpers is None else helpers
        self._helpers: list[_Helper] = []
        self._waiting: deque[int] = deque()
        self.texts: list[str] = []
        self._done: dict[int, CompiledObject] = {}
        self._quick: set[int] = set()
        self._error: BaseException | None = None

    def add(self, text: str, is_quick: bool = False) -> None:
        """Compile one more module, quickly or well."""
        if is_quick and len(text) < LONG_TEXT:
            self._quick.add(len(self.texts))
        self.texts.append(text)
        self._waiting.append(len(self.texts) - 1)
        self._helpers = [helper for helper in self._helpers if not helper.is_done.is_set()]
        if len(self._helpers) < self._most_helpers:
            helper = _Helper(self._work)
            try:
                helper.start()
            except RuntimeError:  # the system gives no thread: `finish` compiles all
                self._most_helpers = 0
            else:
                self._helpers.append(helper)

    def finish(self) -> tuple[CompiledObject, ...]:
        """The object files, in the order of their modules."""
        self._work()
        self._join()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return tuple(self._done[k] for k in range(len(self.texts)))

    @property
    def quick_texts(self) -> tuple[str, ...]:
        """The texts whose code is QUICK, in the places of their modules; none if all is FULL."""
        if not self._quick:
            return ()
        return tuple(text if k in self._quick else "" for k, text in enumerate(self.texts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._waiting.clear()
        self._join()

    def _join(self) -> None:
        while self._helpers:
            self._helpers[-1].wait()
            self._helpers.pop()

    def _work(self) -> None:
        """Compile modules until none waits."""
        try:
            while self._waiting and self._error is None:
                self._compile_next()
        except BaseException as error:
            # the first error is raised, but an interruption before it
            if self._error is None or not isinstance(error, Exception):
                self._error = error

    def _compile_next(self) -> None:
        # a fork waits for the worker, so that no child misses a module that is under way
        with _worker() as worker:
            try:
                number = self._waiting.popleft()
            except IndexError:
                return
            tier = QUICK if number in self._quick else FULL
            self._done[number] = worker.compile(self.texts[number], self.target, tier)


# How often a wait looks whether this is the child of a fork.
_CHECKED_SECONDS = 0.1


class _Helper(threading.Thread):
    """A thread that says when it has done its work."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="gradir-llvm")
        self._work, self.is_done = work, threading.Event()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self.is_done.set()

    def wait(self) -> None:
        """`join`, which takes a thread for ended if it is interrupted. No child has the thread."""
        while self.is_alive() and not self.is_done.wait(_CHECKED_SECONDS):
            pass
        self.join()


def total_times(objects: Sequence[CompiledObject]) -> CompileTimes:
    """The summed times of several modules."""
    times = [o.times for o in objects]
    return CompileTimes(
        sum(t.parse for t in times), sum(t.optimize for t in times), sum(t.emit for t in times)
    )


class _Worker:
    """A context of LLVM, used by one thread at a time under its lock."""

    def __init__(self) -> None:
        self.lock = compiler_lock()
        self._context = llvm().create_context()
        self._machines: dict[tuple[MachineTarget, int], Any] = {}

    def compile(self, text: str, target: MachineTarget, tier: Tier = FULL) -> CompiledObject:
        start = time.perf_counter()
        machine = self._machine(target, tier.level)
        with self._module(text, target, machine) as module:
            parsed = time.perf_counter()
            _optimize(module, machine, tier)
            optimized = time.perf_counter()
            data = _emit_object(module, machine)
        emitted = time.perf_counter()
        steps = ((start, parsed), (parsed, optimized), (optimized, emitted))
        return CompiledObject(data, CompileTimes(*(1e6 * (b - a) for a, b in steps)))

    def assembly(self, text: str, target: MachineTarget) -> str:
        machine = self._machine(target, FULL.level)
        with self._module(text, target, machine) as module:
            _optimize(module, machine, FULL)
            return str(machine.emit_assembly(module))

    def _machine(self, target: MachineTarget, level: int) -> Any:
        """LLVM's code generator for a target, kept: it takes longer to make than a small function.

        It holds state of the function that it compiles.
        """
        found = self._machines.get((target, level))
        if found is None:
            # the large code model, the default of a JIT, would load each address from an immediate
            found = self._machines[target, level] = (
                llvm()
                .Target.from_triple(triple_of(target))
                .create_target_machine(
                    cpu=target.cpu,
                    features=target.features,
                    opt=level,
                    reloc="pic",
                    codemodel="small",
                    jit=True,
                )
            )
        return found

    @contextmanager
    def _module(self, text: str, target: MachineTarget, machine: Any) -> Generator[Any]:
        """A module of the text, freed before another thread has the context."""
        module = None
        try:
            try:
                module = _parse_assembly(text, self._context)
                module.triple = triple_of(target)
                module.data_layout = str(machine.target_data)
                module.verify()
            except RuntimeError as error:
                # llvmlite's error for all refusals of LLVM
                message = f"LLVM does not take the code that gradir wrote: {error}"
                raise CompileError(message) from None
            yield module
        finally:
            if module is not None:
                module.close()


_idle: list[_Worker] = []
_all_workers = short_lock()


@contextmanager
def _worker() -> Generator[_Worker]:
    """A worker that no other thread uses; a fork waits until it is free."""
    with _all_workers:
        worker = _idle.pop() if _idle else None
    worker = worker or _Worker()
    try:
        with worker.lock:
            yield worker
    finally:
        _idle.append(worker)


@cache
def llvm() -> Any:
    """llvmlite, with the code generator of this machine."""
    from llvmlite import binding as untyped

    binding: Any = untyped
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def triple_of(target: MachineTarget) -> str:
    """The triple of a target; initializes its code generator."""
    if target.triple is None:
        return str(llvm().get_process_triple())
    llvm().initialize_all_targets()
    llvm().initialize_all_asmprinters()
    return target.triple


# llvmlite holds one lock in every call of LLVM. The three calls that take long are made without it:
# each uses nothing but the context and the code generator of its worker.


def _unlocked(name: str) -> Any:
    function = getattr(llvm().ffi.lib, name)
    return getattr(function, "_cfn", function)


def _parse_assembly(text: str, context: Any) -> Any:
    from llvmlite.binding.module import ModuleRef

    with llvm().ffi.OutputString() as error:
        found = _unlocked("LLVMPY_ParseAssembly")(context, c_char_p(text.encode()), error)
        module = ModuleRef(found, context)
        if error:
            module.close()
            raise RuntimeError(str(error))
    return module


def _optimize(module: Any, machine: Any, tier: Tier) -> None:
    if not tier.passes:
        return
    passes: Any = llvm().create_new_module_pass_manager()
    for name in tier.passes:
        getattr(passes, f"add_{name}_pass")()
    options: Any = llvm().create_pipeline_tuning_options(speed_level=tier.level)
    builder = llvm().create_pass_builder(machine, options)
    try:
        _unlocked("LLVMPY_RunNewModulePassManager")(passes, module, builder)
    finally:
        _dispose(passes)


def _dispose(passes: Any) -> None:
    """Free a pass manager: llvmlite's classes inherit an empty method before the real one."""
    methods = [c.__dict__["_dispose"] for c in type(passes).__mro__ if "_dispose" in c.__dict__]
    if len(methods) > 1 and methods[0].__module__.endswith(".ffi"):
        methods[1](passes)
        passes.detach()
    passes.close()


def _emit_object(module: Any, machine: Any) -> bytes:
    lib = llvm().ffi.lib
    with llvm().ffi.OutputString() as error:
        emit = _unlocked("LLVMPY_TargetMachineEmitToMemory")
        buffer = emit(machine, module, 1, error)
        if not buffer:
            raise CompileError(f"LLVM cannot emit the code that gradir wrote: {error}")
    try:
        return string_at(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)
