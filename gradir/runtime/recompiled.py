"""Copies and pickles of compiled functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from gradir.errors import ArgumentError


class Recompiled:
    """A compiled function: immutable, so that a copy is the function itself.

    It pickles as the call in `source`, which compiles it again: native code is for one machine.
    """

    source: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.source is None:
            raise ArgumentError(f"{self!r} does not pickle: gradir.compile has not made it")
        return self.source

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
