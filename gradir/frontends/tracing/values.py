"""The values of traced arrays, where a derivative is traced for arrays.

Outside of other traces `gradir.grad(f)(x)` traces f for the array x. What Python code asks of a
traced array there (`if x > 0`, `range(n)`, a mask) is computed from the arguments, by the
interpreter, and the program then holds for arguments that give the same answers (`paths`). Rows of
gradir.vmap, and what loops carry, have no values; nor has what depends on an argument while
gradir.jit or gradir.trace runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from gradir.dialects.array.creation import numpy_dtype
from gradir.dialects.base.lazy_function import lazy_function
from gradir.dialects.base.op_rules import is_inactive
from gradir.dialects.base.shapes import element_of, is_inexact, is_open, is_tensor, shape_of
from gradir.dialects.comm.comm_op import GroupOp
from gradir.dialects.grad.extent import ExtentOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.errors import ForeignCodeError
from gradir.frontends.tracing.named_axes import rows_of
from gradir.frontends.tracing.paths import Path
from gradir.frontends.tracing.source_locations import refusal
from gradir.frontends.tracing.trees import Tree
from gradir.passes.analysis.call_graph import called_name, callees_first
from gradir.passes.analysis.regions import captured

if TYPE_CHECKING:
    from gradir.frontends.tracing.tracer import Tracer
    from gradir.frontends.tracing.tracing import Trace
    from gradir.interpreter.interpreter import run_ops
else:
    run_ops = lazy_function("gradir.interpreter.interpreter", "run_ops")

Array = np.ndarray[Any, Any]
Moving = Callable[[Tree], Collection[int]]
"""The leaves of the arguments, nested as given, by which a function is differentiated."""


class _Place(NamedTuple):
    trace: Trace
    ssa: SSAValue


class Known:
    """What a trace knows of its arguments: an array or a value of an outer trace for each of them.

    `moving` are the arguments by which the function is differentiated. `path` belongs to the
    whole program, which holds for arguments on it alone where one of them `was_read`.
    """

    def __init__(self, given: Sequence[Any], moving: Collection[int], path: Path | None = None):
        self.given: Sequence[Any] = [
            _Place(x.made_in, x.ssa) if hasattr(x, "made_in") else x for x in given
        ]
        self.moving = moving
        self.values: dict[SSAValue, Array] = {}
        self.path = path
        self.was_read = False

    def close(self) -> Path | None:
        """End the trace; the path that its program holds for."""
        path = self.path if self.was_read else None
        if path is not None:
            path.close()
        self.given, self.path = (), None
        self.values.clear()
        return path


class _Unknown(Exception):
    """A value that only a run of the program will have."""


def value_of(x: Tracer, most: int | None = None) -> Array | None:
    """The value of a traced array, which must not be written to; None where it is not known.

    `most`: TraceError where it, or one that it is made of, has more elements.
    """
    value, path = _found(x, most), x.made_in.known.path
    if value is not None and path is not None:
        path.ask(x.ssa, value)
    return value


def has_value(x: Tracer) -> bool:
    """Whether `value_of` knows the value, which is not asked for."""
    return _found(x) is not None


def constant_value_of(x: Tracer) -> Array | None:
    """`value_of` of an array that depends on no argument: the program holds for all of them."""
    try:
        varies = x.made_in.has_program and _depends_on_arguments(x.made_in, x.ssa)
    except _Unknown:
        return None
    return None if varies else _found(x)


def text_of(x: Tracer) -> Array | None:
    """`value_of`, for text: Python code runs again in each call, which may print it."""
    if x.made_in.known.path is not None:
        x.made_in.known.path.is_kept = False
    return value_of(x)


def is_active(x: Tracer) -> bool:
    """Whether an array depends on a differentiated argument, as a number made of it would not."""
    return x.made_in.has_program and _is_active(x.made_in, x.ssa)


def still_value_of(x: Tracer, what: str, way_out: str) -> Array | None:
    """`value_of`; TraceError for an array that depends on a differentiated argument."""
    value = value_of(x)
    if value is not None and is_active(x):
        raise refusal(
            f"{what}: this array depends on what is differentiated, and values outside of the "
            f"program have no derivative; {way_out}",
            ForeignCodeError,
        )
    return value


def fixed_value_of(x: Tracer) -> Array | None:
    """The value of integers and bools, or of an array that nothing is differentiated by."""
    try:
        return None if is_active(x) else value_of(x)
    except _Unknown:
        return None


def values_in(values: Sequence[Any], of: Callable[[Any], Array | None]) -> list[Any] | None:
    """Values with those that `of` finds in place of traced arrays, in lists and tuples too.

    None where it finds none for one of them.
    """
    found: list[Any] = []
    for each in values:
        made: Any = each
        if isinstance(each, (list, tuple)):
            parts = values_in(cast(Sequence[Any], each), of)
            made = None if parts is None else type(cast(Any, each))(parts)
        elif hasattr(each, "made_in"):
            value = of(each)
            made = None if value is None else np.array(value)
        if made is None and each is not None:
            return None
        found.append(made)
    return found


# How values are found.


def _found(x: Tracer, most: int | None = None) -> Array | None:
    try:
        return _value(x.made_in, x.ssa, most)
    except _Unknown:
        return None


def _value(trace: Trace, ssa: SSAValue, most: int | None = None) -> Array:
    found = trace.value_at(ssa)
    if found is None and not trace.has_program:
        raise _Unknown
    if found is None:
        ops, known = _needed(trace, ssa, most), trace.known
        _require_small(ops, most)
        run_ops(ops, known.values, trace.functions)
        if known.path is not None:
            known.path.add(ops, trace.functions)
        found = known.values[ssa]
    return found


def _require_small(ops: Sequence[Operation], most: int | None) -> None:
    if most is None:
        return
    for result in (r for op in ops for r in op.results):
        if is_tensor(result.type) and (count := prod(shape_of(result.type))) > most:
            raise refusal(
                f"shapes depend on a value of {count:,} elements; at most {most:,} are computed "
                "while a program is read"
            )


def _needed(trace: Trace, ssa: SSAValue, most: int | None) -> list[Operation]:
    """The ops that a value needs and that did not run, in an order in which they can."""
    values = trace.known.values
    stack: list[SSAValue | Operation] = [ssa]
    order, seen = list[Operation](), set[Operation]()
    while stack:
        item = stack.pop()
        if isinstance(item, Operation):
            order.append(item)
        elif item not in values:
            owner = item.owner
            if isinstance(item, BlockArgument):
                values[item] = _argument(trace, item, most)
            elif is_open(item.type):
                raise _Unknown  # a program for all sizes
            elif isinstance(owner, Operation) and owner not in seen:
                _require_repeatable(trace, owner)
                seen.add(owner)
                stack += [owner, *captured(owner)]
    return order


def _argument(trace: Trace, argument: BlockArgument, most: int | None) -> Array:
    """The value of an argument of a trace; arguments of regions have no known value."""
    source, path = _source(trace, argument), trace.known.path
    if isinstance(source, _Place):
        value = _value(source.trace, source.ssa, most)
        if path is not None:
            path.same(argument, source.ssa)
        return value
    try:
        value = np.asarray(source, numpy_dtype(element_of(argument.type)))
    except (TypeError, ValueError, OverflowError):
        raise _Unknown from None
    if trace.outer is None:
        trace.known.was_read = True
    if path is not None and trace.outer is None:
        path.argument(argument, argument.index)
    elif path is not None:
        path.constant(argument, value)
    return value


def _source(trace: Trace, argument: BlockArgument) -> Any:
    """What an argument stands for: an array, or a value of an outer trace."""
    if argument.block is not trace.entry:
        raise _Unknown
    given = trace.known.given
    if argument.index < len(given):
        return given[argument.index]
    for around, inside in trace.captured.items():
        if inside is argument:
            assert trace.outer is not None
            return _Place(trace.outer, around)
    raise _Unknown


def _is_active(trace: Trace, ssa: SSAValue) -> bool:
    stack, seen = [ssa], set[SSAValue]()
    while stack:
        value = stack.pop()
        if value in seen or not _is_real(value):
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(value, BlockArgument):
            if _is_active_argument(trace, value):
                return True
        elif not isinstance(owner, Block) and not is_inactive(owner):
            stack += captured(owner)
    return False


def _is_active_argument(trace: Trace, argument: BlockArgument) -> bool:
    if argument.block is not trace.entry:
        return True
    source = _source(trace, argument)
    if isinstance(source, _Place) and _is_active(source.trace, source.ssa):
        return True
    return argument.index in trace.known.moving


def _depends_on_arguments(trace: Trace, ssa: SSAValue) -> bool:
    """Whether a value needs an argument of the whole program."""
    stack, seen = [ssa], set[SSAValue]()
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, Operation):
            stack += captured(owner)
            continue
        source = _source(trace, cast(BlockArgument, value))
        if isinstance(source, _Place):
            if _depends_on_arguments(source.trace, source.ssa):
                return True
        elif trace.outer is None:
            return True
    return False


def _is_real(value: SSAValue) -> bool:
    """Whether a value may have a derivative."""
    type_ = value.type
    if is_tensor(type_):
        return is_inexact(element_of(type_))
    return not isinstance(type_, IntegerType | IndexType)


def _require_repeatable(trace: Trace, op: Operation) -> None:
    """TraceError for an op whose run would be one too many."""
    inside = list(op.walk())
    calls = [called_name(each) for each in inside if isinstance(each, CallOp)]
    for function in callees_first(trace.functions, [trace.functions[name] for name in calls]):
        inside += function.walk()
    for each in inside:
        if isinstance(each, ExtentOp):
            raise _Unknown  # a program for all sizes
        if isinstance(each, GroupOp) and rows_of(each.group) is not None:
            raise _Unknown  # as rows of gradir.vmap are
        if isinstance(each, GroupOp) or (isinstance(each, HostCallOp) and each.pure is None):
            raise refusal(
                f"{each.name}: a value is asked for that needs this op, which must run once, with "
                "the program; return the value and ask for it outside"
            )
