"""jax.scipy: gradir.scipy's modules, whose results outside of traces are JAX's arrays.

optimize.py is of its own: a loop that is traced.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import gradir.scipy as own
from gradir.compat.jax import absent
from gradir.compat.jax.arrays import namespace
from gradir.compat.jax.scipy import optimize
from gradir.nearest import missing_name

_OURS = ("fft", "integrate", "linalg", "ndimage", "signal", "special", "stats")
__all__ = ["fft", "integrate", "linalg", "ndimage", "optimize", "signal", "special", "stats"]


def _module(name: str) -> ModuleType:
    """A module under JAX's name, for `from gradir.compat.jax.scipy.linalg import ...` too."""
    made, source = ModuleType(f"{__name__}.{name}"), getattr(own, name)

    def __getattr__(asked: str) -> Any:
        if asked.startswith("__"):
            raise AttributeError(asked)
        try:
            found = getattr(source, asked)
        except AttributeError as error:
            reason = str(error).partition(": ")[2] or None
            raise missing_name(made.__name__, asked, [], reason) from None
        is_distribution = not callable(found)
        value = _Distribution(found) if is_distribution else namespace(source, asked)
        return made.__dict__.setdefault(asked, value)

    made.__dict__.update(__getattr__=__getattr__, __dir__=lambda: dir(source))
    made.__doc__ = f"jax.scipy.{name}: gradir.scipy.{name}."
    return sys.modules.setdefault(made.__name__, made)


class _Distribution:
    """A distribution, as `stats.norm`, whose functions give JAX's arrays."""

    def __init__(self, source: Any):
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.setdefault(name, namespace(self._source, name))

    def __repr__(self) -> str:
        return repr(self._source)


fft, integrate, linalg, ndimage, signal, special, stats = map(_module, _OURS)

if not TYPE_CHECKING:
    __getattr__ = absent.missing("gradir.compat.jax.scipy", absent.SCIPY, lambda: __all__)
