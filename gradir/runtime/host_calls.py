"""Calls of registered Python functions, by the interpreter and by native code.

Checks the contract: the function, its arguments and its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute

from gradir.dialects.base.diagnostics import LocatedError, location_text
from gradir.dialects.base.shapes import element_of, is_static, shape_of
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.host_functions import (
    HostFunction,
    dependencies,
    host_function,
    host_function_names,
    reachable,
)
from gradir.errors import ExecutionError, GradirError, HostCallError, HostRecursionError
from gradir.runtime.arrays import ArraySpec, dtype_of
from gradir.runtime.derivative_types import misfit
from gradir.runtime.host_errors import failure
from gradir.runtime.operator_calls import OperatorCall
from gradir.runtime.operator_layout import TIMEOUT, NativeOperator, layout_of

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class HostCall:
    """One call in a program: the function, its name in errors, its arguments and results.

    Nobody reads the results in `unread`. `of`: the element types of the call that it is a
    derivative of. An async one is run on a worker thread by native code.
    """

    function: HostFunction
    place: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    unread: frozenset[int] = frozenset()
    of: FunctionType | None = None
    is_async: bool = False

    @property
    def timeout(self) -> float | None:
        """The seconds that a program waits for an async call."""
        function = self.function.function
        return function.timeout if isinstance(function, NativeOperator) else TIMEOUT

    @cached_property
    def operator(self) -> OperatorCall | None:
        """The call of a custom op; None for other functions. ExecutionError if it does not fit."""
        function = self.function.function
        if not isinstance(function, NativeOperator):
            return None
        layout = layout_of(function, len(self.inputs), len(self.outputs), self.of)
        if layout is None:
            raise ExecutionError(
                f"{self.place}: operands, results and `of` must be those of a {function.role} "
                f"function, got {len(self.inputs)} operands, {len(self.outputs)} results and "
                f"{'no `of`' if self.of is None else f'of = {self.of}'}"
            )
        return OperatorCall(function, layout, self.place, self.inputs, self.outputs, self.unread)


def host_call_of(op: HostCallOp) -> HostCall:
    """The call of an op; LocatedError where it does not fit the registered function."""
    name = op.callee.data
    function = host_function(name)
    if function is None:
        known = ", ".join(host_function_names()) or "none"
        raise LocatedError(
            f"{op.name}: no host function {name!r} is registered; registered: {known}", op
        )
    if op.pure is not None and not function.pure:
        raise LocatedError(f"{op.name}: {name!r} was not registered as pure", op)
    inputs, outputs = (
        tuple(_spec(op, v.type, k) for k, v in enumerate(vs)) for vs in (op.inputs, op.outputs)
    )
    expected = op.expected()
    declared = [(s.shape, s.dtype.name) for s in outputs]
    if expected is not None and expected != declared:
        wanted, got = map(_shown, (expected, declared))
        raise LocatedError(f"{op.name}: {name!r} gives {wanted}, got {got} as result types", op)
    _check_needs(op, function)
    unread = frozenset(k for k, result in enumerate(op.results) if result.first_use is None)
    place = f"{location_text(op)}{op.name} @{name}"
    made = HostCall(function, place, inputs, outputs, unread, op.of)
    _check_types(op, made)
    return made


def facts_of(op: HostCallOp) -> list[Any] | None:
    """What code depends on in the function that a call names, as values of JSON.

    None for a call that does not fit it, or has no static shapes yet.
    """
    try:
        function = host_call_of(op).function
    except LocatedError:
        return None
    facts: list[Any] = []
    for each in reachable([function]):
        names = [None if d is None else getattr(d, "name", d) for d in (each.backward, each.jvp)]
        facts += [each.name, each.pure, *names, [*each.needs], each.state, each.takes_kinds]
    return facts


def _check_types(op: HostCallOp, call: HostCall) -> None:
    """LocatedError for the call of a derivative that does not fit the op it belongs to."""
    if op.of is None or call.operator is None:
        return
    types = ([(s.shape, s.dtype.name) for s in specs] for specs in (call.inputs, call.outputs))
    try:
        wrong = misfit(call.operator.operator, call.operator.layout, *types)
    except GradirError as error:  # of infer
        wrong = str(error)
    if wrong is not None:
        raise LocatedError(f"{op.name}: {call.function.name!r}: {wrong}", op)


def _check_needs(op: HostCallOp, function: HostFunction) -> None:
    """LocatedError for `deps` that differ from the custom op's: its backward relies on them."""
    if op.deps is None or not isinstance(function.function, NativeOperator):
        return
    seeded = op.differentiable(op.outputs)
    found = dependencies(function.needs, len(op.inputs), len(op.outputs), seeded)
    if op.dependencies != found:
        wanted = ", ".join(f"{kind}{k}" for kind, k in found)
        raise LocatedError(
            f"{op.name}: deps must be what {function.name!r} needs, {wanted or 'none'}; leave them "
            "out",
            op,
        )


def _shown(specs: Sequence[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in specs) or "nothing"


def _spec(op: HostCallOp, type_: Attribute, k: int) -> ArraySpec:
    if not is_static(type_):
        raise LocatedError(f"{op.name}: running it needs static shapes, got {type_}", op)
    return ArraySpec(str(k), shape_of(type_), dtype_of(element_of(type_)))


def results_of(call: HostCall, arrays: Sequence[Array]) -> list[Array]:
    """The results of a call on arrays; HostCallError for a failure. Zeros where nobody reads."""
    made = [np.zeros(spec.shape, spec.dtype) for spec in call.outputs]
    written = [None if k in call.unread else array for k, array in enumerate(made)]
    run(call, [*arrays], written)
    return made


def run(
    call: HostCall, inputs: list[Array], outputs: list[Array | None], is_lent: bool = False
) -> None:
    """Write the results of a call to `outputs`, None where nobody reads them.

    `is_lent`: the arrays are views of a program's memory that nobody else holds; the lists may be
    emptied. HostCallError for a failure.
    """
    if call.operator is not None:
        call.operator.run(inputs, outputs, is_lent)
        return
    for target, value in zip(outputs, _call_on_copies(call, inputs), strict=True):
        if target is not None:
            np.copyto(target, value)


def _call_on_copies(call: HostCall, arrays: Sequence[Array]) -> list[Array]:
    """The results of a function on copies of the arrays."""
    copies = [np.array(array, order="C") for array in arrays]
    try:
        returned: Any = call.function.function(*copies)
    except HostCallError:
        raise  # its message is complete; nested calls would repeat it
    except Exception as error:
        made = failure(call.place, error)
        raise made from (None if isinstance(made, HostRecursionError) else error)
    several: list[Any] = (
        [*cast(Sequence[Any], returned)] if isinstance(returned, (tuple, list)) else [returned]
    )
    if returned is None and not call.outputs:
        several = []
    if len(several) != len(call.outputs):
        raise HostCallError(
            f"{call.place}: must return {len(call.outputs)} arrays, got {len(several)}"
        )
    return [_checked(call, k, value) for k, value in enumerate(several)]


def _checked(call: HostCall, k: int, value: Any) -> Array:
    """A result; HostCallError unless it has exactly the declared type."""
    array, spec = np.asarray(value), call.outputs[k]
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise HostCallError(
            f"{call.place}: result {k} must be {spec.dtype}{list(spec.shape)}, "
            f"got {array.dtype}{list(array.shape)}"
        )
    return array
