"""gradir.numpy: facts of arrays and dtypes that need no values: NumPy's own answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import ml_dtypes
import numpy as np

from gradir.dialects.array.creation import numpy_dtype
from gradir.frontends.functions.promotion import operand, result_element
from gradir.frontends.tracing.spec import element_named
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import lifted


class _Arrays(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, np.ndarray | Tracer)


class ndarray(metaclass=_Arrays):
    """The class of NumPy's and of traced arrays, for isinstance; a call makes one of NumPy's."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return np.ndarray(*args, **kwargs)


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes."""
    return lifted(a).shape


def ndim(a: Any) -> int:
    """The number of axes."""
    return lifted(a).ndim


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the extent of an axis."""
    x = lifted(a)
    return x.size if axis is None else x.shape[axis]


def isscalar(element: Any) -> bool:
    """Whether it is a number of Python or NumPy; traced arrays are none."""
    return np.isscalar(element)


def iterable(y: Any) -> bool:
    """Whether it has a first axis to run over."""
    return y.ndim > 0 if isinstance(y, Tracer) else np.iterable(y)


def _type_of(given: Any) -> bool:
    return isinstance(given, str | type | np.dtype)


def _dtype(given: Any) -> Any:
    """A dtype, or an array's dtype."""
    return cast(Any, given).dtype if isinstance(given, Tracer | np.ndarray) else given


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that operands promote to, as JAX has it: integers beside a float take its type."""
    operands = [
        lifted(np.zeros((), numpy_dtype(element_named(each)))) if _type_of(each) else operand(each)
        for each in arrays_and_dtypes
    ]
    return numpy_dtype(result_element(operands)[0])


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that two promote to."""
    return result_type(np.dtype(type1), np.dtype(type2))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """NumPy's own answer for the dtypes."""
    return np.can_cast(_dtype(from_), to, casting)


def iscomplexobj(x: Any) -> bool:
    """Whether the elements are complex numbers."""
    return np.iscomplexobj(x) if not isinstance(x, Tracer) else x.dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the elements are real numbers."""
    return not iscomplexobj(x)


def finfo(dtype: Any) -> Any:
    """The limits of a floating dtype, or of an array's."""
    return cast(Any, ml_dtypes.finfo)(_dtype(dtype))


def iinfo(int_type: Any) -> Any:
    """The limits of an integer dtype, or of an array's."""
    return np.iinfo(_dtype(int_type))


def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to."""
    return np.broadcast_shapes(*args)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """NumPy's own answer for dtypes."""
    return np.issubdtype(arg1, arg2)


def isdtype(dtype: Any, kind: Any) -> bool:
    """NumPy's own answer for dtypes."""
    return np.isdtype(dtype, kind)


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    shape, ndim, size, isscalar, iterable, result_type, promote_types, can_cast, iscomplexobj,
    isrealobj, finfo, iinfo, broadcast_shapes, issubdtype, isdtype,
)  # fmt: skip
"""Functions that compute nothing, and are the same while tracing and outside."""
