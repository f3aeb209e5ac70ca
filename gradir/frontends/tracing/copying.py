"""Whether users' functions are traced as they are, or as copies (`copied_code`), which few need."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

from gradir.dialects.base.lazy_function import lazy_function
from gradir.errors import ForeignCodeError

if TYPE_CHECKING:
    from gradir.frontends.tracing.copied_code import Copies
else:
    Copies = lazy_function("gradir.frontends.tracing.copied_code", "Copies")

R = TypeVar("R")


class _Current(local):
    copies: Copies | None = None


_current = _Current()


def with_copies(run: Callable[[], R]) -> R:
    """The result of a trace; of one of copied functions where NumPy or SciPy refuse it."""
    if _current.copies is not None:
        return run()
    try:
        return run()
    except ForeignCodeError:
        pass
    with _copying():
        return run()


@contextmanager
def _copying() -> Generator[None]:
    _current.copies = copies = Copies()
    try:
        yield
    except ForeignCodeError as error:
        for each in copies.originals:
            error.add_note(f"numpy in {each} is NumPy's own: write gradir.numpy there")
        raise
    finally:
        _current.copies = None


def as_called(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function as it is called: itself, or its copy while functions are copied."""
    return function if _current.copies is None else _current.copies.of(function)
