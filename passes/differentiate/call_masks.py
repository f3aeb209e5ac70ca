"""Masks of cotangents at calls: whether a derivative needs its calls inlined.

The halves of a callee are made once for all calls, so no mask crosses their borders. What a run of
a callee learned tells its callers which masks would be of use: of the seeds that it gets, and of
the gradients that it returns. Where a mask is of use on one side of a call and known on the other,
the differentiation begins anew with all calls inlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, SSAValue

from gradir.dialects.base.support import Border, possible_mask
from gradir.dialects.base.value import Emitter, Value
from gradir.dialects.grad.borders import Borders
from gradir.dialects.grad.gates import Gates
from gradir.passes.differentiate.crossing import Crossing

Place = tuple[int, bool]
"""A seed or a gradient by its number, and whether its mask is strict."""

SEEDS, GRADIENTS = "seeds", "gradients"
"""The groups of the cotangents that a callee's backward half gets and returns."""


class MasksStopAtCallsError(Exception):
    """Masks of cotangents would have to cross calls."""


@dataclass(frozen=True)
class CalleeMasks:
    """`wanted` seeds have masks of use, `known` gradients have masks, and `needs` are the seeds
    that the mask of a gradient is made of."""

    wanted: frozenset[Place]
    known: frozenset[Place]
    needs: dict[Place, frozenset[Place]]


def open_seeds(gates: Gates, callee: Operation, seeds: Sequence[SSAValue]) -> None:
    """Let the code behind the seeds of a callee ask for their masks."""
    _border(gates, callee, SEEDS, seeds).receive(seeds, [])


def note_gradients(
    gates: Gates, callee: Operation, grads: Sequence[SSAValue], emitter: Emitter
) -> None:
    """Note which gradients of a callee have masks, and what these are made of."""
    _border(gates, callee, GRADIENTS, grads).hand_over(grads, emitter)


def masks_of_callee(borders: Borders, callee: Operation) -> CalleeMasks:
    """What a run of a callee has learned, after `Borders.learn`."""
    needs = {
        place: frozenset(_places(borders.made_of(border), callee, SEEDS))
        for border in borders.needs_before
        for place in _places([border], callee, GRADIENTS)
    }
    wanted = _places(borders.reached_wanted, callee, SEEDS)
    known = _places(borders.reached_known, callee, GRADIENTS)
    return CalleeMasks(frozenset(wanted), frozenset(known), needs)


def note_call(
    gates: Gates,
    op: CallOp,
    masks: CalleeMasks,
    seeds: Sequence[SSAValue],
    grads: Sequence[Value | None],
    emitter: Emitter,
) -> None:
    """Note what the masks at a call are made of, and which would be of use."""
    borders = gates.borders
    borders.wanted |= {(op, SEEDS, *place) for place in masks.wanted}
    _border(gates, op, SEEDS, seeds).hand_over(seeds, emitter)
    borders.known |= {(op, GRADIENTS, *place) for place in masks.known}
    for place, needed in masks.needs.items():
        borders.need((op, GRADIENTS, *place), ((op, SEEDS, *each) for each in needed))
    for number, grad in enumerate(grads):
        for strict, possible in enumerate(gates.possible):
            place = number, bool(strict)
            if grad is not None and (place in masks.known or masks.needs.get(place)):
                possible[grad.ssa] = possible_mask(frozenset([(op, GRADIENTS, *place)]))


def refuse_calls(borders: Borders) -> None:
    """MasksStopAtCallsError if a mask of use would have to cross a call."""
    if any(isinstance(home, CallOp) for home, *_ in borders.carried):
        raise MasksStopAtCallsError


def _border(gates: Gates, home: Operation, group: str, cts: Sequence[SSAValue]) -> Crossing:
    """A border that no mask crosses: it only asks for masks, and notes what they are made of."""
    return Crossing(gates, home, group, [ct.type for ct in cts], [])


def _places(borders: Iterable[Border], home: Operation, group: str) -> set[Place]:
    """The seeds or gradients of a callee among borders."""
    return {(number, strict) for owner, name, number, strict in borders
            if owner is home and name == group}  # fmt: skip
