"""The exceptions of gradir's library interface, and their translation from the compiler's errors.

`str()` of an error about a program is `file:line:col: error: message`, the source line and a caret.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pickle import PicklingError

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.utils import exceptions as xdsl_exceptions

from gradir.diagnostics import Diagnostic, Sources, diagnostic_of, render
from gradir.dialects.base import diagnostics as located

_NO_PLACE = UnknownLoc()


class GradirError(Exception):
    """Every error that a user of gradir can cause. `diagnostic` has the place, if known."""

    diagnostic: Diagnostic | None

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


class ParseError(GradirError):
    """The text is not a program."""


class VerifyError(GradirError):
    """The program is not valid."""


class PassError(GradirError):
    """A pass refuses the program."""


class ValidationError(GradirError):
    """With GRADIR_VALIDATE=1: a stage, a derivative or native code is wrong, which is a fault."""


class TraceError(GradirError, TypeError):
    """A Python function uses traced arrays in a way that cannot be traced."""


class ForeignCodeError(TraceError):
    """NumPy's or SciPy's own code was given a traced array, whose values it would read."""


class CompileError(GradirError):
    """The program cannot be turned into native code."""


class ExecutionError(GradirError):
    """The program failed while it ran."""


class HostCallError(ExecutionError):
    """A function called by the program raised or failed, or returned wrong values."""


class HostRecursionError(HostCallError, RecursionError):
    """A Python function calls a program that calls the function, and so on, too deeply."""


class CommError(ExecutionError):
    """The ranks of a program do not fit each other, or one of them has failed."""


class IndexOutOfRange(ExecutionError, IndexError):
    """An index read from an array is out of range."""


class NonFiniteError(ExecutionError, FloatingPointError):
    """A result is nan or infinite, with GRADIR_NAN=raise; the message says where that began."""


class ArgumentError(GradirError, ValueError):
    """An argument of a gradir function, an option of a pass or of a tool has a wrong value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a gradir function has a wrong type."""


class FileError(GradirError):
    """A file cannot be read or written, or does not hold what it must."""


class NativeFunctionError(ArgumentError):
    """A library cannot be loaded or lacks a symbol, or an address is no function's to call."""


class NotPicklable(ArgumentTypeError, PicklingError):
    """A function given to a transform is not found by its name, and so does not pickle."""


_KINDS: tuple[tuple[type[Exception], type[GradirError]], ...] = (
    (xdsl_exceptions.ParseError, ParseError),
    (located.VerifyError, VerifyError),
    (located.PassError, PassError),
    (located.RankError, CommError),
    (located.ValidationError, ValidationError),
    (xdsl_exceptions.VerifyException, VerifyError),
    (xdsl_exceptions.InterpretationError, ExecutionError),
    (xdsl_exceptions.LLVMTranslationException, CompileError),
    (xdsl_exceptions.JITException, CompileError),
    (xdsl_exceptions.DiagnosticException, PassError),
)


def translate(
    error: Exception, sources: Sources | None = None, place: LocationAttr = _NO_PLACE
) -> GradirError | None:
    """`error` as a GradirError; None if it is not about the program.

    `place` is for errors without a place of their own.
    """
    if isinstance(error, GradirError):
        return error
    if isinstance(error, RecursionError | MemoryError):
        message = (
            "not enough memory for the program"
            if isinstance(error, MemoryError)
            else "the program is nested too deeply for Python's recursion limit, "
            f"{sys.getrecursionlimit()} (sys.setrecursionlimit)"
        )
        diagnostic = diagnostic_of(located.LocatedError(message, place))
        return PassError(render(diagnostic, sources or Sources()), diagnostic)
    kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), None)
    if kind is None:
        return None
    diagnostic = diagnostic_of(error)
    return kind(render(diagnostic, sources or Sources()), diagnostic)


@contextmanager
def gradir_errors(
    sources: Sources | None = None, place: LocationAttr = _NO_PLACE
) -> Generator[None]:
    """A context that translates errors about the program into GradirErrors.

    Other exceptions pass: they are bugs, and need their traceback.
    """
    try:
        yield
    except Exception as error:
        ours = translate(error, sources, place)
        if ours is None or ours is error:
            raise
        # `from None`: the inner traceback is not about the user's program
        raise ours from None
