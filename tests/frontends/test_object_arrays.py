"""NumPy's own arrays of traced numbers: what numpy.array, asarray, full and lists make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from object_programs import program
from trace_harness import RANDOM, fails, run

import gradir
import gradir.numpy as gnp
from gradir.errors import TraceError
from gradir.testing import check_grads

X = RANDOM.uniform(0.3, 1.5, size=5)
M = RANDOM.normal(size=(2, 2))


def lotka_volterra(p: Any) -> Any:
    def rates(u: Any) -> Any:
        return np.array([p[0] * u[0] - p[1] * u[0] * u[1], p[2] * u[0] * u[1] - p[3] * u[1]])

    u, path = np.array([10.0, 5.0]), list[Any]()
    for _ in range(4):
        middle = u + 0.05 * rates(u)
        u = u + 0.1 * rates(middle)
        path.append(u)
    return np.mean((np.stack(path)[:, 0] - 8) ** 2) * p[4]


def rotated(w: Any) -> Any:
    k = w[:3] / np.linalg.norm(w[:3])
    cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    turn = np.eye(3) + np.sin(w[3]) * cross + (1 - np.cos(w[3])) * cross @ cross
    return turn @ w[2:]


def rosenbrock(x: Any) -> Any:
    x = np.asarray(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


PROGRAMS: list[Any] = [
    lotka_volterra,
    rotated,
    rosenbrock,
    lambda x: np.array([x[0], x[1] * 2, 3.0]),
    lambda x: np.array([[x[0], 1], [x[1] ** 2, x[2]]]) @ M,
    lambda x: M @ np.array([x[0], x[1]]) * x[:2],
    lambda x: np.sin(np.array([x[0], x[1]])) * np.arctan2(np.array([x[2], x[3]]), 0.5),
    lambda x: np.array([v**2 for v in x]).sum() + np.sum([v * x[0] for v in x]),
    lambda x: np.array([x[:2], x[3:]]).T * x[:2],
    lambda x: [1, 2] * (x[:2] - [x[2], 0.5]) - (3.0, x[0]),
    lambda x: np.full((2, 2), x[0] * x[1]) * M,
    lambda x: np.concatenate(([1.0], [x[0]])) * x[:2],
    lambda x: np.r_[x, 1.0, x[0]],
    lambda x: np.vectorize(lambda v: v**2 + 1)(x) * x,
    lambda x: np.std([x[0], x[1] ** 2, 1]) + np.array([x[0], x[1]]).var(ddof=1) + np.mean(list(x)),
    lambda x: np.dot([x[0], x[1]], [x[1], 2.0]) + np.linalg.norm([x[0], x[1]]),
    lambda x: np.maximum(np.array([x[0], x[1]]), x[2:4]),
    lambda x: np.random.default_rng(0).permutation(x)[:2] * x[:2],
    lambda x: np.asarray(x, object)[1:3].prod() * x,
    lambda x: np.polynomial.polynomial.polyval(0.3, x) * np.array(x[4]),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients(f: Any) -> None:
    np.testing.assert_allclose(np.asarray(gradir.jacobian(f)(X) @ X), gradir.jvp(f, (X,), (X,))[1])
    np.testing.assert_allclose(gradir.value_and_grad(lambda x: np.sum(f(x)))(X)[0], np.sum(f(X)))
    check_grads(lambda x: gnp.sum(gnp.asarray(f(x)) ** 2), (X,), order=2)


def test_they_become_traced_arrays() -> None:
    def pair(x: Any) -> Any:
        return np.array([x[0], 2 * x[1]])

    np.testing.assert_allclose(run(pair, X), pair(X))
    np.testing.assert_allclose(run(lambda x: gnp.sort(pair(x)), X), np.sort(pair(X)))
    assert run(lambda x: gnp.asarray(pair(x), "float32"), X).dtype == np.float32
    assert run(lambda x: np.array([x[0], 1]) * 2, X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(gradir.vmap(pair)(X.reshape(1, 5)), pair(X)[None])
    squares = gradir.jit(lambda y: y**2)
    derived = gradir.grad(lambda x: np.sum(squares(pair(x)) + gradir.grad(np.prod)(pair(x))))
    np.testing.assert_allclose(derived(X), [2 * X[0] + 1, 8 * X[1] + 2, 0, 0, 0])
    chosen = gradir.grad(lambda x: gradir.cond(x[0] > 0, np.sum, np.prod, pair(x)))
    np.testing.assert_allclose(chosen(X), [1, 2, 0, 0, 0])


def test_they_hold_numbers_and_no_memory() -> None:
    """NumPy copies numbers into an array, and array(x) copies; asarray(x) is x itself."""

    def copied(x: Any) -> Any:
        s, y = x.sum(), x.copy()
        z = np.array(y)
        pair = np.array([s, s])
        y[0], pair[0], z[1] = 3.0, pair[0] + 1, 2 * z[1]
        return pair[0] * pair[1] * z[0] * z[1] * y[0]

    check_grads(copied, (X,), order=2)
    np.testing.assert_allclose(run(copied, X), copied(X))
    with pytest.raises(ValueError, match="read-only"):
        run(lambda x: np.asarray(x.copy()).__setitem__(0, 1.0), X)

    def stored(x: Any) -> Any:
        s = np.zeros_like(x[0])
        pair = np.array([x[0], 1.0])
        pair[0] = s
        return pair * x[0]

    def late(x: Any) -> Any:
        y = x.copy()
        seen = np.asarray(y)
        y[0] = 1.0
        return seen[0] * 2

    assert fails(late, X).startswith("numpy.asarray of a traced array shares its memory, which was")
    assert "holds an array of rank 0" in fails(stored, X)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.array([x[0], 1.0], float), "numpy.asarray: an array of float64 cannot hold"),
        (lambda x: np.float32(x[0]), "numpy.asarray: an array of float32 cannot hold traced numb"),
        (lambda x: np.array([x[0] > 0]), "numpy.asarray: numpy would add and compare bool numbers"),
        (
            lambda x: np.sum([x.astype("int8")[0]]),
            "numpy.asarray: numpy would add and compare int8",
        ),
        (lambda x: np.isnan(np.array([x[0]])), "ufunc 'isnan' not supported for the input types"),
        (lambda x: np.asarray(gnp.zeros(2000) + x[0]), "numpy.asarray: a traced array has no num"),
        (lambda x: np.linalg.det([[x[0], 1], [1, x[1]]]), "Cannot cast ufunc 'det' input from"),
        (lambda x: np.exp(np.array([1, x[0]])), "loop of ufunc does not support argument 0 of"),
        (lambda x: np.sort(np.array([x[0], x[1]])), "bool: a traced array has no value yet; cho"),
    ],
)
def test_refusals(f: Any, message: str) -> None:
    error = fails(f, X)
    assert error.startswith(message)
    if "ufunc" in message:
        assert "gradir.numpy.array or numpy.stack" in error


@pytest.mark.parametrize(
    "largest", [np.max, np.min, np.sort, np.argmax, lambda a: np.maximum(a, 0.0)]
)
def test_nan_is_not_lost(largest: Any) -> None:
    """NumPy's loops over objects compare by Python, and take the number beside a nan."""
    with pytest.raises(TraceError, match="largest and sorted numbers lose nan"):
        gradir.grad(lambda x: np.sum(largest(np.array([x[1], x[0] * np.nan]))))(X)
    chosen = gradir.grad(lambda x: max(x[0], x[1]) * (x[0] if x[0] < x[1] * np.nan else 1.0))
    np.testing.assert_array_equal(chosen(X), np.arange(5) == np.argmax(X[:2]))
    np.testing.assert_array_equal(
        gradir.grad(lambda x: np.sum(largest(np.array([x[0] - 9, x[1]])) * 1.0))(X)[2:], [0, 0, 0]
    )


def test_counts_and_results_that_are_written() -> None:
    def f(x: Any) -> Any:
        a = np.array([x[0], x[1]])
        a *= x[2]
        np.add(a, x[3:], out=a)
        return np.sum(a**2) * np.sum([x[0] > 0, x[1] > 0])

    np.testing.assert_allclose(gradir.value_and_grad(f)(X)[0], f(X))
    v = np.cos(X)
    wanted = (f(X + 1e-6 * v) - f(X - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(np.sum(gradir.grad(f)(X) * v), wanted, rtol=1e-6)
    held = gradir.grad(lambda x: np.sum(np.array([x[:1].squeeze(), gnp.array(x[1])]) * x[:2]))
    np.testing.assert_allclose(held(X), [2 * X[0], 2 * X[1], 0, 0, 0])
    assert fails(lambda x: (lambda s: (np.array([s]), s.fill(1)))(gnp.array(x[0])), X).startswith(
        "assignment: an array of NumPy's, made by numpy.array or a list, holds this array of rank 0"
    )


def test_random_programs() -> None:
    """Against NumPy and differences, derived as they are and under jit."""
    for seed in range(12):
        f = program(seed)
        x, v = RANDOM.uniform(-1, 1, 4), RANDOM.normal(size=4)
        derived = gradir.value_and_grad(f)
        value, slope = (gradir.jit(derived) if seed % 2 else derived)(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-10)
        wanted = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(np.sum(slope * v), wanted, rtol=1e-5, atol=1e-6)
