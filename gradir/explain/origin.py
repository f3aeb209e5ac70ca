"""The walk back: from an element of a result that is not finite to where that began.

At each op it goes to the operand that made the element so. For ops on elements that is an element
at the same place; for others the op is run again with fewer and fewer operands' elements that are
not finite, until those are left that matter. So a masked nan or -inf is never blamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.interfaces import TensorOp
from gradir.dialects.building.kinds import ElementwiseOp, SameValueOp
from gradir.dialects.grad.grad import AccumulateOp
from gradir.dialects.grad.host_call import HostCallOp
from gradir.explain.numbers import Array, Index, bad_places, first_bad, floats_of, is_finite
from gradir.explain.recorder import Event, Made, Recorder
from gradir.runtime.row_slices import RowSlices

HARMLESS = 1.0
"""What stands for an element that is not finite where an op is run again without it."""


@dataclass(frozen=True, eq=False)
class OriginStep:
    """An element on the way: the result of an event, and the element's index and number."""

    event: Event
    result: int
    index: Index

    @property
    def value(self) -> SSAValue:
        return self.event.op.results[self.result]

    @property
    def number(self) -> Any:
        return _element(self.event.results[self.result], self.index)


@dataclass(frozen=True, eq=False)
class Origin:
    """The way from a result to where its element began: steps, the result's own first.

    `argument` is the number of the argument that had the element already, at `index`.
    """

    steps: Sequence[OriginStep]
    argument: int | None = None
    index: Index = ()

    @property
    def turn(self) -> OriginStep | None:
        """The step at which an infinite number became nan."""
        for step, before in zip(self.steps, self.steps[1:], strict=False):
            if np.isnan(step.number) and not np.isnan(before.number):
                return step
        return None


def origin_of(recorder: Recorder, value: Any) -> Origin:
    """Where the first element of a value that is not finite comes from."""
    array = floats_of(value)
    assert array is not None
    made, index = _maker(recorder, value), first_bad(array)
    steps: list[OriginStep] = []
    while made is not None and made.event is not None:
        steps.append(OriginStep(made.event, made.number, index))
        found = _before(recorder, steps[-1])
        if found is None:
            return Origin(steps)
        value, index = found
        made = _maker(recorder, value)
    return Origin(steps, None if made is None else made.number, index)


def _maker(recorder: Recorder, value: Any) -> Made | None:
    found = recorder.maker(value)
    if found is None and isinstance(value, RowSlices):
        return recorder.maker(value.values)
    return found


def _element(value: Any, index: Index) -> Any:
    array = floats_of(value)
    assert array is not None
    return array[index]


def _before(recorder: Recorder, step: OriginStep) -> tuple[Any, Index] | None:
    """The operand, and its element, that made the element of a step what it is; None if none."""
    event = step.event
    bad = [o for o in event.operands if not is_finite(o)]
    if not bad:
        return None
    if works_on_elements(event, step.result):
        return _beside(recorder, step, bad)
    plain = all(not isinstance(o, RowSlices) for o in (*event.operands, *event.results))
    found = _narrowed(recorder, step) if plain and _is_repeatable(event.op) else None
    if found is not None:
        return found if found[0] is not None else None
    array = floats_of(bad[0])
    assert array is not None
    return bad[0], first_bad(array)


def works_on_elements(event: Event, result: int) -> bool:
    """Whether an element of a result is made of the operands' elements at its place."""
    op, shape = event.op, np.shape(event.results[result])
    by_element = isinstance(op, ElementwiseOp | SameValueOp | AccumulateOp)
    is_scalar = not isinstance(op, TensorOp) and op.name.startswith(("arith.", "math."))
    same = all(np.shape(o) == shape and not isinstance(o, RowSlices) for o in event.operands)
    return (by_element or is_scalar) and same


def _is_repeatable(op: Operation) -> bool:
    return not isinstance(op, HostCallOp) and not op.name.startswith("comm.")


def _beside(recorder: Recorder, step: OriginStep, bad: Sequence[Any]) -> tuple[Any, Index] | None:
    """The operand with an element at the place that is not finite: nan for nan, if there is one."""
    index, number = step.index, step.number
    found = [o for o in bad if not np.isfinite(_element(o, index))]
    found.sort(key=lambda o: bool(np.isnan(_element(o, index))) != bool(np.isnan(number)))
    if len(found) > 1:
        # of a select only the operand that was taken matters
        found = [o for o in found if _matters(recorder, step, o)] or found
    return (found[0], index) if found else None


def _matters(recorder: Recorder, step: OriginStep, operand: Any) -> bool:
    """Whether the element of the result changes with the operand's element at its place."""
    harmless = np.array(operand)
    harmless[step.index] = HARMLESS
    given = [harmless if o is operand else o for o in step.event.operands]
    after = _again(recorder, step, given)
    return after is not None and not _is_same(after, step.number)


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other) or bool(np.isnan(one) and np.isnan(other))


def _again(recorder: Recorder, step: OriginStep, operands: Sequence[Any]) -> Any:
    """The element of a step for other operands; None where the op cannot take them."""
    try:
        with np.errstate(all="ignore"):
            results = recorder.results(step.event.op, operands)
    except Exception:
        return None
    return _element(results[step.result], step.index)


def _narrowed(recorder: Recorder, step: OriginStep) -> tuple[Any, Index] | None:
    """One of the fewest elements of operands that still make the element of a step not finite.

    (None, ()) where it is not finite without any; None where the op cannot be asked.
    """
    operands = step.event.operands
    arrays = [floats_of(o) for o in operands]
    places = [() if a is None else bad_places(a) for a in arrays]
    left = [(k, int(p)) for k, found in enumerate(places) for p in found]

    def is_bad(kept: Sequence[tuple[int, int]]) -> bool | None:
        number = _again(recorder, step, _with(operands, left, kept))
        return None if number is None else not np.isfinite(number)

    without = is_bad([])
    if without is None:
        return None
    if without:
        return None, ()
    kept = left
    while len(kept) > 1:
        half = len(kept) // 2
        smaller = next((part for part in (kept[:half], kept[half:]) if is_bad(part)), None)
        if smaller is None:
            break  # several together
        kept = smaller
    k, place = kept[0]
    return operands[k], tuple(int(i) for i in np.unravel_index(place, np.shape(operands[k])))


def _with(
    operands: Sequence[Any], wrong: Sequence[tuple[int, int]], kept: Sequence[tuple[int, int]]
) -> list[Any]:
    """The operands with harmless numbers at the `wrong` places that are not kept."""
    found: list[Any] = list(operands)
    replaced = set(wrong) - set(kept)
    for k in {k for k, _ in replaced}:
        array: Array = np.array(operands[k], order="C")
        array.reshape(-1)[[p for j, p in replaced if j == k]] = HARMLESS
        found[k] = array
    return found
