"""Regression by a Gaussian process, whose length, height and noise follow from the data.

    .venv/bin/python examples/gaussian_process.py

Newton's method on the likelihood, by second derivatives through the Cholesky factor. Writes
gaussian_process.svg. Exit code 1 if the noise is not found.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir.frontends.training.chart import Curve, Panel, chart

COUNT, NOISE = 80, 0.15


def kernel(logs: Any, a: Any, b: Any) -> Any:
    """How alike the values at points a and b are: less the further apart."""
    length, height = gnp.exp(logs["length"]), gnp.exp(logs["height"])
    return height**2 * gnp.exp(-0.5 * ((a[:, None] - b[None, :]) / length) ** 2)


def factor(logs: Any, x: Any) -> Any:
    noise = gnp.exp(2 * logs["noise"])
    return gnp.linalg.cholesky(kernel(logs, x, x) + noise * gnp.eye(COUNT))


def loss(logs: Any, x: Any, y: Any) -> Any:
    """The negative logarithm of the likelihood of y."""
    lower = factor(logs, x)
    white = gnp.linalg.solve(lower, y)
    return 0.5 * gnp.sum(white**2) + gnp.sum(gnp.log(gnp.diagonal(lower)))


def predicted(logs: Any, x: Any, y: Any, at: Any) -> tuple[Any, Any]:
    """The mean and the deviation of the function's values at other points."""
    lower = factor(logs, x)
    across = gnp.linalg.solve(lower, kernel(logs, x, at))
    mean = across.T @ gnp.linalg.solve(lower, y)
    return mean, gnp.sqrt(gnp.exp(2 * logs["height"]) - gnp.sum(across**2, axis=0))


def main() -> None:
    """Find the three numbers, and draw what the process knows."""
    random = np.random.default_rng(0)
    x = np.sort(np.concatenate([random.uniform(0, 4, 50), random.uniform(6, 10, COUNT - 50)]))
    y = np.sin(x) + 0.3 * x + random.normal(0, NOISE, COUNT)

    names = ("length", "height", "noise")
    slope = gradir.jit(gradir.value_and_grad(loss))
    curvature = gradir.jit(gradir.hessian(loss))
    logs = {"length": 0.0, "height": 0.0, "noise": -1.0}
    for number in range(20):
        value, by_logs = slope(logs, x, y)
        if number % 2 == 0:
            print(f"step {number}: loss {value:.3f}")
        gradient = np.array([by_logs[name] for name in names])
        if np.abs(gradient).max() < 1e-6:
            break
        second = curvature(logs, x, y)
        matrix = np.array([[second[a][b] for b in names] for a in names])
        # downhill also where the loss is no bowl, and not too far
        values, vectors = np.linalg.eigh(matrix)
        step = vectors @ (vectors.T @ gradient / np.maximum(np.abs(values), 1.0))
        step *= min(1.0, 0.5 / np.abs(step).max())
        logs = {name: logs[name] - d for name, d in zip(names, step, strict=True)}
    print("found", {name: round(float(np.exp(log)), 2) for name, log in logs.items()})

    at = np.linspace(0, 10, 201)
    mean, deviation = gradir.jit(predicted)(logs, x, y, at)
    curves = [
        Curve(name, list(zip(at.tolist(), values.tolist(), strict=True)))
        for name, values in (
            ("mean", mean),
            ("upper", mean + 2 * deviation),
            ("lower", mean - 2 * deviation),
        )
    ]
    Path("gaussian_process.svg").write_text(chart([Panel("Mean, and 2 deviations", curves)], "x"))
    if abs(np.exp(logs["noise"]) - NOISE) > 0.05:
        sys.exit(f"error: expected a noise of {NOISE}")


if __name__ == "__main__":
    main()
