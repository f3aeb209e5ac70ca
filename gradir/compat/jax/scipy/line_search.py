"""A step along a line by the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6).

One loop brackets the step and then narrows the bracket, so that each round is one evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gradir.numpy as gnp
from gradir.frontends.transforms.flow import while_loop

DECREASE, CURVATURE = 1e-4, 0.9
"""The constants of both conditions."""


class Point(NamedTuple):
    """A place on the line: the step, the value, and the slope there."""

    step: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    """`low` has a sufficient decrease; the bracket is between it and `high`, once it is closed."""

    count: Any
    is_closed: Any
    is_done: Any
    trial: Any
    low: Point
    high: Point


def line_search(
    at: Callable[[Any], Point], start: Point, first_step: Any, most: int
) -> tuple[Any, Any, Any]:
    """The step, whether it fails, and the number of evaluations.

    `start` is the place at 0, whose slope is negative; `at(step)` evaluates another place.
    """

    def is_open(state: Search) -> Any:
        return ~state.is_done & (state.count < most)

    def one_round(state: Search) -> Search:
        return _narrowed(state, at(state.trial), start)

    no = gnp.asarray(False)
    found = while_loop(is_open, one_round, Search(gnp.asarray(0), no, no, first_step, start, start))
    # out of rounds, a place with a sufficient decrease is a step too
    step = gnp.where(found.is_done, found.trial, found.low.step)
    return step, step == 0, found.count


def _narrowed(state: Search, new: Point, start: Point) -> Search:
    """The bracket with what one evaluation has shown."""
    low, high, closed = state.low, state.high, state.is_closed
    limit = start.value + DECREASE * new.step * start.slope
    # nan is too large
    is_large = ~(new.value <= limit) | ((new.value >= low.value) & (closed | (state.count > 0)))
    is_done = ~is_large & (gnp.abs(new.slope) <= -CURVATURE * start.slope)
    ahead = gnp.where(closed, high.step - low.step, 1.0)
    turns = new.slope * ahead >= 0
    high = _chosen(is_large, new, _chosen(turns, low, high))
    low = _chosen(is_large, low, new)
    closed = closed | is_large | turns
    trial = gnp.where(closed, _between(low, high), 2 * new.step)
    trial = gnp.where(is_done, new.step, trial)
    return Search(state.count + 1, closed, is_done, trial, low, high)


def _chosen(condition: Any, one: Point, other: Point) -> Point:
    return Point(*(gnp.where(condition, x, y) for x, y in zip(one, other, strict=True)))


def _between(low: Point, high: Point) -> Any:
    """The minimum of the cubic through both places; their middle where it is near one of them."""
    width = high.step - low.step
    apart = gnp.where(width == 0, 1.0, width)
    bend = low.slope + high.slope - 3 * (high.value - low.value) / apart
    square = bend**2 - low.slope * high.slope
    root = gnp.sign(width) * gnp.sqrt(gnp.where(square > 0, square, 1.0))
    below = high.slope - low.slope + 2 * root
    part = 1 - (high.slope + root - bend) / gnp.where(below == 0, 1.0, below)
    is_inside = (square > 0) & (below != 0) & (part > 0.1) & (part < 0.9)
    return low.step + width * gnp.where(is_inside, part, 0.5)
