"""NumPy's and jax.numpy's names that gradir.numpy does not have, and why; what else differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradir.frontends.functions.array_ops import OP_FUNCTIONS
from gradir.frontends.functions.standard import VALUED
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.spec import ELEMENTS
from gradir.frontends.tracing.values import fixed_value_of, value_of, values_in

_NAMES = list(ELEMENTS)
_DEPENDS = (
    "the shape of the result must not depend on values; choose with where, or bring a fixed "
    "number of elements to the front with sort or top_k"
)
_SHAPES = {
    _DEPENDS: " ".join(VALUED),
    "complex numbers are not sorted": "sort_complex",
    "zeros among the coefficients decide how many there are; see linalg.eigvals": "roots",
    "a function's type must not depend on values; make the array complex": "emath",
    "the bits of floats are not at hand; scale by finfo(x.dtype).eps": "spacing frexp",
    "bits are not packed; count them with bitwise_count": "packbits unpackbits",
}
_OTHERS = {
    f"there are no elements of this type: {', '.join(_NAMES[:-1])} and {_NAMES[-1]}": (
        "clongdouble complex256 "
        "bytes_ character datetime64 flexible float128 generic inexact longdouble object_ str_ "
        "timedelta64 void float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
        "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn int2 int4 uint2 "
        "uint4 int1 uint1 record recarray"
    ),
    "there are no dates": (
        "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat"
    ),
    "it is about an array's memory, which the compiler chooses; x.at[key] makes changed arrays": (
        "asarray_chkfinite isfortran may_share_memory require shares_memory"
    ),
    "matrices are arrays of rank 2": "asmatrix bmat matrix",
    "it runs over values in Python: use gradir.vmap, gradir.scan or whole arrays": (
        "broadcast flatiter ndenumerate nditer nested_iters"
    ),
    "it makes NumPy's own functions: use numpy's": "frompyfunc",
    "polynomials are vectors of coefficients: polyval, polyadd and the like": "poly1d polynomial",
    "it is a part of NumPy of its own": "char core ctypeslib f2py lib ma rec strings test",
}


def _listed(groups: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


OWN = frozenset(
    # text
    "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific get_printoptions printoptions set_printoptions typename "
    # files, bytes and strings
    "frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt memmap save savetxt "
    "savez savez_compressed "
    # errors of NumPy's arithmetic; programs give nan and inf, which gradir.debug.check_nan finds
    "errstate geterr geterrcall seterr seterrcall getbufsize setbufsize "
    # what describes types and NumPy
    "ufunc dtypes ScalarType sctypeDict typecodes typing mintypecode min_scalar_type common_type "
    "get_include show_config show_runtime info little_endian False_ True_ exceptions "
    # what knows no traced arrays, or hands them on; gradir.random draws in programs
    "ndindex testing copyto random".split()
)
"""Names for which gradir.numpy has NumPy's own object."""

SHAPES = _listed(_SHAPES)
"""Names of functions that are refused at the place of the call."""
ABSENT = {
    **_listed(_OTHERS),
    **{name: reason for name, reason in SHAPES.items() if name not in VALUED},
}
"""All names, with their reasons."""
DIFFERS = _listed({
    "all elements are sorted, which is one of the orders that NumPy allows": (
        "partition argpartition"
    ),
    "the order of equal elements is kept, whatever `kind` says": "sort argsort",
    "leading zeros stay": "polymul polydiv",
    "`full` has residuals whatever the rank": "polyfit",
    "`inplace=False` returns the changed array, and the argument stays": (
        "fill_diagonal place put put_along_axis putmask"
    ),
    "-1 where all elements are nan, in place of an error": "nanargmax nanargmin",
    "`length` must be given for a traced array": "bincount",
    "a function gets all of x, with chosen elements in place of the others": "piecewise",
    "types promote as in JAX: integers beside a float take its type": "result_type promote_types",
    "x and y must be given while tracing": "where",
    "outside of traced functions alone, as the shape of the result depends on values": (
        " ".join(VALUED)
    ),
    "repeats must be known while tracing": "repeat",
    "the condition must be known while tracing": "compress extract",
    "places must be known while tracing": "insert delete",
    "zeros": "empty empty_like",
    "by gradir.vmap, on all elements at once": "vectorize apply_along_axis",
    "float32 stays float32": "cov corrcoef",
    "no weights": "quantile percentile nanquantile nanpercentile",
    "places that are known while tracing: NumPy arrays": (
        "indices tril_indices triu_indices tril_indices_from triu_indices_from diag_indices "
        "diag_indices_from mask_indices"
    ),
    "places out of range are not found out here": "ravel_multi_index",
    "`bins` must be a number or edges": "histogram histogram_bin_edges histogram2d histogramdd",
    "of vectors of zeros, not of matrices": "poly",
    "the contents in row-major order: memory is the compiler's": (
        "asarray asanyarray ascontiguousarray asfortranarray copy array"
    ),
})  # fmt: skip
"""What differs from NumPy in functions that are there."""


def of_values(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function of NumPy on the values of traced arrays; NotImplemented where one is not known.

    Nor where one depends on a differentiated argument, as the result may then.
    """
    find = value_of if function in _OF_PLACES else fixed_value_of
    found = values_in([*args, *kwargs.values()], find)
    if function is None or found is None:
        return NotImplemented
    named = dict(zip(kwargs, found[len(args) :], strict=True))
    return function(*found[: len(args)], **named)


def _refusing(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        found = of_values(getattr(np, name, None), args, kwargs)
        if found is not NotImplemented:
            return found
        if name in OP_FUNCTIONS:
            OP_FUNCTIONS[name]([])  # which refuses with a way out of its own
        raise refusal(f"{name}: {SHAPES[name]}")

    place = "while tracing" if name in VALUED else "there"
    refused.__name__, refused.__doc__ = name, f"Not {place}: {SHAPES[name]}."
    return refused


_OF_PLACES = (np.nonzero, np.flatnonzero, np.argwhere)
"""Functions whose results have no derivative."""

FUNCTIONS: tuple[Callable[..., Any], ...] = tuple(map(_refusing, SHAPES))
