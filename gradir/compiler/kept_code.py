"""Native code that is found on disk, or made and kept there.

The key is what the code is made from, before all stages: the program, the machine, gradir. So code
that is found is the code that would be made, and a program that was refused is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from gradir.cache.entry import CacheEntry
from gradir.cache.store import find, is_on, keep, key_of
from gradir.checks import VALIDATE_VARIABLE, is_asked_for
from gradir.codegen.driver.growing_memory import limit_of_machine
from gradir.codegen.text.target import MachineTarget, host
from gradir.compiler import tiers
from gradir.compiler.described import described, restored
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.grad.host_call import functions_of
from gradir.dialects.grad.host_functions import HostFunction
from gradir.quick_imports import quick_imports
from gradir.runtime.executable import Executable
from gradir.runtime.native_code import (
    NativeCode,
    loaded,
    packed_text,
    runnable,
    unpacked_text,
)
from gradir.runtime.threads import thread_count
from gradir.text.fingerprint import fingerprint

if TYPE_CHECKING:
    from gradir.runtime.host_calls import facts_of
else:
    facts_of = lazy_function("gradir.runtime.host_calls", "facts_of")


def executable(
    ops: Iterable[Operation],
    function: str,
    threads: int | None,
    make: Callable[[], ModuleOp],
    *options: Any,
    wait: bool = False,
) -> Executable:
    """Native code for `@function` of the module that `make` makes from these ops.

    `options` are what it makes it by, as values of JSON. With `wait` it is compiled well at once.
    """
    target, count = runnable(host()), thread_count(threads)
    ops = [*ops]
    functions = functions_of(ops)
    if is_asked_for(VALIDATE_VARIABLE):
        from gradir.compiler.pipeline import Machine
        from gradir.compiler.validated import validated_executable

        return validated_executable(make, function, Machine(target, count), functions or {})
    # the names in code do not tell functions of one name apart
    program = fingerprint(ops, facts_of) if is_on() and functions is not None else None
    key = None
    if program is not None:
        machine = asdict(target), limit_of_machine()
        key = key_of("code", program, function, count, machine, options)
    found = find(key)
    may_be_quick = tiers.is_on() and not wait
    if found is not None:
        code = unpacked(found)
        if code.modules and not may_be_quick:
            code = tiers.improved(code, target)
            keep(key, packed(code))
        return _started(code, target, functions or {}, key)
    # only where it is needed, since it takes longer than loading code
    with quick_imports():
        from gradir.compiler.compiler import native_code
        from gradir.compiler.pipeline import Machine
        from gradir.long_compilations import telling

    module = make()
    with telling(module, function):
        code = native_code(module, function, Machine(target, count), may_be_quick=may_be_quick)
    if key is not None:
        keep(key, packed(code))
    return _started(code, target, functions or {}, key)


def _started(
    code: NativeCode, target: MachineTarget, functions: Mapping[str, HostFunction], key: str | None
) -> Executable:
    """The code in memory; better code, which is kept, is begun for quick code."""
    made = loaded(code, target, functions)
    if code.modules:

        def keep_better(code: NativeCode) -> None:
            if key is not None:
                keep(key, packed(code))

        tiers.Improvement(made, code, keep_better).begin()
    return made


def packed(code: NativeCode) -> CacheEntry:
    """The code as an entry; LLVM's text and the times of its compilation aside."""
    blobs = [packed_text(code.program.text)]
    bare = replace(code, program=replace(code.program, text=""), times=None)
    return CacheEntry(described(bare, blobs), blobs)


def unpacked(entry: CacheEntry) -> NativeCode:
    """The code in an entry of `packed`."""
    code = restored(NativeCode, entry.said, entry.blobs)
    text = unpacked_text(entry.blobs[0])
    return replace(code, program=replace(code.program, text=text))
