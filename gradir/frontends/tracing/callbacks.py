"""Calls of users' functions, with errors for arguments that these do not take."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from threading import local
from typing import TYPE_CHECKING, Any

from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ForeignCodeError, GradirError, TraceError
from gradir.frontends.tracing.copying import as_called
from gradir.frontends.tracing.source_locations import place_of_error, place_of_user, refusal
from gradir.nearest import unbound

if TYPE_CHECKING:
    from gradir.frontends.tracing.scipy_calls import scipy_refusal
else:
    scipy_refusal = lazy_function("gradir.frontends.tracing.scipy_calls", "scipy_refusal")


def call_user(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a user's function given to `what`, a function of gradir.

    TraceError where it does not take these arguments. Its own exceptions pass.
    """
    bare, given, named = function, args, kwargs
    while isinstance(bare, partial):
        given, named = (*bare.args, *given), {**bare.keywords, **named}
        bare = bare.func
    signature = _signature_of(bare)
    if signature is None:
        return as_called(function)(*args, **kwargs)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise _refused(what, bare, given, named, error) from None
    # in one frame: functions nest up to Python's recursion limit
    try:
        return as_called(function)(*args, **kwargs)
    except Exception as error:
        _raise_clearer(error)
        if isinstance(error, (TypeError, AttributeError)):
            _note_nestings(error, signature.bind(*given, **named).arguments)
        raise


_OF_NESTINGS = re.compile(r"\b(list|tuple)\b")


def _note_nestings(error: Exception, arguments: Mapping[str, Any]) -> None:
    """Note at an error about a list or a tuple which argument was given as one."""
    found = _OF_NESTINGS.search(str(error))
    if found is None or isinstance(error, GradirError) or hasattr(error, "__notes__"):
        return
    for name, value in arguments.items():
        if type(value).__name__ == found[1]:
            error.add_note(
                f"{name} is a {found[1]} of {len(value)} entries, as it was given; "
                f"numpy.array({name}) is one array"
            )


def _raise_clearer(error: Exception) -> None:
    """Raise the clearer error for one that a user's function raised, if there is one."""
    scipy = scipy_refusal(error) if "scipy" in sys.modules else None
    if scipy is not None:
        raise scipy from error
    if isinstance(error, TypeError):
        # NumPy raises one of its own where an extent says that it has no number
        refused = _unknown.error
        if refused is not None and _is_at(error, refused):
            raise refused from None
        if _OF_OBJECTS.search(str(error)) and not isinstance(error, TraceError):
            place = place_of_error(error)
            raise refusal(f"{error}; {_HOLDS}", ForeignCodeError, place) from error
    if isinstance(error, ValueError):
        # of NumPy, where an array of its own is assigned a traced number
        if isinstance(error.__cause__, TraceError):
            raise error.__cause__ from None
        if "read-only" in str(error):
            error.add_note("numpy.asarray(x) of a traced x is read-only: write numpy.array(x)")


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None for functions in C, and for transforms' objects."""
    try:
        # a wrapper's own parameters may differ from the wrapped function's
        return inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


# What NumPy says of arrays of objects, for which most of its functions are not there.
_OF_OBJECTS = re.compile(
    r"dtype\('O'\)|has no callable \w+ method|object arrays|not supported for the input types"
    r"|holds references"
)
_HOLDS = (
    "what numpy.array makes of traced numbers is an array of objects; make it with "
    "gradir.numpy.array or numpy.stack"
)


class _Unknown(local):
    error: TraceError | None = None


_unknown = _Unknown()


def unknown_extent(message: str) -> TraceError:
    """The error for an extent that is not known, at the user's line."""
    _unknown.error = refusal(message, ForeignCodeError, place=place_of_user())
    return _unknown.error


def _is_at(error: TypeError, refused: TraceError) -> bool:
    """Whether an error comes from the line of a user where an extent was refused."""
    trace, place = error.__traceback__, refused.diagnostic
    if isinstance(error, TraceError) or trace is None or place is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == (place.file, place.line)


def _refused(
    what: str,
    function: Callable[..., Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
    error: TypeError,
) -> TraceError:
    """The error of a call that a user's function does not take, with its parameters."""
    name = getattr(function, "__name__", type(function).__name__)
    count = len(given) + len(named)
    arguments = "1 argument" if count == 1 else f"{count} arguments"
    wrong = unbound(inspect.signature(function, follow_wrapped=False), named, error)
    return refusal(f"{what}: {name} is called with {arguments}: {wrong}")
