"""Objects that are no arrays, and Python's numbers, as arguments of transforms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError, TraceError

X = np.array([1.0, 2.0])


def reduced(x: Any, how: str) -> Any:
    return gnp.sum(x * x) if how == "sum" else gnp.mean(x)


def by_name(x: Any, how: str) -> Any:
    return x * x if how == "square" else 3 * x


def test_a_text_chooses_the_program_of_a_derivative() -> None:
    slope = gradir.grad(reduced)
    for _ in range(3):
        np.testing.assert_array_equal(slope(X, "sum"), 2 * X)
        np.testing.assert_array_equal(slope(X, "mean"), [0.5, 0.5])
        np.testing.assert_array_equal(slope(X, how="sum"), 2 * X)
    value, found = gradir.value_and_grad(reduced)(X, "sum")
    assert value == 5
    np.testing.assert_array_equal(found, 2 * X)
    np.testing.assert_array_equal(gradir.hessian(reduced)(X, "sum"), 2 * np.eye(2))
    for transform in (gradir.jacfwd, gradir.jacrev):
        np.testing.assert_array_equal(transform(by_name)(X, "square"), np.diag(2 * X))
        np.testing.assert_array_equal(transform(by_name)(X, "triple"), 3 * np.eye(2))


def test_texts_in_traces_and_derivatives_of_derivatives() -> None:
    def second(x: Any, how: str) -> Any:
        return gnp.sum(gradir.grad(reduced)(x, how) ** 2)

    np.testing.assert_array_equal(gradir.grad(second)(X, "sum"), 8 * X)
    np.testing.assert_array_equal(gradir.jit(lambda x: gradir.grad(second)(x, "sum"))(X), 8 * X)
    slope = gradir.grad(reduced)
    np.testing.assert_array_equal(gradir.jit(slope, static_argnums=1)(X, "mean"), [0.5, 0.5])


def test_a_nesting_may_have_texts_beside_arrays() -> None:
    def loss(x: Any, settings: dict[str, Any]) -> Any:
        return gnp.sum(by_name(x, settings["how"]) * settings["scale"])

    found = gradir.grad(loss)(X, {"how": "square", "scale": 2.0})
    np.testing.assert_array_equal(found, 4 * X)
    found = gradir.grad(loss)(X, {"how": "triple", "scale": X})
    np.testing.assert_array_equal(found, 3 * X)


def test_functions_and_dtypes() -> None:
    found = gradir.grad(lambda x, f: gnp.sum(f(x)))(X, gnp.sin)
    np.testing.assert_allclose(found, np.cos(X), rtol=1e-15)
    found = gradir.grad(lambda x, dtype: gnp.sum(x.astype(dtype)))(X, np.float32)
    np.testing.assert_array_equal(found, [1, 1])


def test_rows_share_texts_and_numbers() -> None:
    rows = np.arange(6.0).reshape(2, 3)
    found = gradir.vmap(reduced, in_axes=(0, None))(rows, "sum")
    np.testing.assert_array_equal(found, np.sum(rows * rows, 1))
    found = gradir.jit(
        lambda x: gradir.vmap(lambda row, n: sum(row[k] for k in range(n)), in_axes=(0, None))(x, 2)
    )(rows)
    np.testing.assert_array_equal(found, rows[:, 0] + rows[:, 1])
    with pytest.raises(TraceError, match="expected an array or a number, got str"):
        gradir.vmap(reduced)(rows, how="sum")


@cache
def _weights(count: int) -> Any:
    return np.arange(1.0, count + 1)


def test_numbers_of_a_trace_are_pythons() -> None:
    def loss(x: Any, count: int) -> Any:
        assert type(count) is int
        return gnp.sum(x[:count] * _weights(count))

    found = gradir.jit(lambda x: gradir.grad(loss)(x, 2))(X)
    np.testing.assert_array_equal(found, [1, 2])
    found = gradir.jit(gradir.grad(loss), static_argnums=1)(X, 1)
    np.testing.assert_array_equal(found, [1, 0])
    found = gradir.grad(lambda x: gradir.value_and_grad(loss)(x, count=2)[0])(X)
    np.testing.assert_array_equal(found, [1, 2])
    # a number that is differentiated is none
    found = gradir.jit(lambda x: gradir.grad(lambda t: gnp.sum(x * t * t))(3.0))(X)
    assert found == 18


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="p_name: expected an array"):
        gradir.grad(lambda p: gnp.sum(p["w"]))({"w": X, "name": "layer"})
    with pytest.raises(ArgumentTypeError, match="got set"):
        gradir.grad(lambda x, how: gnp.sum(x))(X, {1, 2})
    with pytest.raises(ArgumentTypeError, match="static_argnames='how'"):
        gradir.jit(reduced)(X, "sum")


class Scaled:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def times(self, x: Any) -> Any:
        return gnp.sum(x * self.scale)


def test_objects_that_may_change_are_refused_where_a_program_is_kept() -> None:
    scaled, draws = Scaled(2.0), np.random.default_rng(0)
    slope = gradir.grad(lambda x, other: gnp.sum(x * other.scale))
    for other in (scaled, draws):
        with pytest.raises(ArgumentTypeError, match="other: expected an array"):
            slope(X, other)
    for function in (scaled.times, draws.normal):
        with pytest.raises(ArgumentTypeError, match="f: expected an array"):
            gradir.grad(lambda x, f: f(x))(X, function)
    # a trace reads them anew
    for scale in (2.0, 3.0):
        scaled.scale = scale
        found = gradir.jit(lambda x: slope(x, scaled))(X)
        np.testing.assert_array_equal(found, [scale, scale])
        found = gradir.jit(lambda x: gradir.grad(lambda x, f: f(x))(x, scaled.times))(X)
        np.testing.assert_array_equal(found, [scale, scale])


@dataclass(frozen=True)
class Settings:
    scale: float


def test_values_of_a_users_class() -> None:
    slope = gradir.grad(lambda x, settings: gnp.sum(x * settings.scale))
    for scale in (2.0, 3.0, 2.0):
        np.testing.assert_array_equal(slope(X, Settings(scale)), [scale, scale])
    slope = gradir.grad(lambda x, f: gnp.sum(f(x)))
    for function in (gradir.jit(gnp.sin), np.sin, gnp.sin):
        np.testing.assert_allclose(slope(X, function), np.cos(X), rtol=1e-15)
