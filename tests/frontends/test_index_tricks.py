"""gradir.numpy.r_ and c_, and lists of traced arrays where an array is expected, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import TraceError

X = np.array([0.5, -1.0, 1.5])
M = np.arange(6.0).reshape(2, 3)
JOINED: list[Any] = [
    lambda np_, x, m: np_.r_[x],
    lambda np_, x, m: np_.r_[x, 0, 2.5, x[0]],
    lambda np_, x, m: np_.r_[1:6:2, x, 0:1:5j, :2],
    lambda np_, x, m: np_.r_[m, m],
    lambda np_, x, m: np_.r_["-1", m, m],
    lambda np_, x, m: np_.r_["0,2", x, m],
    lambda np_, x, m: np_.r_["1,2,0", x, x],
    lambda np_, x, m: np_.r_["0,3,-2", m, m],
    lambda np_, x, m: np_.r_["0,3,1", x, x],
    lambda np_, x, m: np_.c_[x],
    lambda np_, x, m: np_.c_[x, 2 * x, x],
    lambda np_, x, m: np_.c_[m.T, x, 1:4],
    lambda np_, x, m: np_.c_[3, x[1], 2],
]
LISTS: list[Any] = [
    lambda np_, x, m: np_.mean([x[0], x[1] * 2, 3.0]),
    lambda np_, x, m: np_.std((x[0], x[2])),
    lambda np_, x, m: np_.sum([[x, m[0]], [m[1], x]], axis=(0, 1)),
    lambda np_, x, m: np_.dot([x[0], x[1]], [1, 2.0]),
    lambda np_, x, m: np_.linalg.norm([x[0], 2.0, x[2]]),
    lambda np_, x, m: np_.append([x[0], x[1]], [x[2]]),
    lambda np_, x, m: np_.sin([x, 2 * x]),
    lambda np_, x, m: np_.where(np_.array([True, False]), [x[0], 1.0], [2.0, x[1]]),
]


@pytest.mark.parametrize("f", JOINED + LISTS)
def test_as_numpy(f: Any) -> None:
    wanted = f(np, X, M)
    for found in (gradir.jit(lambda x, m: f(gnp, x, m))(X, M), f(gnp, X, M)):
        np.testing.assert_allclose(found, wanted, 1e-14)
        assert found.shape == np.shape(wanted) and found.dtype == wanted.dtype
    slopes = gradir.grad(lambda x: gnp.sum(f(gnp, x, M) ** 2))(X)
    steps = 1e-6 * np.eye(3)
    near = [np.sum(f(np, X + s, M) ** 2) - np.sum(f(np, X - s, M) ** 2) for s in steps]
    np.testing.assert_allclose(slopes, np.array(near) / 2e-6, 1e-7, 1e-7)


ERRORS: list[tuple[Any, str]] = [
    (
        lambda x: gnp.r_["a", x],
        'r_: expected "axis", "axis,ndmin" or "axis,ndmin,place", got \'a\'',
    ),
    (lambda x: gnp.r_["0,1,2,3", x], "r_: expected"),
    (lambda x: gnp.r_[x, "0"], "r_: '0' must be the first subscript"),
    (lambda x: gnp.r_["0"], "r_: at least one array must be given"),
    (lambda x: gnp.c_["0,3,3", x], "c_: the axes of .* cannot begin at axis 3 of 3"),
    (lambda x: gnp.r_[: x[0]], "arange: start, stop and step must be known while tracing"),
    (lambda x: gnp.mean([x, x[0]]), "array.stack: operand types must be equal"),
]


@pytest.mark.parametrize(("f", "message"), ERRORS)
def test_refusals(f: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        gradir.jit(f)(X)
