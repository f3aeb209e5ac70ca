"""NumPy's and jax.numpy's names that gradir.numpy does not have, and why; what else differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradir.frontends.functions.array_ops import OP_FUNCTIONS
from gradir.frontends.tracing.source_locations import refusal

_SHAPES = {
    "the shape of the result must not depend on values; choose with where, or bring a fixed "
    "number of elements to the front with sort or top_k": (
        "argwhere flatnonzero intersect1d setdiff1d setxor1d trim_zeros union1d unique_all "
        "unique_counts unique_inverse unique_values unique nonzero"
    ),
    "arrays do not change; make another with x.at[key].set(values)": "copyto place put putmask",
    "the result is complex; there are no complex numbers": "roots sort_complex emath fft",
    "the bits of floats are not at hand; scale by finfo(x.dtype).eps": "nextafter spacing frexp",
    "bits are not packed; count them with bitwise_count": "packbits unpackbits",
}
_OTHERS = {
    "there are no complex numbers": (
        "cdouble clongdouble complex128 complex256 complex64 complexfloating csingle"
    ),
    "there are no elements of this type: float64, float32, float16, bfloat16, int64, int32, int8, "
    "uint8 and bool": (
        "byte bytes_ character datetime64 flexible float128 generic inexact int16 long "
        "longdouble longlong object_ short signedinteger str_ timedelta64 ubyte uint uint16 "
        "uint32 uint64 uintc uintp ulong ulonglong unsignedinteger ushort void float8_e3m4 "
        "float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float4_e2m1fn int2 int4 uint2 uint4 int1 uint1 record recarray"
    ),
    "there are no dates": (
        "busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat"
    ),
    "text is made of values: call numpy's outside of traced functions, or gradir.debug.print": (
        "array2string array_repr array_str base_repr binary_repr format_float_positional "
        "format_float_scientific get_printoptions printoptions set_printoptions typename"
    ),
    "it reads or writes files, bytes or strings: call numpy's, and pass the array": (
        "frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt memmap save "
        "savetxt savez savez_compressed"
    ),
    "it is about an array's memory, which the compiler chooses; x.at[key] makes changed arrays": (
        "asarray_chkfinite isfortran may_share_memory require shares_memory"
    ),
    "matrices are arrays of rank 2": "asmatrix bmat matrix",
    "it runs over values in Python: use gradir.vmap, gradir.scan or whole arrays": (
        "broadcast flatiter ndenumerate ndindex nditer nested_iters"
    ),
    "it makes or describes NumPy's own functions: use numpy's": (
        "frompyfunc ufunc dtypes ScalarType sctypeDict typecodes typing mintypecode "
        "min_scalar_type common_type get_include show_config show_runtime info"
    ),
    "floating-point errors give nan and inf; gradir.debug.check_nan finds them": (
        "errstate geterr geterrcall seterr seterrcall getbufsize setbufsize"
    ),
    "polynomials are vectors of coefficients: polyval, polyadd and the like": "poly1d polynomial",
    "random numbers are functions of a key and a counter here: uniform and normal": "random",
    "it is a part of NumPy of its own": (
        "char core ctypeslib exceptions f2py lib ma rec strings test testing little_endian False_ "
        "True_ ndarray"
    ),
}


def _listed(groups: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in groups.items() for name in names.split()}


SHAPES = _listed(_SHAPES)
"""Names of functions that are refused at the place of the call."""
ABSENT = {**_listed(_OTHERS), **SHAPES}
"""All names, with their reasons."""
DIFFERS = _listed({
    "integers are summed in int64, unsigned ones too": (
        "sum prod cumsum cumprod trace nansum nanprod"
    ),
    "all elements are sorted, which is one of the orders that NumPy allows": (
        "partition argpartition"
    ),
    "the order of equal elements is kept, whatever `kind` says": "sort argsort",
    "leading zeros stay": "polymul polydiv",
    "`full` has residuals whatever the rank": "polyfit",
    "the changed array is returned; the argument stays": "put_along_axis fill_diagonal",
    "-1 where all elements are nan, in place of an error": "nanargmax nanargmin",
    "`length` must be given for a traced array": "bincount",
    "a function gets all of x, with chosen elements in place of the others": "piecewise",
    "types promote as in JAX: integers beside a float take its type": "result_type promote_types",
    "both x and y must be given": "where",
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


def _refusing(name: str) -> Callable[..., Any]:
    def refused(*args: Any, **kwargs: Any) -> Any:
        if name in OP_FUNCTIONS:
            OP_FUNCTIONS[name]([])  # which refuses with a way out of its own
        raise refusal(f"{name}: {SHAPES[name]}")

    refused.__name__, refused.__doc__ = name, f"Not there: {SHAPES[name]}."
    return refused


FUNCTIONS: tuple[Callable[..., Any], ...] = tuple(map(_refusing, SHAPES))
