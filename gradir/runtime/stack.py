"""The free room on the running thread's stack.

Python counts its own calls, but not the stack of native code between them, and threads may have
little.
"""

from __future__ import annotations

import ctypes
import threading

# The least bytes for a host function and its calls.
LEAST_ROOM = 96 << 10

# More bytes than pthread_attr_t has on any system.
_ATTRIBUTES_BYTES = 512

_of_thread = threading.local()


def has_room(address: int) -> bool:
    """Whether there is room below an address on the running thread's stack; True if unknown."""
    end: int | None = getattr(_of_thread, "end", None)
    if end is None:
        end = _of_thread.end = _stack_end()
    return address - end >= LEAST_ROOM


def _stack_end() -> int:
    """The lowest address of the running thread's stack; 0 where the system does not tell."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "pthread_getattr_np"):
        return 0
    thread = ctypes.c_void_p(threading.get_ident())
    attributes = ctypes.create_string_buffer(_ATTRIBUTES_BYTES)
    if library.pthread_getattr_np(thread, attributes):
        return 0
    low, size = ctypes.c_void_p(), ctypes.c_size_t()
    failed = library.pthread_attr_getstack(attributes, ctypes.byref(low), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return 0 if failed else low.value or 0
