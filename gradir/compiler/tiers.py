"""Two tiers of native code: quickly compiled first, and replaced while it runs.

LLVM's quick code has the same operations in the same order, so the same bits; it is there in a
fifth of the time and takes up to five times as long to run. A thread in the background compiles the
modules again (`runtime/background.py`), and puts the better code in the place of the first, also on
disk. Kernels that run for long have it at once. GRADIR_TIERS=0 turns this off.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from gradir.codegen.text.target import MachineTarget
from gradir.errors import ArgumentError
from gradir.forking import RenewedLock
from gradir.runtime import background
from gradir.runtime.executable import Executable
from gradir.runtime.llvm import FULL, compile_object
from gradir.runtime.native_code import NativeCode, linked, unpacked_text

TIERS_VARIABLE = "GRADIR_TIERS"
"""`0`: all code is compiled well before it runs."""


def is_on() -> bool:
    """Whether the environment allows quick code; ArgumentError for an unknown setting."""
    setting = os.environ.get(TIERS_VARIABLE, "")
    if setting not in ("", "0", "1"):
        raise ArgumentError(f"{TIERS_VARIABLE}: 0 or 1 expected, got {setting!r}")
    return setting != "0"


def improved(code: NativeCode, target: MachineTarget) -> NativeCode:
    """The better code of quick code."""
    return _with_objects(code, [_better(code, k, target) for k in range(len(code.modules))])


def _better(code: NativeCode, number: int, target: MachineTarget) -> bytes:
    """The better object of a module, its own where that is well compiled."""
    module = code.modules[number]
    if not module:
        return code.objects[number]
    return compile_object(unpacked_text(module), target, FULL).data


def _with_objects(code: NativeCode, objects: Sequence[bytes]) -> NativeCode:
    return replace(code, objects=tuple(objects), modules=())


class Improvement:
    """The better code of an executable that runs quick code; each step compiles one module.

    `keep` is given the better code. The executable has it in `improvement` until it is done.
    """

    def __init__(
        self, executable: Executable, code: NativeCode, keep: Callable[[NativeCode], object]
    ):
        self._executable = weakref.ref(executable)
        self._code, self._target, self._keep = code, executable.target, keep
        self._objects: list[bytes] = []
        self._lock = RenewedLock()
        self.is_done = False
        executable.improvement = self

    def begin(self) -> None:
        """Do it in the background."""
        background.begin(self)

    def finish(self) -> None:
        """Do what is left of it now."""
        while self.step():
            pass

    def step(self) -> bool:
        """Compile the next module; after the last one put the code in its place."""
        with self._lock:
            executable = self._executable()
            if self.is_done or executable is None:
                return False
            try:
                self._step(executable)
            except Exception as error:
                self._fail(executable, error)
            if self.is_done:
                executable.improvement = None
            return not self.is_done

    def _fail(self, executable: Executable, error: Exception) -> None:
        """The quick code goes on: its results are the same."""
        self.is_done = True
        with suppress(Warning):  # also where warnings are errors
            warnings.warn(f"{executable.name} keeps its first code: {error}", stacklevel=4)

    def _step(self, executable: Executable) -> None:
        number = len(self._objects)
        if number < len(self._code.modules):
            self._objects.append(_better(self._code, number, self._target))
            return
        better = _with_objects(self._code, self._objects)
        executable.replace_code(linked(better, executable.host))
        self.is_done = True
        self._keep(better)
