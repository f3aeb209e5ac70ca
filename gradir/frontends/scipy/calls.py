"""How functions with loops or custom derivatives are called: in a trace, or else compiled.

All compute in float64 and round once to the type of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.functions.arguments import checked, known, require_reals
from gradir.frontends.scipy.pairs import floats
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.jit import jit

Function = Callable[..., Any]


def anywhere(
    function: Function, module: str, static: Sequence[str] = (), takes_complex: bool = False
) -> Function:
    """The public function of a traced one: compiled where nothing is traced, for each value of its
    static parameters."""
    name = function.__name__
    inside = checked(function, name, module, takes_complex=takes_complex)

    @cache
    def compiled() -> Function:
        return jit(function, static_argnames=list(static)) if static else jit(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not takes_complex:
            require_reals(name, args, kwargs)
        return (inside if tracing() is not None else compiled())(*args, **kwargs)

    call.__name__, call.__doc__, call.__module__ = name, function.__doc__, module
    call.__wrapped__ = function  # pyrefly: ignore[missing-attribute]
    return public(call)


def in_float64(function: Function) -> Function:
    """A function of float64 arrays of one shape, for floats of any types and shapes."""

    def call(*args: Any) -> Any:
        values = floats(*args)
        made = function(*(gnp.astype(v, "float64") for v in values))
        kind = values[0].dtype
        parts: list[Any] = list(cast(Any, made)) if isinstance(made, tuple) else [made]
        results = [gnp.astype(each, kind) for each in parts]
        for each in results:
            each.weak = values[0].weak
        return tuple(results) if isinstance(made, tuple) else results[0]

    return call


def _on(function: Function, order: Any, x: Any) -> Any:
    """A function of orders and of float64, for x of any type and shape."""
    value = floats(x)[0]
    order, wide = gnp.broadcast_arrays(order, gnp.astype(value, "float64"))
    made = gnp.astype(function(order, wide), value.dtype)
    made.weak = value.weak
    return made


def ordered(name: str, function: Function, doc: str, is_integer: bool = True) -> Function:
    """`name(n, x)`: a function of orders that are known while tracing, and of x."""

    @cache
    def compiled() -> Function:
        return jit(partial(_on, function))

    def call(n: Any, x: Any) -> Any:
        order: Any = np.asarray(known(n, f"{name}: n"), np.float64)
        if is_integer:
            if not np.all(np.isfinite(order)) or np.any(order != np.floor(order)):
                raise refusal(f"{name}: n must be integers, got {n!r}")
            order = order.astype(np.int64)
        return (partial(_on, function) if tracing() is not None else compiled())(order, x)

    return _named(call, name, doc)


def of_order(name: str, function: Function, order: int, doc: str) -> Function:
    """`name(x)`: a function of one order."""

    @cache
    def compiled() -> Function:
        return jit(partial(_on, function, order))

    def call(x: Any) -> Any:
        return (partial(_on, function, order) if tracing() is not None else compiled())(x)

    return _named(call, name, doc)


def _named(call: Function, name: str, doc: str) -> Function:
    call.__name__, call.__doc__ = name, doc
    return public(checked(call, name, "gradir.scipy.special"))
