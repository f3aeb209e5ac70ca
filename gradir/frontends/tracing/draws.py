"""Random numbers of NumPy and Python that a function draws while it is traced.

They are constants of the program. A derivative that is called with arrays draws anew in each call,
as in JAX, so its program must not be kept then.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, cast

MOST_OBJECTS = 1000
"""The objects of a function that are looked at."""


class Draws:
    """The states of the generators that a function reaches, as they are now."""

    def __init__(self, function: object):
        self._generators = list(_generators(function))
        self._states = self._read()

    def were_made(self) -> bool:
        """Whether one of the generators has another state."""
        return self._states != self._read()

    def _read(self) -> list[object]:
        # a module that is not loaded has drawn nothing, and takes milliseconds to load
        python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
        known = [python and python.getstate(), numpy and _state(numpy.mtrand._rand)]
        return [*known, *map(_state, self._generators)]


def _state(generator: Any) -> bytes:
    bits = getattr(generator, "bit_generator", None)
    return pickle.dumps(generator.get_state() if bits is None else bits.state)


def _generators(function: object) -> Iterator[object]:
    """The generators of NumPy that a function reads by its names, and those that it calls."""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < MOST_OBJECTS:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, numpy.Generator | numpy.RandomState):
            yield each
        elif each is function or not str(getattr(each, "__module__", "")).startswith(_OTHERS):
            waiting += _inside(each)


_OTHERS = ("builtins", "gradir.", "numpy.")
"""The modules whose functions and objects hold no generators of users."""


def _inside(value: object) -> Iterable[Any]:
    """What a value holds, and what a function may read by name."""
    held: Any = value
    if isinstance(value, partial):
        return [held.func, *held.args, *held.keywords.values()]
    if isinstance(value, MethodType):
        return [held.__func__, held.__self__]
    if isinstance(value, FunctionType):
        return _read_by(value)
    if hasattr(value, "__wrapped__"):
        return [held.__wrapped__]
    if isinstance(value, list | tuple):
        return cast(Iterable[Any], value)
    return () if callable(value) else getattr(value, "__dict__", {}).values()


def _read_by(function: FunctionType) -> list[Any]:
    """What a function, and those inside of it, may read by name."""
    values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue  # not assigned yet
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names = (function.__globals__.get(name) for name in code.co_names)
        values += [value for value in names if value is not None]
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    wrapped = getattr(function, "__wrapped__", None)
    return values if wrapped is None else [*values, wrapped]
