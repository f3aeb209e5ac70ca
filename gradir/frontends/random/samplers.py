"""Functions that draw, in a trace and outside of one.

Outside of a trace they run as native code, compiled once for each shape and dtype, as loops do: the
numbers are bit for bit as in traced code.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradir.frontends.functions.arguments import checked
from gradir.frontends.random.draws import wrapped
from gradir.frontends.tracing.source_locations import called_from
from gradir.frontends.tracing.spec import as_shape
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.jit import jit

# Parameters that choose the program; `a` and `x` do where they are numbers of places.
_STATIC = {"shape", "dtype", "axis", "replace", "independent", "method", "d", "m", "num"}
_INTEGERS = {"key", "seed", "data"}
_COUNTS = {("choice", "a"), ("permutation", "x"), ("orthogonal", "n")}


def sampler(
    function: Callable[..., Any], check: Callable[..., None] | None = None
) -> Callable[..., Any]:
    """The public form of a function of a key and parameters; `check` sees their values outside of a
    trace, where the program does not."""
    name, signature = function.__name__, inspect.signature(function)
    known = signature.parameters
    places = [p for p, one in known.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    needed = {p for p, one in known.items() if one.default is one.empty}
    call = checked(function, name, "gradir.random")
    compiled: dict[Any, Any] = {}

    def outside(*args: Any, **kwargs: Any) -> Any:
        # as signature.bind, which takes as long as a small draw
        given = dict(zip(places, args, strict=False)) | kwargs
        if len(given) < len(args) + len(kwargs) or not needed <= given.keys() <= known.keys():
            return call(*args, **kwargs)  # which names the wrong argument
        if check is not None:
            check(**given)
        static = {p: _plain(p, v) for p, v in given.items() if _is_static(name, p, v)}
        choice = tuple(static.items())
        found = compiled.get(choice)
        if found is None:
            found = compiled[choice] = jit(_chosen(call, static))
        return found(**{p: _array(p, v) for p, v in given.items() if p not in static})

    def drawn(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        return called_from(frame, outside if tracing() is None else call, *args, **kwargs)

    drawn.__name__ = drawn.__qualname__ = name
    drawn.__doc__, drawn.__module__ = function.__doc__, "gradir.random"
    drawn.__signature__ = signature  # pyrefly: ignore[missing-attribute]
    return drawn


def _chosen(function: Callable[..., Any], static: dict[str, Any]) -> Callable[..., Any]:
    """The function of the other parameters."""

    def chosen(**arrays: Any) -> Any:
        return function(**arrays, **static)

    chosen.__name__ = function.__name__
    return chosen


def _is_static(name: str, parameter: str, value: Any) -> bool:
    """Whether a value chooses the program, and is no array in it."""
    if parameter in _STATIC or value is None:
        return True
    return (name, parameter) in _COUNTS and isinstance(value, int | np.integer)


def _plain(parameter: str, value: Any) -> Any:
    """A value that chooses, hashable."""
    return as_shape(value) if parameter in ("shape", "num") and value is not None else value


def _array(parameter: str, value: Any) -> Any:
    """An argument of native code."""
    if parameter in _INTEGERS and isinstance(value, int) and not isinstance(value, bool):
        return np.int64(wrapped(value, parameter))
    return np.asarray(cast(Any, value)) if isinstance(value, (list, tuple)) else value
