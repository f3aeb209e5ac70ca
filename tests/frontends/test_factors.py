"""gradir.numpy.linalg by factors: NumPy's values, derivatives, batches, and refusals."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import GradirError

RANDOM = np.random.default_rng(0)
TALL, WIDE, BATCH = (RANDOM.standard_normal(shape) for shape in ((4, 3), (3, 5), (2, 4, 3)))
SQUARE = RANDOM.standard_normal((3, 3))
B = RANDOM.standard_normal((4, 2))

VALUES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(("svd", (a,), {"full_matrices": False}) for a in (TALL, WIDE, BATCH)),
    ("svd", (SQUARE,), {}),
    ("svd", (TALL,), {"compute_uv": False}),
    *(("svdvals", (a,), {}) for a in (TALL, BATCH)),
    ("eigh", (SQUARE,), {"UPLO": "L"}),
    *(("eigvalsh", (SQUARE,), {"UPLO": t}) for t in "LU"),
    *(("qr", (a,), {}) for a in (TALL, WIDE, BATCH)),
    ("qr", (TALL,), {"mode": "r"}),
    *(("qr", (a,), {"mode": "complete"}) for a in (TALL, WIDE, BATCH, np.eye(4)[:, :2])),
    *(("pinv", (a,), {}) for a in (TALL, WIDE, BATCH)),
    ("pinv", (np.outer(TALL[:, 0], WIDE[0]),), {"rcond": 1e-9}),
    *(("matrix_rank", (a,), {}) for a in (TALL, BATCH, np.outer(B[:, 0], B[:, 1]), B[0])),
    ("matrix_rank", (np.zeros((3, 3)),), {}),
    *((name, (SQUARE,), {"hermitian": True}) for name in ("pinv", "matrix_rank")),
    ("svd", (SQUARE,), {"hermitian": True, "compute_uv": False}),
    *(("norm", (TALL[0], ord), {}) for ord in (0.5, 3.5, -1.5)),
    ("matrix_rank", (np.diag([1.0, 1e-3, 0]),), {"tol": 1e-2}),
    ("lstsq", (TALL, B), {}),
    ("lstsq", (TALL, B[:, 0]), {}),
    ("lstsq", (WIDE, B[:3]), {}),
    *(("cond", (SQUARE,), {"p": p}) for p in (None, 2, -2, 1, "fro")),
    ("cond", (BATCH,), {}),
    *(("norm", (TALL, ord), {}) for ord in (2, -2, "nuc")),
    ("norm", (BATCH, 2), {"axis": (0, 2), "keepdims": True}),
    ("norm", (BATCH, "nuc"), {"axis": (2, 1)}),
]


@pytest.mark.parametrize(("name", "args", "options"), VALUES)
def test_values(name: str, args: Any, options: Any) -> None:
    found = getattr(gnp.linalg, name)(*args, **options)
    wanted = getattr(np.linalg, name)(*args, **options)
    pairs: Any = [(found, wanted)]
    if isinstance(wanted, tuple):
        pairs = zip(found, cast(Any, wanted), strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, 1e-9, 1e-12)
        assert np.shape(one) == np.shape(other)


def test_results_have_numpys_names_and_numpys_functions_are_traced() -> None:
    @gradir.jit
    def traced(a: Any) -> Any:
        found: Any = np.linalg.svd(a, full_matrices=False)
        values, vectors = np.linalg.eigh(a.T @ a)
        return found.U * found.S @ found.Vh, vectors * values @ vectors.T, np.linalg.qr(a).Q

    whole, gram, q = traced(TALL)
    np.testing.assert_allclose(whole, TALL, atol=1e-12)
    np.testing.assert_allclose(gram, TALL.T @ TALL, atol=1e-12)
    np.testing.assert_allclose(q, np.linalg.qr(TALL)[0], atol=1e-12)


def _weighted(x: Any) -> Any:
    shape: tuple[int, ...] = x.shape
    return gnp.sum(x * np.cos(np.arange(float(np.prod(shape)))).reshape(shape))


def _rank_one(a: Any) -> Any:
    u, s, vh = gnp.linalg.svd(a, full_matrices=False)
    return _weighted(s[0] * gnp.outer(u[:, 0], vh[0]))


def _eigenvectors(a: Any) -> Any:
    return _weighted(gnp.linalg.eigh(a, "L")[1] ** 2)


def _least_squares(a: Any) -> Any:
    x, residuals, *_ = gnp.linalg.lstsq(a, B)
    return _weighted(x) + _weighted(residuals)


def _nuclear(a: Any) -> Any:
    return _weighted(gnp.linalg.norm(a, "nuc", (-2, -1)))


def _completed(a: Any) -> Any:
    return _weighted(gnp.linalg.qr(a, "complete")[0])


def _beside(a: Any) -> Any:
    left, _, right = gnp.linalg.svd(a)
    return _weighted(left[:, 3:]) + _weighted(right[0] ** 2)


def _squares(a: Any, triangle: Any = None) -> Any:
    return gnp.sum(gnp.linalg.eigvalsh(a, UPLO=triangle) ** 2)


def _cubes(a: Any) -> Any:
    return gnp.sum(gnp.linalg.eigvalsh(a) ** 3)


def _singular_values(a: Any) -> Any:
    return gnp.linalg.svdvals(a)


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "rank one": (_rank_one, WIDE),
    "least squares": (_least_squares, TALL),
    "nuclear norms": (_nuclear, BATCH),
    "condition": (gnp.linalg.cond, SQUARE),
    "eigenvectors": (_eigenvectors, SQUARE),
    "completed columns": (_completed, TALL),
    "further singular vectors": (_beside, TALL),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives(name: str) -> None:
    function, a = FUNCTIONS[name]
    shape: tuple[int, ...] = a.shape
    direction = np.random.default_rng(1).standard_normal(shape)
    step = 1e-5
    gradient = gradir.jit(gradir.grad(function))
    ahead, behind = (a + s * step * direction for s in (1, -1))
    slope = (function(ahead) - function(behind)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient(a) * direction), slope, 1e-6, 1e-8)
    curved = (gradient(ahead) - gradient(behind)) / (2 * step)
    found = gradir.hvp(function, (a,), (direction,))
    np.testing.assert_allclose(found, curved, 1e-5, 1e-6 * np.abs(curved).max())


def test_the_gradient_of_a_triangle_is_in_it() -> None:
    gradient = gradir.grad(partial(_squares, triangle="L"))(SQUARE)
    np.testing.assert_allclose(np.triu(gradient, 1), 0)
    both = gradir.grad(_squares)(SQUARE)
    np.testing.assert_allclose(both, SQUARE + SQUARE.T, atol=1e-12)


@pytest.mark.parametrize("a", [TALL, WIDE, BATCH, TALL[:, :1]])
def test_singular_vectors_are_completed(a: Any) -> None:
    left, values, right = gnp.linalg.svd(a)
    m, n = a.shape[-2:]
    middle = np.zeros(a.shape)
    middle[..., range(min(m, n)), range(min(m, n))] = values
    np.testing.assert_allclose(left @ middle @ right, a, atol=1e-12)
    for u, size in ((left, m), (right, n)):
        products = u @ np.swapaxes(u, -1, -2)
        np.testing.assert_allclose(products, np.broadcast_to(np.eye(size), u.shape), atol=1e-12)


def test_a_reflection_that_is_the_identity_has_no_derivative() -> None:
    assert np.isnan(gradir.grad(_completed)(np.eye(4)[:, :2])).all()


def test_values_alone_have_derivatives_where_they_are_equal() -> None:
    np.testing.assert_allclose(gradir.grad(_cubes)(np.eye(3)), 3 * np.eye(3))
    np.testing.assert_allclose(gradir.grad(_nuclear)(np.eye(3)), np.eye(3))


def _top(a: Any) -> Any:
    v = gnp.linalg.eigh(a)[1][:, -1]
    return v[0] * v[1] + 2 * v[0] * v[2]


def _first_pair(a: Any) -> Any:
    u, _, vh = gnp.linalg.svd(a, full_matrices=False)
    return _weighted(gnp.outer(u[:, 0], vh[0]))


def _ends(a: Any) -> Any:
    """Of the first and the last vector, beside a pair between them."""
    v = gnp.linalg.eigh(a)[1]
    return v[0, 0] * v[1, 0] + v[0, 3] * v[2, 3]


TURN = np.linalg.qr(np.random.default_rng(7).standard_normal((4, 4)))[0]
PAIRS: dict[str, tuple[Any, Any]] = {
    "the largest of a diagonal": (_top, np.diag([4.0, 1, 1])),
    "the largest": (_top, TURN[:3, :3] @ np.diag([4.0, 1, 1]) @ np.linalg.inv(TURN[:3, :3])),
    "both ends": (_ends, TURN @ np.diag([1.0, 2, 2, 4]) @ TURN.T),
    "singular vectors": (_first_pair, TURN[:, :3] @ np.diag([3.0, 1, 1])),
    "of rank one": (_first_pair, np.outer([1.0, 2, 2, 4], [2.0, 1])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_vectors_beside_equal_values_have_derivatives(name: str) -> None:
    """Of both orders and in both modes, though the pair's own vectors have none."""
    function, a = PAIRS[name]
    direction = _symmetric(a) if a.shape[0] == a.shape[1] else np.cos(a + np.arange(a.shape[1]))

    @gradir.jit
    def derivatives(a: Any, d: Any) -> Any:
        forward = gradir.jvp(function, (a,), (d,))[1]
        return gnp.sum(gradir.grad(function)(a) * d), forward, gradir.hvp(function, (a,), (d,))

    step = 1e-3
    values = [function(a + k * step * direction) for k in (-2, -1, 1, 2)]
    slope = np.dot([1, -8, 8, -1], values) / (12 * step)
    reverse, forward, curved = derivatives(a, direction)
    np.testing.assert_allclose([reverse, forward], slope, 1e-8, 1e-9)
    ahead, behind = (derivatives(a + k * 1e-4 * direction, direction)[0] for k in (1, -1))
    np.testing.assert_allclose(np.sum(curved * direction), (ahead - behind) / 2e-4, 1e-5, 1e-6)


def _symmetric(a: Any) -> Any:
    made = np.sin(np.arange(float(a.size))).reshape(a.shape)
    return made + made.T


def _one_of_a_pair(a: Any) -> Any:
    return gnp.linalg.eigh(a)[1][0, 0] ** 2


def _weighted_vectors(a: Any) -> Any:
    v = gnp.linalg.eigh(a)[1]
    return _weighted(v * gnp.arange(1.0, len(a) + 1) @ v.T)


@pytest.mark.parametrize(
    ("function", "a"),
    [
        (_one_of_a_pair, np.eye(3)),
        (_one_of_a_pair, np.diag([1.0, 1, 4])),
        # weights of their own for equal values; the second are equal but for rounding
        (_weighted_vectors, np.eye(3)),
        (_weighted_vectors, TURN @ np.diag([3.0, 3, 3, 3]) @ TURN.T),
    ],
)
def test_vectors_of_equal_values_have_no_derivative(function: Any, a: Any) -> None:
    assert np.isnan(gradir.grad(function)(a)).any()
    assert np.isnan(gradir.jvp(function, (a,), (_symmetric(a),))[1])


def test_the_nuclear_norm_is_smooth_where_singular_values_are_equal() -> None:
    def norm(a: Any) -> Any:
        return gnp.linalg.norm(a, "nuc")

    direction = _symmetric(TURN) + TURN
    np.testing.assert_allclose(gradir.grad(norm)(TURN), TURN, atol=1e-14)
    wanted = (direction - TURN @ direction.T @ TURN) / 2
    np.testing.assert_allclose(gradir.hvp(norm, (TURN,), (direction,)), wanted, atol=1e-12)
    flat = np.outer([1.0, 2, 2], [3.0, 4])
    np.testing.assert_allclose(norm(flat), 15)
    assert np.isfinite(gradir.grad(norm)(flat)).all()


def test_rows_of_a_map_and_a_loop() -> None:
    found = gradir.vmap(_singular_values)(BATCH)
    np.testing.assert_allclose(found, np.linalg.svdvals(BATCH))

    @gradir.jit
    def power(a: Any) -> Any:
        def body(_: Any, x: Any) -> Any:
            return gnp.linalg.qr(a @ x).Q

        return gradir.fori_loop(0, 3, body, gnp.eye(3))

    wanted = np.eye(3)
    for _ in range(3):
        wanted = np.linalg.qr(SQUARE @ wanted).Q
    np.testing.assert_allclose(power(SQUARE), wanted, atol=1e-12)


def test_a_matrix_that_lapack_fails_at_is_nan() -> None:
    pair = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    for run in (gnp.linalg.svdvals, gradir.jit(_singular_values)):
        found = run(pair)
        np.testing.assert_array_equal(found[0], 1)
        assert np.isnan(found[1]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gnp.linalg.svd(TALL[0]), "svd: expected matrices"),
        (lambda: gnp.linalg.qr(TALL, "raw"), "qr: mode must be"),
        (lambda: gnp.linalg.eigh(TALL), "a must be square matrices"),
        (lambda: gnp.linalg.eigh(SQUARE, "X"), "eigh: UPLO must be"),
        (lambda: gnp.linalg.pinv(TALL, 0.1, rtol=0.1), "pinv: give rcond or rtol, not both"),
        (lambda: gnp.linalg.lstsq(TALL, B[:2]), "lstsq: expected a matrix and as many"),
        (lambda: gnp.linalg.svd(TALL.astype(np.float16), False), "must be f32 or f64"),
    ],
)  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(GradirError, match=message):
        call()
