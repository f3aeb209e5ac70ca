"""Factors and functions of complex matrices, and eigenvalues of matrices that are not symmetric:
values, derivatives of what no phase changes, equal values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp

linalg: Any = gnp.linalg
scipy: Any = gradir.scipy.linalg


def numbers(*shape: int, seed: int = 0) -> Any:
    generator = np.random.default_rng(seed)
    return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)


SQUARE, TALL, WIDE = numbers(3, 3), numbers(4, 3, seed=1), numbers(2, 3, seed=2)
WEIGHTS, VECTOR = numbers(4, 4, seed=3), numbers(3, seed=4)


def weighed(x: Any) -> Any:
    return gnp.sum((x * WEIGHTS[: x.shape[-2], : x.shape[-1]]).real)


def eigen(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(*linalg.eigh(a))


def singular(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(*linalg.svd(a, full_matrices=False))


def _sign_and_size(a: Any) -> Any:
    sign, size = linalg.slogdet(a)
    return ((1 + 2j) * sign).real + 3 * size


def general(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda a: function(*linalg.eig(a))


def _all(results: Any) -> Any:
    """A real function of each element of several results."""
    return sum(weighed(x) + gnp.sum((x * x).imag) for x in results)


def _of_values(w: Any, v: Any) -> Any:
    return gnp.sum((gnp.exp(w / 3) * w).real) + gnp.sum(gnp.abs(w) ** 2)


def _of_vectors(w: Any, v: Any) -> Any:
    """Neither their order nor their phases count."""
    return weighed((v * gnp.exp(w / 4)) @ gnp.conj(v.T))


def _solutions(a: Any) -> Any:
    """By triangles, in all ways."""
    ways = [(t, low, unit) for t in (0, 1, 2) for low in (False, True) for unit in (False, True)]
    return _all([scipy.solve_triangular(a, VECTOR[:, None] * a, *way) for way in ways])


def _by_factors(a: Any) -> Any:
    both = scipy.lu_factor(a)
    found = [scipy.lu_solve(both, VECTOR[:, None] * a, trans) for trans in (0, 1, 2)]
    positive = a @ gnp.conj(a.T)
    return _all([*found, *(scipy.cho_solve(scipy.cho_factor(positive, s), a) for s in (0, 1))])


BANDS = np.array([[0, 0.3 + 1j, 0.1 - 0.2j], [3, 4, 5]])
LEFT = singular(lambda u, s, vh: gnp.sum(gnp.abs(u) ** 2 * WEIGHTS.real[:, :3]))
SIZES = eigen(lambda w, v: gnp.sum(gnp.abs(v) ** 2 * WEIGHTS.real[:3, :3]))
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "det": (lambda a: gnp.abs(linalg.det(a)) + linalg.det(a).imag, SQUARE),
    "slogdet": (_sign_and_size, SQUARE),
    "cholesky": (lambda a: weighed(linalg.cholesky(a @ gnp.conj(a.T))), SQUARE),
    "eigenvalues": (lambda a: gnp.sum(linalg.eigvalsh(a) ** 3 * np.arange(3)), SQUARE),
    "sizes of vectors": (SIZES, SQUARE),
    "singular values": (lambda a: gnp.sum(linalg.svdvals(a) ** 3 * np.arange(3)), TALL),
    "left vectors": (LEFT, TALL),
    "wide": (singular(lambda u, s, vh: weighed((u * gnp.log(s)) @ vh)), WIDE),
    "pinv": (lambda a: weighed(linalg.pinv(a)), TALL),
    "norm": (lambda a: linalg.norm(a, 2) + linalg.norm(a, "nuc"), TALL),
    **{
        f"qr {name}": (lambda a, mode=mode: _all(linalg.qr(a, mode=mode)), a)
        for name, a in (("square", SQUARE), ("tall", TALL), ("wide", WIDE))
        for mode in ("reduced", "complete")
    },
    "qr r": (lambda a: _all([linalg.qr(a, mode="r")]), TALL),
    "qr of several": (lambda a: _all(linalg.qr(a[:2].reshape(2, 3, 1) * a)), TALL[:3]),
    "svd full": (lambda a: gnp.sum(gnp.abs(linalg.svd(a)[0]) ** 2 * WEIGHTS.real), TALL),
    "polar": (lambda a: _all(scipy.polar(a)), TALL),
    "polar wide": (lambda a: _all(scipy.polar(a, "left")), WIDE),
    "expm": (lambda a: _all([scipy.expm(a)]), SQUARE),
    "sqrtm": (lambda a: _all([scipy.sqrtm(a)]), SQUARE),
    "lu": (lambda a: _all(scipy.lu(a)[1:]), TALL),
    "triangles": (_solutions, SQUARE),
    "factors": (_by_factors, SQUARE),
    "bands": (lambda a: _all([scipy.solveh_banded(a, TALL[:3]), scipy.cholesky_banded(a)]), BANDS),
    "sylvester": (lambda a: _all([scipy.solve_sylvester(a, a[:2, :2], a[:, :2])]), SQUARE),
    **{
        f"{what} of {kind}": (general(function), a)
        for kind, a in (("complex", SQUARE), ("real", SQUARE.real), ("one", SQUARE[:1, :1]))
        for what, function in (("eigenvalues", _of_values), ("eigenvectors", _of_vectors))
    },
    "one eigenvector": (
        general(lambda w, v: gnp.sum(gnp.abs(v[:, :1]) ** 2 * np.arange(3)[:, None])),
        SQUARE,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name: str) -> None:
    function, a = FUNCTIONS[name]
    gradir.testing.check_grads(function, [a], order=2, atol=1e-6, rtol=1e-5)
    np.testing.assert_allclose(gradir.jit(function)(a), function(a), 1e-12)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_values_are_numpy_s(dtype: Any) -> None:
    close = 1e-4 if dtype == np.complex64 else 1e-12
    a = SQUARE.astype(dtype)
    for name in ("det", "pinv", "eigvalsh", "svdvals"):
        found, wanted = (getattr(lib, name)(a) for lib in (linalg, np.linalg))
        assert found.dtype == wanted.dtype
        if name == "eigvalsh":
            wanted = np.linalg.eigvalsh((a + a.conj().T) / 2)
        np.testing.assert_allclose(found, wanted, close, close)
    for triangle in ("L", "U"):
        w, v = linalg.eigh(a, triangle)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(a, triangle), close, close)
        full = np.tril(a) if triangle == "L" else np.triu(a)
        full = full + full.conj().T - np.diag(np.diag(full)).real - 1j * 0
        np.testing.assert_allclose(full @ v, v * w, 10 * close, 10 * close)
    u, s, vh = linalg.svd(TALL.astype(dtype), full_matrices=False)
    np.testing.assert_allclose((u * s) @ vh, TALL, 10 * close, 10 * close)
    for q, r in (linalg.qr(TALL.astype(dtype)), linalg.qr(TALL.astype(dtype), "complete")):
        np.testing.assert_allclose(q @ r, TALL, 10 * close, 10 * close)
        np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), 10 * close, 10 * close)
    for general in (a, a.real):
        w, v = linalg.eig(general)
        assert w.dtype == v.dtype == dtype
        np.testing.assert_allclose(general @ v, v * w, 10 * close, 10 * close)
    for name in ("pinv", "svd"):  # of the lower triangle, without imaginary parts of the diagonal
        found, wanted = (getattr(lib, name)(a, hermitian=True) for lib in (linalg, np.linalg))
        if name == "svd":
            found, wanted = found[1], wanted[1]
        np.testing.assert_allclose(found, wanted, close, 10 * close)
    lower = linalg.cholesky(a @ a.conj().T)
    np.testing.assert_allclose(lower @ lower.conj().T, a @ a.conj().T, 10 * close, 10 * close)


TURN, OTHER = np.linalg.qr(SQUARE)[0], np.linalg.qr(numbers(4, 4, seed=5))[0][:, :3]
HERMITIAN = (TURN * [1.0, 1, 2]) @ TURN.conj().T
SMALL = numbers(3, 3, seed=6)
OF_EIGH: dict[str, Callable[[Any], Any]] = {
    "exp": eigen(lambda w, v: weighed((v * gnp.exp(w)) @ gnp.conj(v.T))),
    "einsum": eigen(lambda w, v: weighed(gnp.einsum("ij,j,kj->ik", v, gnp.log(w), v.conj()))),
    "a quadratic form": eigen(
        lambda w, v: gnp.sum(gnp.exp(-w) * gnp.abs(gnp.conj(v.T) @ VECTOR) ** 2)
    ),
    "projector": eigen(lambda w, v: weighed(v[:, :2] @ gnp.conj(v[:, :2]).T)),
    "entropy": eigen(lambda w, v: gnp.sum(gnp.log(w) * w)),
    "density": eigen(lambda w, v: gnp.sum(gnp.sum(gnp.abs(v) ** 2 * gnp.exp(w), 1) * np.arange(3))),
}
OF_SVD: dict[str, Callable[[Any], Any]] = {
    "u f v": singular(lambda u, s, vh: weighed((u * gnp.log(1 + s)) @ vh)),
    "polar": singular(lambda u, s, vh: weighed(u @ vh)),
    "u f u": singular(lambda u, s, vh: weighed((u * gnp.exp(s)) @ u.conj().T)),
    "sums": singular(lambda u, s, vh: gnp.sum(s**3) + gnp.sum(gnp.log(s))),
    "wide": lambda a: OF_SVD["u f v"](gnp.conj(a.T)),
}


@pytest.mark.parametrize("name", [*OF_EIGH, *OF_SVD])
def test_equal_values(name: str) -> None:
    """Orders 1 and 2 along a line, in both modes."""
    if name in OF_EIGH:
        function, a, d = OF_EIGH[name], HERMITIAN, (SMALL + SMALL.conj().T) / 9
    else:
        function, d = OF_SVD[name], numbers(4, 3, seed=7) / 9
        a = (OTHER * [2.0, 1, 1]) @ TURN.conj().T
    h = 2e-3
    values = [float(function(a + k * h * d)) for k in range(-3, 4)]
    first = np.dot([-1, 9, -45, 0, 45, -9, 1], values) / (60 * h)
    second = np.dot([2, -27, 270, -490, 270, -27, 2], values) / (180 * h * h)

    def slope(a: Any) -> Any:
        return gnp.sum(gradir.grad(function)(a) * d).real

    np.testing.assert_allclose(slope(a), first, 1e-8)
    np.testing.assert_allclose(gradir.jvp(function, (a,), (d,))[1], first, 1e-8)
    np.testing.assert_allclose(gnp.sum(gradir.grad(slope)(a) * d).real, second, 1e-5)


def _like(values: Any, seed: int) -> Any:
    """A real matrix, not symmetric, that is similar to another."""
    turn = np.random.default_rng(seed).standard_normal((3, 3))
    return turn @ values @ np.linalg.inv(turn)


@pytest.mark.parametrize("seed", range(4))
def test_equal_eigenvalues_of_general_matrices(seed: int) -> None:
    """The slope of a sum over values is right where there are vectors, and nan where there are too
    few; second derivatives, and those of vectors, are nan, in forward mode too."""
    cubes = general(lambda w, v: gnp.sum((w**3).real))
    gradient = gradir.grad(cubes)
    twice, defective = np.diag([1.0, 1, 2]), np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 2]])
    a = _like(twice, seed)
    np.testing.assert_allclose(gradient(a), 3 * (a @ a).T, 1e-9, 1e-9)
    assert np.isnan(gradient(_like(defective, seed))).all()
    assert np.isnan(gradir.jvp(cubes, (_like(defective, seed),), (a,))[1])
    for derivative in (gradir.jacfwd, gradir.jacrev):
        assert np.isnan(derivative(gradient)(a)).any()
    sizes = general(lambda w, v: gnp.sum(gnp.abs(v[0]) ** 2))
    assert np.isnan(gradir.grad(sizes)(a)).any()
    assert np.isnan(gradir.jvp(sizes, (a,), (a @ a.T,))[1])


def test_phases_have_no_derivative_at_equal_values() -> None:
    function = eigen(lambda w, v: gnp.abs(v[0, 0]) ** 2)
    assert np.isnan(gradir.grad(function)(HERMITIAN)).any()
