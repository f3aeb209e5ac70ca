"""gradir.debug.explain: where the numbers of a call that are not finite come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from gradir.api import Module
from gradir.compiler.dynamic import (
    SpecializingExecutable,
    needs_shapes,
    shapes_of_arrays,
    specialized,
)
from gradir.errors import ArgumentTypeError, gradir_errors
from gradir.explain.explanation import Explanation, Labels, explained
from gradir.explain.watched import labels_of, results_of_primal
from gradir.frontends.tracing.source_locations import public, refusal
from gradir.frontends.tracing.tracing import tracing
from gradir.frontends.transforms.jit import Jitted
from gradir.gc_pause import paused_gc
from gradir.runtime.recompiled import Recompiled
from gradir.symbols import function_named


class _Program(NamedTuple):
    """A function of a module, the arrays of a call of it, and the names in messages."""

    module: Module
    name: str
    arrays: Sequence[Any]
    labels: Labels | None = None


@public
def explain(function: Any, *args: Any, out: Any = None, **kwargs: Any) -> Explanation:
    """Why `function(*args, **kwargs)` has results that are not finite: where that begins.

    `function` is a Python function that can be traced, one of gradir.jit, gradir.grad and the like,
    a compiled function of gradir.compile, or a pair `(module, "name")`. The program runs once, by
    the interpreter, and of the first element that is not finite the way back is followed to the
    first value on it that is not: an op's result, with its operands and its line, or an argument.
    In a loop the iteration is named, and in a derivative the op that it belongs to. Values that
    are not finite and reach no result, such as masked ones, are not named. Custom ops are called
    again; gradir.debug.print and check_nan are not.

    `str` of the result is the text; `is_finite` tells whether there is nothing to explain.
    """
    if tracing() is not None:
        raise refusal("debug.explain: it runs a program, and this one is being traced")
    found = _program(function, args, kwargs)
    sources = found.module._sources
    with gradir_errors(sources):
        op = found.module.op
        checked = results_of_primal(op, found.name)
        if needs_shapes(op, found.name):
            shapes = shapes_of_arrays(function_named(op, found.name), found.arrays)
            with paused_gc():
                op = specialized(op, found.name, shapes)
        labels = found.labels or labels_of(function_named(op, found.name))
        return explained(op, found.name, found.arrays, out, sources, labels, checked)


def _program(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Program:
    """The program that a call runs."""
    if isinstance(function, Jitted):
        return _of_jitted(function, args, kwargs)
    pair = _pair_of(function)
    if pair is not None:
        if kwargs:
            raise ArgumentTypeError(f"debug.explain: @{pair[1]} takes arguments by position alone")
        return _Program(*pair, args)
    if not callable(function):
        raise ArgumentTypeError(
            "debug.explain: expected a Python function, a compiled one or (module, 'name'), got "
            f"{function!r}"
        )
    plain: Callable[..., Any] = function
    return _of_jitted(Jitted(plain, knows_values=True), args, kwargs)


def _of_jitted(
    function: Jitted[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Program:
    program, leaves = function.program(args, kwargs)
    traced = program.traced
    results = traced.results.paths("the result")
    return _Program(traced.module, traced.name, leaves, Labels(traced.names, results))


def _pair_of(function: Any) -> tuple[Module, str] | None:
    """The module and the name of a function that was compiled, or is given so."""
    match function:
        case (Module() as module, str(name)):
            return module, name
        case SpecializingExecutable() | Recompiled() if function.source is not None:
            parts = cast(Sequence[Any], function.source[1])
            # code for some shapes is made by that for all
            return _pair_of(parts[0] if len(parts) == 2 else (parts[0], parts[1]))
        case _:
            return None
