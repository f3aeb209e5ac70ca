"""Torch's functions of elements, reductions and products, as functions of ours."""

from __future__ import annotations

from typing import Any

from opinfo_bind import Function, bound, plain, reduced, torch

import gradir
import gradir.numpy as gnp
from gradir import nn
from gradir.scipy import special

la: Any = gnp.linalg


def div(x: Any, other: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return gnp.divide(x, other)
    return gnp.floor_divide(x, other) if rounding_mode == "floor" else gnp.trunc(x / other)


def scaled(function: Function) -> Function:
    """x and `other` times alpha."""
    return lambda x, other, alpha=1: function(x, other if alpha == 1 else alpha * other)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    return gnp.clip(x, min, max)


def nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return gnp.nan_to_num(x, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


def logit(x: Any, eps: float | None = None) -> Any:
    return special.logit(x if eps is None else gnp.clip(x, eps, 1 - eps))


def swapped(function: Function) -> Function:
    return lambda x, other: function(other, x)


def lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


def product_added(product: Function) -> Function:
    """beta * input + alpha * a product of the others."""

    def wrapper(x: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
        y = alpha * product(a, b)
        return y + gnp.zeros_like(x) if beta == 0 else beta * x + y

    return wrapper


def cumulative_extremes(function: Function) -> Function:
    """Values and the places of the last extremes so far."""

    def wrapper(x: Any, dim: int) -> Any:
        if x.ndim == 0:
            return x * 1, gnp.zeros((), dtype="int64")
        y = gradir.associative_scan(function, x, axis=dim)
        line = [-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]
        places = gnp.reshape(gnp.arange(x.shape[dim]), line)
        found = gnp.where(x == y, places, 0)
        return y, gradir.associative_scan(gnp.maximum, found, axis=dim)

    return wrapper


def logcumsumexp(x: Any, dim: int) -> Any:
    return gradir.associative_scan(gnp.logaddexp, x, axis=dim) if x.ndim else x * 1


def extreme(values: Function, places: Function, binary: Function) -> Function:
    """max and min: of all elements, along an axis with places, or of two arrays."""

    def wrapper(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return values(x)
        if not isinstance(dim, int):
            return binary(x, dim)
        # one of the largest gets all of the cotangent
        at = places(x, axis=dim if x.ndim else None, keepdims=True)
        y = gnp.take_along_axis(x, at, dim) if x.ndim else x * 1
        return (y, at) if keepdim or not x.ndim else (gnp.squeeze(y, dim), gnp.squeeze(at, dim))

    return wrapper


def median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle, and where it is."""
    if dim is None:
        return gnp.sort(gnp.ravel(x))[(x.size - 1) // 2]
    return kthvalue(x, (x.shape[dim] + 1) // 2 if x.ndim else 1, dim, keepdim)


def kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.ndim:
        return x * 1, gnp.zeros((), dtype="int64")
    at = gnp.take(gnp.argsort(x, axis=dim), gnp.array([k - 1]), dim)
    y = gnp.take_along_axis(x, at, dim)
    return (y, at) if keepdim else (gnp.squeeze(y, dim), gnp.squeeze(at, dim))


def topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if not x.ndim:
        return x * 1, gnp.zeros((), dtype="int64")
    return gnp.top_k(x, k=k, axis=dim, largest=largest)


def ordered(x: Any, dim: Any = -1, descending: bool = False, stable: bool = False) -> Any:
    if isinstance(dim, bool):  # the overload that begins with `stable`
        dim = -1
    if not x.ndim:
        return x * 1, gnp.zeros((), dtype="int64")
    at = gnp.argsort(x, axis=dim, descending=descending, stable=True)
    return gnp.take_along_axis(x, at, dim), at


def argsort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return ordered(x, dim, descending)[1]


def corrected(function: Function) -> Function:
    """var and std: of all elements or along axes; unbiased means a correction of 1."""

    def wrapper(x: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], bool):
            kwargs["unbiased"], args = args[0], args[1:]
        names = dict(zip(("dim", "unbiased", "keepdim"), args, strict=False)) | kwargs
        dim = names.get("dim")
        correction = names.get("correction", int(names.get("unbiased", True)))
        axis = None if dim is None or dim == () or dim == [] else dim
        keepdims = bool(names.get("keepdim", False))
        return function(
            x, axis=axis, keepdims=keepdims, correction=1 if correction is None else correction
        )

    return wrapper


def quantile(function: Function) -> Function:
    def wrapper(
        x: Any, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear"
    ) -> Any:
        return function(x, q, axis=dim if x.ndim else None, keepdims=keepdim, method=interpolation)

    return wrapper


def dist(x: Any, other: Any, p: float = 2) -> Any:
    return la.vector_norm(gnp.ravel(x - other), ord=p)


def nan_median(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The lower of two in the middle of the others; nan of nothing else."""
    y = gnp.ravel(x) if dim is None or not x.ndim else x
    axis = -1 if dim is None or not x.ndim else dim
    count = gnp.sum(~gnp.isnan(y), axis=axis, keepdims=True)
    at = gnp.take_along_axis(gnp.argsort(y, axis=axis), gnp.maximum(count - 1, 0) // 2, axis)
    found = gnp.take_along_axis(y, at, axis)
    if dim is None or not x.ndim:
        return found[0] if dim is None else (found[0], at[0])
    return (found, at) if keepdim else (gnp.squeeze(found, axis), gnp.squeeze(at, axis))


def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along an axis, the smallest of several; not where it is."""
    if not x.ndim:
        return x * 1
    ordered_ = gnp.moveaxis(gnp.sort(x, axis=dim), dim, -1)
    counts = gnp.sum(ordered_[..., :, None] == ordered_[..., None, :], axis=-1)
    at = gnp.argmax(counts, axis=-1, keepdims=True)
    y = gnp.moveaxis(gnp.take_along_axis(ordered_, at, -1), -1, dim)
    return y if keepdim else gnp.squeeze(y, dim)


def float_types(function: Function) -> Function:
    """With a dtype for the operand."""

    def wrapper(x: Any, dim: Any = None, dtype: Any = None, **rest: Any) -> Any:
        x = x if dtype is None else gnp.astype(x, plain(dtype))
        axis = dim if x.ndim else None
        if axis is None:
            return gnp.reshape(function(gnp.reshape(x, (1,)), axis=0), ())
        return function(x, axis=axis, **rest)

    return wrapper


def cumulated(function: Function) -> Function:
    def wrapper(x: Any, dim: int, dtype: Any = None) -> Any:
        x = x if dtype is None else gnp.astype(x, plain(dtype))
        return function(x, axis=dim) if x.ndim else x * 1

    return wrapper


SAME = """
    abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor i0
    isfinite isinf isposinf isneginf isreal isnan lgamma log log10 log1p log2 logical_not positive
    rad2deg reciprocal rsqrt sign signbit sin sinc sinh sqrt square tan tanh trunc angle real conj
    maximum minimum fmax fmin atan2 hypot copysign logaddexp logaddexp2 heaviside ldexp logical_and
    logical_or logical_xor fmod remainder floor_divide pow float_power dot vdot inner outer kron
    matmul true_divide
""".split()
_special = "digamma erfinv xlogy".split()

ELEMENTS: dict[str, Function | tuple[Function, Function]] = {
    **{name: getattr(gnp, name) for name in SAME},
    **{name: getattr(special, name) for name in _special},
    **{
        f"special.{name}": getattr(special, name)
        for name in "i0e i1 i1e ndtr xlog1py zeta entr ndtri log_ndtr".split()
    },
    "add": scaled(gnp.add),
    "sub": scaled(gnp.subtract),
    "mul": gnp.multiply,
    "div": div,
    "rsub": lambda x, other, alpha=1: other - alpha * x,
    "neg": gnp.negative,
    "sgn": gnp.sign,
    "clone": gnp.copy,
    "contiguous": gnp.copy,
    "conj_physical": gnp.conj,
    "resolve_conj": gnp.copy,
    "resolve_neg": gnp.copy,
    "alias_copy": gnp.copy,
    "view_copy": lambda x, *s: gnp.reshape(x, plain(s[0]) if len(s) == 1 else s),
    "frac": lambda x: x - gnp.trunc(x),
    "sigmoid": nn.sigmoid,
    "logit": logit,
    "round": lambda x, decimals=0: gnp.round(x, decimals),
    "nan_to_num": nan_to_num,
    "clamp": clamp,
    "clamp_min": gnp.maximum,
    "clamp_max": gnp.minimum,
    "eq": gnp.equal,
    "ne": gnp.not_equal,
    "lt": gnp.less,
    "le": gnp.less_equal,
    "gt": gnp.greater,
    "ge": gnp.greater_equal,
    "equal": gnp.array_equal,
    "allclose": gnp.allclose,
    "isclose": gnp.isclose,
    "isin": bound(gnp.isin, "elements test_elements | invert assume_unique"),
    "igamma": special.gammainc,
    "igammac": special.gammaincc,
    "lerp": lerp,
    "dist": dist,
    "polygamma": swapped(special.polygamma),
    "mvlgamma": lambda x, p: special.multigammaln(x, p),
    "special.polygamma": swapped(special.polygamma),
    "__radd__": swapped(gnp.add),
    "__rdiv__": swapped(gnp.divide),
    "__rmul__": swapped(gnp.multiply),
    "__rmod__": swapped(gnp.remainder),
    "__rpow__": swapped(gnp.pow),
    "__rsub__": swapped(gnp.subtract),
    "__rmatmul__": swapped(gnp.matmul),
    "addcmul": lambda x, a, b, value=1: x + value * (a * b),
    "addcdiv": lambda x, a, b, value=1: x + value * (a / b),
    "addmm": product_added(gnp.matmul),
    "addmv": product_added(gnp.matmul),
    "addbmm": product_added(lambda a, b: gnp.sum(a @ b, axis=0)),
    "baddbmm": product_added(gnp.matmul),
    "addr": product_added(gnp.outer),
    "mm": gnp.matmul,
    "mv": gnp.matmul,
    "bmm": gnp.matmul,
    "tensordot": lambda a, b, dims=2: gnp.tensordot(a, b, dims),
    "einsum": lambda xs, equation: gnp.einsum(equation, *xs),
    "cumsum": cumulated(gnp.cumsum),
    "cumprod": cumulated(gnp.cumprod),
    "cummax": cumulative_extremes(gnp.maximum),
    "cummin": cumulative_extremes(gnp.minimum),
    "logcumsumexp": logcumsumexp,
    "sum": reduced(gnp.sum),
    "mean": reduced(gnp.mean),
    "nansum": reduced(gnp.nansum),
    "nanmean": reduced(gnp.nanmean),
    "prod": reduced(gnp.prod),
    "all": reduced(gnp.all),
    "any": reduced(gnp.any),
    "amax": reduced(gnp.max),
    "amin": reduced(gnp.min),
    "argmax": reduced(gnp.argmax),
    "argmin": reduced(gnp.argmin),
    "count_nonzero": reduced(gnp.count_nonzero),
    "logsumexp": reduced(
        lambda x, axis, keepdims=False: special.logsumexp(x, axis=axis, keepdims=keepdims)
    ),
    "aminmax": lambda x, dim=None, keepdim=False: (
        gnp.min(x, axis=dim if x.ndim else None, keepdims=keepdim),
        gnp.max(x, axis=dim if x.ndim else None, keepdims=keepdim),
    ),
    "max": extreme(gnp.max, gnp.argmax, gnp.maximum),
    "min": extreme(gnp.min, gnp.argmin, gnp.minimum),
    "median": median,
    "nanmedian": nan_median,
    "kthvalue": kthvalue,
    "topk": topk,
    "mode": (mode, lambda *a, **k: torch.mode(*a, **k)[0]),
    "sort": ordered,
    "msort": lambda x: ordered(x, 0)[0],
    "argsort": argsort,
    "var": corrected(gnp.var),
    "std": corrected(gnp.std),
    "var_mean": lambda x, *a, **k: (corrected(gnp.var)(x, *a, **k), _mean_of(x, *a, **k)),
    "std_mean": lambda x, *a, **k: (corrected(gnp.std)(x, *a, **k), _mean_of(x, *a, **k)),
    "quantile": quantile(gnp.quantile),
    "nanquantile": quantile(gnp.nanquantile),
    "softmax": float_types(nn.softmax),
    "log_softmax": float_types(nn.log_softmax),
    "nn.functional.softmin": float_types(nn.softmin),
}


def _mean_of(x: Any, *args: Any, **kwargs: Any) -> Any:
    named = dict(zip(("dim", "unbiased", "keepdim"), args, strict=False)) | kwargs
    if args and isinstance(args[0], bool):
        named = kwargs
    dim = named.get("dim")
    return gnp.mean(x, axis=None if dim == () else dim, keepdims=bool(named.get("keepdim", False)))
