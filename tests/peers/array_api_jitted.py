"""gradir.numpy under the names of the Array API, with each call compiled: GRADIR_ARRAY_API_JIT.

The arrays of a call are the arguments of a function that gradir.jit compiles; everything else is
closed over. Functions without arrays, and those that tell of types and shapes, are gradir.numpy's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, cast

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir.frontends.functions.descriptions import FUNCTIONS
from gradir.frontends.functions.standard import VALUED

PLAIN = {f.__name__ for f in FUNCTIONS} | set(VALUED) | {"asarray", "from_dlpack"}


def _taken(value: Any, arrays: list[Any]) -> Any:
    """A place in the list of arrays for each array in nested tuples and lists."""
    if isinstance(value, np.ndarray | np.generic):
        arrays.append(value)
        return _Place(len(arrays) - 1)
    if isinstance(value, (tuple, list)):
        parts = [_taken(each, arrays) for each in cast(list[Any], value)]
        return parts if isinstance(value, list) else tuple(parts)
    return value


class _Place(int):
    """The place of an array."""


def _given(value: Any, arrays: Any) -> Any:
    if isinstance(value, _Place):
        return arrays[value]
    if isinstance(value, (tuple, list)):
        parts = [_given(each, arrays) for each in cast(list[Any], value)]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is compiled at each call, on the arrays of the call."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        arrays: list[Any] = []
        places = _taken(args, arrays), {k: _taken(v, arrays) for k, v in kwargs.items()}
        if not arrays:
            return function(*args, **kwargs)

        def traced(*inputs: Any) -> Any:
            rest = {k: _given(v, inputs) for k, v in places[1].items()}
            return function(*_given(places[0], inputs), **rest)

        return gradir.jit(traced)(*arrays)

    return call


def _namespace(name: str, module: Any) -> ModuleType:
    made = ModuleType(name)
    for each in (*module.__all__, "__array_api_version__", "__array_namespace_info__"):
        if hasattr(module, each):
            found = getattr(module, each)
            is_kept = each in PLAIN or isinstance(found, type) or not hasattr(found, "__wrapped__")
            setattr(made, each, found if is_kept else jitted(found))
    made.__dict__.setdefault("__getattr__", module.__getattr__)
    return made


_made = _namespace(__name__, gnp)
for _name in ("linalg", "fft"):
    setattr(_made, _name, _namespace(f"{__name__}.{_name}", getattr(gnp, _name)))
sys.modules[__name__] = _made
