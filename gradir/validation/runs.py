"""Runs of programs on random arguments: results, or the error that both sides must raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Operation, SSAValue

from gradir.dialects.base.diagnostics import LocatedError
from gradir.dialects.base.shapes import (
    element_of,
    is_complex,
    is_complex_tensor,
    is_float,
    is_static,
    is_tensor,
    shape_of,
)
from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.host_call import HostCallOp
from gradir.dialects.grad.tape import TapeType
from gradir.errors import ExecutionError
from gradir.interpreter.interpreter import Interpreter, check_arguments
from gradir.interpreter.lowered import LoweredInterpreter
from gradir.passes.analysis.call_graph import callees_first, functions_by_name
from gradir.runtime.arrays import dtype_of
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]

DRAWS = 2
"""How many times arguments are drawn: round zero, and positive ones."""
MOST_RUNS = 100_000
"""Ops that the interpreter runs for one call, in iterations of loops too."""
MOST_ELEMENTS = 1 << 22
"""Elements of the largest value, and iterations of the largest loop nest."""


class TooLong(Exception):
    """A program takes the interpreter longer than a validation may."""


def unfit(functions: Sequence[FuncOp], function: FuncOp) -> str | None:
    """Why a program cannot be run repeatedly on random arguments; None if it can."""
    for argument in function.body.block.args:
        type_ = argument.type
        if isinstance(type_, TapeType) or is_slices(type_):
            return f"an argument is a {type_}"
        if is_tensor(type_) and not is_static(type_):
            return "shapes are not known yet"
    for each in functions:
        for op in each.walk():
            if op.name.startswith("comm."):
                return f"{op.name} needs all ranks"
            if isinstance(op, HostCallOp) and op.pure is None:
                return f"the call of {op.callee.data} may have effects"
            if any(is_tensor(r.type) and _size(r.type) > MOST_ELEMENTS for r in op.results):
                return f"a result of {op.name} has more than {MOST_ELEMENTS} elements"
    return None


def _size(type_: Attribute) -> int:
    return int(np.prod([max(n, 0) for n in shape_of(type_)], dtype=object))


def random_arguments(function: FuncOp, draw: int) -> list[Array]:
    """Arguments for a function, the same ones for each draw: floats of size 1, small integers."""
    generator = np.random.default_rng(draw)
    types = [a.type for a in function.body.block.args]
    # most integers are indices, or counts of iterations
    extents = [n for t in types if is_tensor(t) for n in shape_of(t) if n > 0]
    bound = max(min([4, *extents]), 2) if draw else 2
    return [_random(t, draw, bound, generator) for t in types]


def _random(type_: Attribute, draw: int, bound: int, generator: np.random.Generator) -> Array:
    shape, element = (shape_of(type_), element_of(type_)) if is_tensor(type_) else ((), type_)
    dtype = dtype_of(element)
    low, high = (-1.0, 1.0) if draw == 0 else (0.1, 2.0)
    if is_complex(element):
        parts = generator.uniform(low, high, (*shape, 2))
        return np.asarray(parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    if is_float(element):
        return np.asarray(generator.uniform(low, high, shape)).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(generator.random(shape) < 0.5)
    return np.asarray(generator.integers(0, bound, shape)).astype(dtype)


@dataclass(frozen=True)
class Outcome:
    """The results of a run, or the text of the error that it ended with."""

    results: tuple[Any, ...] = ()
    error: str | None = None


class Bounded(LoweredInterpreter):
    """The interpreter for a limited time."""

    def __init__(self, functions: dict[str, FuncOp]):
        super().__init__(functions)
        self._left = MOST_RUNS

    def run(
        self, op: Operation, operands: Sequence[Any], values: dict[SSAValue, Any]
    ) -> Sequence[Any]:
        self._left -= 1
        if self._left < 0 or iterations(op) > MOST_ELEMENTS:
            raise TooLong(f"{op.name} makes it too long for the interpreter")
        return super().run(op, operands, values)


class Filled(Bounded):
    """The interpreter with zeros for undefined values, where it has conspicuous ones."""

    def run(
        self, op: Operation, operands: Sequence[Any], values: dict[SSAValue, Any]
    ) -> Sequence[Any]:
        results = super().run(op, operands, values)
        return [np.zeros_like(r) for r in results] if isinstance(op, EmptyOp) else results


def iterations(op: Operation) -> int:
    """The iterations of a loop nest; 1 for other ops."""
    extents = getattr(op, "extents", ())
    return int(np.prod(extents, dtype=object)) if isinstance(extents, tuple) else 1


Runner = Callable[[dict[str, FuncOp]], Interpreter]


def outcome_of(
    module: ModuleOp, name: str, arguments: Sequence[Any], runner: Runner = Bounded
) -> Outcome:
    """What the interpreter makes of a function; LocatedError for what it does not know."""
    function = function_named(module, name)
    try:
        with np.errstate(all="ignore"):
            arrays = check_arguments(function, _in_memory(function, arguments))
            results = runner(functions_by_name(module)).call(function, arrays)
    except ExecutionError as error:
        return Outcome(error=str(error))
    return Outcome(tuple(map(as_planes, results)))


def _in_memory(function: FuncOp, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as a function takes them: complex ones as floats once it is split."""
    types = [argument.type for argument in function.body.block.args]
    return [
        a if is_complex_tensor(t) else as_planes(a) for a, t in zip(arguments, types, strict=True)
    ]


def as_planes(value: Any) -> Any:
    """A complex array as floats with one more axis, of the real and the imaginary parts."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return value
    floats = np.ascontiguousarray(value).view(value.real.dtype)
    return floats.reshape((*value.shape, 2))


def outcome_or_reason(run: Callable[[], Outcome]) -> Outcome | str:
    """What a run gives, or why the interpreter cannot make it."""
    try:
        return run()
    except (LocatedError, TooLong, MemoryError) as error:
        return str(error)


def needed(module: ModuleOp, name: str) -> list[FuncOp]:
    """A function and its callees."""
    return list(callees_first(functions_by_name(module), [function_named(module, name)]))
