"""Dataclasses whose rarely called methods are compiled at their first call.

A dataclass has up to seven methods, which Python (before 3.13) compiles from text one by one when
the class is made: for the 270 classes of xDSL and of dialects 40 % of the time of an import. Few of
them are ever compared or printed. `__init__`, whose signature is asked for, is compiled at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_MODULE: Any = dataclasses
_COMPILE: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
"""Python's own function; newer versions have none, and compile a class at once."""


@contextmanager
def quick_dataclasses() -> Generator[None]:
    """Classes that are made inside have methods that are compiled when they are called."""
    if _COMPILE is None:
        yield
        return
    _MODULE._create_fn = _compile_late
    try:
        yield
    finally:
        _MODULE._create_fn = _COMPILE


def _compile_late(name: str, args: Any, body: Any, **given: Any) -> Any:
    assert _COMPILE is not None
    compile_now = _COMPILE
    if name == "__init__":
        return compile_now(name, args, body, **given)
    made: list[Callable[..., Any]] = []

    def method(self: Any, *rest: Any) -> Any:
        if not made:
            made.append(compile_now(name, args, body, **given))
            _replace_method(type(self), name, method, made[0])
        return made[0](self, *rest)

    method.__name__ = name
    return method


def _replace_method(cls: type, name: str, old: Any, new: Any) -> None:
    """Set the method of the class that has the old one, unless that is behind a decorator."""
    for each in cls.__mro__:
        if each.__dict__.get(name) is old:
            new.__qualname__ = f"{each.__qualname__}.{name}"
            type.__setattr__(each, name, new)
            return
