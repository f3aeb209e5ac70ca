"""The errors of Python functions in programs."""

from __future__ import annotations

import sys
import traceback

from gradir.errors import GradirError, HostCallError, HostRecursionError


def failure(place: str, error: Exception, hint: str = "") -> HostCallError:
    """What a program raises where a function raised: with the place, and the traceback."""
    if _is_recursion(error):
        limit = sys.getrecursionlimit()
        return HostRecursionError(
            f"{place}: calls of calls exceed Python's recursion limit, {limit}"
        )
    return HostCallError(f"{place}: {_trace(error, hint)}")


def late(place: str, seconds: float | None) -> HostCallError:
    """What a program raises where an async call was not complete in time."""
    return HostCallError(f"{place}: is not complete after {seconds:g} s, its timeout")


def _is_recursion(error: Exception) -> bool:
    """Whether Python's recursion limit is behind an error: gradir may have made one of its own."""
    behind = error.__context__ if isinstance(error, GradirError) else None
    return any(isinstance(e, RecursionError) for e in (error, behind))


def _trace(error: BaseException, hint: str) -> str:
    """The text of an exception, with the traceback from the host function on."""
    frames = error.__traceback__.tb_next if error.__traceback__ is not None else None
    lines = traceback.format_exception(type(error), error, frames)
    return f"{type(error).__name__}: {error}{hint}\n{''.join(lines).rstrip()}"
