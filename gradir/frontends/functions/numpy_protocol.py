"""NumPy's own functions on traced arrays: `numpy.sin(x)` is `gradir.numpy.sin(x)`.

A ufunc, and any other function, has the function of its name in gradir.numpy, or in its linalg;
those of other names are refused, with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from gradir.frontends.functions import absent, linalg
from gradir.frontends.functions.arguments import OUT
from gradir.frontends.functions.sugar import reshape
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.tracer import FUNCTIONS
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
    if options.get("out") is not None:
        raise refusal(f"{name}: {OUT.format(name=name)}")
    given = {k: v for k, v in options.items() if v is not None}
    return _called(name, _function(ufunc.__name__), inputs, given)


def of_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of NumPy gives of traced arrays."""
    short = function.__name__
    found = {"numpy": FUNCTIONS, "numpy.linalg": linalg.BY_NAME}.get(function.__module__, {})
    if short not in found:
        raise _unknown(f"{function.__module__}.{short}", short)
    return _called(f"{function.__module__}.{short}", found[short], args, kwargs)


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
    unknown = [k for k in options if k not in parameters and not has_any]
    if unknown:
        known = ", ".join(p for p in parameters if p != "out")
        raise refusal(f"{name}: unknown argument {unknown[0]}; known: {known}")
    return function(*args, **options)
