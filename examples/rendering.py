"""Three balls are found in a picture: a renderer written with NumPy, and its gradient.

    .venv/bin/python examples/rendering.py

The renderer makes an image with numpy.full and paints ball after ball into it, with soft edges.
Gradient descent moves the balls until their picture is the one that is given. Writes rendering.svg
with the outlines before and after. Exit code 1 if a ball is not found.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
from gradir import optim
from gradir.frontends.training.chart import Curve, Panel, chart

SIZE, STEPS = 48, 300
ROWS, COLUMNS = np.mgrid[0 : 1 : SIZE * 1j, 0 : 1 : SIZE * 1j]
# x, y, radius and brightness of each ball
TRUE = np.array([[0.3, 0.35, 0.15, 0.9], [0.7, 0.4, 0.12, 0.6], [0.5, 0.72, 0.18, 0.3]])
START = np.array([[0.4, 0.4, 0.1, 0.5], [0.6, 0.5, 0.1, 0.5], [0.5, 0.6, 0.1, 0.5]])


def render(balls: Any, softness: float = 0.03) -> Any:
    """The picture of balls before a grey wall; light comes from the upper left."""
    image = np.full((SIZE, SIZE), 0.1)
    for x, y, radius, brightness in balls:
        across, down = (COLUMNS - x) / radius, (ROWS - y) / radius
        square = across**2 + down**2
        height = np.sqrt(np.maximum(1 - square, 1e-3))
        light = np.maximum(0.6 * height - 0.5 * across - 0.5 * down, 0) + 0.3
        cover = 1 / (1 + np.exp((np.sqrt(square + 1e-9) - 1) * radius / softness))
        image *= 1 - cover
        image += cover * brightness * light
    return image


def loss(balls: Any, picture: Any) -> Any:
    return np.mean((render(balls) - picture) ** 2)


def outlines(name: str, balls: Any) -> list[Curve]:
    """A circle for each ball, on a page whose y goes up."""
    turn = np.linspace(0, 2 * np.pi, 61)
    made: list[Curve] = []
    for k, (x, y, radius, _) in enumerate(np.asarray(balls)):
        points = np.stack([x + radius * np.cos(turn), 1 - y - radius * np.sin(turn)], axis=1)
        made.append(Curve(f"{name} {k + 1}", [(float(a), float(b)) for a, b in points]))
    return made


def main() -> None:
    """Move the balls, and draw where they began, are and should be."""
    picture = render(TRUE)
    optimizer = optim.adam(0.01)
    step = gradir.train_step(loss, optimizer)
    balls, state = START, optimizer.init(START)
    for number in range(STEPS):
        balls, state, value = step(balls, state, picture)
        if number % 60 == 0:
            print(f"step {number}: loss {value:.1e}")
    miss = np.abs(np.asarray(balls) - TRUE).max()
    print(f"largest miss of a place, radius or brightness: {miss:.3f}")
    panels = [
        Panel("Outlines found", outlines("ball", balls)),
        Panel("Outlines at the start", outlines("ball", START)),
    ]
    Path("rendering.svg").write_text(chart(panels, "x"))
    if miss > 0.03:
        sys.exit("error: expected the three balls to be found")


if __name__ == "__main__":
    main()
