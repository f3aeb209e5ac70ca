"""Pieces of the vector dimension in which guards are known to hold, or known not to.

A read with a pad, of a shifted or joined tensor, is a masked load: slow, and slower by far where
the mask is empty and no memory is mapped at the address (AVX2 takes 200 cycles then). A guard
along the vector dimension holds in one interval. So the loop is cut where intervals begin and end:
between the cuts loads are plain or none at all, and only groups of vectors at the cuts have masks.
The order of the groups stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from gradir.codegen.costs import MOST_INSTRUCTIONS
from gradir.codegen.nests.space import Guard, Pass
from gradir.dialects.base.traced_sizes import is_surely, is_traced


@dataclass(frozen=True)
class Piece:
    """Indices [low, high) of the vector dimension, and the guards that are known there."""

    low: int
    high: int
    held: Mapping[Guard, bool] = field(default_factory=dict[Guard, bool])


def pieces_of(one: Pass, main: int, width: int) -> list[Piece]:
    """Indices [0, main), in groups of `width`, cut where a guard begins or ends to hold."""
    if not is_traced(main) and not main:
        return []
    held = {guard: _interval(guard, one.vector_dim) for guard in _guards_along(one)}
    # each pair in order already: what is known of sizes then does not depend on their remainders
    cuts = [0]
    for end in (end for interval in held.values() for end in interval):
        cuts += [end // width * width, -(-end // width) * width]
    ordered = _without_repeats(sorted(cut for cut in (*cuts, main) if 0 <= cut <= main))
    if (one.body.size + 2) * width // one.lanes * len(ordered) > MOST_INSTRUCTIONS:
        return [Piece(0, main)]
    return [Piece(low, high, _known(held, low, high)) for low, high in pairwise(ordered)]


def _without_repeats(cuts: Sequence[int]) -> list[int]:
    return [*cuts[:1], *(cut for before, cut in pairwise(cuts) if not is_surely(before, cut))]


def _guards_along(one: Pass) -> set[Guard]:
    """The guards whose subscript is the vector dimension alone, and changes with it."""
    v = one.vector_dim
    return {
        guard
        for read in one.reads
        if read is not None
        for guard in read.guards
        if [d for d, c in enumerate(guard.row.coefficients) if c] == [v]
    }


def _interval(guard: Guard, dim: int) -> tuple[int, int]:
    """The indices [low, high) for which a guard holds."""
    step, start = guard.row.coefficients[dim], guard.row.constant
    if step > 0:
        return -(start // step), -((start - guard.extent) // step)
    return (start - guard.extent) // -step + 1, start // -step + 1


def _known(held: Mapping[Guard, tuple[int, int]], low: int, high: int) -> dict[Guard, bool]:
    found: dict[Guard, bool] = {}
    for guard, (begin, end) in held.items():
        if begin <= low and high <= end:
            found[guard] = True
        elif high <= begin or end <= low:
            found[guard] = False
    return found


def holds(guard: Guard, first: int, step: int, lanes: int) -> bool | None:
    """Whether a guard holds in all lanes (True) or none (False), by the first lane's subscript."""
    inside = {0 <= first + k * step < guard.extent for k in range(lanes)}
    return inside.pop() if len(inside) == 1 else None
