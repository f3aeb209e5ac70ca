"""Axes of rows by name: those of the `gradir.vmap`s whose functions are being traced.

Collectives of such a name are between the rows, as in `gradir.comm.psum(x, "batch")`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import local

Axes = tuple[tuple[str, int], ...]
"""Names and numbers of rows, the innermost last."""


class _Here(local):
    axes: Axes = ()


_here = _Here()


def axes() -> Axes:
    """The axes around the code that runs."""
    return _here.axes


def rows_of(name: str) -> int | None:
    """The number of rows of the innermost axis of a name; None if there is none."""
    return next((size for known, size in reversed(_here.axes) if known == name), None)


@contextmanager
def within(axes: Axes) -> Generator[None]:
    """A context with these axes."""
    before, _here.axes = _here.axes, axes
    try:
        yield
    finally:
        _here.axes = before
