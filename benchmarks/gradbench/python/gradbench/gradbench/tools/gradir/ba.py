"""Bundle adjustment: how far points are from where cameras saw them, and the sparse Jacobian."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp

OF_CAMERA, OF_POINT = 11, 3
WIDTH = OF_CAMERA + OF_POINT + 1


def _errors(camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """Both errors of an observation."""
    turned = _rotated(camera[:3], point - camera[3:6])
    flat = turned[:2] / turned[2]
    square = gnp.sum(flat * flat)
    bend = 1 + camera[9] * square + camera[10] * square * square
    return weight * (flat * bend * camera[6] + camera[7:9] - seen)


def _rotated(axis: Any, x: Any) -> Any:
    """x turned about an axis by its length, by Rodrigues' formula."""
    square = gnp.sum(axis * axis)
    angle = gnp.sqrt(gnp.where(square > 0, square, 1))
    unit = axis / angle
    along = gnp.sum(unit * x) * (1 - gnp.cos(angle))
    turned = x * gnp.cos(angle) + gnp.cross(unit, x) * gnp.sin(angle) + unit * along
    return gnp.where(square > 0, turned, x + gnp.cross(axis, x))


def _objective(cameras: Any, points: Any, weights: Any, seen: Any, observed: Any) -> Any:
    chosen = cameras[observed[:, 0]], points[observed[:, 1]]
    return gradir.vmap(_errors)(*chosen, weights, seen), 1 - weights * weights


def _jacobian(cameras: Any, points: Any, weights: Any, seen: Any, observed: Any) -> Any:
    """The rows, columns and values of the matrix, by rows."""
    of_one = gradir.jacrev(_errors, argnums=(0, 1, 2))
    chosen = cameras[observed[:, 0]], points[observed[:, 1]]
    camera, point, weight = gradir.vmap(of_one)(*chosen, weights, seen)
    blocks = gnp.concatenate([camera, point, weight[..., None]], axis=-1)
    count, first = len(weights), OF_CAMERA * len(cameras) + OF_POINT * len(points)
    of_weights = first + gnp.arange(count, dtype=gnp.int32)
    columns = gnp.concatenate(
        [
            OF_CAMERA * observed[:, :1] + gnp.arange(OF_CAMERA, dtype=gnp.int32),
            OF_CAMERA * len(cameras)
            + OF_POINT * observed[:, 1:]
            + gnp.arange(OF_POINT, dtype=gnp.int32),
            of_weights[:, None],
        ],
        axis=1,
    )
    columns = gnp.broadcast_to(columns[:, None], (count, 2, WIDTH))
    rows = gnp.concatenate(
        [
            WIDTH * gnp.arange(2 * count, dtype=gnp.int32),
            2 * WIDTH * count + gnp.arange(count + 1, dtype=gnp.int32),
        ]
    )
    return (
        rows,
        gnp.concatenate([columns.reshape(-1), of_weights]),
        gnp.concatenate([blocks.reshape(-1), -2 * weights]),
    )


def _prepared(given: Any) -> Any:
    n, m, p = (given[name] for name in "nmp")
    places = np.arange(p)
    return (
        np.tile(np.array(given["cam"], float), (n, 1)),
        np.tile(np.array(given["x"], float), (m, 1)),
        np.full(p, float(given["w"])),
        np.tile(np.array(given["feat"], float), (p, 1)),
        np.stack([places % n, places % m], axis=1).astype(np.int32),
    )


def _errors_told(found: Any) -> Any:
    errors, of_weights = found
    return {
        "reproj_error": {"elements": errors[0].tolist(), "repeated": len(errors)},
        "w_err": {"element": float(of_weights[0]), "repeated": len(of_weights)},
    }


def _matrix_told(found: Any) -> Any:
    names = ("rows", "cols", "vals")
    told = {name: part[: 2 * WIDTH].tolist() for name, part in zip(names, found, strict=True)}
    return {name: told[name] + [part[-1].item()] for name, part in zip(names, found, strict=True)}


_runs = partial(wrap.multiple_runs, pre=_prepared)
_compiled_objective, _compiled_jacobian = gradir.jit(_objective), gradir.jit(_jacobian)


@_runs(post=_errors_told)
def objective(given: Any) -> Any:
    return _compiled_objective(*given)


@_runs(post=_matrix_told)
def jacobian(given: Any) -> Any:
    return _compiled_jacobian(*given)
