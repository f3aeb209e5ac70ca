"""Work that nobody waits for: one thread does it step by step, at low priority.

The thread ends when nothing is left to do, and after the step that it is in when the process ends:
the rest is dropped then. A forked child goes on with what its parent had not done.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import Protocol

from gradir.forking import in_child, short_lock

# What is added to the niceness of the thread, where threads have one of their own.
NICENESS = 10


class Work(Protocol):
    """Something that is done in steps of less than a second."""

    def step(self) -> bool:
        """Do one step; returns whether any is left. Must not raise."""
        ...


_lock = short_lock()
_waiting: deque[Work] = deque()
_is_running = False


def begin(work: Work) -> None:
    """Do some work after all that was begun before."""
    with _lock:
        _waiting.append(work)
    _require_thread()


def _require_thread() -> None:
    global _is_running
    with _lock:
        if _is_running or not _waiting:
            return
        _is_running = True
    try:
        threading.Thread(target=_run, name="gradir-background").start()
    except RuntimeError:  # the system gives no thread, or the process ends
        with _lock:
            _is_running = False


def _run() -> None:
    _lower_priority()
    while (work := _next()) is not None:
        if not work.step():
            with _lock:
                # a child of a fork has the work that was under way, too
                _waiting.remove(work)


def _next() -> Work | None:
    global _is_running
    with _lock:
        if _waiting and threading.main_thread().is_alive():
            return _waiting[0]
        _is_running = False
        return None


def _lower_priority() -> None:
    if sys.platform == "linux":
        me = threading.get_native_id()
        try:
            os.setpriority(os.PRIO_PROCESS, me, os.getpriority(os.PRIO_PROCESS, me) + NICENESS)
        except OSError:  # it is forbidden: the work is done at the priority of others
            pass


@in_child
def _go_on() -> None:
    global _is_running
    _is_running = False
    _require_thread()
