"""Fit a predator-prey model to measured numbers, through an integrator that chooses its steps.

    .venv/bin/python examples/ode_fit.py

Each interval between two measurements is a loop with as many steps as its error asks for. Writes
ode_fit.svg. Exit code 1 if the parameters are not found.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir.frontends.training.chart import Curve, Panel, chart

TIMES = np.linspace(0, 15, 31)
TRUTH = np.array([1.0, 0.4, 0.6, 0.2, 2.0, 3.0])
TOLERANCE = 1e-6

Array = np.ndarray[Any, Any]


def slope(y: Any, parameters: Any) -> Any:
    """The change of prey and predators by births, deaths and meals."""
    prey, predators = y[0], y[1]
    grow, eaten, starve, feed = (parameters[k] for k in range(4))
    return gnp.stack([prey * (grow - eaten * predators), predators * (feed * prey - starve)])


def advanced(y: Any, span: Any, parameters: Any) -> tuple[Any, Any]:
    """The state a time later, and the number of steps, by Bogacki and Shampine's pair."""

    def step(carried: Any) -> Any:
        y, left, h, count = carried
        h = gnp.minimum(h, left)
        k1 = slope(y, parameters)
        k2 = slope(y + h / 2 * k1, parameters)
        k3 = slope(y + 3 * h / 4 * k2, parameters)
        better = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        k4 = slope(better, parameters)
        error = h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)
        # which steps are taken is not differentiated, only what they compute
        size = gradir.no_grad(gnp.max(gnp.abs(error) / (1 + gnp.abs(y))) / TOLERANCE + 1e-10)
        taken, grown = size <= 1, h * gnp.clip(0.9 * size ** (-1 / 3), 0.2, 5.0)
        return gnp.where(taken, better, y), left - gnp.where(taken, h, 0.0), grown, count + 1

    def is_short(carried: Any) -> Any:
        return carried[1] > 1e-12

    y, _, _, count = gradir.while_loop(is_short, step, (y, span, 0.1 * span, 0))
    return y, count


def model(parameters: Any) -> tuple[Any, Any]:
    """The states at all times, and the steps between them."""

    def interval(y: Any, span: Any) -> Any:
        y, count = advanced(y, span, parameters)
        return y, (y, count)

    first = parameters[4:]
    _, (states, counts) = gradir.scan(interval, first, np.diff(TIMES))
    return gnp.concatenate([first[None], states]), counts


def main() -> None:
    """Fit by Gauss-Newton steps, and draw the fit."""
    solve: Any = gradir.jit(model)
    truth, counts = solve(TRUTH)
    measured = truth + np.random.default_rng(0).normal(0, 0.05, (len(TIMES), 2))
    print(f"{counts.min()} to {counts.max()} steps between two measurements")

    def residuals(parameters: Any) -> tuple[Any, Any]:
        off = (model(parameters)[0] - measured).reshape((-1,))
        return off, off

    jacobian: Any = gradir.jacfwd(residuals, has_aux=True)
    parameters: Array = TRUTH * [0.8, 1.2, 1.2, 0.8, 1.0, 1.0]
    damping = 1e-2
    start: Any = solve(parameters)[0]
    for number in range(8):
        j: Array
        off: Array
        j, off = jacobian(parameters)
        print(f"step {number}: off by {np.sqrt(np.mean(off**2)):.4f}")
        matrix = j.T @ j + damping * np.eye(len(TRUTH))
        parameters = parameters - np.linalg.solve(matrix, j.T @ off)
        damping /= 10
    print("found", parameters.round(2), "for", TRUTH)

    fitted = solve(parameters)[0]
    panels = [
        Panel(
            name,
            [
                Curve(what, list(zip(TIMES.tolist(), y[:, k].tolist(), strict=True)))
                for what, y in (("fit", fitted), ("measured", measured), ("start", start))
            ],
        )
        for k, name in enumerate(("Prey", "Predators"))
    ]
    Path("ode_fit.svg").write_text(chart(panels, "time"))
    if np.abs(parameters - TRUTH).max() > 0.1:
        sys.exit("error: expected parameters within 0.1 of the true ones")


if __name__ == "__main__":
    main()
