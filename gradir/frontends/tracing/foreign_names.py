"""NumPy and SciPy as copied functions have them: with functions that take traced arrays.

Where all arguments are known, NumPy and SciPy compute, and their arrays are LateArrays. With traced
ones, gradir's function of the name is called.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gradir.frontends.tracing.late_arrays import computed, is_traced
from gradir.frontends.tracing.scipy_calls import ours
from gradir.frontends.tracing.source_locations import public
from gradir.frontends.tracing.tracer import Tracer, registered

Of = Callable[[Any], Any]

_NO_ARRAYS = frozenset(
    "array asarray asanyarray ascontiguousarray asfortranarray full arange zeros ones eye identity "
    "tri".split()
)
"""Functions of NumPy that do not ask their arguments which function is meant."""
_MEMORY_OPTIONS = frozenset(
    "overwrite_a overwrite_b overwrite_ab overwrite_x check_finite lapack_driver".split()
)
"""Options of functions that say how they compute, and not what."""


def standing_for(value: Any, of: Of) -> Any:
    """What copied functions have for an object of NumPy's or SciPy's; None for other objects."""
    package = _package(value)
    if package not in ("numpy", "scipy"):
        return None
    if isinstance(value, (ModuleType, np.random.Generator, np.random.RandomState)):
        return ForeignNames(value, of)
    if package == "scipy" and not isinstance(value, (FunctionType, np.ufunc)):
        found = _scipy_name(value)
        return None if found is None else ForeignNames(value, of, ours(*found))
    if not callable(value):
        return None
    if package == "scipy":
        found = _scipy_name(value)
        return ForeignFunction(value, None if found is None else ours(*found))
    return ForeignFunction(value, _of_numpy(value))


def _package(value: Any) -> str:
    if isinstance(value, np.ufunc):
        return "numpy"
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0]
    name = getattr(value, "__module__", None) or type(value).__module__
    return str(name).partition(".")[0]


def _of_numpy(function: Any) -> Any:
    """gradir.numpy's function with the name of one of NumPy's, or None."""
    room = registered("namespace")
    name = str(getattr(function, "__name__", ""))
    if getattr(function, "__module__", "") == "numpy.linalg":
        room = room.linalg
    elif getattr(function, "__module__", "") == "numpy.fft":
        room = room.fft
    return vars(room).get(name)


def _scipy_name(value: Any) -> tuple[str, str] | None:
    """The module of SciPy and the public name of an object in it."""
    part = (*str(getattr(value, "__module__", "")).split("."), "")[1]
    public_names = vars(sys.modules.get(f"scipy.{part}", object))
    return next(((part, n) for n, v in public_names.items() if v is value and n[0] != "_"), None)


class ForeignNames:
    """A module, or another object, by whose attributes copied functions find others.

    `ours` has gradir's functions for its methods.
    """

    def __init__(self, theirs: Any, of: Of, ours: Any = None):
        self.__dict__.update(_theirs=theirs, _of=of, _ours=ours, __name__=str(theirs))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._theirs, name)
        if self._ours is not None and callable(found):
            return ForeignFunction(found, getattr(self._ours, name, None))
        is_random = not isinstance(self._theirs, ModuleType) or "random" in self._theirs.__name__
        if _package(self._theirs) == "numpy" and is_random and callable(found):
            return found if isinstance(found, type) else ForeignFunction(found, None, self._of)
        return self._of(found)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._theirs, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._theirs)

    def __repr__(self) -> str:
        return repr(self._theirs)


class ForeignFunction:
    """A function of NumPy or SciPy, and gradir's for traced arrays, if there is one."""

    def __init__(self, theirs: Any, ours: Any, of: Of | None = None):
        self._theirs, self._ours, self._of = theirs, ours, of

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = str(getattr(self._theirs, "__name__", ""))
        if not is_traced((args, kwargs)):
            theirs = _FILLED.get(self._theirs, self._theirs)
            made = computed(theirs, args, kwargs)
            return made if self._of is None else self._of(made)
        if name in _ARRAYS and self._theirs is getattr(np, name):
            return _ARRAYS[name](*args, **kwargs)
        if self._ours is None or isinstance(self._theirs, np.ufunc):
            return self._theirs(*args, **kwargs)
        if _package(self._theirs) == "numpy" and _asks(name, args, kwargs):
            return self._theirs(*args, **kwargs)
        return self._ours(*args, **_taken(self._ours, kwargs))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._theirs, name)
        return ForeignFunction(found, None) if callable(found) and name[0] != "_" else found

    def __repr__(self) -> str:
        return repr(self._theirs)


def _asks(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether NumPy's function asks the traced arrays among its arguments which one is meant."""
    arguments = [*args, *kwargs.values()]
    return name not in _NO_ARRAYS and any(isinstance(x, Tracer) for x in arguments)


def _taken(function: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name without those that only say how SciPy computes."""
    known = inspect.signature(function).parameters
    return {k: v for k, v in kwargs.items() if k in known or k not in _MEMORY_OPTIONS}


_FILLED: dict[Any, Any] = {np.empty: np.zeros, np.empty_like: np.zeros_like}
"""Functions whose numbers are whatever the memory held, and others in their place."""


def _array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = None,
    subok: bool = False, ndmin: int = 0, like: Any = None,
) -> Any:  # fmt: skip
    """numpy.array of traced numbers."""
    del order, subok, like
    made = registered("array" if copy else "asarray")(object, dtype)
    return made[(None,) * max(ndmin - made.ndim, 0)] if ndmin > made.ndim else made


def _asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None,
    like: Any = None,
) -> Any:  # fmt: skip
    """numpy.asarray of traced numbers."""
    del order, device, like
    return registered("asarray")(a, dtype, copy=copy)


_ARRAYS: dict[str, Callable[..., Any]] = {
    "array": _array,
    **dict.fromkeys("asarray asanyarray ascontiguousarray asfortranarray".split(), _asarray),
}
