"""NumPy arrays of dtype object whose elements are traced numbers: `numpy.array([x[0], 1.0])`.

NumPy makes them itself, once a traced array says by `__array__` that it has no numbers. They have
NumPy's own operators, element by element; beside a traced array, and wherever gradir takes an
array, they become one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gradir.dialects.base.extents import is_extent
from gradir.errors import ForeignCodeError
from gradir.frontends.tracing.memory import hold, is_held, share_doubt
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.values import fixed_value_of

if TYPE_CHECKING:
    from gradir.frontends.tracing.tracer import Tracer

Array = np.ndarray[Any, Any]

MOST_ELEMENTS = 256
"""Of a larger traced array the elements are not taken apart."""

ZEROS = (
    "an array to assign to is made by gradir.numpy.zeros, or by numpy.zeros_like(x) of a traced x"
)
# Those in which NumPy itself adds them up.
_TYPES = tuple(map(np.dtype, ("float64", "float32", "int64")))
_WAY_OUT = "make it with gradir.numpy.array or numpy.stack"


def array_of(x: Tracer, dtype: Any = None, copy: Any = None) -> Array:
    """A traced array as NumPy's: of numbers if no derivative is lost, else of traced numbers.

    TraceError if its elements are asked for as numbers, or are too many.
    """
    value = fixed_value_of(x)
    if value is not None:
        return np.array(value, dtype, copy=copy)
    if dtype is not None and np.dtype(dtype) != object:
        raise refusal(
            f"numpy.asarray: an array of {np.dtype(dtype)} cannot hold traced numbers; {_WAY_OUT}, "
            "or leave the dtype away; draw with gradir.random instead of numpy.random; "
            f"{ZEROS}",
            ForeignCodeError,
        )
    return _elements(x, is_copy=copy is True)


def _elements(x: Tracer, is_copy: bool) -> Array:
    """The elements; not a copy, they are of the traced array's memory and cannot be written to."""
    if x.dtype not in _TYPES:
        raise refusal(
            f"numpy.asarray: numpy would add and compare {x.dtype} numbers in that type, and no "
            f"wider one, as they have no values yet; {_WAY_OUT}"
        )
    if not x.ndim and x.is_array:
        hold(x)
    if any(map(is_extent, x.shape)) or x.size > MOST_ELEMENTS:
        raise refusal(
            f"numpy.asarray: a traced array has no numbers for numpy, and {x!r} is not taken "
            f"apart, as it may have more than {MOST_ELEMENTS} elements; {_WAY_OUT}",
            ForeignCodeError,
        )
    made = np.empty(x.shape, object)
    numbers: list[Any] = []
    for place in np.ndindex(made.shape):
        made[place] = x[place] if place else x
        numbers.append(made[place])
    if x.ndim and not is_copy:
        share_doubt(x, numbers)
        made.flags.writeable = False
    return made


def is_object_array(value: object) -> bool:
    """Whether a value is an array of Python objects, which traced numbers may be among."""
    return isinstance(value, np.ndarray) and cast(Array, value).dtype.kind == "O"


def require_numbers(array: Array) -> None:
    """TraceError for an array of objects that holds an array, which may change, and no number."""
    for each in array.flat:
        if hasattr(each, "made_in") and each.is_array and not is_held(each):
            raise refusal(
                f"numpy.array: this array of objects holds an array of rank {each.ndim}, "
                f"{each!r}, and not its number; assign y[()] for y"
            )


def method_of(name: str, registered: Callable[[str], Any]) -> Callable[..., Any] | None:
    """What NumPy's elementwise functions call on a traced number, as `x.sin()`; None for others."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
        return None
    return lambda *inputs: registered("of_ufunc")(ufunc, "__call__", inputs, {})
