"""A run of a program that remembers how its numbers that are not finite came about.

Values are told apart as objects: calls, loops, branches and tapes hand on the same arrays, so what
made an array is known wherever it turns up. Of finite values nothing is kept.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from gradir.dialects.base.slice_type import is_slices
from gradir.dialects.grad.host_call import HostCallOp
from gradir.explain.derivatives import Derivatives
from gradir.explain.numbers import is_finite
from gradir.interpreter.control_flow import Steps
from gradir.interpreter.interpreter import Interpreter, check_arguments
from gradir.interpreter.out import all_arguments
from gradir.passes.analysis.call_graph import functions_by_name
from gradir.passes.analysis.region_ops import is_loop
from gradir.symbols import function_named

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Trip:
    """A running loop: its iteration, counted from 0, and their number, where that is known."""

    op: Operation
    number: int = -1
    count: int | None = None


@dataclass(frozen=True, eq=False)
class Event:
    """A run of an op with a result that is not finite: its operands and results as arrays.

    `trips` are the loops around it, outermost first. `primals` are the operands of the op that it
    is a derivative of, as far as they are known in its place.
    """

    op: Operation
    operands: Sequence[Any]
    results: Sequence[Any]
    trips: tuple[Trip, ...]
    primals: Mapping[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])


@dataclass(frozen=True)
class Made:
    """What made a value: an event and its result, or no event and the number of an argument."""

    event: Event | None
    number: int


class Recorder(Interpreter):
    """Runs a function; afterwards `makers` has what made each value that is not finite."""

    def __init__(self, functions: dict[str, FuncOp]):
        super().__init__(functions)
        self.makers: dict[int, Made] = {}
        self.derivatives = Derivatives([*functions.values()])
        self._kept: list[Any] = []
        self._trips: list[Trip] = []

    def note(self, value: Any, made: Made) -> None:
        """Remember what made a value, which then lives on, so that its identity is its own."""
        if id(value) not in self.makers:
            self.makers[id(value)] = made
            self._kept.append(value)

    def maker(self, value: Any) -> Made | None:
        """What made a value; None for one that is finite."""
        return self.makers.get(id(value))

    def steps(self, op: Operation, operands: Sequence[Array]) -> Steps | None:
        steps = super().steps(op, operands)
        if steps is None or not is_loop(op):
            return steps
        return self._counted(steps, Trip(op, count=_trip_count(op, operands)))

    def _counted(
        self, steps: Steps, trip: Trip
    ) -> Generator[tuple[Block, Sequence[Any]], Sequence[Any], Sequence[Any]]:
        """The steps of a loop, with the number of the iteration known meanwhile."""
        self._trips.append(trip)
        first: Block | None = None
        try:
            block, arguments = next(steps)
            while True:
                first = first or block
                trip.number += block is first
                sent = yield block, arguments
                block, arguments = steps.send(sent)
        except StopIteration as stop:
            return stop.value
        finally:
            self._trips.remove(trip)

    def run(
        self, op: Operation, operands: Sequence[Array], values: dict[SSAValue, Array]
    ) -> Sequence[Array]:
        if isinstance(op, HostCallOp) and not op.outputs:
            return ()  # it prints or checks, which has happened
        results = self.results(op, operands)
        if all(map(is_finite, results)):
            return results
        trips = tuple(Trip(t.op, t.number, t.count) for t in self._trips)
        around = {v: values[v] for v in self.derivatives.primals_of(op) if v in values}
        event = Event(op, operands, results, trips, around)
        for k, result in enumerate(results):
            if not is_finite(result):
                self.note(result, Made(event, k))
        return results


def _trip_count(op: Operation, operands: Sequence[Any]) -> int | None:
    if not isinstance(op, scf.ForOp):
        return None
    low, high, step = (int(bound) for bound in operands[:3])
    return max(-((low - high) // step), 0) if step > 0 else None


@dataclass(frozen=True)
class RecordedCall:
    """A call that has been run again: its arguments and results, and the recorder of the run."""

    function: FuncOp
    arguments: Sequence[Any]
    results: Sequence[Any]
    recorder: Recorder


def replayed(
    module: ModuleOp, name: str, arrays: Sequence[Any], out: object = None
) -> RecordedCall:
    """Run `@name` with the arguments, `out` as for the interpreter, and record it."""
    function = function_named(module, name)
    arguments = check_arguments(function, all_arguments(function, arrays, out))
    recorder = Recorder(functions_by_name(module))
    for k, argument in enumerate(arguments):
        if not is_finite(argument):
            recorder.note(argument, Made(None, k))
            if is_slices(function.body.block.args[k].type):
                recorder.note(cast(Any, argument).values, Made(None, k))
    with np.errstate(all="ignore"):
        results = recorder.call(function, arguments)
    return RecordedCall(function, arguments, results, recorder)
