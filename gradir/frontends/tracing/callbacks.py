"""Calls of users' functions, with errors for arguments that these do not take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from gradir.errors import TraceError
from gradir.frontends.tracing.source_locations import refusal


def called(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a user's function given to `what`, a function of gradir.

    TraceError where it does not take these arguments. Its own exceptions pass.
    """
    bare, given, named = function, args, kwargs
    while isinstance(bare, partial):
        given, named = (*bare.args, *given), {**bare.keywords, **named}
        bare = cast(Callable[..., Any], bare.func)
    try:
        # a wrapper's own parameters may differ from those of the wrapped function
        signature = inspect.signature(bare, follow_wrapped=False)
    except (TypeError, ValueError):
        return function(*args, **kwargs)  # written in C
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise _refused(what, bare, len(given) + len(named), error) from None
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        # of NumPy, where an array of its own is assigned a traced number
        if isinstance(error.__cause__, TraceError):
            raise error.__cause__ from None
        raise


def _refused(what: str, function: Callable[..., Any], count: int, error: TypeError) -> TraceError:
    name = getattr(function, "__name__", type(function).__name__)
    arguments = "1 argument" if count == 1 else f"{count} arguments"
    return refusal(f"{what}: {name} is called with {arguments}: {error}")
