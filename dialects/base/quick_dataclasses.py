"""Dataclasses whose methods are compiled at their first use.

A dataclass has up to seven methods, which Python (before 3.13) compiles from text one by one when
the class is made: for the 410 classes of xDSL, dialects and stages more than a third of the time of
an import. Few of them are ever compared or printed, and half of them have no instance. The doc of a
class without one is its name; Python would ask for the signature of `__init__`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

_MODULE: Any = dataclasses
_COMPILE: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
"""Python's own function; newer versions have none, and compile a class at once."""


@contextmanager
def quick_dataclasses() -> Generator[None]:
    """Classes that are made inside have methods that are compiled when they are used."""
    if _COMPILE is None:
        yield
        return
    _MODULE._create_fn, _MODULE.inspect = _compile_late, _WithoutSignatures()
    try:
        yield
    finally:
        _MODULE._create_fn, _MODULE.inspect = _COMPILE, inspect


class _WithoutSignatures:
    """`inspect` as `dataclasses` asks it: for annotations, and for the doc of a class without."""

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)

    def signature(self, cls: type) -> str:
        del cls
        return ""


def _compile_late(name: str, args: Any, body: Any, **given: Any) -> Any:
    assert _COMPILE is not None
    compile_now = _COMPILE
    if name == "__init__":
        return _LateInit(lambda: compile_now(name, args, body, **given))
    made: list[Callable[..., Any]] = []

    def method(self: Any, *rest: Any) -> Any:
        if not made:
            made.append(compile_now(name, args, body, **given))
            _replace_method(type(self), name, method, made[0])
        return made[0](self, *rest)

    method.__name__ = name
    return method


class _LateInit:
    """`__init__` of a class until it is looked up, by an instance that is made or by `inspect`."""

    def __init__(self, compile_now: Callable[[], Any]):
        self._compile_now = compile_now

    def __get__(self, instance: object, cls: type) -> Any:
        made = self._compile_now()
        _replace_method(cls, "__init__", self, made)
        return made if instance is None else made.__get__(instance, cls)


def _replace_method(cls: type, name: str, old: Any, new: Any) -> None:
    """Set the method of the class that has the old one, unless that is behind a decorator."""
    for each in cls.__mro__:
        if each.__dict__.get(name) is old:
            new.__qualname__ = f"{each.__qualname__}.{name}"
            type.__setattr__(each, name, new)
            return
