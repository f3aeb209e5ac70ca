"""The errors of Python functions in programs."""

from __future__ import annotations

import concurrent.futures.thread
import sys
import traceback
from pathlib import Path
from types import TracebackType

from gradir.errors import GradirError, HostCallError, HostRecursionError

_PACKAGE = str(Path(__file__).parents[1])
_POOL = concurrent.futures.thread.__file__


def failure(place: str, error: Exception, hint: str = "") -> HostCallError:
    """What a program raises where a function raised: with the place, and the traceback.

    The error's own traceback is cut to begin with the function, too.
    """
    error.__traceback__ = _from_function_on(error.__traceback__)
    if _is_recursion(error):
        limit = sys.getrecursionlimit()
        return HostRecursionError(
            f"{place}: calls of calls exceed Python's recursion limit, {limit}"
        )
    return HostCallError(f"{place}: {_trace(error, hint)}")


def late(place: str, seconds: float | None) -> HostCallError:
    """What a program raises where an async call was not complete in time."""
    return HostCallError(f"{place}: is not complete after {seconds:g} s, its timeout")


def _from_function_on(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without its first frames, which belong to gradir and to pools of threads."""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != _POOL and not file.startswith(_PACKAGE):
            break
        trace = trace.tb_next
    return trace


def _is_recursion(error: Exception) -> bool:
    """Whether Python's recursion limit is behind an error: gradir may have made one of its own."""
    behind = error.__context__ if isinstance(error, GradirError) else None
    return any(isinstance(e, RecursionError) for e in (error, behind))


def _trace(error: BaseException, hint: str) -> str:
    """The text of an exception, with its traceback."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return f"{type(error).__name__}: {error}{hint}\n{''.join(lines).rstrip()}"
