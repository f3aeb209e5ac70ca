"""NumPy's own functions on traced arrays: `numpy.sin(x)` is `gradir.numpy.sin(x)`.

A ufunc, and any other function, has the function of its name in gradir.numpy, or in its linalg;
functions of other names run as NumPy's own on values that nothing is differentiated by, and are
otherwise refused, with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from gradir.dialects.base.shapes import is_bool, is_inexact
from gradir.frontends.functions import absent, fft, linalg
from gradir.frontends.functions.arguments import axes_of, known
from gradir.frontends.functions.assignment import into
from gradir.frontends.functions.creation import full
from gradir.frontends.functions.selection import take
from gradir.frontends.functions.shapes import concatenate, stack
from gradir.frontends.functions.sugar import where
from gradir.frontends.functions.updates import numbers
from gradir.frontends.functions.views import moveaxis, reshape
from gradir.frontends.tracing.memory import as_kin
from gradir.frontends.tracing.scipy_calls import of_scipy_ufunc
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import FUNCTIONS, Tracer
from gradir.frontends.tracing.tracing import element, holds_tracers, is_number, lifted
from gradir.nearest import close_names, unknown_argument

_FOLDS = ("reduce", "accumulate", "reduceat")
# The functions of a ufunc's methods `reduce` and `accumulate`.
_REDUCE = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any", "logaddexp": "logsumexp",
}  # fmt: skip
_ACCUMULATE = {"add": "cumulative_sum", "multiply": "cumulative_prod"}


def of_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What a ufunc, or a method of it, gives of traced arrays."""
    name = f"numpy.{ufunc.__name__}"
    out, options = _out(options)
    if method == "__call__" and options.get("where", True) is not True:
        return _masked(name, ufunc, inputs, options, out)
    if out is not None:
        made = of_ufunc(ufunc, method, inputs, options)
        is_spread = method == "__call__" and ufunc.signature is None
        return into(f"{name}: out", out, made, is_spread)
    if method == "at" and ufunc.__name__ in ("add", "subtract"):
        return _scattered(f"{name}.at", ufunc.__name__, *inputs)
    if method in _FOLDS:
        return _folded(name, ufunc, method, inputs, options)
    if method == "outer" and not options:
        first, second = (lifted(x) for x in inputs)
        inputs = [reshape(first, (*first.shape, *[1] * second.ndim)), second]
    elif method != "__call__":
        raise refusal(f"{name}.{method}: not there for traced arrays; call {name}")
    if ufunc.__name__ not in FUNCTIONS:
        found = of_scipy_ufunc(ufunc)
        if found is None or options:
            return _of_values(name, ufunc, inputs, options)
        return found(*inputs)
    given = {k: v for k, v in options.items() if v is not None}
    return _call_checked(name, _function(ufunc.__name__), inputs, given)


# A number at which a function and its slope are finite, for elements that `where` leaves out.
_INSIDE = {"arccosh": 2.0, "acosh": 2.0}


def _masked(
    name: str, ufunc: Any, inputs: Sequence[Any], options: Mapping[str, Any], out: Any
) -> Any:
    """A ufunc where `where` holds; other elements come from `out`, and get no slope."""
    if out is None:
        raise refusal(
            f"{name}: where leaves the other elements without values; give out=, an array with "
            "theirs, or choose with numpy.where(condition, x, y)"
        )
    rest = dict(options)
    mask = lifted(rest.pop("where"))
    if not is_bool(element(mask)):
        raise refusal(f"{name}: where must be bools, got {mask!r}")
    inside = _INSIDE.get(ufunc.__name__, 0.5)
    arrays = [x if is_number(x) else lifted(x) for x in inputs]
    safe = [x if is_number(x) else where(mask, x, _stand_in(x, inside)) for x in arrays]
    made = of_ufunc(ufunc, "__call__", safe, rest)
    return into(f"{name}: out", out, where(mask, made, out), is_spread=True)


def _stand_in(x: Tracer, inside: float) -> Any:
    """What an operand has where `where` does not hold, in its type."""
    return inside if is_inexact(element(x)) else is_bool(element(x)) or 1


def written(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function of gradir.numpy with `out`: its result goes into that array."""
    name = function.__name__
    out, rest = _out(kwargs)
    ufunc = getattr(np, name, None)
    if isinstance(out, Tracer) or holds_tracers([*args, *rest.values()]):
        if isinstance(ufunc, np.ufunc):
            return of_ufunc(ufunc, "__call__", args, {**rest, "out": out})
        return into(f"{name}: out", out, function(*args, **rest), is_spread=False)
    if not isinstance(out, np.ndarray):
        raise refusal(f"{name}: out must be an array, got {type(out).__name__}")
    is_spread = isinstance(ufunc, np.ufunc)
    mask = rest.pop("where", True) if is_spread else True
    made: Any = function(*args, **rest)
    if not is_spread and np.shape(made) != np.shape(cast(Any, out)):
        raise refusal(f"{name}: out must have the shape {list(np.shape(made))} of the result")
    np.copyto(cast(Any, out), made, where=mask)
    return cast(Any, out)


def _folded(
    name: str, ufunc: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """ufunc.reduce, accumulate, or reduceat: along the first axis unless options say another."""
    short, what = ufunc.__name__, f"{name}.{method}"
    given = {"axis": 0, **options}
    if method == "reduceat":
        return _of_parts(what, ufunc, *inputs, **given)
    found = (_REDUCE if method == "reduce" else _ACCUMULATE).get(short)
    if found is not None:
        return _call_checked(what, _function(found), inputs, given)
    if short not in _ASSOCIATIVE or set(given) != {"axis"} or not isinstance(given["axis"], int):
        raise refusal(f"{what}: not there for traced arrays; call {name}")
    rows = _entries(ufunc, moveaxis(lifted(inputs[0]), given["axis"], 0))
    if method == "accumulate":
        return moveaxis(_running(ufunc, rows), 0, given["axis"])
    if rows.shape[0]:
        return _running(ufunc, rows)[-1]
    if ufunc.identity is None:
        raise refusal(f"{what}: of no elements this function has no value")
    return full(rows.shape[1:], ufunc.identity, rows.dtype)


_ASSOCIATIVE = (
    *("maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2", "hypot", "gcd", "lcm"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"),
)
"""Ufuncs whose results may be combined in any order."""


def _entries(ufunc: Any, x: Any) -> Any:
    """What a reduction of one row gives: truths of logical functions, sizes of hypot."""
    if ufunc.__name__.startswith("logical"):
        return x != 0
    return abs(x) if ufunc.__name__ == "hypot" else x


def _running(ufunc: Any, x: Any) -> Any:
    """The results of a ufunc for the first rows, for one row more each, in log2(n) steps."""
    step = 1
    while step < x.shape[0]:
        x = concatenate([x[:step], of_ufunc(ufunc, "__call__", (x[:-step], x[step:]), {})])
        step *= 2
    return x


def _of_parts(what: str, ufunc: Any, x: Any, indices: Any, axis: int = 0) -> Any:
    """ufunc.reduceat: of the rows from each index up to the next, or of the one row."""
    places = [int(i) for i in known(indices, f"{what}: indices")]
    rows = moveaxis(lifted(x), axis, 0)
    for place in places:
        if not 0 <= place < rows.shape[0]:
            raise refusal(f"{what}: index {place} is out of range for {rows.shape[0]} rows")
    if not places:
        return moveaxis(rows[:0], 0, axis)
    made: list[Any] = []
    for start, stop in zip(places, [*places[1:], rows.shape[0]], strict=True):
        part = rows[start:stop] if start < stop else rows[start : start + 1]
        made.append(of_ufunc(ufunc, "reduce", (part,), {"axis": 0}))
    return moveaxis(stack(made), 0, axis)


def _out(options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The array to write into, and the other options."""
    rest = dict(options)
    out = rest.pop("out", None)
    if isinstance(out, tuple):  # a ufunc's
        several = cast(tuple[Any, ...], out)
        if len(several) != 1:
            raise refusal(f"out: expected one array, got {len(several)}; assign the results")
        [out] = several
    return out, rest


def _scattered(name: str, method: str, target: Any, key: Any, values: Any) -> None:
    """numpy.add.at: each of the values is added, also where a place is named twice."""
    if not isinstance(target, Tracer):
        into(name, target, lifted(values), is_spread=True)  # which refuses it
    into(name, target, getattr(target.at[key], method)(values), is_spread=False)


def of_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives of traced arrays."""
    short = function.__name__
    name = f"{function.__module__}.{short}"
    if short == "may_share_memory":
        return True
    found = _MODULES.get(function.__module__, {})
    if short not in found:
        return _of_values(name, function, args, kwargs)
    out, kwargs = _out(kwargs)
    if out is not None:
        return into(f"{name}: out", out, of_function(function, args, kwargs), is_spread=False)
    made = _call_checked(name, found[short], args, kwargs)
    if short == "einsum" and len(args) == 2:  # NumPy decides by strides whether it is a view
        return as_kin(lifted(args[1]), made)
    return made


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """The windows of an array, whose axes come last: a copy, where NumPy has a read-only view."""
    del subok
    if writeable:
        raise refusal("sliding_window_view: windows are copies; assign to the array itself")
    made: Any = lifted(x)
    sizes = [window_shape] if np.ndim(window_shape) == 0 else list(window_shape)
    if axis is None and len(sizes) != made.ndim:
        raise refusal(f"sliding_window_view: expected {made.ndim} sizes, got {sizes}")
    axes = axes_of(made, range(made.ndim) if axis is None else axis)
    if len(axes) != len(sizes):
        raise refusal(f"sliding_window_view: expected a size for each of {axes}, got {sizes}")
    for at, size in zip(axes, sizes, strict=True):
        if not 0 <= size <= made.shape[at]:
            raise refusal(f"sliding_window_view: a window of {size} does not fit into {x!r}")
        places = numbers(made.shape[at] - size + 1)[:, None] + numbers(size)
        made = moveaxis(take(made, places, at), at + 1, -1)
    return made


_MODULES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "numpy": FUNCTIONS,
    "numpy.linalg": linalg.BY_NAME,
    "numpy.fft": fft.BY_NAME,
    "numpy.lib.stride_tricks": {"sliding_window_view": sliding_window_view},
}
"""NumPy's modules, and their functions that are there."""


def _of_values(name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function that is not there, on values that nothing is differentiated by."""
    made = absent.of_values(function, args, kwargs)
    if made is NotImplemented:
        raise _unknown(name, function.__name__)
    return made


def _unknown(name: str, short: str) -> Exception:
    if name == f"numpy.{short}" and not hasattr(np, short):
        return refusal(
            f"{short}: this ufunc is not NumPy's, and not there for traced arrays; compose it of "
            "gradir.numpy, or look for it in gradir.scipy.special"
        )
    reason = linalg.ABSENT.get(short) or absent.ABSENT.get(short)
    close = close_names(short, FUNCTIONS)
    way_out = f"the closest name is {close[0]}" if close else "compose it of those of gradir.numpy"
    return refusal(f"{name}: not there for traced arrays; {reason or way_out}")


def _function(name: str) -> Callable[..., Any]:
    return FUNCTIONS[name]


def _call_checked(
    name: str, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The function; unknown options are refused."""
    parameters = inspect.signature(function).parameters
    has_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    wrong = unknown_argument(name, options, [p for p in parameters if p != "out"], list(parameters))
    if wrong and not has_any:
        raise refusal(wrong)
    return function(*args, **options)
