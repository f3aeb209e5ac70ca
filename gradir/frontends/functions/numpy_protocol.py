"""NumPy's own functions on traced arrays: `numpy.sin(x)` is `gradir.numpy.sin(x)`.

A ufunc has the function of its name. Other functions are here one by one, each with NumPy's
parameters and their meaning; those of other names, and other parameters, are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from gradir.frontends.functions.assignment import copy_to, into
from gradir.frontends.functions.creation import full_like
from gradir.frontends.functions.sugar import tensordot
from gradir.frontends.functions.views import reshape, transpose
from gradir.frontends.tracing.memory import as_kin
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import FUNCTIONS, Tracer
from gradir.frontends.tracing.tracing import lifted

# The functions of a ufunc's methods `reduce` and `accumulate`.
_REDUCE = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip
_ACCUMULATE = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


def of_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a ufunc, or a method of it, gives of traced arrays."""
    name = f"numpy.{ufunc.__name__}"
    out, options = _out(options)
    if out is not None:
        made = of_ufunc(ufunc, method, inputs, options)
        is_spread = method == "__call__" and ufunc.signature is None
        return into(f"{name}: out", out, made, is_spread)
    if method == "at" and ufunc.__name__ in ("add", "subtract"):
        return _scattered(f"{name}.at", ufunc.__name__, *inputs)
    names = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}.get(method)
    if names is not None and ufunc.__name__ in names:
        given = {"axis": 0, **options}
        return _called(f"{name}.{method}", _function(names[ufunc.__name__]), inputs, given)
    if method == "outer" and not options:
        first, second = (lifted(x) for x in inputs)
        inputs = [reshape(first, (*first.shape, *[1] * second.ndim)), second]
    elif method != "__call__":
        raise refusal(f"{name}.{method}: not there for traced arrays; call {name}")
    if ufunc.__name__ not in FUNCTIONS:
        raise _unknown(name, ufunc.__name__)
    return _called(name, _function(ufunc.__name__), inputs, options)


def _out(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The array to write into, and the other options."""
    rest = dict(options)
    out = rest.pop("out", None)
    if isinstance(out, tuple):  # a ufunc's
        [out] = cast(tuple[Any, ...], out)
    return out, rest


def _scattered(name: str, method: str, target: Any, key: Any, values: Any) -> None:
    """numpy.add.at: each of the values is added, also where a place is named twice."""
    if not isinstance(target, Tracer):
        into(name, target, lifted(values), is_spread=True)  # which refuses it
    into(name, target, getattr(target.at[key], method)(values), is_spread=False)


def of_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives of traced arrays."""
    name = f"{function.__module__}.{function.__name__}"
    if name not in _KNOWN:
        raise _unknown(name, function.__name__)
    out, kwargs = _out(kwargs)
    if out is not None:
        return into(f"{name}: out", out, of_function(function, args, kwargs), is_spread=False)
    ours, count = _KNOWN[name]
    found = _function(ours) if isinstance(ours, str) else ours
    operands, options = _bound(function, args, kwargs, count)
    return _called(name, found, operands, {_RENAMED.get(k, k): v for k, v in options.items()})


def _unknown(name: str, short: str) -> Exception:
    known = get_close_matches(short, [*FUNCTIONS, *(n.rpartition(".")[2] for n in _KNOWN)], 1)
    way_out = f"the closest name is {known[0]}" if known else "compose it of those of gradir.numpy"
    return refusal(f"{name}: not there for traced arrays; {way_out}")


def _function(name: str) -> Callable[..., Any]:
    return FUNCTIONS[name]


def _bound(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], count: int
) -> tuple[list[Any], dict[str, Any]]:
    """The first `count` arguments, and the others by NumPy's names."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise refusal(f"numpy.{function.__name__}: {error}") from None
    values = list(bound.arguments.items())
    return [v for _, v in values[:count]], dict(values[count:])


def _called(
    name: str, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The function; options that are None are left out, and unknown ones refused."""
    given = {k: v for k, v in options.items() if v is not None}
    known = list(inspect.signature(function).parameters)
    unknown = [k for k in given if k not in known]
    if unknown:
        raise refusal(f"{name}: unknown argument {unknown[0]}; known: {', '.join(known)}")
    return function(*args, **given)


# Functions whose parameters differ from those of gradir.numpy.


def _operands(a: Any, b: Any) -> tuple[Any, Any]:
    return lifted(a), lifted(b)


def _dot(a: Any, b: Any) -> Any:
    left, right = _operands(a, b)
    if not left.ndim or not right.ndim:
        return left * right
    return tensordot(left, right, ([left.ndim - 1], [max(right.ndim - 2, 0)]))


def _inner(a: Any, b: Any) -> Any:
    left, right = _operands(a, b)
    if not left.ndim or not right.ndim:
        return left * right
    return tensordot(left, right, ([left.ndim - 1], [right.ndim - 1]))


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    value = lifted(a)
    axes = list(range(value.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return transpose(value, axes)


def _cumulative(name: str) -> Callable[..., Any]:
    def cumulative(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        value = reshape(a, -1) if axis is None else lifted(a)
        return _function(name)(value, axis=0 if axis is None else axis, dtype=dtype)

    return cumulative


def _joined(arrays: Any, axis: int = 0, dtype: Any = None) -> Any:
    joined = _function("concat")(arrays, axis=axis)
    return joined if dtype is None else joined.astype(dtype)


def _mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool | None = None) -> Any:
    value = lifted(a)
    return _function("mean")(
        value if dtype is None else value.astype(dtype), axis=axis, keepdims=keepdims
    )


def _where(condition: Any, x: Any, y: Any) -> Any:
    return _function("where")(condition, x, y)


def _like(value: float) -> Callable[..., Any]:
    def like(a: Any, dtype: Any = None) -> Any:
        return full_like(a, value, dtype)

    return like


def _einsum(operands: Sequence[Any], optimize: Any = None) -> Any:
    del optimize  # the order of products, which the compiler chooses
    made = _function("einsum")(*operands)
    _, *arrays = operands
    return as_kin(arrays[0], made) if len(arrays) == 1 else made


_RENAMED = {"a_min": "min", "a_max": "max", "ddof": "correction"}
# The function of gradir.numpy, or one here, and how many arguments are given by position.
_KNOWN: dict[str, tuple[str | Callable[..., Any], int]] = {
    **{
        f"numpy.{name}": (name, 1)
        for name in (
            "sum", "prod", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin", "var",
            "std", "clip", "squeeze", "transpose", "flip", "stack", "expand_dims", "tril", "triu",
            "matrix_transpose", "unstack",
        )
    },
    **{
        f"numpy.{name}": (name, 2)
        for name in ("outer", "broadcast_to", "reshape", "take", "tensordot", "take_along_axis")
    },
    "numpy.moveaxis": ("moveaxis", 3),
    "numpy.where": (_where, 3),
    "numpy.full_like": ("full_like", 2),
    "numpy.zeros_like": (_like(0), 1),
    "numpy.empty_like": (_like(0), 1),
    "numpy.ones_like": (_like(1), 1),
    "numpy.mean": (_mean, 1),
    "numpy.dot": (_dot, 2),
    "numpy.inner": (_inner, 2),
    "numpy.ravel": ("ravel", 1),
    "numpy.swapaxes": (_swapaxes, 3),
    "numpy.copy": ("copy", 1),
    "numpy.copyto": (copy_to, 2),
    "numpy.concatenate": (_joined, 1),
    "numpy.concat": (_joined, 1),
    "numpy.cumsum": (_cumulative("cumulative_sum"), 1),
    "numpy.cumprod": (_cumulative("cumulative_prod"), 1),
    "numpy.einsum": (_einsum, 1),
    "numpy.linalg.inv": ("inv", 1),
    "numpy.linalg.det": ("det", 1),
    "numpy.linalg.cholesky": ("cholesky", 1),
}  # fmt: skip
