"""Random numbers of NumPy and Python that a function draws while it is traced.

They are constants of the program. A derivative that is called with arrays draws anew in each call,
as in JAX, so its program must not be kept then.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

MOST_OBJECTS = 1000
"""The objects of a function that are looked at."""


class Draws:
    """The states of the generators that a function reaches, as they are now."""

    def __init__(self, function: object):
        self._generators: list[Any] = []
        # with a seed of its own each time
        self._makes_one = False
        kinds = _kinds()
        for each in _reached(function):
            if isinstance(each, CodeType):
                self._makes_one = self._makes_one or not _MAKERS.isdisjoint(each.co_names)
            elif type(each).__name__ == "SystemRandom":
                self._makes_one = True  # which has no state
            elif isinstance(each, kinds):
                self._generators.append(each)
        self._states = self._read()

    def were_made(self) -> bool:
        """Whether one of the generators has another state."""
        return self._makes_one or self._states != self._read()

    def _read(self) -> list[object]:
        # a module that is not loaded has drawn nothing, and takes milliseconds to load
        python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
        known = [python and python.getstate(), numpy and _state(numpy.mtrand._rand)]
        return [*known, *map(_state, self._generators)]


def _kinds() -> tuple[type, ...]:
    """The classes of generators, as far as they are loaded."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    of_numpy = () if numpy is None else (numpy.Generator, numpy.RandomState)
    return of_numpy if python is None else (*of_numpy, python.Random)


_MAKERS = frozenset("default_rng RandomState Random SystemRandom urandom PCG64 Philox".split())
"""Names of functions that make generators, or draw without one."""


def _state(generator: Any) -> object:
    """The state of a generator of Python, of NumPy, or of NumPy's older kind."""
    if hasattr(generator, "bit_generator"):
        return pickle.dumps(generator.bit_generator.state)
    if hasattr(generator, "getstate"):
        return generator.getstate()
    return pickle.dumps(generator.get_state())


def _reached(function: object) -> Iterator[object]:
    """What a function holds and reads by its names, and what that holds: the nearest first."""
    waiting, seen = deque([function]), set[int]()
    while waiting and len(seen) < MOST_OBJECTS:
        each = waiting.popleft()
        if id(each) in seen or isinstance(each, ModuleType | str | bytes | int | float):
            continue
        seen.add(id(each))
        yield each
        if each is function or not str(getattr(each, "__module__", "")).startswith(_OTHERS):
            waiting += _inside(each)


_OTHERS = ("builtins", "gradir.", "numpy.", "xdsl.")
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
    if isinstance(value, dict):
        return cast(dict[Any, Any], value).values()
    if isinstance(value, (list, tuple, set)):
        return cast(Iterable[Any], value)
    # of its class: objects that hand on all attributes, as List[int] does, have any
    names = getattr(type(value), "__slots__", None) or ()
    names = (names,) if isinstance(names, str) else names
    slots = [getattr(value, name, None) for name in names]
    return [*vars(type(value)).values(), *getattr(value, "__dict__", {}).values(), *slots]


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
        values.append(code)
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    wrapped = getattr(function, "__wrapped__", None)
    return values if wrapped is None else [*values, wrapped]
