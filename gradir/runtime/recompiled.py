"""Copies and pickles of compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Self

from gradir.argument_checks import known_arguments
from gradir.errors import ArgumentError, ArgumentTypeError
from gradir.nearest import by_position_alone


class Recompiled:
    """A compiled function: immutable, so that a copy is the function itself.

    It pickles as the call in `source`, which compiles it again: native code is for one machine.
    """

    name: str
    source: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    profiler: Callable[..., Any] | None = None
    explorer: Callable[..., Any] | None = None

    @known_arguments
    def profile(self, *arrays: object, out: object = None) -> Any:
        """The time of each kernel in calls with these arguments: a gradir.profiling.Profile.

        It compiles the function once more, with clocks between its kernels, and calls it some
        times. Arrays in `out` are written, or added to, by each of these calls.
        """
        if self.profiler is None:
            raise ArgumentError(f"profile: gradir.compile has not made {self!r}")
        return self.profiler(self, arrays, out)

    @known_arguments
    def explore(self, *arrays: object) -> Any:
        """A page on this function: its stages, memory, time and code, a gradir.explore page.

        `page.save("page.html")` writes it, and a notebook shows it. With arrays for all arguments
        the function is called, and the page has times; dynamic shapes need them.
        """
        if self.explorer is None:
            raise ArgumentError(f"explore: gradir.compile has not made {self!r}")
        return self.explorer(arrays)

    def refuse_named(self, given: Iterable[str], names: Sequence[str]) -> NoReturn:
        """Raise the error of a call with arrays by keyword."""
        raise ArgumentTypeError(by_position_alone(self.name, list(given), names))

    def cell(self, plan: Any) -> str:
        """The signature as HTML for a notebook, with the picture of a memory plan."""
        from html import escape  # for notebooks alone

        picture = "" if plan is None else plan.svg()
        head = f"<summary><code>{escape(repr(self))}</code></summary>"
        return f"<details open>{head}{picture}</details>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self.source is None:
            raise ArgumentError(f"{self!r} does not pickle: gradir.compile has not made it")
        return self.source

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self
