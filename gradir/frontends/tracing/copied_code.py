"""Copies of users' functions in which NumPy and SciPy are gradir's.

A function that is refused because NumPy or SciPy looks into a traced array is traced once more, as
a copy. Where it reads `numpy`, `scipy`, or a function of theirs, from globals, closures, defaults,
imports and other modules, the copy gets one that takes traced arrays (`foreign_names`), and where
it reads another function of the user's, a copy of that. Arrays that it makes are LateArrays. The
functions themselves, and other threads, see none of it.
"""

from __future__ import annotations

import builtins
import dis
import os
import sysconfig
from abc import ABCMeta
from collections.abc import Iterator
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from gradir.frontends.tracing.copying import as_called
from gradir.frontends.tracing.foreign_names import ForeignNames, standing_for
from gradir.frontends.tracing.late_arrays import from_outside
from gradir.frontends.tracing.nodes import NODES
from gradir.frontends.tracing.source_locations import PACKAGE
from gradir.frontends.tracing.tracer import Tracer

_ATOMS = (bool, int, float, complex, str, bytes, type(None), type, list, dict, set, np.generic)
"""Classes of objects that copies read as they are."""
_INSTALLED = tuple({
    PACKAGE, "<frozen",
    *(os.path.join(sysconfig.get_path(p), "") for p in ("stdlib", "purelib", "platlib")),
})  # fmt: skip
"""Folders of code that is not the user's."""


class Copies:
    """What copied functions have in place of the objects that they read."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}  # by identity; with the objects, to keep them
        self.originals: list[str] = []
        """Functions and objects that are not copied, and why."""
        self.builtins = {**builtins.__dict__, "__import__": self._import}

    def of(self, value: Any) -> Any:
        """What a copied function has in place of an object."""
        if isinstance(value, (*_ATOMS, Tracer)):
            return value
        found = self._made.get(id(value))
        if found is not None:
            return found[1]
        made = self._of(value)
        if not isinstance(value, MethodType):  # which Python makes at each read
            self._made[id(value)] = value, made
        return made

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if kind is tuple:
            return tuple(map(self.of, value))
        if kind is np.ndarray:
            return from_outside(value)
        if kind is partial:
            named = {k: self.of(v) for k, v in value.keywords.items()}
            return partial(self.of(value.func), *map(self.of, value.args), **named)
        if kind is MethodType and isinstance(value.__func__, FunctionType):
            return MethodType(self.of(value.__func__), self.of(value.__self__))
        theirs = standing_for(value, self.of)
        if theirs is not None:
            return theirs
        if isinstance(value, ModuleType):
            return (
                ForeignNames(value, self.of)
                if _is_users(getattr(value, "__file__", None))
                else value
            )
        if kind is FunctionType:
            return self._copy_of_users(value)
        if not _is_class_of_users(kind):
            return value
        if _has_stand_in(kind):
            return _stand_in(value)
        self.originals.append(f"methods of {kind.__qualname__}, which is more than its attributes,")
        return value

    def _copy_of_users(self, function: FunctionType) -> FunctionType:
        code = function.__code__
        if not _is_users(code.co_filename):
            return function
        if stored := _stores(code, "GLOBAL"):
            names = ", ".join(sorted(stored))
            self.originals.append(f"{function.__qualname__}, which assigns to the global {names},")
            return function
        return self._copy(function)

    def _copy(self, function: FunctionType) -> FunctionType:
        old = function.__closure__ or ()
        names = zip(old, function.__code__.co_freevars, strict=True)
        new = tuple(_cell(c, name, function.__code__) for c, name in names)
        its = _Globals(function.__globals__, self)
        made = FunctionType(function.__code__, its, function.__name__, None, new or None)
        self._made[id(function)] = function, made  # it may call itself
        made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
        made.__module__, made.__annotations__ = function.__module__, function.__annotations__
        made.__dict__.update(function.__dict__)
        if function.__defaults__ is not None:
            made.__defaults__ = tuple(map(self.of, function.__defaults__))
        if function.__kwdefaults__ is not None:
            made.__kwdefaults__ = {k: self.of(v) for k, v in function.__kwdefaults__.items()}
        for a, b in zip(old, new, strict=True):
            if a is not b:
                b.cell_contents = self.of(a.cell_contents)
        return made

    def _import(
        self, name: str, names: Any = None, local: Any = None, wanted: Any = (), level: int = 0
    ) -> Any:
        return self.of(builtins.__import__(name, names, local, wanted, level))


class _Globals(dict[str, Any]):
    """The globals of a copy: its function's, as they are at each read, by what stands for them.

    The items of the dict itself are for Python's own reads, of its builtins and in classes.
    """

    def __init__(self, names: dict[str, Any], copies: Copies):
        super().__init__(names)
        self["__builtins__"] = copies.builtins
        self._names, self._copies = names, copies

    def __getitem__(self, name: str) -> Any:
        return self._copies.of(self._names[name])


def _cell(cell: CellType, name: str, code: CodeType) -> CellType:
    """The cell of a copy: a new one, to be filled, where its object may have a stand-in."""
    try:
        contents = cell.cell_contents
    except ValueError:  # not assigned yet
        return cell
    is_kept = isinstance(contents, (*_ATOMS, Tracer)) or name in _stores(code, "DEREF")
    return cell if is_kept else CellType()


@lru_cache(1 << 10)
def _stores(code: CodeType, kind: str) -> frozenset[str]:
    """The names that a function, or one in it, stores or deletes: globals, or variables around."""
    return frozenset(
        str(i.argval)
        for each in _codes(code)
        for i in dis.get_instructions(each)
        if i.opname in (f"STORE_{kind}", f"DELETE_{kind}")
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _is_users(file: str | None) -> bool:
    """Whether code is the user's: of no installed package, and no part of Python."""
    return file is not None and not file.startswith(_INSTALLED)


# Objects with methods.


def _is_class_of_users(kind: type) -> bool:
    """Whether a class has methods of the user's."""
    code = [f.__code__ for f in vars(kind).values() if isinstance(f, FunctionType)]
    return any(_is_users(each.co_filename) for each in code)


def _has_stand_in(kind: type) -> bool:
    """Whether objects of a class are known to be no more than their attributes and methods."""
    return (
        type(kind) in (type, ABCMeta)
        and kind not in NODES
        and kind.__new__ is object.__new__
        and getattr(kind, "__getattribute__", None) is object.__getattribute__
        and not hasattr(kind.__init_subclass__, "__func__")  # as object's own
        and "__dict__" in dir(kind)
    )


def _stand_in(value: Any) -> Any:
    """An object with the attributes of another, whose methods are copied."""
    made = object.__new__(_stand_in_class(type(value)))
    object.__setattr__(made, "__dict__", value.__dict__)
    return made


@lru_cache(1 << 8)
def _stand_in_class(kind: type) -> type:
    def __getattribute__(self: Any, name: str) -> Any:
        found = object.__getattribute__(self, name)
        return found if name.startswith("__") else as_called(found)

    names: dict[str, Any] = {"__getattribute__": __getattribute__, "__module__": kind.__module__}
    call = kind.__dict__.get("__call__")
    if isinstance(call, FunctionType):

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            return as_called(call)(self, *args, **kwargs)

        names["__call__"] = __call__
    return cast(type, type(kind)(kind.__name__, (kind,), names))
