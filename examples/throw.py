"""Throw a ball into a basket: the derivative goes through a loop that ends when the ball lands.

    .venv/bin/python examples/throw.py

Wind and drag act on the ball, which bounces off a wall. Newton's method finds the angle.
Writes throw.svg. Exit code 1 if the ball misses.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir.frontends.training.chart import Curve, Panel, chart

STEP, GRAVITY, DRAG, WIND = 0.01, 9.81, 0.02, -2.0
WALL, BOUNCE, BASKET, SPEED = 16.0, 0.7, 12.0, 20.0


def fly(state: Any) -> Any:
    """A step of the flight; behind the wall the ball is mirrored, and slower."""
    x, y, vx, vy = state
    ax = vx - WIND
    drag = DRAG * gnp.sqrt(ax * ax + vy * vy)
    vx, vy = vx - STEP * drag * ax, vy - STEP * (drag * vy + GRAVITY)
    x, y = x + STEP * vx, y + STEP * vy
    inside = x < WALL
    return gnp.where(inside, x, 2 * WALL - x), y, gnp.where(inside, vx, -BOUNCE * vx), vy


def start(angle: Any) -> Any:
    return 0.0 * angle, 0.0 * angle + 2.0, SPEED * gnp.cos(angle), SPEED * gnp.sin(angle)


def landing(angle: Any) -> tuple[Any, Any]:
    """Where the ball comes down, between the last two steps, and how many steps it takes."""

    def step(carried: Any) -> Any:
        _, state, count = carried
        return state, fly(state), count + 1

    def flies(carried: Any) -> Any:
        return carried[1][1] > 0

    first = start(angle)
    (x0, y0, *_), (x1, y1, *_), count = gradir.while_loop(flies, step, (first, first, 0))
    return x0 + (x1 - x0) * y0 / (y0 - y1), count


def path(angle: float, steps: int, lands: float) -> list[tuple[float, float]]:
    """The flight, for the picture."""
    places = gradir.scan(lambda state, _: (fly(state), state[:2]), start(angle), np.arange(steps))
    return [(float(x), float(y)) for x, y in zip(*places[1], strict=True)] + [(lands, 0.0)]


def main() -> None:
    """Find the angle, and draw the throws."""
    slope = gradir.value_and_grad(landing, has_aux=True)
    angle, off, throws = 0.8, 0.0, list[Curve]()
    for number in range(8):
        (x, steps), by_angle = slope(angle)
        off = float(x) - BASKET
        print(f"angle {angle:.4f}: {int(steps)} steps, lands {off:+.4f} m from the basket")
        if number < 2 or abs(off) < 1e-3:
            throws.append(Curve(f"throw {number + 1}", path(angle, int(steps), float(x))))
        if abs(off) < 1e-3:
            break
        angle -= float(np.clip(off / by_angle, -0.2, 0.2))
    Path("throw.svg").write_text(chart([Panel("Height in m", throws)], "distance in m"))
    if abs(off) > 1e-3:
        sys.exit("error: expected the ball in the basket")


if __name__ == "__main__":
    main()
