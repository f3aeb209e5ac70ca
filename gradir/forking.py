"""Locks and a fork of the process: no child may find one locked for ever.

A child has one thread, a copy of the one that forked. A lock held by another thread stays locked in
it, and the guarded data may be half changed, in LLVM for one. So the compiler's locks, and locks of
short use, are taken before a fork and released in both processes: a fork waits for compilations of
other threads, and for gradir's own late imports, for which Python itself does not wait. A fork
cannot wait for a lock under which user code runs (`RenewedLock`), since that code may wait for the
thread that forks; a child gets a new one.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[[], None])

# A lock of short use is free before that, or the forking thread has it, in a handler of a signal.
SHORT_SECONDS = 1.0
# Late imports of gradir never wait for user code; and there is a time limit nevertheless.
IMPORTED = ("gradir", "xdsl", "llvmlite", "numpy", "ml_dtypes")
IMPORT_SECONDS = 30.0

# the first guards the fork itself: two threads may fork at once
_compiler_locks: list[Any] = [threading.RLock()]
_short_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_renewed: weakref.WeakSet[RenewedLock] = weakref.WeakSet()
_in_child: list[Callable[[], None]] = []
_taken: list[Any] = []


def compiler_lock() -> Any:
    """A reentrant lock of the compiler, which may be held during a compilation."""
    lock = threading.RLock()
    _compiler_locks.append(lock)
    return lock


def short_lock() -> threading.Lock:
    """A lock for a few statements that take no other lock."""
    lock = threading.Lock()
    _short_locks.add(lock)
    return lock


class RenewedLock:
    """A lock under which user code may run. The guarded data changes in single steps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, threading.Lock] = {}
        _renewed.add(self)

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held[threading.get_ident()] = lock

    def __exit__(self, *error: object) -> None:
        # in a child, the thread that forked releases the lock it took, not the new one
        self._held.pop(threading.get_ident()).release()

    def renew(self) -> None:
        self._lock = threading.Lock()


def in_child(function: FunctionT) -> FunctionT:
    """Register a function for each forked child, called when the locks are free."""
    _in_child.append(function)
    return function


def _take() -> None:
    count = 0
    while count < len(_compiler_locks):
        for lock in _compiler_locks[count:]:
            lock.acquire()
            _taken.append(lock)
            count += 1
        # a lock that was made meanwhile may be held by a thread that waits for llvmlite
        of_llvmlite = _llvmlite_locks()
        for lock in of_llvmlite:
            lock.acquire()
        if count < len(_compiler_locks):
            for lock in of_llvmlite:
                lock.release()
        else:
            _taken.extend(of_llvmlite)
    if _import_lock is not None:
        _wait_for_imports(_import_lock)
        _taken.append(_import_lock)
    for lock in list(_short_locks):
        if lock.acquire(timeout=SHORT_SECONDS):
            _taken.append(lock)


class _ImportLock:
    """Python's global lock of imports: while it is held, no import of a module begins."""

    def __init__(self, machinery: Any, module_locks: dict[str, Callable[[], Any]]):
        self.acquire, self.release = machinery.acquire_lock, machinery.release_lock
        self._module_locks = module_locks

    def is_importing(self) -> bool:
        """Whether another thread is importing a module that gradir uses."""
        owners = (
            getattr(reference(), "owner", None)
            for name, reference in list(self._module_locks.items())
            if name.partition(".")[0] in IMPORTED
        )
        return any(owner not in (None, threading.get_ident()) for owner in owners)


def _find_import_lock() -> _ImportLock | None:
    """The global lock; None for a Python with other imports."""
    bootstrap = getattr(importlib, "_bootstrap", None)
    machinery, locks = (getattr(bootstrap, name, None) for name in ("_imp", "_module_locks"))
    if not hasattr(machinery, "acquire_lock") or not isinstance(locks, dict):
        return None
    return _ImportLock(machinery, locks)


_import_lock = _find_import_lock()


def _wait_for_imports(lock: _ImportLock) -> None:
    """Take the global lock when no module is half imported."""
    end = time.monotonic() + IMPORT_SECONDS
    lock.acquire()
    while lock.is_importing() and time.monotonic() < end:
        # to go on, those imports may need the lock
        lock.release()
        time.sleep(0.001)
        lock.acquire()


def _llvmlite_locks() -> list[Any]:
    """The lock that llvmlite holds in each call of LLVM."""
    module = sys.modules.get("llvmlite.binding.ffi")
    lock = getattr(getattr(getattr(module, "lib", None), "_lock", None), "_lock", None)
    return [] if lock is None else [lock]


def _release() -> None:
    while _taken:
        _taken.pop().release()


def _release_in_child() -> None:
    _release()
    for lock in list(_renewed):
        lock.renew()
    for function in _in_child:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_release, after_in_child=_release_in_child)
