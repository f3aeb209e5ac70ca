"""Objectives as users of SciPy and scikit-learn write them, in plain NumPy: gradir differentiates
them as they are, and scipy.optimize finds their optimum."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gradir

optimize: Any = import_module("scipy.optimize")
Array = np.ndarray[Any, np.dtype[Any]]
Objective = Callable[[Any], Any]
RANDOM = np.random.default_rng(11)


def logistic_regression() -> tuple[Objective, Array, float]:
    """The penalized negative log likelihood of two classes; its optimum is a root of the slope."""
    x = RANDOM.normal(size=(80, 3))
    labels = (x @ [1.0, -2.0, 0.5] + RANDOM.logistic(size=80) > 0).astype(float)

    def objective(w: Any) -> Any:
        margins = np.dot(x, w[:3]) + w[3]
        losses = np.logaddexp(0, -margins * (2 * labels - 1))
        return losses.mean() + 0.01 * np.sum(w[:-1] ** 2)

    return objective, np.zeros(4), 1e-7


def gaussian_mixture() -> tuple[Objective, Array, float]:
    """The negative log likelihood of two normal distributions in the plane."""
    points = np.concatenate([RANDOM.normal(-2, 0.6, (40, 2)), RANDOM.normal(1.5, 1.0, (60, 2))])

    def objective(p: Any) -> Any:
        shares = p[:2] - np.log(np.sum(np.exp(p[:2])))
        means, scales = p[2:6].reshape(2, 2), np.exp(p[6:8])
        apart = points[:, None, :] - means[None]
        logs = -0.5 * np.sum((apart / scales[:, None]) ** 2, axis=-1) - 2 * np.log(scales)
        logs = logs + shares - np.log(2 * np.pi)
        top = np.max(logs, axis=1, keepdims=True)
        return -np.sum(top[:, 0] + np.log(np.sum(np.exp(logs - top), axis=1))) / len(points)

    return objective, np.array([0.1, -0.1, -1.0, -1.0, 1.0, 1.0, 0.0, 0.0]), 1e-6


def gaussian_process() -> tuple[Objective, Array, float]:
    """The negative log marginal likelihood, by NumPy's own linear algebra."""
    x = np.sort(RANDOM.uniform(0, 5, 30))
    y = np.sin(2 * x) + 0.1 * RANDOM.normal(size=30)

    def objective(p: Any) -> Any:
        length, size, noise = np.exp(p)
        distances = (x[:, None] - x[None, :]) / length
        covariance = size**2 * np.exp(-0.5 * distances**2) + noise**2 * np.eye(len(x))
        sign, logdet = np.linalg.slogdet(covariance)
        return 0.5 * (y @ np.linalg.solve(covariance, y) + logdet) / len(x) * sign

    return objective, np.log(np.array([1.0, 1.0, 0.5])), 1e-5


def kepler_orbit() -> tuple[Objective, Array, float]:
    """Radial velocities of a star: Kepler's equation is solved by Newton's iteration."""
    times = np.linspace(0.0, 10.0, 25)

    def velocities(p: Any) -> Any:
        period, eccentricity, size, phase = p[0], p[1], p[2], p[3]
        mean = 2 * np.pi * times / period + phase
        anomaly = mean + eccentricity * np.sin(mean)
        for _ in range(8):
            error = anomaly - eccentricity * np.sin(anomaly) - mean
            anomaly = anomaly - error / (1 - eccentricity * np.cos(anomaly))
        true = 2 * np.arctan2(
            np.sqrt(1 + eccentricity) * np.sin(anomaly / 2),
            np.sqrt(1 - eccentricity) * np.cos(anomaly / 2),
        )
        return size * (np.cos(true) + eccentricity)

    truth = np.array([3.1, 0.3, 2.0, 0.4])
    seen = velocities(truth)

    def objective(p: Any) -> Any:
        return np.mean((velocities(p) - seen) ** 2)

    return objective, truth + np.array([0.05, -0.05, -0.2, 0.1]), 1e-6


MAKERS = (logistic_regression, gaussian_mixture, gaussian_process, kepler_orbit)


@pytest.mark.parametrize("make", MAKERS)
def test_objective(make: Callable[[], tuple[Objective, Array, float]]) -> None:
    objective, start, slope_at_the_optimum = make()
    both = gradir.jit(gradir.value_and_grad(objective))

    def slope_at(p: Any) -> Any:
        return both(p)[1]

    value, slope = both(start)
    np.testing.assert_allclose(value, objective(start), 1e-13)
    assert optimize.check_grad(objective, slope_at, start) < 2e-6 * (1 + np.abs(slope).max())
    found = optimize.minimize(both, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    assert found.fun < value and np.abs(both(found.x)[1]).max() < slope_at_the_optimum
    if make is kepler_orbit:
        np.testing.assert_allclose(found.x, [3.1, 0.3, 2.0, 0.4], 1e-5)
    hessian = gradir.hessian(objective)(found.x)
    assert np.linalg.eigvalsh(hessian).min() > -1e-6
    # Newton's method, by the exact Hessian, ends there too
    newton = optimize.minimize(
        both, start, jac=True, hess=gradir.jit(gradir.hessian(objective)), method="trust-exact"
    )
    np.testing.assert_allclose(newton.fun, found.fun, 1e-6, 1e-9)
