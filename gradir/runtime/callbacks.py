"""The callbacks from running code to Python: signals, and host functions.

They are compiled once in a process; `codegen/text/callback_functions.py` has their code.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, cast

from gradir.cache.memory import made_once
from gradir.codegen.text import callback_functions as text
from gradir.codegen.text.table import TABLE_RAISED
from gradir.runtime import jit
from gradir.runtime.fixed_code import fixed_object
from gradir.runtime.threads import library_function

# The thread that signal handlers run on.
_main_thread = ctypes.c_uint64(threading.main_thread().ident or 0)


def _note_fork() -> None:
    _main_thread.value = threading.get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def callback_address(symbol: str) -> int:
    """The address of `gradir_poll` or `gradir_host`."""
    return _code().addresses[symbol]


@made_once
def _code() -> jit.LoadedCode:
    data = fixed_object(text.callback_functions())
    symbols = {name: _python_function(name) for name in text.PYTHON_FUNCTIONS}
    symbols |= {name: library_function(name) for name in text.LIBRARY_FUNCTIONS}
    symbols["memcpy"] = library_function("memcpy")
    symbols[text.MAIN_THREAD_SYMBOL] = ctypes.addressof(_main_thread)
    return jit.LoadedCode([data], (text.POLL_SYMBOL, text.HOST_SYMBOL), symbols)


def _python_function(name: str) -> int:
    return cast(int, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)


def take_raised(table: Any) -> BaseException | None:
    """The exception in a table, removed from it."""
    address = table[TABLE_RAISED]
    if not address:
        return None
    table[TABLE_RAISED] = 0
    error = cast(BaseException, ctypes.cast(address, ctypes.py_object).value)
    # the table's own reference
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(error))
    return error
