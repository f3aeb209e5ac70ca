"""Pauses of Python's cyclic garbage collector while the compiler builds many objects.

A module is one large web of cycles that stay alive. The collector walks it again each time the
number of objects has grown by a quarter, so that time per operation rises with the module's size.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import local

from gradir.forking import in_child, short_lock

_lock = short_lock()
_depth = 0
_was_enabled = False


class _ThreadDepth(local):
    """This thread's share of `_depth`."""

    depth = 0


_own = _ThreadDepth()


@contextmanager
def paused_gc() -> Generator[None]:
    """No automatic collection inside, in any thread; nested and concurrent uses are counted.

    The last to leave switches the collector on again, if the first to enter found it on.
    """
    global _depth, _was_enabled
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1
        _own.depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            _own.depth -= 1
            if _depth == 0 and _was_enabled:
                gc.enable()


@contextmanager
def lasting_objects() -> Generator[None]:
    """What is made inside stays, as classes do: it is never walked as young objects are.

    No collection happens inside, and at the end all objects count as old, if modules were loaded:
    the next full collection looks at them. Where objects are frozen, by a server or by Python 3.12,
    that is left as it is.
    """
    loaded = len(sys.modules)
    with paused_gc():
        yield
        # before the collector is on again, which would begin with all of them
        if len(sys.modules) > loaded and _was_enabled and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()


@in_child
def _forget_other_threads() -> None:
    """Drop the pauses of other threads in a forked child."""
    global _depth
    is_left = _depth > 0 and _own.depth == 0
    _depth = _own.depth
    if is_left and _was_enabled:
        gc.enable()
