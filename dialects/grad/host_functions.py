"""The functions of host calls, and the names that program text finds them by.

A call of a traced op holds its function (`FunctionName`). A name in text means the function that
has it when the program is compiled or differentiated; the last one that was registered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, cast
from weakref import WeakValueDictionary

Spec = tuple[tuple[int, ...], str]
"""A shape and the name of a NumPy dtype."""

ShapeRule = Callable[..., Any]

GROUPS = {"out_grad": "cotangents", "in": "inputs", "out": "outputs"}
"""The name in Python of each kind of array that a backward function may read."""

NEEDS = tuple(GROUPS.values())


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A registered function; `backward` and `jvp` are its derivatives, or names of them.

    `function` is called with arrays and returns arrays, or is an operator, which the runtime calls.
    `needs` are the arrays that the backward function reads, by group or by name ("in0"). The last
    `state` arguments are state, whose new values are the last results. A derivative that
    `takes_kinds` is told the element types of the call that it belongs to.
    """

    name: str
    function: Any
    shape: ShapeRule | None = None
    backward: HostFunction | str | None = None
    pure: bool = False
    jvp: HostFunction | str | None = None
    needs: tuple[str, ...] = NEEDS
    state: int = 0
    takes_kinds: bool = False

    def expected(self, inputs: Sequence[Spec]) -> list[Spec] | None:
        """The results' shapes and dtypes by the shape rule; None without one."""
        if self.shape is None:
            return None
        given: Any = self.shape(*inputs)
        # one result need not be in a list
        several = cast(list[Any], given) if isinstance(given, list) else [given]
        return [(tuple(shape), str(dtype)) for shape, dtype in several]


class FunctionName(str):
    """The name of a function in a program that holds it: whoever has the name later.

    It equals no other name, so that calls of two functions of one name are never merged.
    """

    __slots__ = ("function",)
    function: HostFunction

    def __new__(cls, function: HostFunction) -> FunctionName:
        made = super().__new__(cls, function.name)
        made.function = function
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionName) and other.function is self.function

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


# Ops and programs keep their functions. A name that was given keeps its own here, for text.
_FUNCTIONS: WeakValueDictionary[str, HostFunction] = WeakValueDictionary()
_KEPT: dict[str, HostFunction] = {}
_COUNTS: dict[str, int] = {}
_lock = RLock()


def _renew() -> None:
    """In a forked process: another thread of the parent may have had the lock."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_renew)


def register_host_function(
    name: str,
    function: Callable[..., Any],
    shape: ShapeRule | None = None,
    backward: str | Callable[..., Any] | None = None,
    pure: bool = False,
) -> None:
    """See `gradir.register_host_function`; a backward function gets a name of its own."""
    if callable(backward):
        derivative = HostFunction(f"{name}.backward", backward, pure=pure)
        register(derivative)
        register(HostFunction(name, function, shape, derivative, pure))
    else:
        register(HostFunction(name, function, shape, backward, pure))


def register(function: HostFunction, displaces: bool = True, keeps: bool = True) -> None:
    """Let program text find a function by its name.

    Until another takes the name; or, if the name does not keep it, while anybody holds it. Unless
    it `displaces`, a function that has the name already stays.
    """
    with _lock:
        if displaces or function.name not in _FUNCTIONS:
            _FUNCTIONS[function.name] = function
            _KEPT.pop(function.name, None)
            if keeps:
                _KEPT[function.name] = function


def register_under_free_name(base: str, make: Callable[[str], HostFunction]) -> HostFunction:
    """Make and register a function under a name that none has: `base`, or that and a number."""
    with _lock:
        name = base
        while name in _FUNCTIONS:
            _COUNTS[base] = _COUNTS.get(base, 0) + 1
            name = f"{base}_{_COUNTS[base]}"
        made = make(name)
        register(made, keeps=False)
        return made


def host_function(name: str) -> HostFunction | None:
    """The function that a name in a program means; None if there is none."""
    return name.function if isinstance(name, FunctionName) else _FUNCTIONS.get(name)


def host_function_names() -> list[str]:
    return list(_FUNCTIONS)


def derivatives(function: HostFunction) -> list[HostFunction]:
    """The functions of its derivatives that there are."""
    given = (function.backward, function.jvp)
    found = (host_function(d) if isinstance(d, str) else d for d in given)
    return [each for each in found if each is not None]


def reachable(functions: Sequence[HostFunction]) -> list[HostFunction]:
    """Functions and their derivatives of every order, each once."""
    found = dict.fromkeys(functions)
    pending = [*found]
    while pending:
        for each in derivatives(pending.pop()):
            if each not in found:
                found[each] = None
                pending.append(each)
    return [*found]


def differentiable(are_floating: Sequence[bool], state: int) -> list[int]:
    """The places of the values with cotangents: the floating ones that are no state."""
    return [k for k, floating in enumerate(are_floating[: len(are_floating) - state]) if floating]


def dependencies(
    needs: Sequence[str], inputs: int, outputs: int, seeded: Sequence[int]
) -> list[tuple[str, int]]:
    """The operands of a backward function, kind and number: cotangents, then inputs, then outputs.

    `seeded` are the outputs with cotangents.
    """
    every = [("out_grad", k) for k in seeded]
    every += [("in", k) for k in range(inputs)] + [("out", k) for k in range(outputs)]
    return [(kind, k) for kind, k in every if GROUPS[kind] in needs or f"{kind}{k}" in needs]
