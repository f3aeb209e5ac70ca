"""gradir.vmap: a Python function on many rows of its arguments at once, as in JAX.

The function is traced on one row, as a function of its own that may use arrays from around it; then
it is rewritten for all rows (`passes/batch/vmap.py`) and called. So it combines with derivatives,
loops, gradir.jit and itself, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from gradir.dialects.array.movement import BroadcastToOp, PermuteDimsOp
from gradir.dialects.base.shapes import element_of, shape_of, tensor
from gradir.dialects.grad.custom_vjp import CustomVjpOp
from gradir.errors import ArgumentTypeError
from gradir.frontends.tracing.later_rules import declaration_of, program_of
from gradir.frontends.tracing.named_axes import Axes as NamedAxes
from gradir.frontends.tracing.named_axes import axes as axes_around
from gradir.frontends.tracing.named_axes import within
from gradir.frontends.tracing.nodes import NODES, parts
from gradir.frontends.tracing.source_locations import named_options, refusal
from gradir.frontends.tracing.spec import NUMPY_NAMES, Spec, type_text
from gradir.frontends.tracing.still_values import with_still_numbers
from gradir.frontends.tracing.trace import Traced, traced
from gradir.frontends.tracing.tracer import Tracer
from gradir.frontends.tracing.tracing import Trace, emit_one, lifted, tracing
from gradir.frontends.tracing.trees import Tree, flatten
from gradir.frontends.transforms.jit import Jitted, P, R, jit_transform
from gradir.gc_pause import paused_gc
from gradir.passes.analysis.call_graph import callees_first, functions_by_name, uses_in
from gradir.passes.batch.vmap import FunctionsOnRows, OnRows, on_rows
from gradir.passes.differentiate.program import ModuleFunctions

Axes = Any
"""An axis, None for no axis, or tuples, lists and dicts of these that nest like the value."""


@named_options
def vmap(
    function: Callable[P, R],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
) -> Jitted[P, R]:
    """The function on all rows of its arguments; results are stacked along an axis of rows.

    `in_axes` says along which axis an argument has rows: a number for all, or a tuple with an entry
    for each argument by position, each of them a number (one < 0 counts from the end), None for an
    argument that all rows share, or a nesting of these like the argument's. Arguments by
    keyword have rows along axis 0. `out_axes` says in the same way where results have them; None is
    for a result that is the same for all rows. Values that depend on no row are computed once.
    `axis_name` names the rows for gradir.comm: `psum(x, "batch")` is the sum of all rows' x, and
    `axis_index("batch")` the number of the row. `axis_size` is the number of rows, for arguments
    that have none. Raises TraceError where the arguments differ in their numbers of rows.
    """
    if not callable(function):
        raise ArgumentTypeError(f"function: expected a Python function, got {function!r}")
    _require_axis_name(axis_name)
    if axis_size is not None and (type(axis_size) is not int or axis_size < 0):
        raise ArgumentTypeError(f"axis_size: expected a number >= 0, got {axis_size!r}")

    def rows(*args: Any, **kwargs: Any) -> Any:
        trace = tracing()
        assert trace is not None
        moving = _places_with_rows(in_axes, len(args))
        args, _ = with_still_numbers(args, {}, moving)
        leaves, tree = flatten((args, dict(kwargs)))
        by_position, by_keyword = tree.children
        axes = _axes_of(in_axes, by_position, "in_axes") + [0] * by_keyword.leaf_count
        values = [lifted(leaf) for leaf in leaves]
        names = [*by_position.paths("args"), *by_keyword.paths("kwargs")]
        size = _size(values, axes, names, axis_size)
        named = _with_axis(axis_name, size)
        given = [v if a is None else _moved(v, a, 0) for v, a in zip(values, axes, strict=True)]
        specs = [v if a is None else _row(v) for v, a in zip(given, axes, strict=True)]
        positional, keywords = tree.build(specs)
        positional, _ = with_still_numbers(positional, {}, moving)
        with within(named):
            inner = traced("vmap", function, positional, keywords, outer=trace)
        wanted = _axes_of(out_axes, inner.results, "out_axes")
        made = _on_rows(trace, inner, size, [a is not None for a in axes], axis_name)
        operands = [*map(trace.use, given), *inner.captured]
        types: list[Attribute] = list(made.function.function_type.outputs)
        call = trace.emit(CallOp(made.function.sym_name.data, operands, types))
        results = [Tracer(trace, result) for result in call.results]
        found = zip(results, made.rows, wanted, inner.results.paths("result"), strict=True)
        return inner.results.build([_placed(*one, size) for one in found])

    return jit_transform(rows, function, vmap, in_axes, out_axes, axis_name, axis_size)


def _require_axis_name(name: object) -> None:
    if name is not None and not (isinstance(name, str) and re.fullmatch(r"\w+", name, re.ASCII)):
        raise ArgumentTypeError(
            f"axis_name: expected a name of letters, digits and _, got {name!r}"
        )


def _places_with_rows(axes: Axes, count: int) -> list[int]:
    """The positions of arguments that have rows."""
    if axes is None:
        return []
    entries = cast(Sequence[Any], axes) if isinstance(axes, (tuple, list)) else ()
    return [k for k in range(count) if k >= len(entries) or entries[k] is not None]


def _with_axis(name: str | None, size: int) -> NamedAxes:
    """The named axes in a function on rows."""
    if name is None:
        return axes_around()
    if type(size) is not int or size < 1:
        raise refusal(f"vmap: an axis with a name must have a known number of rows, got {size}")
    return (*axes_around(), (name, size))


def _axes_of(axes: Axes, tree: Tree, what: str) -> list[int | None]:
    """An axis for each leaf of a nesting."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * tree.leaf_count
    children: Sequence[Any] | None = None
    if isinstance(axes, dict) and tree.kind is dict:
        given = cast(dict[Any, Any], axes)
        if set(given) == set(tree.keys):
            children = [given[key] for key in tree.keys]
    elif tree.kind in NODES and type(cast(object, axes)) is tree.kind:
        children, data = parts(cast(object, axes))
        children = children if data == tree.keys else None
    elif isinstance(axes, (tuple, list)) and tree.kind is not None and tree.kind is not dict:
        items = cast(Sequence[Any], axes)
        children = items if len(items) == len(tree.children) else None
    if children is None:
        raise refusal(
            f"vmap: {what} must be numbers and None nested like the values, got {axes!r} for "
            f"{len(tree.children) or 'one'} of them"
        )
    pairs = zip(children, tree.children, strict=True)
    return [axis for child, its in pairs for axis in _axes_of(child, its, what)]


def _size(
    values: Sequence[Tracer],
    axes: Sequence[int | None],
    names: Sequence[str],
    asked: int | None,
) -> int:
    """The number of rows of all arguments, and as `axis_size` asks for."""
    found: dict[int, str] = {} if asked is None else {asked: f"axis_size is {asked}"}
    for value, axis, name in zip(values, axes, names, strict=True):
        if axis is None:
            continue
        rank = len(value.shape)
        if not -rank <= axis < rank:
            raise refusal(f"vmap: {name} has no axis {axis}, got {type_text(value.type)}")
        found.setdefault(value.shape[axis], f"{name} has {value.shape[axis]}")
    if not found:
        raise refusal("vmap: at least one argument must have rows, got in_axes of None alone")
    if len(found) > 1:
        raise refusal(
            f"vmap: all arguments must have as many rows, but {', '.join(found.values())}"
        )
    return next(iter(found))


def _row(value: Tracer) -> Spec:
    """What the function gets of a value whose rows are in front."""
    return Spec(value.shape[1:], NUMPY_NAMES[element_of(value.type)])


def _moved(value: Tracer, source: int, target: int) -> Tracer:
    """A value with one axis elsewhere; both may count from the end."""
    rank = len(value.shape)
    source, target = source % rank, target % rank
    axes = [d for d in range(rank) if d != source]
    axes.insert(target, source)
    return value if source == target else emit_one(PermuteDimsOp, value, axes=axes)


def _on_rows(
    trace: Trace, inner: Traced, size: int, rows: Sequence[bool], axis: str | None
) -> OnRows:
    """The traced function on rows, in the trace."""
    module = inner.module.op
    with paused_gc():
        program = ModuleFunctions(module)
        shared = [False] * len(inner.captured)
        made = on_rows(program, program.function(inner.name), size, [*rows, *shared], False, axis)
        _declare(trace, module)
        _take_over(trace, functions_by_name(module), made.function)
    for name, source in made.awaited.items():
        trace.rules.setdefault(name, partial(_rules_on_rows, name, source, size, axis))
    return made


def _rules_on_rows(name: str, source: str, size: int, axis: str | None, trace: Trace) -> list[str]:
    """The names of a function on rows and of its rules, made from those of its source."""
    found = declaration_of(trace, source)
    if found is None or not found.has_rules:
        return [name]
    with paused_gc():
        module = program_of(trace, found.names)
        on_rows = FunctionsOnRows(ModuleFunctions(module), size, axis)
        made = on_rows.with_derivative(source)
        functions = functions_by_name(module)
        _declare(trace, module)
        for each in made:
            _take_over(trace, functions, functions[each])
    for other, its in on_rows.awaited.items():
        trace.rules.setdefault(other, partial(_rules_on_rows, other, its, size, axis))
    return [name, *made[1:]]


def _declare(trace: Trace, module: ModuleOp) -> None:
    """Add the declarations of a module to a trace that it does not have."""
    declared = {d.names[0] for d in trace.declarations}
    for op in [op for op in module.ops if isinstance(op, CustomVjpOp)]:
        if op.names[0] not in declared:
            op.detach()
            trace.declarations.append(op)


def _take_over(trace: Trace, functions: dict[str, FuncOp], made: FuncOp) -> None:
    roots = [functions[n] for d in trace.declarations for n in d.names if n in functions]
    for function in callees_first(functions, [*roots, made], follow=uses_in):
        if function.sym_name.data not in trace.functions:
            function.detach()
            trace.functions[function.sym_name.data] = function


def _placed(result: Tracer, has_rows: bool, axis: int | None, name: str, size: int) -> Tracer:
    """A result with its rows along an axis."""
    if axis is None:
        if has_rows:
            raise refusal(f"vmap: {name} differs from row to row; out_axes must not be None for it")
        return result
    if not has_rows:
        type_ = tensor([size, *shape_of(result.type)], element_of(result.type))
        result = emit_one(BroadcastToOp, result, type=type_)
    rank = len(result.shape)
    if not -rank <= axis < rank:
        raise refusal(f"vmap: {name} has no axis {axis}, got {type_text(result.type)}")
    return _moved(result, 0, axis)
