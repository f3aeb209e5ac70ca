"""gradir.trace: a Python function, run once on traced arrays, as a function of a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from xdsl.dialects.builtin import ArrayAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gradir.api import Module
from gradir.dialects.base.attribute_names import REQUIRES
from gradir.dialects.base.extents import assuming
from gradir.errors import ArgumentTypeError, gradir_errors
from gradir.frontends.tracing.callbacks import call_user
from gradir.frontends.tracing.copying import with_copies
from gradir.frontends.tracing.later_rules import LaterRules
from gradir.frontends.tracing.memory import ArrayMemory
from gradir.frontends.tracing.nodes import kind_of
from gradir.frontends.tracing.object_arrays import is_object_array
from gradir.frontends.tracing.paths import Path
from gradir.frontends.tracing.source_locations import (
    SOURCES,
    at,
    location,
    location_of_function,
    public,
)
from gradir.frontends.tracing.spec import spec_of
from gradir.frontends.tracing.static_numbers import naming_static
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, lifted, running
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.tracing.values import Known, Moving
from gradir.gc_pause import paused_gc
from gradir.long_compilations import tracing_time
from gradir.passes.analysis.call_graph import callees_first, uses_in
from gradir.passes.shapes.name_values import has_symbols
from gradir.passes.verify.verify import verify, verify_function
from gradir.symbols import function_named


@dataclass(frozen=True)
class Traced:
    """A traced function: `@name` of a module, and the nesting of its arguments and results.

    `arguments` has two parts, the ones by position and the ones by keyword; `names` has a name for
    each leaf. `weak` tells for each result whether it is weak, as a Python number. `captured` are
    the arrays of an outer trace; they follow the arguments. With a `path` the program holds for the
    given values of the arguments, and for other values that take the same path. `sizes` has the
    code of a program that was traced for many sizes.
    """

    module: Module
    name: str
    arguments: Tree
    results: Tree
    names: tuple[str, ...]
    weak: tuple[bool, ...]
    captured: tuple[SSAValue, ...] = ()
    path: Path | None = None
    sizes: HasCode | None = None


class HasCode(Protocol):
    """A program whose code is made for other sizes too."""

    def executable(self, threads: int | None, wait: bool) -> Any:
        """Its native code, a gradir.Executable."""
        ...


@public
def trace(function: Callable[..., Any], *specs: Any) -> Module:
    """The program of a Python function for arguments of some shapes and dtypes.

    `specs` are the arguments: arrays (only shape and dtype count), `gradir.Spec`, Python
    numbers (rank 0), or nested tuples, lists and dicts of these. They become the program's
    arguments in this order: items from first to last, values of a dict by its sorted keys. The
    results, nested too, become its results in the same order. The program has the function's name,
    or @main of a lambda. Python's own `if` and loops run while tracing; those that depend on values
    are `gradir.cond`, `gradir.scan` and the like. Raises TraceError for code that cannot be traced.
    """
    with tracing_time():
        return traced("trace", function, specs).module


def traced(
    what: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    outer: Trace | None = None,
    name: str | None = None,
    place: LocationAttr | None = None,
    moving: Moving | None = None,
    orders: int = 2,
) -> Traced:
    """`trace` with the nesting of arguments and results, within an outer trace if given.

    `what` is the name of gradir's function in errors; `name` and `place` belong to the program,
    by default the function's own. With `moving`, Python code may ask for values of the arguments,
    and the function is differentiated by those leaves. A program of its own has the rules of
    derivatives written by hand that `orders` of differentiation need; further ones are traced when
    Module.gradient asks for them.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
    run = partial(_traced, what, function, args, kwargs, outer, name, place, moving, orders)
    return with_copies(run) if outer is None else run()


def traced_callee(
    what: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    outer: Trace,
    name: str | None = None,
) -> Traced:
    """A function traced within an outer trace, which may then call it; see `traced`."""
    inner = traced(what, function, args, outer=outer, name=name)
    made = function_named(inner.module.op, inner.name)
    made.detach()
    outer.functions[inner.name] = made
    return inner


def _traced(
    what: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    outer: Trace | None,
    name: str | None,
    place: LocationAttr | None,
    moving: Moving | None,
    orders: int,
) -> Traced:
    leaves, tree = flatten((tuple(args), dict(kwargs or {})))
    leaves = [
        lifted(leaf) if is_object_array(leaf) and outer is not None else leaf for leaf in leaves
    ]
    names = argument_names(function, tree)
    specs = [_spec(what, leaf, name) for leaf, name in zip(leaves, names, strict=True)]
    trace = Trace([type_ for type_, _ in specs], outer)
    trace.name = _free_name(name or function_name(function), outer)
    if moving is not None:
        path = Path([type_ for type_, _ in specs]) if outer is None else outer.known.path
        trace.known = Known(leaves, moving(tree), path)
    arguments = _tracers(trace, names, [weak for _, weak in specs])
    place = place or location_of_function(function)
    conditions = trace.conditions
    named = naming_static(leaves, names) if what == "jit" else nullcontext()
    with gradir_errors(SOURCES, location()), paused_gc(), named:
        with running(trace), assuming(conditions):
            by_position, by_keyword = tree.build(arguments)
            result = call_user(what, function, *by_position, **by_keyword)
            with at(place):
                values, results = yielded(result, "the traced function")
                trace.emit(ReturnOp(*map(trace.use, values)))
            module = _module(trace, place)
        rules = LaterRules(trace)
        if outer is None:
            for _ in range(orders):
                rules.define(module, trace.name)
            verify(module)
        else:  # its callees were verified when they were traced, and are once more in the end
            verify_function(module, function_named(module, trace.name))
    captured = tuple(trace.captured)
    weak = tuple(value.weak for value in values)
    path = trace.known.close()
    found = Module(module, SOURCES, rules=rules)
    return Traced(found, trace.name, tree, results, tuple(names), weak, captured, path)


def _tracers(trace: Trace, names: Sequence[str], weak: Sequence[bool]) -> list[Tracer]:
    """The traced arrays of a trace's arguments, under their names."""
    tracers = [
        Tracer(trace, ssa, is_weak) for ssa, is_weak in zip(trace.entry.args, weak, strict=True)
    ]
    for tracer, label in zip(tracers, names, strict=True):
        tracer.named(label)
        tracer.memory = ArrayMemory(label)
    return tracers


def _free_name(name: str, outer: Trace | None) -> str:
    """A free name: with a number if it is, or begins, the name of an outer trace's function."""
    taken: set[str] = set() if outer is None else set(outer.functions)
    trace = outer
    while trace is not None:
        taken.add(trace.name)
        trace = trace.outer
    numbered = (name, *(f"{name}_{k}" for k in range(1, len(taken) + 2)))
    return next(n for n in numbered if not any(f"{t}_".startswith(f"{n}_") for t in taken))


def _module(trace: Trace, place: Any) -> ModuleOp:
    """The module of the traced function and its callees."""
    block = trace.entry
    types: list[Attribute] = [a.type for a in block.args]
    last = block.last_op
    assert last is not None
    function = FuncOp(trace.name, (types, [o.type for o in last.operands]), Region(block))
    function.location = place
    # leave out functions of bodies that were traced for their types alone
    functions = {**trace.functions, trace.name: function}
    declared = [functions[name] for d in trace.declarations for name in d.names]
    *called, _ = callees_first(functions, [*declared, function], follow=uses_in)
    made = [*map(_copy, [*trace.declarations, *called]), function]
    if trace.outer is None and trace.conditions:
        required = ArrayAttr(StringAttr(str(c)) for c in trace.conditions)
        for op in made:
            if isinstance(op, FuncOp) and has_symbols(op):
                op.attributes[REQUIRES] = required
    return ModuleOp(Region(Block(made)))


def _copy(op: Operation) -> Operation:
    copy = op.clone()
    copy.location = op.location
    return copy


def _spec(what: str, leaf: Any, name: str) -> tuple[Any, bool]:
    try:
        found = spec_of(leaf)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{name}: {error}") from None
    if found is None:
        way_out = (
            f"; if it chooses the program: gradir.jit(f, static_argnames={name!r})"
            if what == "jit" and name.isidentifier()
            else "; if it is no data, the function can have it by functools.partial"
        )
        raise ArgumentTypeError(
            f"{name}: expected an array, a gradir.Spec or a number, got {kind_of(leaf)}{way_out}"
        )
    return found


def yielded(result: object, what: str) -> tuple[list[Tracer], Tree]:
    """The leaves of a traced function's result; arrays and numbers become constants."""
    leaves, tree = flatten(result)
    return [lifted(leaf, what=f"result of {what}: ") for leaf in leaves], tree


def function_name(function: Callable[..., Any]) -> str:
    """The Python name of a function; `main` for lambdas and objects without a name."""
    while hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() and name.isascii() else "main"


def argument_names(function: Callable[..., Any], arguments: Tree) -> list[str]:
    """A name per leaf: the parameter's, with the keys to the leaf."""
    by_position, by_keyword = arguments.children
    count = len(by_position.children)
    parameters = _parameters(function)
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    names += [f"{rest}{k}" for k in range(count - len(names))]
    labelled = [
        *zip(names, by_position.children, strict=False),
        *zip(by_keyword.keys, by_keyword.children, strict=True),
    ]
    return [found for name, child in labelled for found in child.names(name)]


def parameter_names(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's parameters, as far as Python knows them."""
    return frozenset(ordered_names(function))


def ordered_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters in order."""
    return [p.name for p in _parameters(function)]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
