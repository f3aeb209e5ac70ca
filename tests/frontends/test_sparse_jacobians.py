"""gradir.sparse_jacobian and sparse_hessian against dense derivatives; colors and errors."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.frontends.transforms.sparsity import colors_of_columns, compression_of, pattern_of

Array = np.ndarray[Any, Any]


def coupled(x: Any) -> Any:
    return x[1:-1] ** 2 * x[2:] - gnp.sin(x[:-2])


BANDS = np.eye(6, 8, 0, bool) | np.eye(6, 8, 1, bool) | np.eye(6, 8, 2, bool)
POINT = np.random.default_rng(0).normal(size=8)


def compressed_rows(entries: Array) -> tuple[Array, Array, tuple[int, int]]:
    rows, columns = entries.shape
    return np.nonzero(entries)[1], np.append(0, np.cumsum(entries.sum(1))), (rows, columns)


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_values_are_those_of_the_dense_jacobian(mode: str) -> None:
    sparse = gradir.sparse_jacobian(coupled, BANDS, mode=mode, check=True)
    dense = gradir.jacfwd(coupled)(POINT)
    assert sparse.colors == 3
    np.testing.assert_allclose(sparse(POINT), dense[BANDS], rtol=1e-14)


def test_values_are_in_the_order_of_compressed_rows() -> None:
    """Also where a row's columns are not sorted."""
    indices, indptr, shape = compressed_rows(BANDS)
    turned = indices.reshape(6, 3)[:, ::-1].ravel()
    given = gradir.sparse_jacobian(coupled, (turned, indptr, shape))
    dense = gradir.jacfwd(coupled)(POINT)
    assert (given.shape, given.indices.tolist()) == ((6, 8), turned.tolist())
    np.testing.assert_allclose(given(POINT), dense[np.repeat(np.arange(6), 3), turned], rtol=1e-14)


def test_a_matrix_of_scipy_gives_one() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    pattern = sparse.csc_array(BANDS)
    found = gradir.sparse_jacobian(coupled, pattern)(POINT)
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), gradir.jacfwd(coupled)(POINT), rtol=1e-14)


def test_random_patterns_with_empty_rows_and_columns() -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(9, 7)) * (rng.uniform(size=(9, 7)) < 0.3)
    weights[4], weights[:, 2] = 0, 0

    def function(x: Any) -> Any:
        return weights @ gnp.sin(x)

    x = rng.normal(size=7)
    for mode in ("jvp", "vjp"):
        sparse = gradir.sparse_jacobian(function, weights != 0, mode=mode, check=True)
        expected = (weights * np.cos(x))[weights != 0]
        np.testing.assert_allclose(sparse(x), expected, rtol=1e-14)


def test_other_arguments_and_traced_calls() -> None:
    def scaled(by: Any, x: Any, *, shift: Any) -> Any:
        return by * x**2 + shift

    sparse = gradir.sparse_jacobian(scaled, np.eye(3, dtype=bool), argnums=-1)
    assert sparse.colors == 1
    x, shift = np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(sparse(2.0, x, shift=shift), 4 * x)

    def slope(x: Any) -> Any:
        return gnp.sum(sparse(2.0, x, shift=0.0) ** 2)

    np.testing.assert_allclose(gradir.grad(slope)(x), 32 * x)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 3)])
def test_patterns_without_entries(shape: tuple[int, int]) -> None:
    rows, columns = shape
    sparse = gradir.sparse_jacobian(
        lambda x: gnp.zeros(rows) + 0 * gnp.sum(x), np.zeros(shape, bool)
    )
    assert sparse(np.ones(columns)).shape == (0,)


def test_a_constant_function_has_zeros() -> None:
    sparse = gradir.sparse_jacobian(lambda x: gnp.ones(2), np.ones((2, 2), bool))
    np.testing.assert_array_equal(sparse(np.ones(2)), np.zeros(4))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_values_have_the_dtype(dtype: Any) -> None:
    sparse = gradir.sparse_jacobian(lambda x: x * x, np.eye(4, dtype=bool), check=True)
    found = sparse(np.arange(4).astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float64), [0, 2, 4, 6])


def test_hessian_is_the_dense_one() -> None:
    def energy(x: Any) -> Any:
        return gnp.sum(gnp.sin(x[1:]) * x[:-1] ** 2)

    bands = sum((np.eye(8, k=k, dtype=bool) for k in (-1, 0, 1)), np.zeros((8, 8), bool))
    sparse = gradir.sparse_hessian(energy, bands, check=True)
    assert sparse.colors == 3
    np.testing.assert_allclose(sparse(POINT), gradir.hessian(energy)(POINT)[bands], atol=1e-14)


def test_check_finds_an_entry_outside() -> None:
    missing = BANDS.copy()
    missing[3, 4] = False
    sparse = gradir.sparse_jacobian(coupled, missing, check=True)
    with pytest.raises(gradir.GradirError, match="outside of the pattern: 1 of 6 rows, the first"):
        sparse(POINT)
    with pytest.raises(gradir.TraceError, match="check=True needs values"):
        gradir.jit(lambda x: sparse(x))(POINT)


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (coupled, np.ones(7), r"argument 0 must be a floating vector of 8 .* got float64\[7\]"),
        (coupled, np.ones((8, 1)), r"argument 0 must be a floating vector .* got float64\[8, 1\]"),
        (coupled, np.ones(8, int), "argument 0 must be a floating vector of 8 elements"),
        (lambda x: x[:5], np.ones(8), "the result of main must be a floating vector of 6"),
        (lambda x: (x[:6], x), np.ones(8), "has 6 rows, got 2 nested arrays"),
        (lambda x: x[:6] > 0, np.ones(8), "the result of main must be a floating vector"),
    ],
)
def test_refusals_of_functions(function: Any, x: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError, match=message):
        gradir.sparse_jacobian(function, BANDS)(x)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (np.ones(3, bool), "got bool of shape"),
        (np.ones((2, 2)), "array .rows, columns. of bools, .* got float64"),
        (([0], [0, 1]), "a tuple must be"),
        (([0, 0], [0, 2], (1, 2)), "a row has a column twice"),
        (([2], [0, 1], (1, 2)), "indices must be columns, 0 to 1"),
        (([-1], [0, 1], (1, 2)), "indices must be columns, 0 to 1"),
        (([0, 1], [0, 1], (1, 2)), "must rise from 0 to the 2 entries in 1 steps"),
        (([0, 1], [0, 3, 2], (2, 2)), "must rise from 0"),
        (([0.5], [0, 1], (1, 2)), "indices must be a vector of integers"),
    ],
)
def test_refusals_of_patterns(pattern: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError, match=message):
        gradir.sparse_jacobian(coupled, pattern)


def test_other_refusals() -> None:
    with pytest.raises(gradir.GradirError, match="mode: expected None, 'jvp' or 'vjp', got 'fwd'"):
        gradir.sparse_jacobian(coupled, BANDS, mode="fwd")
    with pytest.raises(gradir.GradirError, match="no argument 1 among 1"):
        gradir.sparse_jacobian(coupled, BANDS, argnums=1)(POINT)
    with pytest.raises(gradir.GradirError, match="expected a Python function"):
        gradir.sparse_jacobian(BANDS, BANDS)  # pyrefly: ignore[bad-argument-type]


def test_columns_of_a_color_share_no_row() -> None:
    entries = np.random.default_rng(2).uniform(size=(40, 30)) < 0.1
    colors = colors_of_columns(pattern_of(entries))
    for color in range(colors.max() + 1):
        assert entries[:, colors == color].sum(1).max() <= 1


def test_a_full_row_is_compressed_by_rows() -> None:
    arrow = np.eye(50, dtype=bool)
    arrow[0] = True
    chosen = compression_of(pattern_of(arrow), None)
    assert (chosen.is_forward, chosen.count) == (False, 2)
    chosen = compression_of(pattern_of(arrow.T), None)
    assert (chosen.is_forward, chosen.count) == (True, 2)


def test_the_fullest_columns_first_where_that_is_better() -> None:
    """In the columns' order this path of four needs a third color."""
    path = np.zeros((3, 4), bool)
    for row, ends in enumerate([(0, 2), (2, 3), (3, 1)]):
        path[row, list(ends)] = True
    assert colors_of_columns(pattern_of(path)).max() == 1


def test_it_pickles_by_its_arguments() -> None:
    sparse = gradir.sparse_jacobian(coupled, BANDS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sparse))(POINT), sparse(POINT))
