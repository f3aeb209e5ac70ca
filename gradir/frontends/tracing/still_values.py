"""Values that transforms hand on to the function as they are: texts, functions, other objects.

They are no arrays. A `Still` in their place is a part of the nesting, so a value chooses the
program, as JAX's transforms have it. gradir.jit refuses them: there they are static arguments.

A program is kept, so an object that may change while it stays the same key is refused outside of
traces: a program would have its attributes, or its random numbers, as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.nodes import register_pytree_node
from gradir.frontends.tracing.spec import spec_of
from gradir.frontends.tracing.trees import flatten

_ARRAYS = frozenset([np.ndarray, float, int, bool])
_NUMBERS = frozenset([float, int, bool, complex])


class Still:
    """A hashable value that is no array; a nesting that has it builds the value."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


register_pytree_node(Still, lambda still: ((), still.value), lambda value, children: value)


def with_still_objects(args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments of a call whose program is kept: values that are no arrays are still."""
    return _with_still((args, dict(kwargs)), _is_value)


def with_still_numbers(
    args: Sequence[Any], kwargs: Mapping[str, Any], moving: Collection[int]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call in a trace: beside `moving` ones objects and Python's numbers are still.

    The trace has these numbers as constants anyway, and the function can use them in Python.
    """
    places = {k % len(args) for k in moving if args}
    found = [arg if k in places else _with_still(arg, _is_still) for k, arg in enumerate(args)]
    return tuple(found), _with_still(dict(kwargs), _is_still)


def _with_still(value: Any, is_still: Callable[[Any], bool]) -> Any:
    leaves, tree = flatten(value)
    found = [is_still(leaf) for leaf in leaves]
    if not any(found):
        return value
    pairs = zip(leaves, found, strict=True)
    return tree.build([Still(leaf) if is_one else leaf for leaf, is_one in pairs])


def _is_still(leaf: Any) -> bool:
    return type(leaf) in _NUMBERS or _is_object(leaf)


def _is_value(leaf: Any) -> bool:
    """Whether an object is told from others by what it is: a text, not a box of attributes."""
    if not _is_object(leaf):
        return False
    if not isinstance(getattr(leaf, "__self__", None), ModuleType | NoneType):
        return False  # a method, of an object that may change
    return type(leaf).__hash__ is not object.__hash__ or _is_function(leaf)


def _is_function(leaf: Any) -> bool:
    """Functions, compiled ones and classes have what they read as it is when they are traced, as
    under gradir.jit."""
    return isinstance(leaf, type | np.ufunc | FunctionType) or isinstance(
        getattr(leaf, "__wrapped__", None), FunctionType
    )


def _is_object(leaf: Any) -> bool:
    if type(leaf) in _ARRAYS:
        return False
    try:
        if not isinstance(leaf, type) and spec_of(leaf) is not None:
            return False
        hash(leaf)
    except (TypeError, ArgumentTypeError):
        return False
    return True
