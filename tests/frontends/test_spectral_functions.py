"""Functions of a matrix by its eigenvectors or singular vectors, at equal and close values.

Sums over all vectors, or a cluster of them, have derivatives there, of both orders; held against
central differences along lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

CLUSTERS = {
    "a pair": [1.0, 1, 2, 3],
    "two pairs": [0.5, 0.5, 2, 2],
    "three": [1.2, 1.2, 1.2, 2],
    "all": [0.9, 0.9, 0.9, 0.9],
    "close": [1.0, 1 + 1e-9, 2, 2 + 1e-5],
    "at the threshold": [1.0, 1 + 1e-3, 2, 2 + 3e-3],
    "apart": [0.5, 0.9, 1.5, 2],
}
TWO = ["a pair", "two pairs", "close", "at the threshold", "apart"]
"""Whose first two values are a cluster of their own."""


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


TURN, OTHER_TURN = (np.linalg.qr(random(4, 4, seed=k))[0] for k in (1, 2))
WEIGHTS, VECTOR = random(4, 4, seed=3), random(4, seed=4)


def weighed(x: Any) -> Any:
    return gnp.sum(x * WEIGHTS[: x.shape[-2], : x.shape[-1]])


def eigen(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(*gnp.linalg.eigh(a))


def singular(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(*gnp.linalg.svd(a, full_matrices=False))


WHOLE: dict[str, Callable[[Any], Any]] = {
    "exp": eigen(lambda w, v: weighed((v * gnp.exp(w)) @ v.T)),
    "log by diag": eigen(lambda w, v: weighed(v @ gnp.diag(gnp.log(w)) @ v.T)),
    "root by einsum": eigen(lambda w, v: weighed(gnp.einsum("ij,j,kj->ik", v, gnp.sqrt(w), v))),
    "on a vector": eigen(lambda w, v: gnp.sum(VECTOR * (v @ (gnp.sin(w) * (v.T @ VECTOR))))),
    "a quadratic form": eigen(lambda w, v: gnp.sum(gnp.exp(-w / 2) * (v.T @ VECTOR) ** 2)),
    "its diagonal": eigen(lambda w, v: gnp.sum(VECTOR * gnp.sum(v * v * gnp.tanh(w), 1))),
    "occupations": eigen(lambda w, v: weighed((v / (1 + gnp.exp((w - 1) / 0.3))) @ v.T)),
    "logsumexp": eigen(lambda w, v: gnp.log(gnp.sum(gnp.exp(w)))),
    "scaled by the matrix": lambda a: eigen(
        lambda w, v: weighed((v * gnp.exp(-a[0, 1] * w)) @ v.T)
    )(a),
    "the sum of a product": eigen(lambda w, v: gnp.mean(w * gnp.log(w)) + gnp.vdot(w, w**2)),
    "a power": eigen(lambda w, v: weighed(v @ (w[:, None] ** 2.5 * v.T)) ** 2),
}
OF_TWO: dict[str, Callable[[Any], Any]] = {
    "projector": eigen(lambda w, v: weighed(v[:, :2] @ v[:, :2].T)),
    "part of exp": eigen(lambda w, v: weighed((v[:, :2] * gnp.exp(w[:2])) @ v[:, :2].T)),
    "sums": eigen(lambda w, v: gnp.sum(w[:2] ** 3) + gnp.sum(gnp.exp(w[2:]))),
    "density": eigen(lambda w, v: gnp.sum(VECTOR * gnp.sum(v[:, 2:] ** 2, axis=1))),
}
OF_SVD: dict[str, Callable[[Any], Any]] = {
    "u f v": singular(lambda u, s, vh: weighed((u * gnp.log(1 + s)) @ vh)),
    "u f u": singular(lambda u, s, vh: weighed((u * gnp.exp(-s)) @ u.T)),
    "v f v": singular(lambda u, s, vh: weighed(gnp.einsum("ji,j,jk->ik", vh, gnp.sqrt(s), vh))),
    "polar": singular(lambda u, s, vh: weighed(u @ vh)),
    "sums of values": singular(lambda u, s, vh: gnp.sum(s**3) + gnp.sum(gnp.log(s))),
    "nuclear": lambda a: gnp.linalg.norm(a, "nuc"),
    "pinv": lambda a: weighed(gnp.linalg.pinv(a).T),
}
OF_TWO_PAIRS: dict[str, Callable[[Any], Any]] = {
    "low rank": singular(lambda u, s, vh: weighed((u[:, :2] * s[:2]) @ vh[:2])),
    "left projector": singular(lambda u, s, vh: weighed(u[:, :2] @ u[:, :2].T)),
}


def slopes(function: Callable[[Any], Any], a: Any, d: Any) -> tuple[float, float]:
    """The first and second derivative along a line, by central differences."""
    h = 2e-3
    values = [float(function(a + k * h * d)) for k in range(-4, 5)]
    first = np.dot([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280], values)
    second = np.dot(
        [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560], values
    )
    return first / h, second / (h * h)


def derivatives(function: Callable[[Any], Any], a: Any, d: Any) -> tuple[Any, Any, Any]:
    """By reverse mode, by forward mode, and the second one."""

    @gradir.jit
    def found(a: Any, d: Any) -> Any:
        curved = gnp.sum(gradir.hvp(function, (a,), (d,)) * d)
        forward = gradir.jvp(function, (a,), (d,))[1]
        return gnp.sum(gradir.grad(function)(a) * d), forward, curved

    return found(a, d)


def check(function: Callable[[Any], Any], a: Any, d: Any) -> None:
    first, second = slopes(function, a, d)
    reverse, forward, curved = derivatives(function, a, d)
    np.testing.assert_allclose([reverse, forward], first, 1e-8, 1e-9)
    np.testing.assert_allclose(curved, second, 1e-5, 1e-6)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", WHOLE)
def test_all_eigenvectors(name: str, cluster: str) -> None:
    d = random(4, 4, seed=5)
    check(WHOLE[name], (TURN * CLUSTERS[cluster]) @ TURN.T, (d + d.T) / 9)


@pytest.mark.parametrize("cluster", TWO)
@pytest.mark.parametrize("name", OF_TWO)
def test_a_cluster_of_eigenvectors(name: str, cluster: str) -> None:
    d = random(4, 4, seed=6)
    check(OF_TWO[name], (TURN * CLUSTERS[cluster]) @ TURN.T, (d + d.T) / 40)


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (4, 3), (3, 4)])
@pytest.mark.parametrize("name", OF_SVD)
@pytest.mark.parametrize("cluster", ["two pairs", "three", "all", "close", "apart"])
def test_all_singular_vectors(name: str, cluster: str, rows: int, columns: int) -> None:
    values = CLUSTERS[cluster][: min(rows, columns)]
    count = len(values)
    a = (TURN[:rows, :rows] if rows == 4 else np.linalg.qr(TURN[:3, :3])[0])[:, :count]
    b = (OTHER_TURN if columns == 4 else np.linalg.qr(OTHER_TURN[:3, :3])[0])[:, :count]
    check(OF_SVD[name], (a * values) @ b.T, random(rows, columns, seed=7) / 30)


@pytest.mark.parametrize("name", OF_TWO_PAIRS)
def test_a_cluster_of_singular_vectors(name: str) -> None:
    a = (TURN * CLUSTERS["two pairs"]) @ OTHER_TURN.T
    check(OF_TWO_PAIRS[name], a, random(4, 4, seed=8) / 40)


def test_single_precision() -> None:
    a, d = (TURN * CLUSTERS["three"]) @ TURN.T, random(4, 4, seed=5)
    d = (d + d.T) / 9
    for name in ("exp", "logsumexp"):
        wanted = slopes(WHOLE[name], a, d)
        found = derivatives(WHOLE[name], a.astype(np.float32), d.astype(np.float32))
        np.testing.assert_allclose([found[0], found[2]], wanted, 2e-4, 2e-5)


def test_batches_loops_stages_and_third_derivatives() -> None:
    def exponential(a: Any) -> Any:
        w, v = gnp.linalg.eigh(a)
        return (v * gnp.exp(w)[..., None, :]) @ gnp.matrix_transpose(v)

    def total(a: Any) -> Any:
        return gnp.sum(exponential(a) * WEIGHTS)

    def looped(a: Any) -> Any:
        return gnp.sum(gradir.fori_loop(0, 3, lambda k, x: exponential(x * 0.3), a) * WEIGHTS)

    d = random(4, 4, seed=5)
    d = (d + d.T) / 9
    a = np.stack([(TURN * CLUSTERS[name]) @ TURN.T for name in ("three", "all", "apart")])
    each = np.stack([gradir.grad(total)(x) for x in a])
    np.testing.assert_allclose(gradir.vmap(gradir.grad(total))(a), each, 1e-12, 1e-12)
    np.testing.assert_allclose(gradir.grad(total)(a), each, 1e-12, 1e-12)
    staged = gradir.checkpoint(exponential)
    again = gradir.grad(lambda a: gnp.sum(staged(a) * WEIGHTS))(a[0])
    np.testing.assert_allclose(again, each[0], 1e-12, 1e-12)
    check(looped, a[0], d)

    def curved(x: Any) -> Any:
        return gnp.sum(gradir.hvp(total, (x,), (d,)) * d)

    slope = slopes(curved, a[1], d)[0]
    np.testing.assert_allclose(np.sum(gradir.grad(curved)(a[1]) * d), slope, 1e-7)


@pytest.mark.parametrize(
    "function",
    [
        eigen(lambda w, v: v[0, 0] ** 2),
        eigen(lambda w, v: weighed((v * VECTOR) @ v.T)),
        eigen(lambda w, v: weighed(v[:, :1] @ v[:, :1].T)),
        eigen(lambda w, v: gnp.sum((v.T @ VECTOR) ** 4)),
    ],
)
def test_what_depends_on_the_choice_of_vectors_is_nan(function: Callable[[Any], Any]) -> None:
    a = (TURN * CLUSTERS["a pair"]) @ TURN.T
    assert np.isnan(gradir.grad(function)(a)).any()
