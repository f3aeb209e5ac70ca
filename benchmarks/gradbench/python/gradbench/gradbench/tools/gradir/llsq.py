"""Half the squares of a polynomial's distance from signs, at n points."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp


def _loss(x: Any, n: int) -> Any:
    def square(i: Any) -> Any:
        """The square of one distance."""
        t = -1.0 + i * 2.0 / (n - 1.0)

        def subtract(j: Any, state: Any) -> Any:
            distance, power = state
            return distance - x[j] * power, power * t

        start = (gnp.sign(t), gnp.ones_like(t))
        return gnp.square(gradir.fori_loop(0, x.shape[0], subtract, start)[0])

    return gnp.sum(gradir.vmap(square)(gnp.arange(n, dtype=gnp.float64))) / 2.0


_primal = gradir.jit(_loss, static_argnums=1)
_gradient = gradir.jit(gradir.grad(_loss), static_argnums=1)
_runs = partial(wrap.multiple_runs, pre=lambda given: (np.array(given["x"], float), given["n"]))


@_runs(post=float)
def primal(given: Any) -> Any:
    return _primal(*given)


@_runs(post=np.ndarray.tolist)
def gradient(given: Any) -> Any:
    return _gradient(*given)
