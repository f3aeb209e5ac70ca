"""Functions written with NumPy, unchanged: traced arrays answer NumPy's own functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trace_harness import RANDOM, fails

import gradir
from gradir.testing import check_grads

X, Y = RANDOM.normal(size=(4, 3)), np.array([0, 1, 1, 0])


def logistic_regression(w: Any) -> Any:
    p = 1 / (1 + np.exp(-np.dot(X, w)))
    return -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p)) + 0.1 * np.sum(w**2)


def softmax(w: Any) -> Any:
    e = np.exp(w - np.max(w, axis=-1, keepdims=True))
    return np.sum(np.square(e / np.sum(e, axis=-1, keepdims=True)))


def gaussian_process(x: Any) -> Any:
    d = x[:, None] - x[None, :]
    k = np.exp(-0.5 * np.square(d)) + 0.1 * np.eye(3)
    factor = np.linalg.cholesky(k)
    return np.sum(np.log(np.sqrt(np.sum(factor * factor, axis=1)) + 1)) + np.log(np.linalg.det(k))


WRITTEN = [logistic_regression, softmax, gaussian_process]


@pytest.mark.parametrize("function", WRITTEN)
def test_numpys_functions_are_differentiated(function: Any):
    x = np.array([0.3, -0.7, 1.1])
    np.testing.assert_allclose(gradir.jit(function)(x), function(x), rtol=1e-12)
    check_grads(function, [x])


CALLS = [
    lambda x: np.logical_or.accumulate(x),
    lambda x: np.logical_xor.reduce(x[:1]),
    lambda x: np.maximum.accumulate(x, axis=1),
    lambda x: np.hypot.reduce(x[:1]),
    lambda x: np.hypot.reduce(x[:0]),
    lambda x: np.add.reduceat(x, [0, 2, 1], axis=0),
    lambda x: np.multiply.reduceat(x, [1, 0], axis=1),
    lambda x: np.logaddexp.reduce(x, axis=1),
    lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
    lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0),
    lambda x: np.add.reduce(x),
    lambda x: np.maximum.reduce(x, axis=1),
    lambda x: np.multiply.accumulate(x, axis=1),
    lambda x: np.subtract.outer(x[0], x[1]),
    lambda x: np.cumsum(x),
    lambda x: np.cumprod(x, axis=1),
    lambda x: np.concatenate([x, X]),
    lambda x: np.concatenate([x, x], axis=1),
    lambda x: np.stack([x, x], axis=-1),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.clip(x, 0, 1),
    lambda x: np.clip(x, a_min=-1, a_max=0.5),
    lambda x: np.std(x, axis=0, ddof=1),
    lambda x: np.mean(x, 0, np.float32),
    lambda x: np.var(x, keepdims=True),
    lambda x: np.reshape(x, (3, 4)),
    lambda x: np.ravel(x) @ np.ravel(X),
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: np.moveaxis(x, 0, 1),
    lambda x: np.transpose(x),
    lambda x: np.dot(x, X.T),
    lambda x: np.dot(x, 2.0),
    lambda x: np.dot(X[0], x[1]),
    lambda x: np.inner(x, X),
    lambda x: np.outer(x[0], X[0]),
    lambda x: np.tensordot(x, X, 2),
    lambda x: np.einsum("ij,kj->ik", x, X, optimize=True),
    lambda x: np.take(x, [0, 1], axis=0),
    lambda x: np.zeros_like(x) + np.ones_like(x) + np.full_like(x, 3),
    lambda x: X + x,
    lambda x: X @ x.T,
    lambda x: X > x,
    lambda x: Y[0] - x,
    lambda x: np.float64(2) * x,
    lambda x: np.arctan2(x, X),
    lambda x: np.triu(x, 1),
    lambda x: np.expand_dims(x, 1),
    lambda x: np.argmax(x, axis=1),
    lambda x: np.any(x > 0, axis=0),
]


@pytest.mark.parametrize("function", CALLS)
def test_numpys_functions_have_numpys_values(function: Any):
    x = X[::-1] * 0.9
    found, wanted = gradir.interpret(gradir.trace(function, x), "main", x)[0], function(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_refusals_name_the_function():
    out = np.zeros((4, 3))
    for function, message in [
        (lambda x: np.linalg.eigvals(x), "eigvals: matrices must be square, got <traced array"),
        (
            lambda x: np.zeros_like(x, subok=False),
            "numpy.zeros_like: unknown argument subok; ",
        ),
        (lambda x: np.sum(x, 0, None, out), "sum: out is for arrays with values; write y = sum("),
        (lambda x: np.unique(x), "array.unique: the result's shape must not depend on values"),
        (lambda x: np.argwhere(x), "argwhere: the shape of the result must not depend on"),
        (lambda x: np.packbits(x), "packbits: bits are not packed; count them with bitwise_count"),
        (lambda x: np.sin(x, out=out), "numpy.sin: out: an array made by numpy cannot hold "),
        (lambda x: np.add.at(out, 0, x), "numpy.add.at: an array made by numpy cannot hold"),
        (lambda x: np.add.reduceat(x, [4]), "numpy.add.reduceat: index 4 is out of range for 4 r"),
        (lambda x: np.power.reduce(x), "numpy.power.reduce: not there for traced arrays; call"),
        (lambda x: np.linalg.norm(x, 3), "norm: ord of matrices must be 'fro', 'nuc', 2, -2, 1"),
    ]:
        assert fails(function, X).startswith(message)
