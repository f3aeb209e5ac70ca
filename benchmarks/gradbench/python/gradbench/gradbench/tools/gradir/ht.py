"""Hand tracking: distances of points from a skinned mesh in a pose, and their Jacobian."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gradbench import wrap

import gradir
import gradir.numpy as gnp

# The angles of theta behind the 6 of the whole hand: joints of five fingers, about x or z.
JOINTS = np.array([1 + 4 * finger + k for finger in range(5) for k in (1, 1, 2, 3)])
AXES = np.array([0, 1, 0, 0] * 5)
PARTS = ("parents", "base_relatives", "inverse_base_absolutes", "base_positions", "weights")


def _turns(angles: Any) -> Any:
    """The matrices [bones, 4, 4] of angles about x, z and y [bones, 3]."""
    (cx, cz, cy), (sx, sz, sy) = gnp.cos(angles).T, gnp.sin(angles).T
    zero, one = gnp.zeros(len(angles)), gnp.ones(len(angles))
    rows = [
        *(cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero),
        *(sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero),
        *(-sy, cy * sx, cy * cx, zero),
        *(zero, zero, zero, one),
    ]
    return gnp.stack(rows, axis=-1).reshape(-1, 4, 4)


def _turn(axis: Any) -> Any:
    """The rotation about an axis by its length."""
    angle = gnp.sqrt(gnp.sum(axis * axis))
    x, y, z = axis / angle
    s, c = gnp.sin(angle), gnp.cos(angle)
    rows = [
        *(x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s),
        *(x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s),
        *(x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c),
    ]
    return gnp.stack(rows).reshape(3, 3)


def _vertices(theta: Any, model: Any, parents: Any) -> Any:
    """All vertices [n, 3] of the mesh in a pose."""
    angles = gnp.zeros((len(parents), 3)).at[JOINTS, AXES].set(theta[6:])
    relative = model["base_relatives"] @ _turns(angles)
    absolute: list[Any] = []
    for k, parent in enumerate(parents):
        absolute.append(relative[k] if parent < 0 else absolute[parent] @ relative[k])
    moves = (gnp.stack(absolute) @ model["inverse_base_absolutes"])[:, :3]
    base, weights = model["base_positions"], model["weights"]
    # the sum over bones and coordinates is one product
    skin = (weights[:, :, None] * base[:, None]).reshape(len(base), -1)
    mesh = skin @ gnp.swapaxes(moves, 1, 2).reshape(-1, 3)
    mesh = mesh * np.array([model["side"], 1.0, 1.0])
    return mesh @ _turn(theta[:3]).T + theta[3:6]


def _distances(theta: Any, us: Any, data: Any, parents: Any) -> Any:
    """Matched points are vertices, or lie in triangles at `us`."""
    at, matched = _vertices(theta, data, parents), data["matched"]
    if us is None:
        return data["points"] - at[matched]
    u, v = us[:, :1], us[:, 1:]
    inside = u * at[matched[:, 0]] + v * at[matched[:, 1]] + (1 - u - v) * at[matched[:, 2]]
    return data["points"] - inside


def _slopes(theta: Any, us: Any, data: Any, parents: Any) -> Any:
    """[points, 3, 2 + 26], or 26 columns alone; a point moves with its own two of `us`."""
    by_theta = gradir.jacfwd(lambda theta: _distances(theta, us, data, parents))(theta)
    if us is None:
        return by_theta

    def along(unit: Any) -> Any:
        tangent = gnp.broadcast_to(unit, us.shape)
        return gradir.jvp(lambda us: _distances(theta, us, data, parents), (us,), (tangent,))[1]

    by_us = gradir.vmap(along, out_axes=-1)(gnp.eye(2))
    return gnp.concatenate([by_us, by_theta], axis=-1)


def _prepared(given: Any) -> Any:
    data, us = given["data"], given["us"]
    model = data["model"]
    matched = np.array(data["correspondences"], np.int32)
    if len(us):
        matched = np.array(model["triangles"], np.int32)[matched]
    arrays: dict[str, Any] = {name: np.array(model[name], float) for name in PARTS[1:]}
    arrays["points"] = np.array(data["points"], float)
    arrays["matched"], arrays["side"] = matched, -1.0 if model["is_mirrored"] else 1.0
    theta = np.array(given["theta"], float)
    return theta, np.array(us, float) if len(us) else None, arrays, tuple(model["parents"])


_objective = gradir.jit(_distances, static_argnums=3)
_jacobian = gradir.jit(_slopes, static_argnums=3)
_runs = partial(wrap.multiple_runs, pre=_prepared)


@_runs(post=lambda found: found.ravel().tolist())
def objective(given: Any) -> Any:
    return _objective(*given)


@_runs(post=lambda found: found.reshape(-1, found.shape[-1]).tolist())
def jacobian(given: Any) -> Any:
    return _jacobian(*given)
