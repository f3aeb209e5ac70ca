"""Source locations of traced ops in the user's Python code, and the names of their variables.

The place of an op is the call or operator in the innermost frame that is not gradir's. If an
assignment to a variable follows there, the op's result gets the variable's name.
"""

from __future__ import annotations

import contextlib
import dis
import linecache
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from itertools import islice
from threading import local
from types import CodeType, FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc

from gradir.argument_checks import known_arguments, refuse_wrong_call
from gradir.diagnostics import Sources, diagnostic_of, render
from gradir.dialects.base.diagnostics import LocatedError
from gradir.errors import ArgumentError, ArgumentTypeError, GradirError, TraceError, gradir_errors

P = ParamSpec("P")
R = TypeVar("R")
ErrorT = TypeVar("ErrorT", bound=GradirError)

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
"""The folder of gradir, whose code is not the user's."""
NUMPY = os.path.dirname(np.__file__) + os.sep
"""The folder of NumPy, whose functions may call what a user's code hands them."""
_NO_PLACE: LocationAttr = UnknownLoc()


class _Here(local):
    """The place of the running public call of this thread."""

    location: LocationAttr = _NO_PLACE
    texts: Sources | None = None
    """What is read now, whose author may have named any file as a place."""


_here = _Here()


class PythonSources(Sources):
    """Source lines, also of code without a file: linecache has the lines of notebooks."""

    def line(self, file: str, number: int) -> str | None:
        if _here.texts is not None:
            return _here.texts.line(file, number)
        if file.endswith(".onnx"):  # a binary file, whose numbers are those of nodes
            return None
        return super().line(file, number) or linecache.getline(file, number).rstrip("\n") or None


SOURCES = PythonSources()


def location() -> LocationAttr:
    """The place of the running public call."""
    return _here.location


@contextmanager
def reading(texts: Sources) -> Generator[None]:
    """Errors inside show lines of these texts alone: places in a foreign file open no other one."""
    before, _here.texts = _here.texts, texts
    try:
        yield
    finally:
        _here.texts = before


def refusal(
    message: str, kind: type[ErrorT] = TraceError, place: LocationAttr | None = None
) -> ErrorT:
    """An error about the user's Python code, at the running public call."""
    diagnostic = diagnostic_of(LocatedError(message, place or _here.location))
    return kind(render(diagnostic, SOURCES), diagnostic)


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function for users: its ops and errors have the place of the call."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        frame = sys._getframe(1)
        try:
            return called_from(frame, function, *args, **kwargs)
        except TypeError as error:
            refuse_wrong_call(error, function, args, kwargs, _refused_call)
            raise

    return call


def named_options(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose wrong arguments are refused at the user's line, with the known ones."""
    return known_arguments(function, _refused_call)


def _refused_call(wrong: str) -> ArgumentTypeError:
    """The error of a call with wrong arguments, at the user's line."""
    return refusal(wrong, ArgumentTypeError, place_of_user())


def called_from(frame: FrameType, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A call of a function for users in a frame: its ops and errors have its place, if a user's."""
    code = frame.f_code
    if code.co_filename.startswith(PACKAGE):
        return function(*args, **kwargs)
    if code.co_filename.startswith(NUMPY) and (outside := _caller(frame)) is not None:
        frame, code = outside, outside.f_code
    place, variable = _place(code.co_filename, code, frame.f_lasti)
    try:
        with at(place), gradir_errors(SOURCES, place):
            try:
                result = function(*args, **kwargs)
            except ArgumentError as error:
                if error.diagnostic is not None:
                    raise
                raise refusal(str(error), type(error)) from None
    except Exception as error:
        error.__traceback__ = _without_ours(error)
        raise
    if variable is not None and hasattr(result, "named"):
        cast(Any, result).named(variable)
    return result


TRACEBACK_VARIABLE = "GRADIR_TRACEBACK"
"""1: tracebacks have the frames of gradir, too."""


def _without_ours(error: Exception) -> TracebackType | None:
    """The traceback without the frames of gradir; whole for faults of gradir's."""
    whole = error.__traceback__
    frames: list[TracebackType] = []
    trace = whole
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    is_ours = isinstance(error, GradirError)
    hidden = (PACKAGE, contextlib.__file__) if is_ours else (PACKAGE,)
    is_user = [not f.tb_frame.f_code.co_filename.startswith(hidden) for f in frames]
    is_asked = isinstance(error, AttributeError) and is_user[-2:] == [True, False]
    is_asked = is_asked and frames[-1].tb_frame.f_code.co_name == "__getattr__"
    is_fault = not is_ours and not is_asked and not (is_user and is_user[-1])
    if is_fault or os.environ.get(TRACEBACK_VARIABLE) == "1":
        return whole
    made: TracebackType | None = None
    for found, keeps in zip(reversed(frames), reversed(is_user), strict=True):
        if keeps:
            made = TracebackType(made, found.tb_frame, found.tb_lasti, found.tb_lineno)
    return made


def _caller(frame: FrameType | None, *systems: str) -> FrameType | None:
    """The innermost frame from here on that is not gradir's, NumPy's or in other folders."""
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, NUMPY, *systems)):
        frame = frame.f_back
    return frame


def place_of_user(*systems: str) -> LocationAttr:
    """The place in the innermost frame that is not gradir's, NumPy's or in folders of `systems`."""
    frame = _caller(sys._getframe(1), *systems)
    if frame is None:
        return _NO_PLACE
    return _place(frame.f_code.co_filename, frame.f_code, frame.f_lasti)[0]


def place_in(
    codes: Sequence[CodeType], offsets: Sequence[int], *systems: str
) -> tuple[LocationAttr, str | None]:
    """The place in the first frame that is a user's, and the variable of the result there.

    The frames, innermost first, are the codes and the offsets of their instructions; those of
    gradir, NumPy and in folders of `systems` are not a user's.
    """
    for code, offset in zip(codes, offsets, strict=True):
        if not code.co_filename.startswith((PACKAGE, NUMPY, *systems)):
            return _place(code.co_filename, code, offset)
    return _NO_PLACE, None


def place_of_error(error: BaseException, *systems: str) -> LocationAttr:
    """The place of a user's code where an exception comes from; not in folders of `systems`."""
    trace, place = error.__traceback__, _NO_PLACE
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith((PACKAGE, NUMPY, *systems)):
            place = _place(code.co_filename, code, trace.tb_lasti)[0]
        trace = trace.tb_next
    return place


def is_called_by_code(frame: FrameType | None = None) -> bool:
    """Whether a user's code runs an operator, or x[key] = value, by a function of another system.

    Its own operators are other instructions than calls. `frame` belongs to the operator's caller,
    if that may be gradir, which then is no other system.
    """
    if frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        return False
    found = _caller(frame or sys._getframe(1))
    return found is None or _is_call(found.f_code, found.f_lasti)


@lru_cache(1 << 14)
def _is_call(code: CodeType, offset: int) -> bool:
    """Whether the instruction at an offset calls something."""
    found = next((i.opname for i in dis.get_instructions(code) if i.offset == offset), "CALL")
    return "CALL" in found


@contextmanager
def at(place: LocationAttr) -> Generator[None]:
    """A context in which ops and errors have this place."""
    before = _here.location
    _here.location = place
    try:
        yield
    finally:
        _here.location = before


def location_of_function(function: Callable[..., Any]) -> LocationAttr:
    """The place of a Python function's definition; unknown for functions not written in Python."""
    while hasattr(function, "__wrapped__") or hasattr(function, "func"):
        function = getattr(function, "__wrapped__", None) or cast(Any, function).func
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return UnknownLoc()
    return _location(code.co_filename, code.co_firstlineno, 0)


@lru_cache(1 << 14)
def _place(file: str, code: CodeType, offset: int) -> tuple[LocationAttr, str | None]:
    """The place of an instruction, and the variable of its result."""
    line, _, column, _ = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    return _location(file, line or code.co_firstlineno, column or 0), _variable(code, offset)


def _location(file: str, line: int, column: int) -> LocationAttr:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column + 1))


def _variable(code: CodeType, offset: int) -> str | None:
    """The variable in which the next instruction stores the result."""
    offsets, names = _stores(code.co_filename, code)
    following = bisect_right(offsets, offset)
    return names[following] if following < len(names) else None


@lru_cache(1 << 10)
def _stores(file: str, code: CodeType) -> tuple[list[int], list[str | None]]:
    """The offset of each instruction, and its target variable if it is a store."""
    instructions = list(dis.get_instructions(code))
    return [i.offset for i in instructions], [_stored(i.opname, i.argval) for i in instructions]


def _stored(instruction: str, name: Any) -> str | None:
    if not instruction.startswith(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")):
        return None
    # later Pythons store twice, or store and load, in one instruction
    first = cast(Any, name)[0] if isinstance(name, tuple) else name
    return first if isinstance(first, str) else None
