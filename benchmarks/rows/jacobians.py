"""Jacobians of GradBench: hand tracking and bundle adjustment, beside C++ written by hand.

Both are programs of ADBench (Srajer, Kukelova, Fitzgibbon: A benchmark of selected algorithmic
differentiation tools, 2018); a seed makes their data, of the sizes of its smaller files.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import harness
import numpy as np

from rows.row import GRADIR, Asked, Measured, Row, Run, Setting
from rows.timing import hot_parts, timed

SOURCE = Path(__file__).parent.parent / "by_hand" / "gradbench.cpp"
BY_HAND = "C++ by hand"
BONES, VERTICES, TRIANGLES, MATCHES = 22, 544, 1084, 100
PARENTS = [-1, *(0 if k == 0 else 4 * f + k for f in range(5) for k in range(4)), 0]
JOINTS = np.array([1 + 4 * f + k for f in range(5) for k in (1, 1, 2, 3)])
AXES = np.array([0, 1, 0, 0] * 5)
CAMERAS, POINTS, OBSERVATIONS = 49, 7776, 31843

Program = Callable[[Any, Any], Callable[..., Any]]
"""A Jacobian from a library's arrays and the library."""


# Hand tracking: distances of matched points from a skinned mesh.


def vertices(np_: Any, theta: Any, bones: Any, inverses: Any, base: Any, weights: Any) -> Any:
    """All vertices [3, n] of the mesh in a pose."""
    pose = np_.zeros((BONES, 3)).at[JOINTS, AXES].set(theta[6:])
    (cx, cz, cy), (sx, sz, sy) = np_.cos(pose).T, np_.sin(pose).T
    o, e = np_.zeros(BONES), np_.ones(BONES)
    turns = [
        *(cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, o),
        *(sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, o),
        *(-sy, cy * sx, cy * cx, o),
        *(o, o, o, e),
    ]
    relative = bones @ np_.stack(turns, -1).reshape((BONES, 4, 4))
    absolute: list[Any] = []
    for k, parent in enumerate(PARENTS):
        absolute.append(relative[k] if parent < 0 else absolute[parent] @ relative[k])
    moves = (np_.stack(absolute) @ inverses)[:, :3]
    skin = (weights[:, None, :] * base[None]).reshape((4 * BONES, VERTICES))
    mesh = np_.permute_dims(moves, (1, 0, 2)).reshape((3, 4 * BONES)) @ skin
    return turn(np_, theta[:3]) @ mesh + theta[3:6][:, None]


def turn(np_: Any, axis: Any) -> Any:
    """The rotation about an axis by its length."""
    angle = np_.sqrt(np_.sum(axis * axis))
    x, y, z = axis[0] / angle, axis[1] / angle, axis[2] / angle
    s, c = np_.sin(angle), np_.cos(angle)
    rows = [
        *(x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s),
        *(x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s),
        *(x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c),
    ]
    return np_.stack(rows).reshape((3, 3))


def simple_hand(np_: Any, library: Any) -> Callable[..., Any]:
    """The matched points are vertices: a tangent for each of 26 parameters."""

    def distances(theta: Any, matched: Any, points: Any, *model: Any) -> Any:
        return points - vertices(np_, theta, *model)[:, matched].T

    return library.jacfwd(distances)


def complicated_hand(np_: Any, library: Any) -> Callable[..., Any]:
    """They lie in triangles, at `us`, each of which moves one point: 2 tangents more."""

    def jacobian(theta: Any, us: Any, corners: Any, points: Any, *model: Any) -> Any:
        def distances(theta: Any, us: Any) -> Any:
            at = vertices(np_, theta, *model).T
            u, v = us[:, :1], us[:, 1:]
            inside = u * at[corners[:, 0]] + v * at[corners[:, 1]]
            return points - (inside + (1 - u - v) * at[corners[:, 2]])

        def along(unit: Any) -> Any:
            of_us, tangent = partial(distances, theta), np_.broadcast_to(unit, us.shape)
            return library.jvp(of_us, (us,), (tangent,))[1]

        by_us = library.vmap(along, out_axes=-1)(np_.eye(2))
        return np_.concatenate([by_us, library.jacfwd(distances)(theta, us)], -1)

    return jacobian


def hand_model() -> list[Any]:
    """Bones relative to their parents, inverses of absolute ones, vertices, and their weights."""
    rng = np.random.default_rng(0)
    bones = np.tile(np.eye(4), (BONES, 1, 1))
    bones[:, :3, :3] = np.linalg.qr(rng.normal(size=(BONES, 3, 3)))[0]
    bones[:, :3, 3] = 0.1 * rng.normal(size=(BONES, 3))
    absolute: list[Any] = []
    for k, parent in enumerate(PARENTS):
        absolute.append(bones[k] if parent < 0 else absolute[parent] @ bones[k])
    base = np.concatenate([rng.normal(size=(3, VERTICES)), np.ones((1, VERTICES))])
    weights = rng.uniform(size=(BONES, VERTICES)) * (rng.uniform(size=(BONES, VERTICES)) < 0.2)
    weights[0] += 0.01
    return [bones, np.linalg.inv(np.stack(absolute)), base, weights / weights.sum(0)]


def hand_inputs(is_simple: bool) -> list[Any]:
    rng = np.random.default_rng(1)
    theta, points = 0.3 * rng.normal(size=26), rng.normal(size=(MATCHES, 3))
    if is_simple:
        return [theta, rng.integers(0, VERTICES, MATCHES, np.int32), points, *hand_model()]
    us = rng.uniform(0, 0.5, (MATCHES, 2))
    triangles = rng.integers(0, VERTICES, (TRIANGLES, 3), np.int32)
    corners = triangles[rng.integers(0, TRIANGLES, MATCHES)]
    return [theta, us, corners, points, *hand_model()]


def hand_by_hand(inputs: Sequence[Any]) -> harness.Call:
    native, model = compiled_cpp(), inputs[-4:]
    theta, (us, matched) = inputs[0], inputs[1:3] if len(inputs) == 8 else (None, inputs[1])
    columns = 26 if us is None else 28
    given = addresses(theta, us, *model, matched)

    def call() -> object:
        jacobian = np.empty((columns, MATCHES, 3))
        native.hand_tracking(VERTICES, MATCHES, *given, *addresses(jacobian))
        return jacobian.transpose(1, 2, 0)

    return call


# Bundle adjustment: how far points are from where cameras saw them.


def residuals(np_: Any, camera: Any, point: Any, weight: Any, seen: Any) -> Any:
    """Both residuals of an observation."""
    rx, ry, rz, *center, focal, px, py, k1, k2 = [camera[k] for k in range(11)]
    x, y, z = (point[k] - center[k] for k in range(3))
    angle = np_.sqrt(rx * rx + ry * ry + rz * rz)
    s, c = np_.sin(angle), np_.cos(angle)
    inverse = 1 / angle
    rx, ry, rz = rx * inverse, ry * inverse, rz * inverse
    along = (rx * x + ry * y + rz * z) * (1 - c)
    u = x * c + (ry * z - rz * y) * s + rx * along
    v = y * c + (rz * x - rx * z) * s + ry * along
    depth = z * c + (rx * y - ry * x) * s + rz * along
    u, v = u / depth, v / depth
    r2 = u * u + v * v
    bend = 1 + k1 * r2 + k2 * r2 * r2
    return weight * (u * bend * focal + px - seen[0]), weight * (v * bend * focal + py - seen[1])


def adjustment(np_: Any, library: Any) -> Callable[..., Any]:
    """For each observation 2 x 15 derivatives, those of a sparse matrix in the order of its rows.

    Then those of the residuals 1 - weight**2.
    """

    def residual(k: int, *args: Any) -> Any:
        return residuals(np_, *args)[k]

    def block(*args: Any) -> Any:
        rows: list[Any] = []
        for k in (0, 1):
            by = library.grad(partial(residual, k), argnums=(0, 1, 2))
            camera, point, weight = by(*args)
            rows.append(np_.concatenate([camera, point, weight[None]]))
        return np_.stack(rows)

    def jacobian(cameras: Any, points: Any, weights: Any, seen: Any, observed: Any) -> Any:
        blocks = library.vmap(block)(cameras[observed[:, 0]], points[observed[:, 1]], weights, seen)
        return blocks, -2 * weights

    return jacobian


def adjustment_inputs() -> list[Any]:
    rng = np.random.default_rng(0)
    cameras = rng.normal(size=(CAMERAS, 11)) * ([0.3] * 3 + [1] * 3 + [50] + [1] * 2 + [0.01] * 2)
    cameras[:, 6] += 500
    points = rng.normal((0, 0, 8), size=(POINTS, 3))
    weights, seen = rng.uniform(0.5, 1.5, OBSERVATIONS), rng.normal(size=(OBSERVATIONS, 2))
    observed = rng.integers(0, [CAMERAS, POINTS], (OBSERVATIONS, 2), np.int32)
    return [cameras, points, weights, seen, observed]


def adjustment_by_hand(inputs: Sequence[Any]) -> harness.Call:
    native, given = compiled_cpp(), addresses(*inputs)

    def call() -> object:
        blocks, by_weight = np.empty((OBSERVATIONS, 2, 15)), np.empty(OBSERVATIONS)
        native.bundle_adjustment(OBSERVATIONS, *given, *addresses(blocks, by_weight))
        return blocks, by_weight

    return call


# All of them.


@cache
def compiled_cpp() -> ctypes.CDLL:
    harness.require_cxx_compiler()
    folder = Path(tempfile.mkdtemp(prefix="gradir-benchmark-"))
    target = folder / "gradbench.so"
    options = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC"]
    subprocess.run([harness.cxx_compiler(), *options, "-o", str(target), str(SOURCE)], check=True)
    return ctypes.CDLL(str(target))


def addresses(*arrays: Any) -> list[Any]:
    return [None if a is None else np.ctypeslib.as_ctypes(a) for a in arrays]


def jitted(name: str, program: Program, inputs: Sequence[Any]) -> harness.Call:
    """The call of a library's jitted Jacobian."""
    if name == GRADIR:
        compiled = in_gradir(program)
        return lambda: compiled(*inputs)
    jax = harness.library("jax")
    jax.config.update("jax_enable_x64", True)
    arrays = [jax.numpy.asarray(x) for x in inputs]
    compiled = jax.jit(program(jax.numpy, jax))
    return lambda: jax.block_until_ready(compiled(*arrays))


def in_gradir(program: Program) -> Any:
    gradir = harness.library("gradir")
    return gradir.jit(program(harness.library("gradir.numpy"), gradir))


def jacobian_row(
    program: Program,
    make_inputs: Callable[[], list[Any]],
    by_hand: Callable[[Sequence[Any]], harness.Call],
) -> Callable[[Run], Measured]:
    def measure(run: Run) -> Measured:
        inputs = make_inputs()
        contenders = [
            harness.Contender(GRADIR, lambda: jitted(GRADIR, program, inputs), "gradir"),
            harness.Contender("JAX", lambda: jitted("JAX", program, inputs), "jax"),
            harness.Contender(BY_HAND, lambda: by_hand(inputs)),
        ]
        figures = timed(run, contenders, "us")
        return Measured(figures, lambda: hot_parts(in_gradir(program).profile(*inputs)))

    return measure


_ASKED, _ALONE = [Asked("time", other=(BY_HAND, 1.2))], [Setting(threads=1)]

ROWS = (
    Row(
        "GradBench hand tracking, 544 vertices, 100 points, simple: Jacobian",
        jacobian_row(simple_hand, lambda: hand_inputs(True), hand_by_hand),
        _ASKED,
        _ALONE,
    ),
    Row(
        "the same, complicated: Jacobian by 26 angles and 2 x 100 places",
        jacobian_row(complicated_hand, lambda: hand_inputs(False), hand_by_hand),
        _ASKED,
        _ALONE,
    ),
    Row(
        "GradBench bundle adjustment, 31,843 observations: sparse Jacobian",
        jacobian_row(adjustment, adjustment_inputs, adjustment_by_hand),
        _ASKED,
        _ALONE,
    ),
)
