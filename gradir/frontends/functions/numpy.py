"""gradir.numpy: NumPy's functions, with NumPy's names, parameters and meanings.

On traced arrays they append to the program, on NumPy arrays they compute. Types promote as in JAX.
Functions whose op has NumPy's parameters come from the op classes; the others are in the files
beside this one. `absent` has the names that are not here, with the reasons.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradir.frontends.functions import (
    absent,
    affine,
    array_ops,
    assignment,
    bessel,
    creation,
    descriptions,
    differences,
    elementwise,
    in_place,
    index_tricks,
    indexing,
    linalg,
    neighbors,
    numpy_protocol,
    ordering,
    padding,
    polynomials,
    products,
    quantiles,
    ranges,
    reductions,
    segments,
    selection,
    shapes,
    sparse,
    standard,
    sugar,
    updates,
    views,
)
from gradir.frontends.functions import fft as fourier
from gradir.frontends.functions.arguments import checked
from gradir.frontends.functions.missing_names import missing
from gradir.frontends.tracing.eager import eager
from gradir.frontends.tracing.spec import ELEMENTS, Spec
from gradir.frontends.tracing.tracer import FUNCTIONS
from gradir.runtime.row_slices import TRACED

newaxis = None
e, inf, nan, pi, euler_gamma = np.e, np.inf, np.nan, np.pi, np.euler_gamma
# Objects of NumPy's that describe places and dtypes, and hold no values.
mgrid, ogrid, s_, index_exp = np.mgrid, np.ogrid, np.s_, np.index_exp
r_, c_ = index_tricks.r_, index_tricks.c_
dtype, integer, floating, number = np.dtype, np.integer, np.floating, np.number
complexfloating = np.complexfloating
ndarray = descriptions.ndarray
fft = fourier
__array_api_version__ = standard.VERSION
__array_namespace_info__ = standard.namespace_info
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger

_LATER = (
    *(
        views,
        sugar,
        reductions,
        shapes,
        padding,
        quantiles,
        ordering,
        products,
        differences,
        elementwise,
    ),
    *(
        selection,
        polynomials,
        bessel,
        ranges,
        segments,
        descriptions,
        creation,
        affine,
        standard,
        neighbors,
        in_place,
    ),
)


def _placed(function: Callable[..., Any]) -> Callable[..., Any]:
    return standard.placed(function) if function.__name__ in standard.PLACED else function


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    # fft is NumPy's module
    **{name: f for name, f in array_ops.OP_FUNCTIONS.items() if name != "fft"},
    **{f.__name__: checked(_placed(f)) for room in _LATER for f in room.FUNCTIONS},
    "norm": linalg.BY_NAME["norm"],
}
# Several names of one function.
_ALIASES = {
    "absolute": "abs", "amax": "max", "amin": "min", "arccos": "acos", "arccosh": "acosh",
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "around": "round", "asanyarray": "asarray",
    "ascontiguousarray": "asarray", "asfortranarray": "asarray",
    "left_shift": "bitwise_left_shift", "bitwise_not": "bitwise_invert",
    "right_shift": "bitwise_right_shift", "concat": "concatenate", "conj": "conjugate",
    "degrees": "rad2deg", "empty_like": "zeros_like",
    "fix": "trunc", "invert": "bitwise_invert", "mod": "remainder",
    "power": "pow", "radians": "deg2rad", "row_stack": "vstack",
    "true_divide": "divide",
}  # fmt: skip
# NumPy's other names of dtypes, with its meaning on this machine.
_SAME_DTYPES = (
    "bool_", "byte", "cdouble", "csingle", "double", "half", "int_", "intc", "intp", "long",
    "longlong", "short", "single", "ubyte", "uint", "uintc", "uintp", "ulong", "ulonglong",
    "ushort",
)  # fmt: skip
_DTYPES = {name: Spec((), name).dtype for name in (*ELEMENTS, *_SAME_DTYPES)}
_CONSTANTS = (
    "c_", "complexfloating", "dtype", "e", "euler_gamma", "fft", "floating", "index_exp", "inf",
    "integer", "linalg", "mgrid", "nan", "ndarray", "newaxis", "number", "ogrid", "pi", "r_", "s_",
    "signedinteger", "unsignedinteger",
)  # fmt: skip


def register(functions: Mapping[str, Callable[..., Any]]) -> None:
    """More functions of this module, by their names."""
    FUNCTIONS.update(functions)
    globals().update(functions)
    __all__.extend(name for name in functions if name not in absent.ABSENT)


__all__ = [*_CONSTANTS, *_DTYPES]
_FUNCTIONS.update({alias: _FUNCTIONS[name] for alias, name in _ALIASES.items()})
_FUNCTIONS.update({f.__name__: f for f in absent.FUNCTIONS})
_OUTSIDE = {**standard.OUTSIDE, **in_place.OUTSIDE}
register({name: eager(f, outside=_OUTSIDE.get(name)) for name, f in _FUNCTIONS.items()})
TRACED.update(sparse.FUNCTIONS)
FUNCTIONS.update(get=indexing.get, at=updates.At, namespace=sys.modules[__name__])
FUNCTIONS.update(
    assign=assignment.assign,
    updated=assignment.updated,
    fill=in_place.fill,
    copyto=in_place.copyto,
    put_values=in_place.put,
    sorted=in_place.sort,
    partitioned=in_place.partition_in_place,
    item=in_place.item,
    tolist=in_place.tolist,
    flat=in_place.Flat,
    flatten=views.flatten,
    reshaped=views.reshaped,
)
FUNCTIONS.update(
    of_ufunc=numpy_protocol.of_ufunc,
    of_function=numpy_protocol.of_function,
    written=numpy_protocol.written,
)
globals().update(_DTYPES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    __getattr__ = missing("gradir.numpy", absent.ABSENT, np, absent.OWN)
