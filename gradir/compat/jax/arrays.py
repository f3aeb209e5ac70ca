"""NumPy arrays with what JAX's arrays have beside: `at`, `block_until_ready`, `devices`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

import numpy as np

import gradir.numpy as gnp
import gradir.tree as tree
from gradir.frontends.tracing.source_locations import public
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.jit import jit


class Array(np.ndarray[Any, Any]):
    """A NumPy array with the methods of JAX's. It is one: NumPy's functions take it."""

    @property
    def at(self) -> Any:
        """`x.at[key].set(values)` and the like: a new array."""
        return _At(self)

    def block_until_ready(self) -> Array:
        """The array, which is ready."""
        return self

    def devices(self) -> set[str]:
        """The devices of the array."""
        return {"cpu"}


class _At:
    """`x.at`: an index gives the updates of these places."""

    def __init__(self, array: Array):
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        return _Places(self._array, key)


class _Places:
    """`x.at[key]`: its updates are those of traced arrays."""

    def __init__(self, array: Array, key: Any):
        self._array, self._key = array, key

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def update(*given: Any, **options: Any) -> Any:
            functions = given if name == "apply" else ()
            values = () if functions else given

            def run(array: Any, values: Any) -> Any:
                return getattr(array.at[self._key], name)(*functions, *values, **options)

            return as_jax(jit(run)(np.asarray(self._array), values))

        return update


def as_jax(result: Any) -> Any:
    """A result with NumPy's arrays as JAX's; in a trace it stays."""
    if tracing() is not None:
        return result
    return tree.map(_viewed, result)


def _viewed(leaf: Any) -> Any:
    if isinstance(leaf, np.generic):
        leaf = np.asarray(leaf)
    return cast(Any, leaf).view(Array) if type(leaf) is np.ndarray else leaf


def giving_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of gradir whose results are JAX's arrays; its ops have the place of the call."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return as_jax(function(*args, **kwargs))

    return public(call)


def namespace(source: Any, name: str) -> Any:
    """A name of a module of gradir: a function gives JAX's arrays, all else is as it is."""
    found = getattr(source, name)
    if isinstance(found, np.dtype):
        return cast(Any, found).type  # jnp.float32(x) is a number
    if callable(found) and not isinstance(found, type) and getattr(found, "__module__", ""):
        return giving_arrays(found)
    return found


__all__ = ["Array", "as_jax", "giving_arrays", "gnp", "namespace"]
