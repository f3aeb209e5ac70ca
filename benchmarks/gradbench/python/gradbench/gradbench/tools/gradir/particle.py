"""The control with which a charged particle flies through the origin, by descent.

The names of functions say the modes of the descent's derivative and of the force's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import descent
import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp

STEP = 0.1


def _potential(x: Any, w: Any) -> Any:
    charges = gnp.stack([gnp.stack([10.0, 10.0 - w]), np.array([10.0, 0.0])])
    return gnp.sum(1 / gnp.sqrt(gnp.sum((charges - x) ** 2, axis=1)))


def _missed(by_force: descent.Gradient, w: Any) -> Any:
    """The square of where the particle crosses the axis, by Euler's steps and a part of one."""

    def after(state: Any) -> Any:
        x, v = state
        return x + STEP * v, v - STEP * by_force(lambda x: _potential(x, w))(x)

    start = (np.array([0.0, 8.0]), np.array([0.75, 0.0]))
    x, v = gradir.while_loop(lambda state: after(state)[0][1] >= 0, after, start)
    return gnp.square(x[0] - x[1] / v[1] * v[0])


def _control(outer: str, inner: str, w: Any) -> Any:
    by_outer, by_inner = descent.MODES[outer], descent.MODES[inner]
    return descent.argmin(by_outer, lambda w: _missed(by_inner, w), w)


def _compiled(outer: str, inner: str) -> Any:
    call = gradir.jit(partial(_control, outer, inner))
    return wrap.multiple_runs(pre=lambda given: np.float64(given["w"]), post=float)(call)


ff, fr, rf, rr = (_compiled(outer, inner) for outer in "fr" for inner in "fr")
