"""Assignment to traced arrays: with NumPy's meaning, views and aliases too, and its derivatives."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from in_place_programs import program
from trace_harness import RANDOM, X, fails, run

import gradir
import gradir.numpy as gnp
from gradir.errors import TraceError
from gradir.testing import check_grads


def squares(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] ** 2
    return y


def cumulated(x: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += y[i - 1] * x[i]
    y[1:3] *= 2
    y[x > 0] = x[0]
    return y


def aliased(x: Any) -> Any:
    y = x * 1
    z = y
    z += 1
    rows = list(y)
    y.T[0] -= x[:, 0]
    rows[1][...] = rows[0] * 2
    return y + z


def viewed(x: Any) -> Any:
    y = x * 1
    v, w = y[1:, ::-1], y[None, :, 2:].squeeze(0)
    v[0] = 3
    w += v[:1, :2]
    np.add(v, 1, out=v)
    np.copyto(w, x[:, :2], where=x[:, :2] > 0)
    return np.concatenate([y, w], axis=1)


def scattered(x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y, [0, 2, 0], x)
    y[[1, 1], 1:] = x[:2, :3]
    y[:, [0, 2]] += 1
    y[np.array([True, False, True])] *= x[:2]
    y[...] = y[::-1]
    return y


WRITTEN = [squares, cumulated, aliased, viewed, scattered]


@pytest.mark.parametrize("function", WRITTEN)
def test_values_and_gradients_are_numpys(function: Callable[[Any], Any]):
    x = X if function in (aliased, viewed, scattered) else X[0]
    wanted = function(x)
    np.testing.assert_allclose(run(function, x), wanted, rtol=1e-14)
    check_grads(function, (x,), order=2)


def test_in_other_transformations():
    wanted = np.stack([cumulated(x) for x in X])
    np.testing.assert_allclose(gradir.jit(gradir.vmap(cumulated))(X), wanted, rtol=1e-14)
    for wrap in (gradir.checkpoint, gradir.jit, gradir.vmap):
        arrays = X if wrap is gradir.vmap else X[0]

        def loss(x: Any, wrap: Any = wrap) -> Any:
            return gnp.sum(wrap(cumulated)(x) ** 2)

        check_grads(loss, (arrays,), order=2)


def test_carried_arrays_are_the_bodys_own():
    def f(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            y[i] *= x[i]
            y[0] += 1
            return y

        return gradir.fori_loop(0, 3, body, x * 2)

    wanted = X[0] * 2
    for i in range(3):
        wanted[i] *= X[0][i]
        wanted[0] += 1
    np.testing.assert_allclose(run(f, X[0]), wanted, rtol=1e-14)
    check_grads(f, (X[0],), order=2)


CASTS: list[Any] = [
    (np.float32, lambda y: y.__setitem__(0, 0.1)),
    (np.float32, lambda y: y.__iadd__(np.full(4, 0.1))),
    (np.int64, lambda y: y.__setitem__(0, 1.7)),
    (np.int64, lambda y: y.__setitem__(slice(0, 2), np.array([-1.7, 2.9]))),
    (np.int32, lambda y: y.__iadd__(np.full(4, 2**33))),
    (np.bool_, lambda y: y.__setitem__(1, 2.5)),
    (np.bool_, lambda y: y.__ior__(True)),
    (np.float64, lambda y: y.__setitem__(slice(0, 2), np.ones((1, 1, 2)))),
    (np.float64, lambda y: y.fill(3)),
    (np.int64, lambda y: np.add(y, 1, out=y)),
]


@pytest.mark.parametrize(("dtype", "statement"), CASTS)
def test_casts_are_numpys(dtype: Any, statement: Any):
    def f(x: Any) -> Any:
        y = x.copy()
        statement(y)
        return y

    x = np.array([3, 0, 1, 2]).astype(dtype)
    found, wanted = run(f, x), f(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_copies_are_their_own():
    def f(x: Any) -> Any:
        y = x * 1
        others = [+y, y.copy(), np.copy(y), y.astype(y.dtype), gnp.array(y), y.flatten(), y[[0, 1]]]
        others += [y.at[0:0].set(0), gnp.full(4, y), gnp.where(True, y, y), y[0]]
        y[:] = 0
        for other in others[:-1]:
            other += 1
        others[-1] += 1
        return y, others

    y, others = gradir.jit(f)(X[0])
    assert not y.any()
    for other in others:
        np.testing.assert_array_equal(other, X[0].flat[: other.size].reshape(other.shape) + 1)


RANK_0 = """
    z = np.zeros_like(s); w = z; w += 1; w *= s; return z, w
    t = s * 2; w = t; w += 1; return t, w
    t = x[0]; w = t; w += 1; return t, w, x
    z = np.copy(s); w = z; w -= 1; return z, s
    t = np.sum(x); c = t.copy(); w = c; w += 1; return t, c, w
    z = np.zeros_like(s); c = z.copy(); w = c; w += 1; return z, c, w
    z = np.zeros_like(s); c = z.astype(np.float32); w = c; w += s; return z, c, w
    z = np.empty_like(s); z[...] = s; z[()] += s; return z
    z = np.full_like(s, 2); n = z[()]; n += 1; return z, n
    z = np.zeros_like(s); n = z[...]; n += s; return z, n
    z = np.zeros_like(s); v = z.reshape(1); v += 1; return z, v
    z = np.zeros_like(s); v = np.reshape(z, (1, 1)); z += s; return z, v
    t = s * 2; v = np.reshape(t, (1,)); v += 1; return t, v
    t = s * 2; v = np.expand_dims(t, 0); v[0] = 7; return t, v
    t = s * 2; v = np.ravel(t); v[0] = 7; return t, v
    y = x * 1; v = y[0, ...]; v += 5; return y, v
    y = x * 1; v = np.squeeze(y[:1]); v += 5; return y, v
    z = np.where(s > 0, s, 0.0); w = z; w += 1; return z, w
    z = np.ones_like(s); w = np.multiply(z, s, out=z); w += 1; return z, w
    z = np.ones_like(s); np.copyto(z, s); z[s > 0] = 3; return z
    z = np.zeros_like(s, dtype=int); w = z; w += 2; z.fill(w * 2); return z, w
    z = np.zeros_like(s); p = +z; q = abs(z); p += 1; q += 1; return z, p, q
    z = np.zeros_like(s)[None]; w = z[0]; w += 1; return z, w
    z = np.zeros_like(s); many = [z, z]; many[0] += s; return many[1]
"""


def test_arrays_of_rank_0():
    """All of the programs in one, as NumPy's own; the argument is NumPy's number."""
    lines = [line.strip() for line in RANK_0.strip().splitlines()]
    scope: dict[str, Any] = {"np": np}
    for k, line in enumerate(lines):
        exec(f"def f{k}(s, x):\n    {line}", scope)

    def every(s: Any, x: Any) -> Any:
        return [scope[f"f{k}"](s, x) for k in range(len(lines))]

    s, x = np.float64(3), np.arange(3.0)
    for found, wanted, line in zip(gradir.jit(every)(s, x), every(s, x), lines, strict=True):
        pairs = (
            [(found, wanted)] if isinstance(found, np.ndarray) else zip(found, wanted, strict=True)
        )
        for one, other in pairs:
            np.testing.assert_array_equal(one, other, line, strict=False)
            assert one.dtype == np.asarray(other).dtype

    def f(s: Any) -> Any:
        z = np.zeros_like(s)
        w = z
        w += s**2
        w *= s
        return z

    check_grads(f, (s,), order=2)
    np.testing.assert_allclose(gradir.vmap(f)(x), x**3)


def _written(function: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        return function(y, x)

    f.__code__ = f.__code__.replace(co_filename=function.__code__.co_filename)
    return f


REFUSED: list[tuple[Any, str]] = [
    (lambda y, x: x.__setitem__(0, 1), "assignment: x is an argument of the traced function"),
    (lambda y, x: x.__iadd__(1), "assignment: x is an argument of the traced function"),
    (lambda y, x: x[1:].__iadd__(1), "assignment: x is an argument of the traced function"),
    (lambda y, x: np.zeros((3, 4)).__setitem__(0, x[0]), "numpy.asarray: an array of float64 can"),
    (lambda y, x: np.sin(y, where=y > 0), "numpy.sin: where leaves the other elements without val"),
    (lambda y, x: np.place(y, y > 0, []), "place: expected at least one value, got none"),
    (lambda y, x: np.putmask(y, x[0] > 0, 1), "putmask: expected a mask of 12 elements, got"),
    (
        lambda y, x: np.put(np.zeros(3), [0], x[0, 0]),
        "put: an array made by numpy cannot hold tra",
    ),
    (lambda y, x: y.sort(order="a"), "sort: order is for structured arrays, got 'a'"),
    (lambda y, x: y.resize(12), "resize: a traced array has no value yet; y = gradir.numpy.resize"),
    (lambda y, x: setattr(y, "shape", (12,)), "shape: it does not change; y = x.reshape(shape) is"),
    (lambda y, x: (np.asarray(y), y.fill(0))[0] + 1, "numpy.asarray of a traced array shares its"),
    (
        lambda y, x: np.put_along_axis(y, np.array([[4]] * 3), 1, 1),
        "put_along_axis: index 4 is out",
    ),
    (lambda y, x: np.fill_diagonal(y[0], 1), "fill_diagonal: array must be at least 2-d"),
    (
        lambda y, x: np.add(y, 1, where=y, out=y),
        "numpy.add: where must be bools, got <traced array",
    ),
    (lambda y, x: np.zeros(4).__setitem__(0, x[0, 0]), "float: a traced array has no value yet; "),
    (lambda y, x: np.zeros((3, 4)).__iadd__(x), "numpy.add: out: an array made by numpy cannot"),
    (lambda y, x: np.add.at(np.zeros((3, 4)), 0, x), "numpy.add.at: an array made by numpy canno"),
    (lambda y, x: y[0].__setitem__((), y), "array.broadcast_to: tensor<3x4xf64> does not"),
    (lambda y, x: y[0, 0].__setitem__((), 1), "assignment: a traced array of rank 0 is a number"),
    (lambda y, x: np.zeros_like(x[0, 0]).__iadd__(x[0]), "assignment: a result of shape [4] does"),
    (lambda y, x: np.zeros_like(x[0, 0], int).__iadd__(0.5), "assignment: float64 values do not g"),
    (lambda y, x: np.broadcast_to(y[0, 0], ()).__iadd__(1), "assignment: a broadcast array is"),
    (lambda y, x: y.__iadd__(x[None]), "assignment: a result of shape [1, 3, 4] does not fit into"),
    (lambda y, x: (y > 0).__iadd__(1.0), "assignment: float64 values do not go into bool[3, 4]"),
    (lambda y, x: gnp.arange(3).__setitem__(0, np.nan), "assignment: nan is no element of an"),
    (lambda y, x: gnp.broadcast_to(y, (2, 3, 4)).__iadd__(1), "assignment: a broadcast array is"),
    (lambda y, x: y.__setitem__(x > 0, x), "assignment: a value for each true element of a mask"),
    (lambda y, x: y.__setitem__(x[0] > 0, 1), "assignment: a mask must have the leading extents"),
    (lambda y, x: (y.ravel(), y.fill(0))[0] + 1, "this array may share memory with one that was"),
    (lambda y, x: (np.einsum("ij->ji", y), y.fill(0))[0] + 1, "this array may share memory with"),
    (lambda y, x: (y.ravel().fill(0), y)[1] + 1, "this array may share memory with one that was"),
    (
        lambda y, x: gradir.fori_loop(0, 2, lambda i, c: (y.fill(0), c)[1], 0.0),
        "assignment: the array is one from outside of this function",
    ),
    (
        lambda y, x: gradir.cond(True, lambda z: z.__iadd__(1), lambda z: z, y),
        "assignment: the array is one from outside of this function",
    ),
    (
        lambda y, x: gradir.checkpoint(lambda z: z.__iadd__(1))(y),
        "assignment: the array is one from outside of this function",
    ),
    (lambda y, x: gradir.grad(lambda z: z.__iadd__(1))(y), "assignment: z is an argument of the"),
    (lambda y, x: gradir.grad(lambda z: y.fill(z))(x), "assignment: the array is one from outside"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refusals(function: Any, message: str):
    assert fails(_written(function), X).startswith(message)


def test_random_programs():
    """Statements at random places of arrays and of views of views, against NumPy."""
    for seed in range(20):
        statements = program(np.random.default_rng(seed))
        x = RANDOM.uniform(0.5, 1.5, (3, 4))
        np.testing.assert_allclose(run(statements, x), statements(x), rtol=1e-12)
        v = RANDOM.normal(size=x.shape)
        values = [np.sum(statements(x + s * 1e-6 * v)) for s in (1, -1)]
        found = gradir.grad(lambda x, f=statements: np.sum(f(x)))(x)
        wanted = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(np.sum(found * v), wanted, rtol=1e-5, atol=1e-5)


def shuffled(y: Any, _: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of objects that are no sequences
        np.random.default_rng(0).shuffle(y)
    return y


def test_shuffles_of_rows_are_refused():
    """NumPy exchanges rows of foreign arrays by views, and loses some."""
    assert fails(_written(shuffled), X).startswith("assignment: rows of this array are exchanged")
    np.testing.assert_array_equal(run(lambda x: shuffled(x * 1, x), X[0]), shuffled(X[0] * 1, X))


def test_functions_that_change_arrays_take_numpys_own():
    y = np.arange(6.0).reshape(2, 3)
    assert gnp.fill_diagonal(y, 9) is None and y[1, 1] == 9
    changed = gnp.put(y, [0, -1], [1.5, 2.5], inplace=False)
    assert changed[1, 2] == 2.5 and y[1, 2] == 5
    rows = [[1.0, 2.0], [3.0, 4.0]]
    np.testing.assert_array_equal(gnp.fill_diagonal(rows, 0, inplace=False), [[0, 2], [3, 0]])
    with pytest.raises(
        TraceError, match="fill_diagonal: expected an array, which is changed, got l"
    ):
        gnp.fill_diagonal(rows, 0)
    assert gnp.sin(y, out=y) is y and y[0, 0] == np.sin(9)
    assert gnp.divide(1, y, out=y, where=y > 2) is y and y[0, 0] == np.sin(9)
    traced = gradir.jit(lambda x: gnp.fill_diagonal(x, x[0, 1], inplace=False))(y)
    assert traced[1, 1] == y[0, 1]
    table = np.zeros((2, 2))
    gradir.jit(lambda x: (np.fill_diagonal(table, 1), x)[1])(1.0)
    assert table[1, 1] == 1


def test_copies_of_the_copy_module_are_copies():
    def f(x: Any) -> Any:
        y, z = copy.copy(x), copy.deepcopy({"x": x})["x"]
        y[0], z[1] = 2.0, 3.0
        return np.sum(x * y * z)

    np.testing.assert_allclose(run(f, X[0]), f(X[0]))


def test_elements_in_row_major_order():
    def f(x: Any) -> Any:
        y = x.T.copy()
        y.flat[[0, -1]] = x.flat[1] * 2, 3.0
        y.flat[2:4] = x.item(5)
        x = np.zeros_like(y)
        x.flat = [y[0, 0], 1.0, y.item((1, 1))]
        return sum(a * b for a, b in zip(y.flat, x.flat, strict=True)) + sum(y.tolist()[0])

    x = RANDOM.normal(size=(3, 4))
    np.testing.assert_allclose(run(f, x), f(x), rtol=1e-12)
    check_grads(f, (x,), order=2)
