"""gradir.numpy: functions of the Array API standard, one for each array.* op.

On traced arrays they append to the program, on NumPy arrays they compute.

Operands are promoted and broadcast by the standard's rules; attributes of the op are keyword
arguments. The functions come from the op classes; `creation` and `sugar` have those that need a
shape or a dtype, or more than one op.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from gradir.dialects.array import OPS
from gradir.dialects.array.data_dependent import REFUSED
from gradir.frontends.functions import (
    affine,
    assignment,
    creation,
    indexing,
    numpy_protocol,
    sparse,
    sugar,
    updates,
    views,
)
from gradir.frontends.functions.op_functions import functions_of
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.spec import ELEMENTS, Spec
from gradir.frontends.tracing.tracer import FUNCTIONS
from gradir.runtime.row_slices import TRACED

newaxis = None

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **functions_of((*OPS, *REFUSED), "gradir.numpy"),
    **{
        f.__name__: f
        for f in (*creation.FUNCTIONS, *sugar.FUNCTIONS, *affine.FUNCTIONS, *views.FUNCTIONS)
    },
}
# NumPy's names for functions that the Array API standard has under others.
_ALIASES = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh",
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "bitwise_not": "bitwise_invert",
    "concatenate": "concat", "invert": "bitwise_invert",
    "mod": "remainder", "power": "pow", "rint": "round",
    "true_divide": "divide",
}  # fmt: skip
_FUNCTIONS.update({alias: _FUNCTIONS[name] for alias, name in _ALIASES.items()})
_FUNCTIONS.update({name: eager(function) for name, function in _FUNCTIONS.items()})
TRACED.update(sparse.FUNCTIONS)
FUNCTIONS.update(_FUNCTIONS, get=indexing.get, at=updates.At, namespace=sys.modules[__name__])
FUNCTIONS.update(assign=assignment.assign, updated=assignment.updated, fill=assignment.fill)
FUNCTIONS.update(of_ufunc=numpy_protocol.of_ufunc, of_function=numpy_protocol.of_function)
_DTYPES = {name: Spec((), name).dtype for name in ELEMENTS}

globals().update(_FUNCTIONS)
globals().update(_DTYPES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = ["e", "inf", "nan", "newaxis", "pi", *_FUNCTIONS, *_DTYPES]  # pyright: ignore[reportUnsupportedDunderAll]
