"""gradir.scipy.linalg and signal: values by their definitions, derivatives by differences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import GradirError
from gradir.scipy import linalg, signal
from gradir.testing import check_grads

RANDOM = np.random.default_rng(5)
A, B, Q = (RANDOM.normal(size=(4, 4)) for _ in range(3))
SPD = A @ A.T + np.eye(4)
T = np.triu(A) + 3 * np.eye(4)
Array = np.ndarray[Any, np.dtype[Any]]


def exponential(a: Array) -> Array:
    """By its series, of a matrix made small by halving in extended precision."""
    small, made = np.asarray(a, np.longdouble) / 2**12, np.eye(len(a), dtype=np.longdouble)
    power = made.copy()
    for k in range(1, 20):
        power = power @ small / k
        made = made + power
    for _ in range(12):
        made = made @ made
    return made.astype(np.float64)


@pytest.mark.parametrize("size", [0.0, 0.01, 1.0, 5.0, 30.0])
def test_expm(size: float) -> None:
    wanted = exponential(A * size)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(linalg.expm(A * size), wanted, 1e-12, 2e-13 * scale)


def test_expm_of_rows_and_its_derivatives() -> None:
    rows = np.stack([A, 20 * A, 0 * A])
    wanted = [exponential(a) for a in rows]
    for found in (linalg.expm(rows), gradir.vmap(linalg.expm)(rows)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-10, 1e-13 * np.abs(other).max())
    check_grads(lambda a: gnp.sum(linalg.expm(a) * Q), [A], order=2)
    check_grads(lambda a: gnp.sum(linalg.expm(a) * Q), [5 * A], order=1)
    # at 0 the derivative is the identity
    np.testing.assert_allclose(gradir.grad(lambda a: gnp.sum(linalg.expm(a) * Q))(0 * A), Q)
    assert linalg.expm(A.astype(np.float32)).dtype == np.float32
    assert linalg.expm(np.zeros((0, 0))).shape == (0, 0)
    assert np.isnan(linalg.expm(A * np.nan)).all()


def test_solvers() -> None:
    x = linalg.solve_sylvester(A, B, Q)
    np.testing.assert_allclose(A @ x + x @ B, Q, 1e-10, 1e-10)
    check_grads(lambda a, b, q: gnp.sum(linalg.solve_sylvester(a, b, q)), [A, B, Q], order=1)
    for trans, lower in product((0, 1, "N", "T"), (False, True)):
        t = T.T if lower else T
        of = t.T if trans in (1, "T") else t
        found = linalg.solve_triangular(t, Q, trans, lower)
        np.testing.assert_allclose(of @ found, Q, 1e-12, 1e-12)
    found = linalg.solve_triangular(T, Q[0], unit_diagonal=True)
    np.testing.assert_allclose((np.triu(T, 1) + np.eye(4)) @ found, Q[0], 1e-12)
    for lower in (False, True):
        factor = linalg.cho_factor(SPD, lower)
        np.testing.assert_allclose(SPD @ linalg.cho_solve(factor, Q), Q, 1e-11, 1e-11)
        f = linalg.cholesky(SPD, lower)
        np.testing.assert_allclose(f @ f.T if lower else f.T @ f, SPD, 1e-12)
    check_grads(
        lambda a: gnp.sum(linalg.cho_solve(linalg.cho_factor(a @ a.T + gnp.eye(4)), Q)), [A]
    )


def test_factors() -> None:
    for side in ("right", "left"):
        for a in (A, A[:3], A[:, :3]):
            u, p = linalg.polar(a, side)
            np.testing.assert_allclose(u @ p if side == "right" else p @ u, a, 1e-12, 1e-13)
            np.testing.assert_allclose(p, p.T, 1e-12, 1e-13)
    values, vectors = linalg.eigh(SPD)
    np.testing.assert_allclose(SPD @ vectors, vectors * values, 1e-10, 1e-10)
    np.testing.assert_allclose(linalg.eigvalsh(SPD, lower=False), values)
    np.testing.assert_allclose(linalg.svdvals(A), np.linalg.svd(A)[1])
    for a in (A, A[:3], A[:, :3]):
        for whole in (True, False):
            u, s, vh = linalg.svd(a, whole)
            k = s.shape[0]
            assert u.shape == (a.shape[0], a.shape[0] if whole else k)
            np.testing.assert_allclose(u[:, :k] * s @ vh[:k], a, 1e-11, 1e-12)
        np.testing.assert_allclose(linalg.svd(a, compute_uv=False), s)
        for mode, same in (("full", "complete"), ("economic", "reduced")):
            q, r = linalg.qr(a, mode=mode)
            np.testing.assert_allclose(q @ r, a, 1e-11, 1e-12)
            expected = np.linalg.qr(a, same)
            assert (q.shape, r.shape) == (expected[0].shape, expected[1].shape)
        np.testing.assert_allclose(linalg.qr(a, mode="r")[0], linalg.qr(a)[1])
    check_grads(lambda a: gnp.sum(linalg.qr(a, mode="economic")[1] ** 3), [A])
    check_grads(lambda a: gnp.sum(linalg.svd(a)[1] ** 3), [A])
    np.testing.assert_allclose(linalg.pinv(A[:3]), np.linalg.pinv(A[:3]), 1e-11)
    np.testing.assert_allclose(linalg.norm(A, 1), np.linalg.norm(A, 1))
    np.testing.assert_allclose(linalg.solve(A, Q), np.linalg.solve(A, Q), 1e-11)
    np.testing.assert_allclose(linalg.inv(A) * linalg.det(A), np.linalg.inv(A) * np.linalg.det(A))


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_orthogonal_factor_of_a_rotation(side: str) -> None:
    """The slope of u is (d - u d^T u) / 2 there, and p's the symmetric part of u^T d."""
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    block = np.zeros((3, 3))
    block[:2, :2], block[2, 2] = turn, -1.0
    w, d = A[:3, :3], B[:3, :3]

    def weighed(a: Any) -> Any:
        u, p = linalg.polar(a, side)
        return gnp.sum(u * w), gnp.sum(p * w)

    @gradir.jit
    def slopes(a: Any) -> Any:
        return gradir.jvp(weighed, (a,), (d,))[1], gradir.grad(lambda a: weighed(a)[0])(a)

    (of_u, of_p), gradient = slopes(block)
    wanted = (d - block @ d.T @ block) / 2
    inner = block.T @ d if side == "right" else d @ block.T
    np.testing.assert_allclose(of_u, np.sum(wanted * w), 1e-13)
    np.testing.assert_allclose(of_p, np.sum((inner + inner.T) / 2 * w), 1e-13)
    np.testing.assert_allclose(gradient, (w - block @ w.T @ block) / 2, 1e-13, 1e-14)


@pytest.mark.parametrize("a", [np.eye(3)[:, :2] * 2, np.eye(2, 3)])
def test_second_derivatives_of_the_orthogonal_factor(a: Array) -> None:
    check_grads(lambda a: gnp.sum(linalg.polar(a)[0] * B[: len(a), : a.shape[1]]), [a])


def test_matrices_of_a_form() -> None:
    c, r = np.array([1.0, 2.0, 3.0]), np.array([9.0, 4.0, 5.0, 6.0])
    rows, columns = np.indices((3, 4))
    along = np.concatenate([c[::-1], r[1:]])
    np.testing.assert_array_equal(linalg.toeplitz(c, r), along[columns - rows + 2])
    np.testing.assert_array_equal(linalg.toeplitz(c)[0], c)
    across = np.concatenate([c, r[1:]])
    np.testing.assert_array_equal(linalg.hankel(c, r), across[rows + columns])
    np.testing.assert_array_equal(linalg.hankel(c)[2], [3, 0, 0])
    np.testing.assert_array_equal(linalg.circulant(c), [[1, 3, 2], [2, 1, 3], [3, 2, 1]])
    blocks = linalg.block_diag(A[:2, :1], [5.0, 6.0], 7.0)
    assert blocks.shape == (4, 4) and blocks[2, 1] == 5 and blocks[3, 3] == 7
    assert np.count_nonzero(blocks) == 5 and linalg.block_diag().shape == (1, 0)
    check_grads(lambda c, r: gnp.sum(linalg.toeplitz(c, r) * A[:3]), [c, r], order=1)


SHAPES = [((5,), (3,)), ((3,), (6,)), ((4, 5), (3, 2)), ((3, 4, 3), (2, 2, 3)), ((1,), (1,))]


def summed(x: Array, y: Array) -> Array:
    made = np.zeros([m + n - 1 for m, n in zip(x.shape, y.shape, strict=True)])
    for place in np.ndindex(y.shape):
        made[tuple(slice(p, p + m) for p, m in zip(place, x.shape, strict=True))] += x * y[place]
    return made


@pytest.mark.parametrize(("of", "by"), SHAPES)
def test_convolutions(of: tuple[int, ...], by: tuple[int, ...]) -> None:
    x, y = RANDOM.normal(size=of), RANDOM.normal(size=by)
    whole = summed(x, y)
    np.testing.assert_allclose(signal.convolve(x, y), whole, 1e-12, 1e-13)
    np.testing.assert_allclose(signal.correlate(x, np.flip(y)), whole, 1e-12, 1e-13)
    for mode in ("same", "valid"):
        wanted = (
            of if mode == "same" else tuple(abs(m - n) + 1 for m, n in zip(of, by, strict=True))
        )
        middle = tuple(
            slice((f - w) // 2, (f - w) // 2 + w) for f, w in zip(whole.shape, wanted, strict=True)
        )
        np.testing.assert_allclose(signal.convolve(x, y, mode), whole[middle], 1e-12, 1e-13)
        check_grads(lambda x, y: gnp.sum(signal.convolve(x, y, mode) ** 2), [x, y], order=1)  # noqa: B023
    assert signal.convolve(np.float64(2), np.float64(3)) == 6
    assert signal.convolve([1, 2], [1, 1]).tolist() == [1, 3, 2]


ERRORS: list[tuple[Any, str]] = [
    (lambda: linalg.expm(A[:3]), "expm: expected square matrices"),
    (lambda: linalg.expm(A[0]), "expm: expected square matrices"),
    (lambda: linalg.solve_triangular(A, Q, trans=3), 'trans must be 0, 1, "N" or "T", got 3'),
    (lambda: linalg.solve_sylvester(A, B, Q[:2]), r"solve_sylvester: q must be \[4, 4\]"),
    (lambda: linalg.block_diag(np.zeros((1, 1, 1))), "block_diag: expected matrices"),
    (lambda: linalg.circulant(A), "circulant: expected a vector"),
    (lambda: linalg.polar(A, "middle"), "polar: side must be one of 'right', 'left'"),
    (lambda: signal.convolve(A, A[0]), "convolve: expected arrays of the same 0 to 3 axes"),
    (lambda: signal.convolve(A, A, "all"), "convolve: mode must be one of 'full', 'same'"),
    (lambda: signal.convolve(np.ones((2, 5)), np.ones((5, 2)), "valid"), "for valid one array"),
    (lambda: signal.convolve([[1]], [[1]]), "arrays of several axes must be floating"),
    (lambda: signal.convolve(np.ones(0), np.ones(2)), "convolve: expected arrays with elements"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(GradirError, match=message):
        call()


def test_absent_names_say_why() -> None:
    with pytest.raises(AttributeError, match=r"scipy.linalg has no schur: eigenvalues"):
        linalg.schur  # noqa: B018  # pyrefly: ignore
    with pytest.raises(AttributeError, match="has no czt: stft, csd and"):
        signal.czt  # noqa: B018  # pyrefly: ignore
