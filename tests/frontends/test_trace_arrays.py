"""Traced arrays: indexing and broadcasting as NumPy has them, weak numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trace_harness import RANDOM, X, fails, run, text

import gradir
import gradir.numpy as gnp
from gradir import Spec
from gradir.errors import IndexOutOfRange
from gradir.testing import check_grads

# Indexing.

KEYS: list[Any] = [
    0,
    -1,
    np.int64(2),
    (1, 2),
    (1, 2, -1),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(4, 0, -2),
    slice(-100, 100),
    slice(3, 1),
    ...,
    (..., 1),
    (..., slice(1, 3), 0),
    (slice(None), None, slice(None, None, -2)),
    (None, 1, ..., None),
    (),
    None,
    [1, 0, 1],
    np.array([[1, 2], [-1, 0]]),
    (slice(None), np.array([2, 0])),
    (..., np.array([0, -1]), slice(0, 2)),
    (slice(1, 2), None, [1, 1]),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(key: Any) -> None:
    x = np.arange(5 * 4 * 3.0).reshape(5, 4, 3)
    np.testing.assert_array_equal(run(lambda x: x[key], x), x[key])


def test_traced_indices() -> None:
    places, k = np.array([2, 0, 2]), np.array(1)
    f: Any = lambda x, places, k: (x[places], x[:, k], x[k, k], x[places[k]], x[..., places])  # noqa: E731
    for one, other in zip(run(f, X, places, k), f(X, places, k), strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_through_indexing() -> None:
    def f(x: Any) -> Any:
        return gnp.sum(x[::-2, 1:] ** 3) + gnp.sum(gnp.sin(x[np.array([0, 2, 0])])) + x[1, -1] ** 2

    check_grads((gradir.trace(f, X), "f"), [X])


INDEX_ERRORS: list[tuple[Any, str]] = [
    (3, "index 3 is out of range for axis 0 of extent 3"),
    ((0, -5), "index -5 is out of range for axis 1 of extent 4"),
    ((0, 0, 0), "index: at most 2 entries and one ... expected, got 3"),
    ((..., ...), "index: at most 2 entries and one ... expected, got 2"),
    (1.5, "index: expected integers, slices, ... or None, got float"),
    (True, "index: expected integers, slices, ... or None, got a bool"),
    (slice(0, 2.5), "index: slice indices must be integers or None or have an __index__ method"),
    (slice(0, 2, 0), "index: slice step cannot be zero"),
    (([0, 1], [0, 1, 2]), "index: shapes must broadcast"),
    ([1.0], "index: expected integers, got <traced array float64[1]>; convert with .astype"),
]


@pytest.mark.parametrize(("key", "message"), INDEX_ERRORS, ids=str)
def test_index_errors(key: Any, message: str) -> None:
    assert fails(lambda x: x[key], X).startswith(message)


def test_an_index_out_of_range_is_an_index_error() -> None:
    with pytest.raises(IndexOutOfRange):
        gradir.trace(lambda x: x[7], X)


# Weak numbers and broadcasting.


def test_traced_python_numbers_are_weak() -> None:
    """As Python numbers are; NumPy's are not."""
    types = text(
        lambda x, a, b: (x * a, x * (a + b), a + b), Spec(3, "float32"), 2.0, 1
    ).splitlines()
    assert types[-1].endswith(": tensor<3xf32>, tensor<3xf32>, tensor<f64>")
    for strong in (
        text(lambda x, a: x * a, Spec(3, "float32"), np.float64(2)),
        text(lambda x, a: x * a.astype("float64"), Spec(3, "float32"), 2.0),
        text(lambda x, a: x * gnp.asarray(a, "float64"), Spec(3, "float32"), 2.0),
    ):
        assert strong.splitlines()[-1].endswith(": tensor<3xf64>")


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((), ()), ((), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((1,), (0,)), ((2, 1, 4), (3, 1)),
    ((1, 1), (1,)), ((0, 3), (1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_broadcasting(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    a, b = RANDOM.normal(size=first), RANDOM.normal(size=second)
    for x, y in ((a, b), (b, a)):
        np.testing.assert_array_equal(run(lambda x, y: x + y, x, y), x + y)
        np.testing.assert_array_equal(
            run(lambda x, y: gnp.where(x > y, x, y), x, y), np.maximum(x, y)
        )
    check_grads((gradir.trace(lambda x, y: gnp.sum(x * y * y), a, b), "main"), [a, b])


@pytest.mark.parametrize("name", ["concatenate", "power", "arctan2", "mod", "absolute", "rint"])
def test_names_of_numpy(name: str):
    operands = [RANDOM.uniform(0.5, 2, (3,)) for _ in range(getattr(getattr(np, name), "nin", 2))]
    arguments = [operands] if name == "concatenate" else operands
    found = run(
        lambda *xs: getattr(gnp, name)(*([list(xs)] if name == "concatenate" else xs)), *operands
    )
    np.testing.assert_allclose(found, getattr(np, name)(*arguments), rtol=1e-15)


def test_array_is_asarray():
    assert (
        run(lambda x: gnp.array([[1, 2], [3, 4]], dtype="float32") * x, np.float32(2)).dtype
        == np.float32
    )
