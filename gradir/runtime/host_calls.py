"""Calls of registered Python functions, by the interpreter and by native code.

Checks the contract: the function, its arguments and its results.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from gradir.dialects.base.diagnostics import LocatedError, location_text
from gradir.dialects.base.shapes import element_of, is_static, shape_of
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.host_functions import HostFunction, host_function, host_function_names
from gradir.errors import GradirError, HostCallError, HostRecursionError
from gradir.runtime.arrays import ArraySpec, dtype_of

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class HostCall:
    """One call in a program: the function, its name in errors, its arguments and results."""

    function: HostFunction
    place: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]


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
    try:
        expected = function.expected([(s.shape, s.dtype.name) for s in inputs])
    except Exception as error:
        message = str(error) or type(error).__name__
        raise LocatedError(f"{op.name}: the shape rule of {name!r}: {message}", op) from error
    declared = [(s.shape, s.dtype.name) for s in outputs]
    if expected is not None and expected != declared:
        wanted, got = map(_shown, (expected, declared))
        raise LocatedError(f"{op.name}: {name!r} gives {wanted}, got {got} as result types", op)
    return HostCall(function, f"{location_text(op)}{op.name} @{name}", inputs, outputs)


def _shown(specs: Sequence[tuple[tuple[int, ...], str]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in specs) or "nothing"


def _spec(op: HostCallOp, type_: Attribute, k: int) -> ArraySpec:
    if not is_static(type_):
        raise LocatedError(f"{op.name}: running it needs static shapes, got {type_}", op)
    return ArraySpec(str(k), shape_of(type_), dtype_of(element_of(type_)))


def called(call: HostCall, arrays: Sequence[Array]) -> list[Array]:
    """The results of a call on copies of the arrays; HostCallError for a failure."""
    copies = [np.array(array, order="C") for array in arrays]
    try:
        returned: Any = call.function.function(*copies)
    except HostCallError:
        raise  # its message is complete; nested calls would repeat it
    except Exception as error:
        if _is_recursion(error):
            limit = sys.getrecursionlimit()
            raise HostRecursionError(
                f"{call.place}: calls of calls exceed Python's recursion limit, {limit}"
            ) from None
        raise HostCallError(f"{call.place}: {_trace(error)}") from error
    several = [*cast(Sequence[Any], returned)] if isinstance(returned, tuple | list) else [returned]
    if returned is None and not call.outputs:
        several = []
    if len(several) != len(call.outputs):
        raise HostCallError(
            f"{call.place}: must return {len(call.outputs)} arrays, got {len(several)}"
        )
    return [_checked(call, k, value) for k, value in enumerate(several)]


def _is_recursion(error: Exception) -> bool:
    """Whether Python's recursion limit is behind an error: gradir may have made one of its own."""
    behind = error.__context__ if isinstance(error, GradirError) else None
    return any(isinstance(e, RecursionError) for e in (error, behind))


def _checked(call: HostCall, k: int, value: Any) -> Array:
    """A result; HostCallError unless it has exactly the declared type."""
    array, spec = np.asarray(value), call.outputs[k]
    if array.shape != spec.shape or array.dtype != spec.dtype:
        raise HostCallError(
            f"{call.place}: result {k} must be {spec.dtype}{list(spec.shape)}, "
            f"got {array.dtype}{list(array.shape)}"
        )
    return array


def _trace(error: BaseException) -> str:
    """The text of an exception, with the traceback from the host function on."""
    frames = error.__traceback__.tb_next if error.__traceback__ is not None else None
    lines = traceback.format_exception(type(error), error, frames)
    return f"{type(error).__name__}: {error}\n{''.join(lines).rstrip()}"
