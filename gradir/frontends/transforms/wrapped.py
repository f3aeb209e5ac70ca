"""Wrapped functions of transforms: called like the original, and immutable values.

They pickle like functools.partial, as the transform and its arguments, or by name where a module
has them under it. Copies are the object itself.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from types import FunctionType, MethodType
from typing import Any, Self, cast

from gradir.errors import NotPicklable

Parts = tuple[Callable[..., Any], tuple[Any, ...]]
"""A transform and its arguments, to make the function again."""


class Copied:
    """Objects copied by reference, like functions."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Wrapped(Copied):
    """A transform's function: it looks like `shown`, and is a method in a class."""

    __name__: str
    __qualname__: str

    def __init__(self, shown: Callable[..., Any], parts: Parts):
        look_like(self, shown)
        self._parts = parts

    @property
    def parts(self) -> Parts:
        """The transform and its arguments."""
        return self._parts

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(cast(Callable[..., Any], self), instance)

    def __reduce__(self) -> str | Parts:
        return reduced(self, self._parts[0].__name__, self._parts)

    def __repr__(self) -> str:
        transform, (function, *_) = self._parts
        return f"<gradir.{transform.__name__} of {function!r}>"


def look_like(made: Any, shown: Callable[..., Any]) -> None:
    """functools.update_wrapper without the attributes that belong to another transform."""
    update_wrapper(made, shown, updated=())
    hidden = "_" if isinstance(shown, Copied) else "__"
    found: dict[str, Any] = getattr(shown, "__dict__", {})
    made.__dict__ |= {name: value for name, value in found.items() if not name.startswith(hidden)}


def reduced(made: object, transform: str, parts: Parts) -> str | Parts:
    """The pickle of a transform's function: its name, if that finds it, or `parts`.

    NotPicklable where one of these is a function that is not found by name.
    """
    shown = made
    while shown is not None:
        # a decorated function has the name of the wrapped one
        name = str(getattr(shown, "__qualname__", ""))
        if _found(str(made.__module__), name) is made:
            return name
        shown = getattr(shown, "__wrapped__", None)
    for part in parts[1]:
        _require_name(part, transform)
    return parts


def _found(module: str, name: str) -> object:
    """The object of a dotted name in a loaded module; None without one."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _require_name(function: object, transform: str) -> None:
    while isinstance(function, partial):
        function = cast(Callable[..., Any], function.func)
    if not isinstance(function, FunctionType):
        return  # it pickles itself
    module, name, code = function.__module__, function.__qualname__, function.__code__
    if _found(module, name) is function or _functions_go_by_value():
        return
    raise NotPicklable(
        f"{transform} of {name} ({code.co_filename}:{code.co_firstlineno}) does not pickle: module "
        f"{module} does not have that function under this name; define it by def at the top of a "
        "module, or pickle its program: gradir.jit(f).compiled(*args).executable"
    )


def _functions_go_by_value() -> bool:
    """Whether a pickler by value is running, such as cloudpickle's or dill's."""
    stock: Any = pickle._Pickler
    frame = sys._getframe(1)
    while frame is not None:
        at_work = frame.f_locals.get("self")
        if isinstance(at_work, pickle.Pickler | stock) and type(at_work) is not stock:
            return True
        frame = frame.f_back
    return False
