"""gradir.numpy: what the Array API standard asks for beyond NumPy's functions.

Devices, copies that are none, results whose shape depends on values (outside of traced functions),
and the namespace that tells what there is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.errors import ArgumentError
from gradir.frontends.functions.creation import asarray
from gradir.frontends.tracing.default_types import default_element
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS, element_named
from gradir.frontends.tracing.tracer import DEVICE, Tracer
from gradir.frontends.tracing.tracing import tracing

VERSION = "2025.12"
"""The version of the standard that the names and meanings are of."""
PLACED = (
    *("arange", "asarray", "astype", "empty", "empty_like", "eye", "from_dlpack", "full"),
    *("full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like"),
)
"""Functions with an argument `device`."""


# Devices.


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with an argument `device`, which is None or "cpu"."""
    signature = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)

    def placing(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        require_device(function.__name__, device)
        return function(*args, **kwargs)

    parameters = [*signature.parameters.values(), device]
    call: Any = wraps(function)(placing)
    call.__signature__ = signature.replace(parameters=parameters)
    return call


def require_device(what: str, device: Any) -> None:
    """ArgumentError for a device other than None or "cpu"."""
    if device is not None and device != DEVICE:
        raise refusal(f'{what}: device must be "{DEVICE}" or None, got {device!r}', ArgumentError)


def from_dlpack(x: Any, *, copy: Any = None) -> Tracer:
    """An array of another library as one of NumPy or a traced one; see asarray."""
    return asarray(x, copy=copy)


# Outside of traced functions.


def _itself(
    x: Any = None, dtype: Any = None, *, copy: Any = None, device: Any = None, **more: Any
) -> Any:
    """An array that `copy=False` gives back as it is."""
    if copy is not False or device not in (None, DEVICE) or more:
        return NotImplemented
    array: Any = x
    if type(x) is not np.ndarray and hasattr(x, "__dlpack__"):
        array = np.from_dlpack(x, copy=False)
    if type(array) is not np.ndarray or not array.dtype.isnative:
        return NotImplemented
    is_same = dtype is None or element_named(dtype) == element_named(array.dtype)
    return array if is_same else NotImplemented


def _where(*args: Any, **kwargs: Any) -> Any:
    return np.nonzero(*args) if len(args) == 1 and not kwargs else NotImplemented


def _trimmed(*args: Any, **kwargs: Any) -> Any:
    made = cast(Any, np).trim_zeros(*args, **kwargs)
    return made.copy()


def _counted(x: Any, weights: Any = None, minlength: Any = 0, **more: Any) -> Any:
    if more:
        return NotImplemented
    try:
        return np.bincount(x, weights, minlength)
    except (TypeError, ValueError):
        return NotImplemented  # gradir's function then refuses the arguments


VALUED = (
    *("argwhere", "flatnonzero", "intersect1d", "nonzero", "setdiff1d", "setxor1d"),
    *("trim_zeros", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse"),
    "unique_values",
)
"""Functions whose results have shapes that depend on values: NumPy's own, outside of traces."""
OUTSIDE: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in VALUED},
    **dict.fromkeys(["asarray", "astype", "from_dlpack"], _itself),
    "where": _where,
    "bincount": _counted,
    "trim_zeros": _trimmed,
}
"""What answers outside of traced functions, unless with NotImplemented."""


# What there is.

_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


class Info:
    """The standard's inspection functions."""

    def capabilities(self) -> dict[str, Any]:
        """What arrays can: shapes depend on values outside of traced functions alone."""
        has_values = tracing() is None
        return {
            "boolean indexing": has_values,
            "data-dependent shapes": has_values,
            "max dimensions": 64,
        }

    def default_device(self) -> str:
        """The device of new arrays."""
        return DEVICE

    def devices(self) -> tuple[str, ...]:
        """All devices."""
        return (DEVICE,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of Python's numbers, and of places."""
        require_device("default_dtypes", device)
        whole = numpy_dtype(default_element(int))
        floating = numpy_dtype(default_element(float))
        complexes = numpy_dtype(default_element(complex))
        return {
            "real floating": floating,
            "complex floating": complexes,
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The standard's dtypes that are there, of one kind or of several, by name."""
        require_device("dtypes", device)
        there = {name: numpy_dtype(ELEMENTS[name]) for name in _NAMES if name in ELEMENTS}
        return {n: dtype for n, dtype in there.items() if kind is None or np.isdtype(dtype, kind)}


def namespace_info() -> Info:
    """The functions that tell of dtypes, devices and capabilities, as the standard has them."""
    return Info()


FUNCTIONS: tuple[Callable[..., Any], ...] = (from_dlpack,)
