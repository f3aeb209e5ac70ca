"""NumPy's own functions on traced arrays: `numpy.sin(x)` is `gradir.numpy.sin(x)`.

A ufunc, and any other function, has the function of its name in gradir.numpy, or in its linalg;
those of other names are NumPy's own on values that nothing is differentiated by, and otherwise
refused, with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from gradir.frontends.functions import absent, linalg
from gradir.frontends.functions.arguments import unknown_argument
from gradir.frontends.functions.assignment import into
from gradir.frontends.functions.views import reshape
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
        return _of_values(name, ufunc, inputs, options)
    given = {k: v for k, v in options.items() if v is not None}
    return _called(name, _function(ufunc.__name__), inputs, given)


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
    short = function.__name__
    name = f"{function.__module__}.{short}"
    found = {"numpy": FUNCTIONS, "numpy.linalg": linalg.BY_NAME}.get(function.__module__, {})
    if short not in found:
        return _of_values(name, function, args, kwargs)
    out, kwargs = _out(kwargs)
    if out is not None:
        return into(f"{name}: out", out, of_function(function, args, kwargs), is_spread=False)
    made = _called(name, found[short], args, kwargs)
    if short == "einsum" and len(args) == 2:  # NumPy decides by strides whether it is a view
        return as_kin(lifted(args[1]), made)
    return made


def _of_values(name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A function that is not there, on values that nothing is differentiated by."""
    made = absent.of_values(function, args, kwargs)
    if made is NotImplemented:
        raise _unknown(name, function.__name__)
    return made


def _unknown(name: str, short: str) -> Exception:
    reason = linalg.ABSENT.get(short) or absent.ABSENT.get(short)
    if reason is None and "fft" in name:
        reason = absent.ABSENT["fft"]
    close = get_close_matches(short, FUNCTIONS, 1)
    way_out = f"the closest name is {close[0]}" if close else "compose it of those of gradir.numpy"
    return refusal(f"{name}: not there for traced arrays; {reason or way_out}")


def _function(name: str) -> Callable[..., Any]:
    return FUNCTIONS[name]


def _called(
    name: str, function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The function; unknown options are refused."""
    parameters = inspect.signature(function).parameters
    has_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    wrong = unknown_argument(name, options, [p for p in parameters if p != "out"], list(parameters))
    if wrong and not has_any:
        raise refusal(wrong)
    return function(*args, **options)
