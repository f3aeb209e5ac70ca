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

from gradir.dialects.base.support import NOWHERE, Border, Mask, possible_mask
from gradir.dialects.base.value import Value
from gradir.dialects.grad.borders import Borders, has_mask
from gradir.dialects.grad.gates import Gates

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


def open_seed(gates: Gates, callee: Operation, number: int, seed: SSAValue) -> None:
    """Let the code behind a seed of a callee ask for its mask."""
    for strict, possible in enumerate(gates.possible):
        if has_mask(seed.type):
            border: Border = callee, SEEDS, number, bool(strict)
            possible[seed] = possible_mask(frozenset([border]))


def note_gradients(gates: Gates, callee: Operation, grads: Sequence[SSAValue]) -> None:
    """Note which gradients of a callee have masks, and what these are made of."""
    for number, grad in enumerate(grads):
        _note(gates, (callee, GRADIENTS, number), grad)


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
) -> None:
    """Note what the masks at a call are made of, and which would be of use."""
    borders = gates.borders
    borders.wanted |= {(op, SEEDS, *place) for place in masks.wanted}
    for number, seed in enumerate(seeds):
        _note(gates, (op, SEEDS, number), seed)
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


def _note(gates: Gates, place: tuple[Operation, str, int], ct: SSAValue) -> None:
    """Note what the masks of a cotangent at a border are made of."""
    for strict, (known, possible) in enumerate(
        zip((gates.supports, gates.strict), gates.possible, strict=True)
    ):
        border: Border = *place, bool(strict)
        mask: Mask | None = possible.of(ct)
        if known.of(ct) not in (None, NOWHERE):
            gates.borders.known.add(border)
        if mask is not None:
            gates.borders.need(border, mask.borders)


def _places(borders: Iterable[Border], home: Operation, group: str) -> set[Place]:
    """The seeds or gradients of a callee among borders."""
    return {(number, strict) for owner, name, number, strict in borders
            if owner is home and name == group}  # fmt: skip
