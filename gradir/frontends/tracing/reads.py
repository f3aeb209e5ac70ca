"""What a Python function reads beside its arguments, if that is known.

A function that reads only numbers, functions of gradir's, and functions known to read no more,
is traced to the same program as long as these are the same objects. All else may change while it
stays the same object, an array, a list or an attribute, and nothing is known then.
"""

from __future__ import annotations

import builtins
import dis
import math
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

# Functions of Python that neither have effects nor read anything but their arguments.
_PURE = (
    "abs all any bool complex dict divmod enumerate filter float frozenset int isinstance len list "
    "map max min pow range reversed round set slice sorted str sum tuple zip"
)
_PURE_VALUES = frozenset(id(getattr(builtins, name)) for name in _PURE.split())
_PURE_MODULES = ("gradir.numpy", "gradir.nn", "gradir.frontends.functions.")
_PURE_TRANSFORMS = tuple(
    f"gradir.frontends.transforms.{name}" for name in ("derivatives", "flow", "jit", "markers")
)
_ATOMS = frozenset([bool, int, float, complex, str, bytes, type(None)])

# What a function may do beside computing with what it has.
_REFUSED = {
    "DELETE_ATTR", "DELETE_GLOBAL", "IMPORT_NAME", "IMPORT_STAR", "LOAD_BUILD_CLASS",
    "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_NAME",
    "STORE_ATTR", "STORE_GLOBAL", "STORE_NAME",
}  # fmt: skip
_BUILTINS = builtins.__dict__
_MISSING = object()


class _UnknownReads(Exception):
    """The function reads what may change unseen."""


class Reads:
    """The objects that a function reads, and where it finds them."""

    def __init__(self, function: FunctionType):
        self._names: list[tuple[dict[str, Any], str, object]] = []
        self._cells: list[tuple[CellType, object]] = []
        self._functions: list[tuple[FunctionType, CodeType, object]] = []
        self._seen: set[int] = set()
        self._function(function)

    @classmethod
    def of(cls, function: object) -> Reads | None:
        """What a function reads; None if that is not known."""
        try:
            return cls(function) if isinstance(function, FunctionType) else None
        except _UnknownReads:
            return None

    def hold(self) -> bool:
        """Whether the function would read the same objects now."""
        for names, name, value in self._names:
            if names.get(name, _MISSING) is not value:
                return False
        for cell, value in self._cells:
            if _contents(cell) is not value:
                return False
        for function, code, defaults in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__:
                return False
        return True

    def _function(self, function: FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        code, defaults = function.__code__, function.__defaults__
        self._functions.append((function, code, defaults))
        if function.__kwdefaults__ or getattr(function, "__builtins__", None) is not _BUILTINS:
            raise _UnknownReads
        self._value(defaults)
        free = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for cell in free.values():
            value = _contents(cell)
            self._cells.append((cell, value))
            if not isinstance(value, ModuleType):
                self._value(value)
        for each in _codes(code):
            self._code(each, function.__globals__, free)

    def _code(self, code: CodeType, names: dict[str, Any], free: dict[str, CellType]) -> None:
        instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        for at, instruction in enumerate(instructions):
            kind, name = instruction.opname, instruction.argval
            if kind in _REFUSED or (kind in ("STORE_DEREF", "DELETE_DEREF") and name in free):
                raise _UnknownReads
            if "ATTR" in kind or "METHOD" in kind:
                if not isinstance(name, str) or name.startswith("__"):
                    raise _UnknownReads
            if kind == "LOAD_GLOBAL":
                self._path(self._looked_up(names, name), instructions[at + 1 :])
            elif kind == "LOAD_DEREF" and name in free:
                self._path(_contents(free[name]), instructions[at + 1 :])

    def _looked_up(self, names: dict[str, Any], name: str) -> object:
        """A global of the function, or one of Python's."""
        value = names.get(name, _MISSING)
        self._names.append((names, name, value))
        if value is _MISSING:
            value = _BUILTINS.get(name, _MISSING)
            self._names.append((_BUILTINS, name, value))
        return value

    def _path(self, value: object, following: list[dis.Instruction]) -> None:
        """A value, or what attributes of a module lead to."""
        for instruction in following:
            if not isinstance(value, ModuleType):
                break
            if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                raise _UnknownReads
            name = str(instruction.argval)
            found = getattr(value, name, _MISSING)
            if vars(value).get(name, _MISSING) is not found:
                raise _UnknownReads
            self._names.append((vars(value), name, found))
            value = found
        self._value(value)

    def _value(self, value: object) -> None:
        """_UnknownReads unless the value never changes, or is a function that is known."""
        if type(value) in _ATOMS or id(value) in _PURE_VALUES:
            return
        if type(value) is tuple:
            for item in cast(tuple[object, ...], value):
                self._value(item)
        elif isinstance(value, type):
            if not issubclass(value, np.generic | BaseException):
                raise _UnknownReads
        elif isinstance(value, FunctionType):
            if not _is_pure(value):
                self._function(value)
        elif not (_is_scalar(value) or getattr(value, "__self__", None) is math):
            raise _UnknownReads


def _is_pure(function: FunctionType) -> bool:
    """Whether this is a function of gradir's that may be called while tracing."""
    module = function.__module__
    return module.startswith(_PURE_MODULES) or module in _PURE_TRANSFORMS


def _is_scalar(value: object) -> bool:
    return isinstance(value, np.generic | np.dtype) and not isinstance(value, np.void)


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
