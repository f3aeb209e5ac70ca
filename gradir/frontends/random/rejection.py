"""Draws that are repeated until they are accepted, for all elements at once.

An element has the value of the first round that accepts it: it depends on its key, its place and
its parameters alone, not on the other elements, which may go through more rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir.frontends.functions.numpy as gnp
from gradir.frontends.transforms.flow import while_loop


def first_accepted(propose: Callable[[Any], tuple[Any, Any]], is_wanted: Any) -> Any:
    """The values of the first accepted proposals, 0 where none is wanted.

    `propose(round)` gives float64 values, and which are accepted; `is_wanted` has their shape.
    """

    def goes_on(state: Any) -> Any:
        return gnp.logical_not(gnp.all(state[2]))

    def again(state: Any) -> Any:
        number, value, is_done = state
        other, is_accepted = propose(number)
        taken = gnp.logical_and(is_accepted, gnp.logical_not(is_done))
        return number + 1, gnp.where(taken, other, value), gnp.logical_or(is_done, is_accepted)

    nothing = gnp.zeros(is_wanted.shape, "float64")
    _, value, _ = while_loop(goes_on, again, (0, nothing, gnp.logical_not(is_wanted)))
    return value
