"""What is said of a call whose results are not finite: where that began, and how it went on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation, SSAValue

from gradir.diagnostics import Diagnostic, Sources, diagnostic_of, render
from gradir.dialects.base.diagnostics import LocatedError, Place, kind_name, location_of
from gradir.explain.derivatives import Derivatives, primal_name
from gradir.explain.numbers import first_bad, floats_of, is_finite, number_text, place_text
from gradir.explain.origin import Origin, OriginStep, origin_of, works_on_elements
from gradir.explain.recorder import Event, RecordedCall, Recorder, Trip, replayed

Note = tuple[str, Place]


@dataclass(frozen=True)
class Explanation:
    """Why results of a call are not finite; `str` of it has the lines of source.

    `is_finite`: all results are finite, and there is nothing to explain. `diagnostic` has the place
    where it began, with notes of the places after it.
    """

    is_finite: bool
    diagnostic: Diagnostic
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Labels:
    """How a function's arguments and results are named in messages."""

    arguments: Sequence[str]
    results: Sequence[str]


def explained(
    module: ModuleOp,
    name: str,
    arrays: Sequence[Any],
    out: object,
    sources: Sources,
    labels: Labels,
    checked: int | None = None,
) -> Explanation:
    """Run `@name` again by the interpreter and say where its results cease to be finite.

    `checked` is the number of results that count, the first ones; None for all.
    """
    replay = replayed(module, name, arrays, out)
    wrong = [k for k, r in enumerate(replay.results[:checked]) if not is_finite(r)]
    if not wrong:
        text = f"{name}: all results are finite" + _about_arguments(replay, labels, "; ")
        return _explanation(True, text, UnknownLoc(), [], sources)
    value = replay.results[wrong[0]]
    said = _Words(replay.recorder, origin_of(replay.recorder, value), labels)
    message, place = said.beginning()
    notes = [*said.notes(), (_hit(value, labels.results[wrong[0]]), UnknownLoc())]
    message += _about_arguments(replay, labels, "; ") if said.origin.argument is None else ""
    return _explanation(False, message, place, notes, sources)


def _explanation(
    finite: bool, message: str, place: Place, notes: Sequence[Note], sources: Sources
) -> Explanation:
    found = diagnostic_of(LocatedError(message, place, notes))
    return Explanation(finite, found, message if finite else render(found, sources))


def _about_arguments(replay: RecordedCall, labels: Labels, between: str) -> str:
    """Which arguments are not finite."""
    rows = zip(labels.arguments, replay.arguments, strict=True)
    found = [f"argument {name} {_which(a)}" for name, a in rows if not is_finite(a)]
    return between + "; ".join(found) if found else ""


def _which(value: Any) -> str:
    """Which elements of a value are not finite."""
    array = floats_of(value)
    assert array is not None
    index = first_bad(array)
    count = int((~np.isfinite(array)).sum())
    rest = f" ({count} of {array.size} elements are not finite)" if array.shape else ""
    return f"is {number_text(array[index])}{place_text(index)}{rest}"


def _hit(value: Any, label: str) -> str:
    return f"so {label} {_which(value)}"


class _Words:
    """The words for one way from a result to where it began."""

    def __init__(self, recorder: Recorder, origin: Origin, labels: Labels):
        self.origin, self.labels = origin, labels
        self.derivatives = recorder.derivatives
        self.blamed = _blamed(origin, self.derivatives)

    def beginning(self) -> tuple[str, Place]:
        """What happened first, and where."""
        if self.blamed is None:
            argument, steps = self.origin.argument, self.origin.steps
            name = "" if argument is None else self.labels.arguments[argument]
            number = self._argument_number()
            text = f"argument {name} is {number}{place_text(self.origin.index)}"
            place = location_of(steps[-1].event.op) if steps else UnknownLoc()
            return f"{text}, which is read here" if steps else text, place
        return self._step(self.blamed), self.blamed.event.op

    def notes(self) -> Iterator[Note]:
        """What followed: the derivative that it is in, the loop, and where nan began."""
        blamed, turn = self.blamed, self.origin.turn
        if blamed is not None:
            yield from self._about_derivative(blamed.event)
            yield from map(_about_trip, blamed.event.trips)
            first = self.origin.steps[-1]
            if first is not blamed and not first.event.operands and not _is_of(first, blamed):
                yield f"{number_text(first.number)} is this constant", first.event.op
        if turn is not None and turn is not blamed:
            yield f"it becomes nan here: {self._step(turn)}", turn.event.op

    def _argument_number(self) -> str:
        # an argument is known by what reads it, or is the result itself
        for step in reversed(self.origin.steps):
            return number_text(step.event and self._read(step))
        return "not finite"

    def _read(self, step: OriginStep) -> Any:
        for operand in step.event.operands:
            array = floats_of(operand)
            if array is not None and not is_finite(operand):
                return array[first_bad(array)]
        return np.nan

    def _step(self, step: OriginStep) -> str:
        """`array.log of x = 0.0 is -inf at [3]`."""
        event, number = step.event, number_text(step.number)
        value = step.value
        where = place_text(step.index)
        if not event.operands:
            return f"the constant{_name(value)} is {number}{where}"
        text = f"{kind_name(event.op)} of {_operands(step)} is {number}{where}"
        word = self.derivatives.word(value)
        if word is not None:
            name = primal_name(value)
            whose = f" of {name}" if name else ""
            text = f"the {word}{whose} becomes {number}{where}: {text}"
        return text + "".join(map(_trip_text, event.trips))

    def _about_derivative(self, event: Event) -> Iterator[Note]:
        """The op that an op of a derivative belongs to, and where its cotangent comes from."""
        word = self.derivatives.word(event.op.results[0])
        if word is None:
            return
        primal = self.derivatives.primal_of(event.op)
        if primal is not None:
            assert self.blamed is not None
            yield f"it is the derivative of {kind_name(primal)}{_known(self.blamed)}", primal
        source = self.derivatives.source_of(event.op)
        if source is not None:
            yield f"the {word} comes from here", source


def _blamed(origin: Origin, derivatives: Derivatives) -> OriginStep | None:
    """The step to blame: the first, but for a constant what made nan of it, or chose it."""
    if origin.argument is not None:
        return None
    first = origin.steps[-1]
    if first.event.operands or len(origin.steps) == 1:
        return first
    after = origin.steps[-2]
    if derivatives.word(after.value) is not None and _is_of(first, after):
        return after
    # what a program writes as a constant, as -inf for a mask, is meant
    return origin.turn or (after if _is_of(first, after) else first)


def _is_of(constant: OriginStep, step: OriginStep) -> bool:
    """Whether a constant is one of the rule of an op, not of the program."""
    return location_of(constant.event.op) == location_of(step.event.op)


def _name(value: SSAValue) -> str:
    return f" {value.name_hint}" if value.name_hint else ""


def _operands(step: OriginStep) -> str:
    """The operands: elements at the place for an op on elements, else the extent of each."""
    event = step.event
    values = zip(event.op.operands, event.operands, strict=True)
    if works_on_elements(event, step.result):
        return _listed([_element_text(v, o, step) for v, o in values])
    return _listed([_whole_text(v, o) for v, o in values])


def _listed(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _element_text(value: SSAValue, operand: Any, step: OriginStep) -> str:
    number = number_text(np.asarray(operand)[step.index])
    return f"{value.name_hint} = {number}" if value.name_hint else number


def _whole_text(value: SSAValue, operand: Any) -> str:
    name = value.name_hint or "an operand"
    array = floats_of(operand)
    if array is None or array.size == 0:
        return name
    if not is_finite(array):
        return f"{name} (with {number_text(array[first_bad(array)])})"
    low, high = number_text(array.min()), number_text(array.max())
    return f"{name} = {low}" if low == high else f"{name} (from {low} to {high})"


def _known(step: OriginStep) -> str:
    """The operands of the op that a step is a derivative of, where they are known."""
    rows = step.event.primals.items()
    shape = np.shape(step.event.results[step.result])
    texts = [
        _element_text(v, o, step) if np.shape(o) == shape else _whole_text(v, o) for v, o in rows
    ]
    return f" of {_listed(texts)}" if texts else ""


def _trip_text(trip: Trip) -> str:
    if isinstance(trip.op, Operation) and trip.number >= 0:
        return f", in iteration {_iteration(trip)}"
    return ""


def _iteration(trip: Trip) -> int:
    """The iteration of the program's loop: a loop of backward code runs from the last to 0."""
    if trip.count is not None and runs_back(trip.op):
        return trip.count - 1 - trip.number
    return trip.number


def runs_back(loop: Operation) -> bool:
    """Whether a loop is the reversed one of another."""
    block = loop.regions[0].block
    return bool(block.args) and block.args[0].name_hint == "back"


def _about_trip(trip: Trip) -> Note:
    count = "" if trip.count is None else f" of {trip.count}"
    back = ", in its backward code" if runs_back(trip.op) else ""
    return f"in iteration {_iteration(trip)}{count} of this loop, counted from 0{back}", trip.op
