"""x[...] and x.at[...] by several arrays of integers, masks, slices and new axes: NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trace_harness import fails

import gradir
from gradir.testing import check_grads

X = np.random.default_rng(3).normal(size=(3, 4, 5))
R, J, K = np.array([[2], [0], [-1]]), np.array([3, -2]), np.array([1, 1, 0])
MASK = X[:, :, 0] > 0
KEYS: list[Any] = [
    (R, J), (R, slice(None), J), (slice(None), R, J), (0, slice(1, 3), K), (K, None, K),
    (None, K, K, None), (Ellipsis, R, J), (K, Ellipsis, 2), (slice(None, None, -1), 1, K), MASK,
    (MASK, slice(1, None, 2)), (slice(None), MASK[0]), ([True, False, True],), (R, J, 4),
    (K, slice(None), slice(None)), (slice(2), K, None, J[:1]), ([0, 2], [1, 1], [4, -5]),
]  # fmt: skip


def test_reads():
    """Arrays in the key known, and traced."""

    def known(x: Any) -> Any:
        return [x[key] for key in KEYS]

    def traced(x: Any, i: Any, j: Any) -> Any:
        return [x[i, j], x[i, :, j], x[..., i, j], x[j[1], :, j]]

    for found, key in zip(gradir.jit(known)(X), KEYS, strict=True):
        np.testing.assert_array_equal(found, X[key])
    for found, wanted in zip(gradir.jit(traced)(X, R, J), traced(X, R, J), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_writes():
    """set, add, and with places that differ all others; traced indices for the adding ones."""

    def written(x: Any) -> Any:
        return [x.at[key].set(7.0) for key in KEYS] + [x.at[key].add(2.0) for key in KEYS]

    made = gradir.jit(written)(X)
    for found, key in zip(made, KEYS, strict=False):
        wanted = X.copy()
        wanted[key] = 7
        np.testing.assert_array_equal(found, wanted)
    for found, key in zip(made[len(KEYS) :], KEYS, strict=True):
        wanted = X.copy()
        np.add.at(wanted, key, 2.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


COMBINED = {
    "multiply": lambda old, v: old * v, "divide": lambda old, v: old / v, "min": np.minimum,
    "max": np.maximum, "power": lambda old, v: old**v,
}  # fmt: skip


def test_combinations_at_places_that_differ():
    key, values = (R[:2], J), np.array([[2.0], [3.0]])
    names = list(COMBINED)
    made = gradir.jit(lambda x: [getattr(x.at[key], n)(values) for n in names])(X)
    for found, name in zip(made, names, strict=True):
        wanted = X.copy()
        wanted[key] = COMBINED[name](wanted[key], values)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_gradients():
    def f(x: Any, v: Any) -> Any:
        y = x.at[R, :, J].add(v * v).at[K, 0].set(v[0, 0, :1])
        return np.sum(np.sin(y[R, J] * x[MASK][:1]))

    check_grads(f, [X, np.random.default_rng(1).normal(size=(3, 2, 4))])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[x > 0], "array.boolean_mask: the result's shape must not depend on values"),
        (lambda x: x[K, 9], "index 9 is out of range for axis 1 of extent 4"),
        (lambda x: x[[0, 1], [0, 1, 2]], "index: shapes must broadcast"),
        (lambda x: x.at[K, K].power(2.0), "x.at[...]: with an array of indices that may name a"),
        (lambda x: x.sort(), "assignment: x is an argument of the traced function, and NumPy"),
        (lambda x: x.fill(0), "assignment: x is an argument of the traced function, and NumPy"),
        (lambda x: x.item(), "item: expected an array of one element, or its place, got <traced"),
        (lambda x: x.item(0, 1), "item: expected the place of an element, got (0, 1) for <traced"),
    ],
)
def test_refusals(function: Any, message: str):
    assert fails(function, X).startswith(message)


def test_methods_and_attributes():
    """Those of NumPy's arrays, with their parameters."""
    x = X[0]

    def call_eager(x: Any) -> Any:
        return [
            x.dot(x.T), x.ravel("F"), x.flatten(), x.cumsum(1), x.cumprod(axis=0), x.argsort(),
            x.take([1, 2], axis=1), x.repeat(2), x.swapaxes(0, 1), x.trace(1), x.diagonal(),
            x.std(ddof=1), x.var(0, ddof=1), x.round(1), x.clip(-1, 1), x.transpose(1, 0), x.mT,
            x.reshape(2, -1, order="F"), x.compress([True, False, True, True], 0), x.copy(),
            x.mean(0, keepdims=True), x.real, x.imag, x.conj(),
            np.array(x.nbytes + x.itemsize), x.max(axis=0, initial=0.0), x.sum(where=x > 0),
            x.squeeze(), x.astype("float32").prod(), x.argmax(1), x.any(), x.all(0), x.min(1),
        ]  # fmt: skip

    for found, wanted in zip(gradir.jit(call_eager)(x), call_eager(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype == "f4" else 1e-12)
        assert found.dtype == np.asarray(wanted).dtype


def test_tuples_in_a_key_list_places() -> None:
    x = np.arange(64.0).reshape(4, 4, 4)
    several, one = gradir.jit(lambda x: (x[(0, 1, 0), (3, 3, 2)], x[:, (0, 1), ::2]))(x)
    np.testing.assert_array_equal(several, x[(0, 1, 0), (3, 3, 2)])
    np.testing.assert_array_equal(one, x[:, (0, 1), ::2])
    slope = gradir.grad(lambda x: x[(0, 0), (3, 3)].sum())(x)
    assert slope.sum() == 8 and (slope[0, 3] == 2).all()
