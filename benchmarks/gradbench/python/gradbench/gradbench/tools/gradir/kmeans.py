"""The distances of points from the nearest of some centroids, and Newton's direction.

The Hessian is diagonal, so its product with ones is its diagonal.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp


def _cost(centroids: Any, points: Any) -> Any:
    squares = gnp.sum(points * points, axis=1)
    of_centroids = gnp.sum(centroids * centroids, axis=1)
    return gnp.sum(squares + gnp.min(of_centroids - 2 * points @ centroids.T, axis=1))


def _direction(centroids: Any, points: Any) -> Any:
    slope = gradir.grad(lambda x: _cost(x, points))
    gradient, diagonal = gradir.jvp(slope, (centroids,), (gnp.ones_like(centroids),))
    return gradient / diagonal


_runs = partial(
    wrap.multiple_runs,
    pre=lambda given: (np.array(given["centroids"], float), np.array(given["points"], float)),
)
_compiled_cost, _compiled_direction = gradir.jit(_cost), gradir.jit(_direction)


@_runs(post=float)
def cost(given: Any) -> Any:
    return _compiled_cost(*given)


@_runs(post=np.ndarray.tolist)
def dir(given: Any) -> Any:
    return _compiled_direction(*given)
