"""gradir.numpy: functions of the Array API standard on traced arrays, one for each array.* op.

Operands are promoted and broadcast by the standard's rules; attributes of the op are keyword
arguments. The functions come from the op classes; `creation` and `sugar` have those that need a
shape or a dtype, or more than one op.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from gradir.dialects import array
from gradir.dialects.array.data_dependent import REFUSED
from gradir.frontends.functions import creation, indexing, sugar
from gradir.frontends.functions.op_functions import functions_of
from gradir.frontends.tracing.spec import ELEMENTS, Spec
from gradir.frontends.tracing.tracer import FUNCTIONS

newaxis = None

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **functions_of((*array.OPS, *REFUSED), "gradir.numpy"),
    **{f.__name__: f for f in (*creation.FUNCTIONS, *sugar.FUNCTIONS)},
}
FUNCTIONS.update(_FUNCTIONS, get=indexing.get, namespace=sys.modules[__name__])
_DTYPES = {name: Spec((), name).dtype for name in ELEMENTS}

globals().update(_FUNCTIONS)
globals().update(_DTYPES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = ["e", "inf", "nan", "newaxis", "pi", *_FUNCTIONS, *_DTYPES]  # pyright: ignore[reportUnsupportedDunderAll]
