"""Gradient descent, the one of GradBench's `gd.hpp`, as a loop that is differentiated itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradir
import gradir.numpy as gnp

CLOSE = 1e-5

Function = Callable[[Any], Any]
Gradient = Callable[[Function], Function]


def forward(f: Function) -> Function:
    return gradir.jacfwd(f)


def reverse(f: Function) -> Function:
    return gradir.grad(f)


MODES: dict[str, Gradient] = {"f": forward, "r": reverse}


def argmin(gradient: Gradient, f: Function, start: Any) -> Any:
    """Where f is least: steps grow after ten that went down, and halve after one that did not."""
    slope_of = gradient(f)

    def goes_on(state: Any) -> Any:
        return ~state["is_done"]

    def step(state: Any) -> Any:
        x, value, slope = state["x"], state["value"], state["slope"]
        is_flat, grows = _norm(slope) <= CLOSE, state["count"] == 10
        after = x - state["eta"] * slope
        is_close = ~grows & (_norm(x - after) <= CLOSE)
        is_done = is_flat | is_close
        lower = f(after)
        moves = ~is_done & ~grows & (lower < value)
        factor = gnp.where(is_done | moves, 1.0, gnp.where(grows, 2.0, 0.5))
        kept = (x, value, slope)
        x, value, slope = gradir.cond(moves, lambda: (after, lower, slope_of(after)), lambda: kept)
        return {
            "x": x,
            "value": value,
            "slope": slope,
            "eta": state["eta"] * factor,
            "count": gnp.where(moves, state["count"] + 1, 0),
            "is_done": is_done,
        }

    begin = {"x": start, "value": f(start), "slope": slope_of(start), "eta": 1e-5}
    state = begin | {"count": 0, "is_done": False}
    return gradir.while_loop(goes_on, step, state)["x"]


def argmax(gradient: Gradient, f: Function, start: Any) -> Any:
    return argmin(gradient, lambda x: -f(x), start)


def _norm(x: Any) -> Any:
    return gnp.sqrt(gnp.sum(x * x))
