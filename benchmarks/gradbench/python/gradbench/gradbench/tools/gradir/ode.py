"""An ordinary differential equation by s steps of Runge and Kutta's method."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp

END = 2.0


def _solve(x: Any, s: int) -> Any:
    h = END / s

    def slope(y: Any) -> Any:
        return x * gnp.concatenate([gnp.ones(1), y[:-1]])

    def step(_: Any, y: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return gradir.fori_loop(0, s, step, gnp.zeros_like(x))


_primal = gradir.jit(_solve, static_argnums=1)
_gradient = gradir.jit(gradir.grad(lambda x, s: _solve(x, s)[-1]), static_argnums=1)
_runs = partial(
    wrap.multiple_runs,
    pre=lambda given: (np.array(given["x"], float), given["s"]),
    post=np.ndarray.tolist,
)


@_runs()
def primal(given: Any) -> Any:
    return _primal(*given)


@_runs()
def gradient(given: Any) -> Any:
    return _gradient(*given)
