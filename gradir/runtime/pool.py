"""The pool of threads of this process: helpers of parallel calls, by codegen/driver/pool.py.

Its code is compiled, and its threads are started, when a program with shared work first runs. The
threads are the system's own (pthreads), not Python's: they run native code alone. A forked child
has none of them, and starts others.
"""

from __future__ import annotations

import ctypes
import signal
from functools import cache
from typing import Any

from gradir.codegen.driver import pool as text
from gradir.codegen.text.target import host
from gradir.forking import compiler_lock, in_child, short_lock
from gradir.runtime import jit
from gradir.runtime.fixed_code import fixed_object
from gradir.runtime.threads import MAX_THREADS, library_function

STACK_BYTES = 8 << 20
"""The stack of a helper, glibc's default: other C libraries have a fiftieth of it."""
ATTRIBUTE_BYTES = 64
"""No less than a pthread_attr_t of any system."""
ALIGNMENT = 64
MEMORY_BYTES = text.POOL_BOXES + MAX_THREADS * text.BOX_BYTES


class ThreadPool:
    """The memory that threads meet in, and the number of threads that are ready."""

    def __init__(self) -> None:
        self._bytes = ctypes.create_string_buffer(MEMORY_BYTES + ALIGNMENT)
        self.address = -(-ctypes.addressof(self._bytes) // ALIGNMENT) * ALIGNMENT
        self.size = 1
        self._lock = short_lock()
        symbols = {name: library_function(name) for name in text.LIBRARY_FUNCTIONS}
        symbols[text.POOL] = self.address
        # not optimized: a barrier waits for the memory
        data = fixed_object(text.pool_functions(host()))
        entries = (text.RUN, text.BARRIER, text.WORKER)
        self._code = jit.LoadedCode([data], entries, symbols)

    def function(self, name: str) -> int:
        """The address of a function of the module."""
        return self._code.addresses[name]

    def grow(self, size: int) -> None:
        """Grow to `size` threads, the caller's included, or as many as the system gives."""
        with self._lock:
            while self.size < size and self._start(self.size):
                self.size += 1
                helpers = ctypes.c_int64.from_address(self.address + text.POOL_HELPERS)
                helpers.value = self.size - 1

    def forget_threads(self) -> None:
        """After a fork: no thread of the parent is in the child."""
        ctypes.memset(self.address, 0, MEMORY_BYTES)
        self.size = 1

    def _start(self, number: int) -> bool:
        box = self.address + text.POOL_BOXES + number * text.BOX_BYTES
        ctypes.c_int64.from_address(box + text.BOX_THREAD).value = number
        _c_function("pthread_mutex_init")(ctypes.c_void_p(box + text.BOX_MUTEX), None)
        _c_function("pthread_cond_init")(ctypes.c_void_p(box + text.BOX_CONDITION), None)
        attributes = ctypes.create_string_buffer(ATTRIBUTE_BYTES)
        _c_function("pthread_attr_init")(attributes)
        _c_function("pthread_attr_setstacksize")(attributes, ctypes.c_size_t(STACK_BYTES))
        worker, thread = ctypes.c_void_p(self.function(text.WORKER)), ctypes.c_uint64()
        # a thread inherits the blocked signals: Python's own threads handle signals
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            failed = _c_function("pthread_create")(
                ctypes.byref(thread), attributes, worker, ctypes.c_void_p(box)
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not failed:
            _c_function("pthread_detach")(thread)
        return not failed


def shared() -> ThreadPool:
    """The pool of this process."""
    return _made[0] if _made else _make()


def _make() -> ThreadPool:
    with _making:
        if not _made:
            _made.append(ThreadPool())
            in_child(_made[0].forget_threads)
        return _made[0]


_making = compiler_lock()
_made: list[ThreadPool] = []


@cache
def _c_function(name: str) -> Any:
    """A function of the C library that returns an int."""
    return ctypes.CFUNCTYPE(ctypes.c_int)(library_function(name))
