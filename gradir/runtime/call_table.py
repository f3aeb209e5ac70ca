"""What a running call owns: its table of addresses, and memory that lives as long as that."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gradir.codegen.driver.growing_memory import POINTER
from gradir.runtime import threads
from gradir.runtime.callbacks import take_raised
from gradir.runtime.memory import Block
from gradir.runtime.native_call import NativeCall


class CallTable:
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
