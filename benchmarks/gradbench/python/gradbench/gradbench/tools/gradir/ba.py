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


def _errors(camera: Any, point: Any, weight: Any, seen: Any) -> tuple[Any, Any]:
    """Both errors of an observation, in numbers: rotation, center, focal length, offset, bend."""
    *axis, cx, cy, cz, focal, px, py, k1, k2 = [camera[k] for k in range(OF_CAMERA)]
    x, y, z = _rotated(axis, point[0] - cx, point[1] - cy, point[2] - cz)
    u, v = x / z, y / z
    square = u * u + v * v
    bend = 1 + k1 * square + k2 * square * square
    error_u, error_v = u * bend * focal + px - seen[0], v * bend * focal + py - seen[1]
    return weight * error_u, weight * error_v


def _rotated(axis: list[Any], x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    """A point turned about an axis by its length, by Rodrigues' formula."""
    rx, ry, rz = axis
    square = rx * rx + ry * ry + rz * rz
    turns = square > 0
    angle = gnp.sqrt(gnp.where(turns, square, 1))
    s, c = gnp.where(turns, gnp.sin(angle), 1), gnp.where(turns, gnp.cos(angle), 1)
    inverse = gnp.where(turns, 1 / angle, 1)
    rx, ry, rz = rx * inverse, ry * inverse, rz * inverse
    along = (rx * x + ry * y + rz * z) * (1 - c)
    return (
        x * c + (ry * z - rz * y) * s + rx * along,
        y * c + (rz * x - rx * z) * s + ry * along,
        z * c + (rx * y - ry * x) * s + rz * along,
    )


def _objective(cameras: Any, points: Any, weights: Any, seen: Any, observed: Any) -> Any:
    chosen = cameras[observed[:, 0]], points[observed[:, 1]]
    both = gradir.vmap(_errors)(*chosen, weights, seen)
    return gnp.stack(both, axis=1), 1 - weights * weights


def _jacobian(cameras: Any, points: Any, weights: Any, seen: Any, observed: Any) -> Any:
    """The rows, columns and values of the matrix, by rows."""

    def block(*given: Any) -> Any:
        rows: list[Any] = []
        for k in (0, 1):
            slopes = gradir.grad(lambda *given, k=k: _errors(*given)[k], argnums=(0, 1, 2))
            camera, point, weight = slopes(*given)
            rows.append(gnp.concatenate([camera, point, weight[None]]))
        return gnp.stack(rows)

    chosen = cameras[observed[:, 0]], points[observed[:, 1]]
    blocks = gradir.vmap(block)(*chosen, weights, seen)
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
