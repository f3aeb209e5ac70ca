"""Find cameras and points from what the cameras saw: Levenberg-Marquardt with a sparse Jacobian.

    .venv/bin/python examples/bundle_adjustment.py

Writes bundle_adjustment.svg. Exit code 1 if the points are not seen where they were measured.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradir
import gradir.numpy as gnp
from gradir.frontends.training.chart import Curve, Panel, chart

CAMERAS, POINTS, SEEN = 8, 150, 900
SIZES = (6 * CAMERAS, 3 * POINTS)
FOCAL, NOISE = 500.0, 0.5

Array = np.ndarray[Any, Any]


def rotated(axis: Any, x: Any) -> Any:
    """The columns of x, turned about the columns of `axis` by their lengths."""
    angle = gnp.sqrt(gnp.sum(axis**2, axis=0) + 1e-20)
    axis = axis / angle
    along = gnp.sum(axis * x, axis=0) * (1 - gnp.cos(angle))
    return x * gnp.cos(angle) + gnp.cross(axis, x, axis=0) * gnp.sin(angle) + axis * along


def residuals(unknowns: Any, observed: Any, measured: Any) -> Any:
    """How far from the measured pixels each camera sees its points, as one vector."""
    cameras = unknowns[: SIZES[0]].reshape((CAMERAS, 6))[observed[:, 0]].T
    points = unknowns[SIZES[0] :].reshape((POINTS, 3))[observed[:, 1]].T
    x, y, depth = rotated(cameras[:3], points) + cameras[3:]
    pixels = gnp.stack([FOCAL * x / depth, FOCAL * y / depth], axis=-1)
    return (pixels - measured).reshape((-1,))


def columns_of(observed: Array) -> Array:
    """The unknowns that each observation depends on: 6 of its camera, 3 of its point."""
    cameras = 6 * observed[:, :1] + np.arange(6)
    return np.concatenate([cameras, SIZES[0] + 3 * observed[:, 1:] + np.arange(3)], axis=1)


def problem() -> tuple[Array, Array, Array]:
    """Unknowns to start from, pairs of a camera and a point, and where it was seen."""
    random = np.random.default_rng(0)
    cameras = np.concatenate(
        [0.3 * random.normal(size=(CAMERAS, 3)), random.normal((0, 0, 8), 0.5, (CAMERAS, 3))], 1
    )
    truth = np.concatenate([cameras.ravel(), random.normal(size=SIZES[1])])
    pairs = random.permutation(CAMERAS * POINTS)[:SEEN]
    observed = np.stack([pairs // POINTS, pairs % POINTS], axis=1)
    compiled: Any = gradir.jit(residuals)
    seen = compiled(truth, observed, np.zeros((SEEN, 2))).reshape(SEEN, 2)
    start = truth + random.normal(0, 0.3, truth.shape)
    return start, observed, seen + random.normal(0, NOISE, (SEEN, 2))


def normal_equations(blocks: Array, columns: Array, r: Array) -> tuple[Array, Array]:
    """J.T @ J and J.T @ r of blocks [observations, 2, 9] of the Jacobian."""
    matrix, vector = np.zeros((sum(SIZES), sum(SIZES))), np.zeros(sum(SIZES))
    places = (columns[:, :, None], columns[:, None, :])
    np.add.at(matrix, places, blocks.transpose(0, 2, 1) @ blocks)
    np.add.at(vector, columns, np.einsum("oki,ok->oi", blocks, r.reshape(-1, 2)))
    return matrix, vector


def main() -> None:
    """Solve the problem, and draw how the error falls."""
    x, *given = problem()
    columns = columns_of(given[0])
    indptr = np.arange(0, 18 * SEEN + 1, 9)
    pattern = (np.repeat(columns, 2, axis=0).ravel(), indptr, (2 * SEEN, len(x)))
    jacobian = gradir.sparse_jacobian(residuals, pattern, check=True)
    print(f"{2 * SEEN} x {len(x)} entries by {jacobian.colors} tangents")

    compiled: Any = gradir.jit(residuals)
    damping = 1e-3
    r: Array = compiled(x, *given)
    errors = [float(np.sqrt(np.mean(r**2)))]
    for _ in range(12):
        blocks = jacobian(x, *given).reshape(SEEN, 2, 9)
        matrix, vector = normal_equations(blocks, columns, r)
        matrix += damping * np.diag(np.diag(matrix))
        moved = x - np.linalg.solve(matrix, vector)
        tried: Array = compiled(moved, *given)
        if tried @ tried < r @ r:
            x, r, damping = moved, tried, damping / 10
        else:
            damping *= 10
        errors.append(float(np.sqrt(np.mean(r**2))))
    print(f"error {errors[0]:.0f} pixels before, {errors[-1]:.2f} after, noise {NOISE:.2f}")
    panel = Panel("Error in pixels", [Curve("", list(enumerate(errors)))])
    Path("bundle_adjustment.svg").write_text(chart([panel], "step"))
    if not errors[-1] < NOISE:
        sys.exit("error: expected an error below the noise")


if __name__ == "__main__":
    main()
