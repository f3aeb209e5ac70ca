"""The functions of GradBench's evals, as its repository asks for them, against plain NumPy."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "gradbench"
MODULES = FOLDER / "python" / "gradbench" / "gradbench" / "tools" / "gradir"
EVALS = (FOLDER / "tools" / "gradir" / "evals.txt").read_text().split()

# GradBench's module of this name, as far as tools need it.
WRAP = """
from types import SimpleNamespace

def function(*, pre, post):
    def decorator(function):
        def wrapped(given):
            return {"success": True, "output": post(function(pre(given))), "timings": []}
        return SimpleNamespace(function=function, wrapped=wrapped)
    return decorator

multiple_runs = function
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `gradbench`."""
    folder = tmp_path_factory.mktemp("gradbench")
    (folder / "gradbench").mkdir()
    (folder / "gradbench" / "__init__.py").touch()
    (folder / "gradbench" / "wrap.py").write_text(WRAP)
    return folder


@pytest.fixture
def call(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The output of a function of an eval for an input, through JSON."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.syspath_prepend(str(MODULES))

    def run(name: str, function: str, **given: Any) -> Any:
        module: ModuleType = importlib.import_module(name)
        asked = json.loads(json.dumps(given, default=np.ndarray.tolist))
        found: dict[str, Any] = getattr(module, function).wrapped(asked)
        return json.loads(json.dumps(found["output"]))

    yield run
    for name in {"gradbench", "gradbench.wrap", "descent", *EVALS} - before:
        sys.modules.pop(name, None)


def slopes(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Central differences of a function, along the last axes."""
    columns: list[Any] = []
    for k in range(x.size):
        unit = np.zeros(x.size)
        unit[k] = step
        ends = [np.asarray(function(x + s * unit.reshape(x.shape))) for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, axis=-1)


def close(found: Any, wanted: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(np.array(found), wanted, rtol=rtol, atol=rtol)


def test_hello(call: Callable[..., Any]) -> None:
    # the input is a number
    module = importlib.import_module("hello")
    assert module.square.wrapped(3)["output"] == 9
    assert module.double.wrapped(3)["output"] == 6


def test_llsq(call: Callable[..., Any]) -> None:
    x, n = np.linspace(-1, 1, 5), 8

    def loss(x: Any) -> Any:
        t = -1 + 2 * np.arange(n) / (n - 1)
        return 0.5 * np.sum((np.sign(t) - np.polynomial.polynomial.polyval(t, x)) ** 2)

    close(call("llsq", "primal", x=x, n=n), loss(x))
    close(call("llsq", "gradient", x=x, n=n), slopes(loss, x), 1e-8)


def test_lse(call: Callable[..., Any]) -> None:
    x = np.array([1.0, 800.0, 799.0])
    powers = np.exp(x - 800)
    close(call("lse", "primal", x=x), 800 + np.log(np.sum(powers)))
    close(call("lse", "gradient", x=x), powers / np.sum(powers))


def test_ode(call: Callable[..., Any]) -> None:
    def solve(x: Any, steps: int = 6) -> Any:
        y, h = np.zeros_like(x), 2.0 / steps

        def slope(y: Any) -> Any:
            return x * np.concatenate([[1.0], y[:-1]])

        for _ in range(steps):
            k1 = slope(y)
            k2 = slope(y + h / 2 * k1)
            k3 = slope(y + h / 2 * k2)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
        return y

    x = np.linspace(0.5, 1.5, 4)
    close(call("ode", "primal", x=x, s=6), solve(x))
    close(call("ode", "gradient", x=x, s=6), slopes(lambda x: solve(x)[-1], x), 1e-8)


def test_kmeans(call: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    points, centroids = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    squares = np.sum((points[:, None] - centroids) ** 2, axis=2)
    nearest = np.argmin(squares, axis=1)
    wanted = [c - points[nearest == k].mean(0) for k, c in enumerate(centroids)]
    close(call("kmeans", "cost", points=points, centroids=centroids), np.sum(squares.min(1)))
    close(call("kmeans", "dir", points=points, centroids=centroids), wanted)


def test_gmm(call: Callable[..., Any]) -> None:
    rng, d, k, n = np.random.default_rng(0), 3, 2, 5
    free = {
        "alpha": rng.normal(size=k), "mu": rng.normal(size=(k, d)),
        "q": 0.1 * rng.normal(size=(k, d)), "l": 0.1 * rng.normal(size=(k, d * (d - 1) // 2)),
    }  # fmt: skip
    given = {"d": d, "k": k, "n": n, "x": rng.normal(size=(n, d)), "m": 2, "gamma": 1.5}

    def objective(**changed: Any) -> Any:
        return call("gmm", "objective", **given, **(free | changed))

    # the density by its definition: weights, Gaussians with these precisions, Wishart's prior
    def density() -> float:
        factors = np.zeros((k, d, d))
        places = [(r, c) for c in range(d) for r in range(c + 1, d)]
        for (row, column), values in zip(places, free["l"].T, strict=True):
            factors[:, row, column] = values
        factors += np.exp(free["q"])[:, :, None] * np.eye(d)
        weights = np.exp(free["alpha"]) / np.sum(np.exp(free["alpha"]))
        total = 0.0
        for x in given["x"]:
            parts = [
                w * np.linalg.det(f) * np.exp(-0.5 * np.sum((f @ (x - mean)) ** 2))
                for w, f, mean in zip(weights, factors, free["mu"], strict=True)
            ]
            total += np.log(sum(parts) / (2 * np.pi) ** (d / 2))
        return total

    def prior(gamma: float, m: int) -> float:
        from math import lgamma

        degrees = d + m + 1
        gammas = sum(lgamma(0.5 * (degrees - j)) for j in range(d)) + d * (d - 1) / 4 * np.log(
            np.pi
        )
        norm = np.sum(np.exp(2 * free["q"])) + np.sum(free["l"] ** 2)
        constant = degrees * d * np.log(gamma / np.sqrt(2)) - gammas
        return float(k * constant - 0.5 * gamma**2 * norm + m * np.sum(free["q"]))

    close(objective(), density() + prior(1.5, 2))
    found = call("gmm", "jacobian", **given, **free)
    for name in free:
        wanted = slopes(lambda x, name=name: objective(**{name: x}), free[name])
        close(np.ravel(found[name]), np.ravel(wanted), 1e-7)


def test_lstm(call: Callable[..., Any]) -> None:
    rng, layers, bits, steps = np.random.default_rng(0), 2, 3, 4
    main, extra = rng.random((2 * layers, 4 * bits)), rng.random((3, bits))
    state, text = rng.random((2 * layers, bits)), rng.integers(0, 2, (steps, bits)) * 1.0

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def loss(main: Any, extra: Any) -> Any:
        held, total = state.copy(), 0.0
        for given, wanted in pairwise(text):
            x = given * extra[0]
            for k in range(0, 2 * layers, 2):
                gates = np.concatenate([x, held[k], x, held[k]]) * main[k] + main[k + 1]
                forget, ingate, outgate, change = np.split(gates, 4)
                held[k + 1] = held[k + 1] * sigmoid(forget) + sigmoid(ingate) * np.tanh(change)
                x = held[k] = sigmoid(outgate) * np.tanh(held[k + 1])
            guess = x * extra[1] + extra[2]
            total += np.sum(wanted * (guess - np.log(np.sum(np.exp(guess)) + 2)))
        return -total / ((steps - 1) * bits)

    given = {"main_params": main, "extra_params": extra, "state": state, "sequence": text}
    close(call("lstm", "objective", **given), loss(main, extra))
    by_main = slopes(lambda x: loss(x, extra), main)
    by_extra = slopes(lambda x: loss(main, x), extra)
    close(call("lstm", "jacobian", **given), np.concatenate([by_main, by_extra]), 1e-8)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_det(call: Callable[..., Any], n: int) -> None:
    a = np.random.default_rng(n).normal(size=(n, n))
    wanted = np.linalg.det(a) * np.linalg.inv(a).T
    close(call("det", "primal", A=a.ravel(), ell=n), np.linalg.det(a))
    close(call("det", "gradient", A=a.ravel(), ell=n), wanted.ravel(), 1e-10)


def reprojected(camera: Any, x: Any, weight: float, seen: Any) -> Any:
    """The error of an observation: rotation, center, focal length, offset, bend."""
    axis, center, (focal, px, py, k1, k2) = camera[:3], camera[3:6], camera[6:]
    angle = np.linalg.norm(axis)
    unit, turned = axis / angle, x - center
    turned = (
        turned * np.cos(angle)
        + np.cross(unit, turned) * np.sin(angle)
        + unit * np.dot(unit, turned) * (1 - np.cos(angle))
    )
    flat = turned[:2] / turned[2]
    square = flat @ flat
    return weight * (flat * (1 + k1 * square + k2 * square**2) * focal + [px, py] - seen)


def test_ba(call: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    camera, x, weight, seen = (
        rng.random(11),
        rng.random(3) + np.array([0, 0, 5]),
        0.7,
        rng.random(2),
    )
    n, m, p = 2, 3, 7
    given = {"n": n, "m": m, "p": p, "cam": camera, "x": x, "w": weight, "feat": seen}
    found = call("ba", "objective", **given)
    assert (found["reproj_error"]["repeated"], found["w_err"]["repeated"]) == (p, p)
    close(found["reproj_error"]["elements"], reprojected(camera, x, weight, seen))
    close(found["w_err"]["element"], 1 - weight**2)

    def errors(free: Any) -> Any:
        return reprojected(free[:11], free[11:14], free[14], seen)

    matrix = call("ba", "jacobian", **given)
    wanted = slopes(errors, np.concatenate([camera, x, [weight]]))
    close(matrix["vals"], [*wanted.ravel(), -2 * weight], 1e-7)
    columns = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    assert matrix["cols"] == [*columns, *columns, 11 * n + 3 * m + p - 1]
    # the first 30 of 3p + 1 starts of rows: 2p rows of 15, then p of 1
    assert matrix["rows"] == [15 * min(k, 2 * p) + max(0, k - 2 * p) for k in range(22)] + [
        30 * p + p
    ]


def test_ba_without_rotation(call: Callable[..., Any]) -> None:
    camera = np.array([0.0] * 6 + [1, 0, 0, 0, 0])
    given = {"n": 1, "m": 1, "p": 1, "cam": camera, "x": [1, 2, 4], "w": 1, "feat": [0, 0]}
    close(call("ba", "objective", **given)["reproj_error"]["elements"], [0.25, 0.5])


@pytest.mark.parametrize("is_simple", [True, False])
def test_ht(call: Callable[..., Any], is_simple: bool) -> None:
    rng, vertices, matches = np.random.default_rng(0), 9, 4
    parents = [-1, *(0 if k == 0 else 4 * f + k for f in range(5) for k in range(4)), 0]
    bones = np.tile(np.eye(4), (22, 1, 1))
    bones[:, :3] += 0.1 * rng.normal(size=(22, 3, 4))
    base = np.concatenate([rng.normal(size=(vertices, 3)), np.ones((vertices, 1))], axis=1)
    model = {
        "bone_names": [str(k) for k in range(22)], "parents": parents, "is_mirrored": True,
        "base_relatives": bones, "inverse_base_absolutes": np.linalg.inv(bones),
        "base_positions": base, "weights": rng.random((vertices, 22)),
        "triangles": rng.integers(0, vertices, (6, 3)),
    }  # fmt: skip
    matched = rng.integers(0, vertices if is_simple else 6, matches)
    data = {"model": model, "correspondences": matched, "points": rng.normal(size=(matches, 3))}
    theta = 0.3 * rng.normal(size=26)
    us = np.zeros((0, 2)) if is_simple else rng.random((matches, 2))

    def about(axis: int, angle: float) -> Any:
        turn, (a, b) = np.eye(3), [(1, 2), (2, 0), (0, 1)][axis]
        turn[a, a] = turn[b, b] = np.cos(angle)
        turn[b, a] = np.sin(angle)
        turn[a, b] = -turn[b, a]
        return turn

    def distances(theta: Any, us: Any) -> Any:
        angles = np.zeros((22, 2))
        for finger in range(5):
            x, z, *others = theta[6 + 4 * finger : 10 + 4 * finger]
            angles[1 + 4 * finger + 1] = x, z
            angles[1 + 4 * finger + 2 : 1 + 4 * finger + 4, 0] = others
        absolute: list[Any] = []
        for bone, parent, (x, z) in zip(bones, parents, angles, strict=True):
            turn = np.eye(4)
            turn[:3, :3] = about(2, z) @ about(0, x)
            absolute.append((np.eye(4) if parent < 0 else absolute[parent]) @ bone @ turn)
        at = np.zeros((vertices, 3))
        for k, matrix in enumerate(absolute):
            moved = base @ (matrix @ model["inverse_base_absolutes"][k])[:3].T
            at += model["weights"][:, k : k + 1] * moved
        at[:, 0] *= -1
        axis, angle = theta[:3] / np.linalg.norm(theta[:3]), np.linalg.norm(theta[:3])
        cross = np.cross(np.eye(3), axis)
        turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        at = at @ turn.T + theta[3:6]
        if is_simple:
            return (data["points"] - at[matched]).ravel()
        corners = at[model["triangles"][matched]]
        shares = np.concatenate([us, 1 - us.sum(1, keepdims=True)], axis=1)
        return (data["points"] - np.sum(shares[:, :, None] * corners, axis=1)).ravel()

    given = {"theta": theta, "us": us, "data": data}
    close(call("ht", "objective", **given), distances(theta, us), 1e-10)
    wanted = slopes(lambda x: distances(x, us), theta)
    if not is_simple:
        by_us = slopes(lambda x: distances(theta, x), us).reshape(matches, 3, matches, 2)
        own = np.stack([by_us[k, :, k] for k in range(matches)]).reshape(-1, 2)
        wanted = np.concatenate([own, wanted], axis=1)
    close(call("ht", "jacobian", **given), wanted, 1e-7)


@pytest.mark.parametrize("mode", ["ff", "fr", "rf", "rr"])
def test_saddle_and_particle(call: Callable[..., Any], mode: str) -> None:
    # the numbers that GradBench checks with
    close(call("saddle", mode, start=[1.0, 1.0]), [8.246324826140356e-06] * 4)
    close(call("particle", mode, w=0.0), 0.2071918746486116, 1e-10)


def test_the_protocol(package: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"kind": "start", "eval": "hello"},
        {"kind": "define", "module": "hello"},
        {"kind": "define", "module": "there_is_none"},
        {"kind": "evaluate", "module": "hello", "function": "double", "input": 2.5},
        {"kind": "evaluate", "module": "hello", "function": "double", "input": "text"},
        {"kind": "analysis", "of": 3, "valid": True},
    ]
    given = "".join(json.dumps({"id": k} | m) + "\n" for k, m in enumerate(messages))
    paths = {"PYTHONPATH": f"{package}:{FOLDER.parents[1]}", "PATH": "", "HOME": str(package)}
    done = subprocess.run(
        [sys.executable, str(MODULES / "run.py")],
        input=given, text=True, capture_output=True, env=paths, check=True,
    )  # fmt: skip
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in told] == list(range(len(messages)))
    assert told[0]["tool"] == "gradir"
    assert [one.get("success") for one in told[1:5]] == [True, False, True, False]
    assert "there_is_none" in told[2]["error"]
    assert told[3]["output"] == 5


def test_all_evals_have_a_module() -> None:
    found = {path.stem for path in MODULES.glob("*.py")} - {"run", "descent"}
    assert found == set(EVALS)
