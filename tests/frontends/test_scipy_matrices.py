"""gradir.scipy.linalg's lu, sqrtm and banded matrices: by their definitions, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import GradirError
from gradir.scipy import linalg
from gradir.testing import check_grads

RANDOM = np.random.default_rng(3)
A, B = RANDOM.normal(size=(4, 4)), RANDOM.normal(size=(4, 2))
W = np.cos(np.arange(36.0)).reshape(6, 6)
MOVED = np.zeros((4, 4))
MOVED[[0, 1, 2, 3], [2, 0, 3, 1]] = 1


def weighed(x: Any) -> Any:
    return gnp.sum(x * W[: x.shape[-2], : x.shape[-1]])


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 5, 3), (1, 1), (3, 1)])
def test_lu(shape: tuple[int, ...]) -> None:
    a = RANDOM.normal(size=shape)
    p, low, high = linalg.lu(a)
    np.testing.assert_allclose(p @ low @ high, a, 1e-12, 1e-14)
    np.testing.assert_array_equal(p.sum(-1), 1)
    np.testing.assert_array_equal(p.sum(-2), 1)
    np.testing.assert_array_equal(np.triu(low, 1), 0)
    np.testing.assert_array_equal(np.tril(high, -1), 0)
    np.testing.assert_array_equal(np.diagonal(low, axis1=-2, axis2=-1), 1)
    # partial pivoting
    assert np.abs(low).max() <= 1


def test_lu_in_other_forms() -> None:
    p, low, high = linalg.lu(A)
    both, again = linalg.lu(A, permute_l=True)
    np.testing.assert_allclose(both @ again, A, 1e-12)
    places, _, _ = linalg.lu(A, p_indices=True)
    np.testing.assert_array_equal(low[places] @ high, p @ low @ high)
    # an order of rows with a cycle, by hand: columns have one pivot each
    p, low, high = linalg.lu(MOVED)
    np.testing.assert_array_equal(low, np.eye(4))
    np.testing.assert_array_equal(p, MOVED)
    assert linalg.lu_factor(MOVED)[1].tolist() == [1, 3, 3, 3]


def test_lu_factor_and_solve() -> None:
    rows = np.stack([A, MOVED, A.T])
    right = np.stack([B] * 3)
    factors = linalg.lu_factor(rows)
    for trans, of in ((0, rows), (1, np.swapaxes(rows, 1, 2))):
        found = linalg.lu_solve(factors, right, trans=trans)
        np.testing.assert_allclose(of @ found, right, 1e-11, 1e-12)
        found = linalg.lu_solve(linalg.lu_factor(A), B[:, 0], trans=trans)
        np.testing.assert_allclose((A.T if trans else A) @ found, B[:, 0], 1e-11, 1e-12)
    # the pivots exchange rows one after the other
    both, pivots = linalg.lu_factor(A)
    ordered = A.copy()
    for k, at in enumerate(pivots):
        ordered[[k, at]] = ordered[[at, k]]
    np.testing.assert_allclose((np.tril(both, -1) + np.eye(4)) @ np.triu(both), ordered, 1e-12)


def test_lu_of_nothing() -> None:
    """Matrices without rows have factors and solutions without elements, as in SciPy."""
    for shape in ((0, 0), (2, 0, 0)):
        both, pivots = linalg.lu_factor(np.zeros(shape))
        assert both.shape == shape and pivots.shape == shape[:-1]
    for right, trans in ((np.zeros(0), 0), (np.zeros((0, 3)), 1), (np.zeros(0, np.int64), 2)):
        found = linalg.lu_solve(linalg.lu_factor(np.zeros((0, 0))), right, trans=trans)
        assert found.shape == right.shape and found.dtype == np.float64


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_derivatives_of_lu(shape: tuple[int, ...]) -> None:
    def f(a: Any) -> Any:
        _, low, high = linalg.lu(a)
        return weighed(low) + weighed(high)

    check_grads(f, [RANDOM.normal(size=shape)])


def test_derivatives_of_solutions() -> None:
    def f(a: Any, b: Any) -> Any:
        return gnp.sum(linalg.lu_solve(linalg.lu_factor(a), b) ** 2)

    a, b = A[:3, :3] + np.eye(3), B[:3, 0]
    check_grads(f, [a, b], order=1)
    bands = RANDOM.normal(size=(3, 3)) + np.array([[0.0], [4.0], [0.0]])
    check_grads(lambda x, b: gnp.sum(linalg.solve_banded((1, 1), x, b) ** 2), [bands, b])
    check_grads(lambda x, b: gnp.sum(linalg.solveh_banded(x[1:], b, lower=True) ** 2), [bands, b])


def dense(bands: Any, above: int) -> Any:
    rows, n = bands.shape
    made = np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        if 0 <= above + i - j < rows:
            made[i, j] = bands[above + i - j, j]
    return made


def test_bands() -> None:
    bands, b = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(5, 2))
    for below, above in ((1, 2), (2, 1), (3, 0)):
        found = linalg.solve_banded((below, above), bands, b)
        np.testing.assert_allclose(dense(bands, above) @ found, b, 1e-9, 1e-10)
    for lower in (False, True):
        bands[0 if lower else -1] += 9
        half = dense(bands, 0 if lower else 3)
        whole = half + half.T - np.diag(np.diag(half))
        found = linalg.solveh_banded(bands, b, lower=lower)
        np.testing.assert_allclose(whole @ found, b, 1e-11, 1e-12)
        factor = linalg.cholesky_banded(bands, lower=lower)
        f = dense(factor, 0 if lower else 3)
        np.testing.assert_allclose(f @ f.T if lower else f.T @ f, whole, 1e-12, 1e-13)
        np.testing.assert_allclose(linalg.cho_solve_banded((factor, lower), b), found, 1e-11)
        values, vectors = linalg.eig_banded(bands, lower=lower)
        np.testing.assert_allclose(whole @ vectors, vectors * values, 1e-11, 1e-12)
        np.testing.assert_allclose(linalg.eigvals_banded(bands, lower=lower), values, 1e-12)
        bands[0 if lower else -1] -= 9


def test_sqrtm() -> None:
    a = A @ A.T + 0.3 * B @ B[::-1].T + np.eye(4)
    rows = np.stack([a, np.diag([1e-8, 1.0, 1e4, 1e8]), 1e200 * np.eye(4), np.eye(4)])
    found = linalg.sqrtm(rows)
    for root, of in zip(found, rows, strict=True):
        np.testing.assert_allclose(root @ root, of, 1e-11, 1e-14 * np.abs(of).max())
        assert np.all(np.linalg.eigvals(root).real > 0)
    assert np.isnan(linalg.sqrtm(np.diag([1.0, -1.0]))).all()
    assert linalg.sqrtm(np.eye(2, dtype=np.float32)).dtype == np.float32
    assert linalg.sqrtm(np.zeros((0, 0))).shape == (0, 0)
    np.testing.assert_allclose(gradir.vmap(linalg.sqrtm)(rows[:2]), found[:2], 1e-12, 1e-12)


def test_sqrtm_of_singular_matrices() -> None:
    """Those that have a root have it, in a batch with others; derivatives are nan."""
    half = RANDOM.normal(size=(3, 1))
    oblique = np.array([[0.0, 1, 2], [0, 4, 1], [0, 0, 2]])
    block = np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, 1]])
    nothing = np.zeros((3, 3))
    rows = [nothing, half @ half.T, oblique, np.ones((3, 3)), np.eye(3), block, -np.eye(3)]
    found = linalg.sqrtm(np.stack(rows))
    for root, of in zip(found[:5], rows, strict=False):
        np.testing.assert_allclose(root @ root, of, 1e-11, 1e-14)
    np.testing.assert_array_equal(found[0], nothing)
    assert np.isnan(found[5:]).all()
    assert np.isnan(gradir.grad(lambda a: gnp.sum(linalg.sqrtm(a)))(nothing)).all()


def test_derivatives_of_sqrtm() -> None:
    a = np.array([[4.0, 1.0, 0.5], [-0.5, 3.0, 0.2], [0.3, 0.1, 2.0]])
    check_grads(lambda a: weighed(linalg.sqrtm(a)), [a])
    # at the identity, where eigenvalues are equal, it is a half
    slope = gradir.grad(lambda a: weighed(linalg.sqrtm(a)))(np.eye(3))
    np.testing.assert_allclose(slope, W[:3, :3] / 2, 1e-14)


def test_second_derivatives_of_sqrtm_at_the_identity() -> None:
    """(1 + t d)^(1/2) is 1 + t d / 2 - t^2 d^2 / 8."""
    d = A[:3, :3]
    found = gradir.hvp(lambda a: weighed(linalg.sqrtm(a)), (np.eye(3),), (d,))
    np.testing.assert_allclose(np.sum(found * d), -np.sum(W[:3, :3] * (d @ d)) / 4, 1e-12)


ERRORS: list[tuple[Any, str]] = [
    (lambda: linalg.lu(B[0]), "lu: expected matrices"),
    (lambda: linalg.lu_factor(B), "lu_factor: expected square matrices"),
    (lambda: linalg.lu_solve(linalg.lu_factor(A), B, trans=3), "trans must be 0, 1 or 2, got 3"),
    (lambda: linalg.lu_solve(linalg.lu_factor(A), B[1:]), "lu_solve: b must have 4 rows"),
    (lambda: linalg.lu_solve((np.zeros((0, 0)), np.zeros(0, np.int64)), B), "must have 0 rows"),
    (lambda: linalg.solve_banded((1, 0), A, B), "solve_banded: expected 2 bands"),
    (lambda: linalg.solveh_banded(B[0], B), "solveh_banded: expected bands"),
    (lambda: linalg.sqrtm(B), "sqrtm: expected square matrices"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(GradirError, match=message):
        call()
