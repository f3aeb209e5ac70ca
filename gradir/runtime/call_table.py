"""The table of addresses of a running call, and the memory with its lifetime."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gradir.codegen.driver.growing_memory import POINTER
from gradir.runtime import threads
from gradir.runtime.callbacks import take_raised
from gradir.runtime.memory import MemoryBlock
from gradir.runtime.native_call import NativeCall, Runner, decline, is_due, note_call


class CallTable:
    """The table of a running call, and its arena if that is small.

    `run` makes the whole call natively, if possible; `by_python` tells of each call that it left.
    """

    __slots__ = ("address", "block", "growing", "native", "run", "table")

    def __init__(self, words: int, growing: Sequence[tuple[int, int, int]], native: NativeCall):
        self.table: Any = (ctypes.c_int64 * words)()
        self.address = ctypes.addressof(self.table)
        self.growing = growing
        self.block: MemoryBlock | None = None
        self.native = native
        self.run: Runner = native.runner(self.address) if is_due() else decline
        self.prepare()

    def by_python(self) -> None:
        """Note a call that Python makes: after some of them `run` is native."""
        note_call()
        if self.run is decline and is_due():
            self.run = self.native.runner(self.address)

    def prepare(self) -> None:
        """Set the addresses of growing memory, without room for a record."""
        for word, stride, _ in self.growing:
            if not self.table[word + POINTER]:
                self.table[word + POINTER] = threads.allocate(stride)

    def free(self) -> None:
        """Free the memory of the table, after its last use."""
        take_raised(self.table)
        for word, _, _ in self.growing:
            threads.free(self.table[word + POINTER])
            self.table[word + POINTER] = 0

    def __del__(self, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # at the end of the process the system frees everything, and `free` may be gone; a signal
        # may have come before there was anything to free
        if not is_ending() and hasattr(self, "native"):
            self.free()
