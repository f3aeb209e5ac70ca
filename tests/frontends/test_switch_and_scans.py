"""gradir.switch, map and associative_scan: values, derivatives, other transformations, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import TraceError

X = np.array([0.3, 1.3, 2.3])


def _twice(x: Any) -> Any:
    return x * 2


def _cube(x: Any) -> Any:
    return x**3


def _in_a_tuple(x: Any) -> Any:
    return (x,)


_WRONG: Any = [_twice, 3]
FUNCTIONS = (_twice, gnp.sin, _cube)
WANTED: tuple[Any, ...] = (2 * X, np.sin(X), X**3)
SLOPES: tuple[Any, ...] = (np.full(3, 2.0), np.cos(X), 3 * X**2)


@pytest.mark.parametrize(("index", "place"), [(-5, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8])
def test_switch(index: int, place: int, kind: Any) -> None:
    if index < 0 and kind is np.uint8:
        return
    np.testing.assert_allclose(gradir.switch(kind(index), FUNCTIONS, X), WANTED[place], 1e-14)


def test_switch_in_other_transformations() -> None:
    def total(x: Any, index: Any) -> Any:
        return gnp.sum(gradir.switch(index, FUNCTIONS, x))

    gradient = gradir.jit(gradir.grad(total))

    def slopes(x: Any, index: Any) -> Any:
        return gnp.sum(gradir.grad(total)(x, index))

    curvature = gradir.jit(gradir.grad(slopes))
    for index, wanted in enumerate(SLOPES):
        np.testing.assert_allclose(gradient(X, np.int64(index)), wanted)
    np.testing.assert_allclose(curvature(X, np.int64(2)), 6 * X)

    def row(index: Any) -> Any:
        return gradir.switch(index, FUNCTIONS, X)

    np.testing.assert_allclose(gradir.vmap(row)(np.arange(4)), np.stack([*WANTED, WANTED[2]]))


def test_the_results_of_switch_agree_in_weak_types() -> None:
    def chosen(index: Any) -> Any:
        return gradir.switch(index, [lambda: 1, lambda: np.float32(2), lambda: 3.0])

    for index, wanted in enumerate((1, 2, 3)):
        found = gradir.jit(chosen)(np.int64(index))
        assert found.dtype == np.float32
        assert found == wanted


def test_a_switch_of_one_function_is_it() -> None:
    np.testing.assert_array_equal(gradir.switch(np.int64(3), [_twice], X), 2 * X)


@pytest.mark.parametrize("size", [None, 1, 2, 5, 9])
def test_map(size: int | None) -> None:
    def product(row: Any) -> Any:
        return {"y": row["x"] * gnp.sum(row["w"])}

    xs = {"x": np.arange(5.0), "w": np.arange(10.0).reshape(5, 2)}
    found = gradir.map(product, xs, batch_size=size)
    np.testing.assert_allclose(found["y"], xs["x"] * xs["w"].sum(1))

    def total(w: Any) -> Any:
        return gnp.sum(gradir.map(product, {"x": xs["x"], "w": w}, batch_size=size)["y"])

    wanted = np.repeat(xs["x"], 2).reshape(5, 2)
    np.testing.assert_allclose(gradir.grad(total)(xs["w"]), wanted)


def test_map_of_no_rows() -> None:
    for size in (None, 2):
        assert gradir.map(gnp.sin, np.zeros((0, 3)), batch_size=size).shape == (0, 3)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 7, 8])
def test_associative_scan(count: int) -> None:
    a = np.random.default_rng(count).standard_normal((2, count))
    found = gradir.associative_scan(gnp.add, a, axis=1)
    np.testing.assert_allclose(found, np.cumsum(a, 1))
    backwards = gradir.associative_scan(gnp.maximum, a, reverse=True, axis=-1)
    np.testing.assert_array_equal(backwards, np.maximum.accumulate(a[:, ::-1], 1)[:, ::-1])


def test_associative_scan_of_steps_of_a_recurrence() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 9))

    def composed(first: Any, then: Any) -> Any:
        return first[0] * then[0], then[0] * first[1] + then[1]

    def last(a: Any, b: Any) -> Any:
        return gradir.associative_scan(composed, (a, b))[1][-1]

    def by_a_loop(a: Any, b: Any) -> Any:
        return gradir.scan(lambda y, ab: (ab[0] * y + ab[1], 0.0), 0.0, (a, b))[0]

    np.testing.assert_allclose(last(a, b), by_a_loop(a, b))
    for one, other in zip(
        gradir.grad(last, argnums=(0, 1))(a, b),
        gradir.grad(by_a_loop, argnums=(0, 1))(a, b),
        strict=True,
    ):
        np.testing.assert_allclose(one, other)
    rows = np.stack([a, b])
    np.testing.assert_allclose(gradir.vmap(last)(rows, rows), [last(r, r) for r in rows])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gradir.switch(1.5, FUNCTIONS, X), "switch: index must be integers of rank 0"),
        (lambda: gradir.switch(True, FUNCTIONS, X), "switch: index must be integers of rank 0"),
        (lambda: gradir.switch(0, [], X), "switch: branches: expected a list of functions"),
        (lambda: gradir.switch(0, _WRONG, X), "switch: expected a Python function, got 3"),
        (lambda: gradir.switch(np.int64(0), [_twice, gnp.sum], X),
         "switch: all functions must return the same types"),
        (lambda: gradir.switch(np.int64(0), [_twice, _in_a_tuple], X), "one nesting"),
        (lambda: gradir.map(_twice, ()), "map: arrays expected, got none"),
        (lambda: gradir.map(_twice, (X, X[:2])), "map: xs must be arrays with one number of rows"),
        (lambda: gradir.map(_twice, X, batch_size=0), "map: batch_size must be a positive integer"),
        (lambda: gradir.associative_scan(gnp.add, X[0]), "associative_scan: axis 0 is out of"),
        (lambda: gradir.associative_scan(lambda a, b: gnp.sum(a + b), X),
         "associative_scan: the function must return the types"),
        (lambda: gradir.associative_scan(lambda a, b: (a, b), X),
         "associative_scan: the function must return what it is handed"),
    ],
)  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        call()
