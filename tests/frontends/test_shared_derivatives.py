"""Derivatives asked for repeatedly: when they are one, and that what functions read may change."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.cache.memory import Store
from gradir.frontends.transforms import shared_derivatives

X = np.array([1.0, 2.0, 3.0])
SCALE: Any = 2.0
count = 0
TABLE = [2.0]
SETTINGS = SimpleNamespace(scale=2.0)
ARRAY = np.array(2.0)
HELPERS: Any = ModuleType("helpers")
HELPERS.scale = 2.0


def helper(x: Any, power: int = 2) -> Any:
    return x**power


def uses_a_global(x: Any) -> Any:
    return gnp.sum(SCALE * x * x)


def uses_a_function(x: Any) -> Any:
    return gnp.sum(helper(x)) * math.sqrt(4.0) * len(x.shape)


def uses_a_module(x: Any) -> Any:
    return gnp.sum(HELPERS.scale * x * x)


def uses_a_list(x: Any) -> Any:
    return gnp.sum(TABLE[0] * x * x)


def uses_an_attribute(x: Any) -> Any:
    return gnp.sum(SETTINGS.scale * x * x)


def uses_an_array(x: Any) -> Any:
    return gnp.sum(ARRAY * x * x)


def uses_random_numbers(x: Any) -> Any:
    return gnp.sum(float(np.random.default_rng().uniform()) * x * x)


def keeps_a_count(x: Any) -> Any:
    global count
    count += 1
    return gnp.sum(x * x)


def goes_around(x: Any) -> Any:
    return gnp.sum(helper.__globals__["SCALE"] * x * x)


def hands_on_a_module(x: Any) -> Any:
    modules = [HELPERS]
    return gnp.sum(modules[0].scale * x * x)


def imports(x: Any) -> Any:
    from os import environ

    return gnp.sum(len(environ) * x * x)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = Store[Any, Any](shared_derivatives.MOST_DERIVATIVES)
    monkeypatch.setattr(shared_derivatives, "_kept", kept)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    yield


def is_shared(function: Callable[..., Any]) -> bool:
    """Whether a derivative asked for again is the one before."""
    gradir.grad(function)
    gradir.grad(function)(X)
    return gradir.grad(function) is gradir.grad(function)


def factor(function: Callable[..., Any]) -> float:
    """The factor of a gradient now, which is the same if no derivative is kept."""
    gradients = [gradir.grad(function)(X) for _ in range(3)]
    gradients.append(gradir.jit(gradir.grad(function))(X))
    found = {float(g[0]) / 2 for g in gradients}
    np.testing.assert_array_equal(gradients[0], 2 * X * min(found))
    assert len(found) == 1
    return found.pop()


def test_what_is_shared() -> None:
    power = 3

    def closes_over(x: Any) -> Any:
        return gnp.sum(helper(x, power))

    def has_functions(x: Any, k: int = 2) -> Any:
        def inner(y: Any) -> Any:
            return y * k * SCALE

        return sum(gnp.sum(inner(y)) for y in (x, x + 1))

    for function in (uses_a_global, uses_a_function, uses_a_module, closes_over, has_functions):
        assert is_shared(function)
        first = gradir.grad(function)(X)
        np.testing.assert_array_equal(gradir.grad(function)(X), first)
    assert gradir.grad(uses_a_global, 0) is not gradir.grad(uses_a_global, (0,))
    assert gradir.grad(uses_a_global) is not gradir.value_and_grad(uses_a_global)


@pytest.mark.parametrize(
    "function",
    [
        *(uses_a_list, uses_an_attribute, uses_an_array, uses_random_numbers, keeps_a_count),
        *(goes_around, hands_on_a_module, imports),
    ],
)
def test_what_is_not(function: Callable[..., Any]) -> None:
    assert not is_shared(function)


def test_a_global_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_shared(uses_a_global) and factor(uses_a_global) == 2.0
    for value in (5.0, np.array(4.0), 2.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        assert factor(uses_a_global) == value


def test_a_module_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_shared(uses_a_module) and factor(uses_a_module) == 2.0
    monkeypatch.setattr(HELPERS, "scale", 5.0)
    assert factor(uses_a_module) == 5.0


def test_a_closure_that_changes() -> None:
    scale = 2.0

    def loss(x: Any) -> Any:
        return gnp.sum(scale * x * x)

    def through(x: Any) -> Any:
        return loss(x)

    assert is_shared(through) and factor(through) == 2.0
    scale = 5.0
    assert factor(through) == 5.0 == factor(loss)


def test_functions_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def loss(x: Any) -> Any:
        return gnp.sum(helper(x))

    def cubed(x: Any, power: int = 2) -> Any:
        return x * x * x

    assert is_shared(loss) and factor(loss) == 1.0
    monkeypatch.setattr(helper, "__defaults__", (1,))
    np.testing.assert_array_equal(gradir.grad(loss)(X), np.ones(3))
    monkeypatch.setattr(helper, "__code__", cubed.__code__)
    np.testing.assert_allclose(gradir.grad(loss)(X), 3 * X * X)


def test_lists_arrays_and_attributes_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    assert factor(uses_a_list) == factor(uses_an_attribute) == factor(uses_an_array) == 2.0
    monkeypatch.setattr(SETTINGS, "scale", 5.0)
    TABLE[0] = ARRAY[()] = 5.0
    try:
        assert factor(uses_a_list) == factor(uses_an_attribute) == factor(uses_an_array) == 5.0
    finally:
        TABLE[0] = ARRAY[()] = 2.0


def test_a_derivative_traced_when_the_function_read_another_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gradir.grad(uses_a_global)
    mine = gradir.grad(uses_a_global)
    mine(X)
    assert gradir.grad(uses_a_global) is mine
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "SCALE", 5.0)
        mine(X[:2])  # another kind of arguments, traced now
    assert gradir.grad(uses_a_global) is not mine
    np.testing.assert_array_equal(gradir.grad(uses_a_global)(X[:2]), 4 * X[:2])


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_shared(uses_a_global)
    mine = gradir.grad(uses_a_global)
    monkeypatch.setenv("GRADIR_NUM_THREADS", "1")
    assert gradir.grad(uses_a_global) is not mine


def test_options_that_are_equal_by_chance_and_that_may_change() -> None:
    assert gradir.grad(uses_a_global, has_aux=cast(Any, 0)) is not gradir.grad(
        uses_a_global, has_aux=False
    )

    def asked(tree: Any) -> str:
        return "write"

    for _ in range(3):
        made = gradir.grad(uses_a_global, req=asked)
    assert made is not gradir.grad(uses_a_global, req=asked)


def test_functions_are_let_go() -> None:
    def make(k: float) -> Callable[..., Any]:
        def scaled(x: Any) -> Any:
            return gnp.sum(k * x)

        return scaled

    seen: list[weakref.ref[Any]] = []
    for k in range(200):
        function = make(float(k))
        seen.append(weakref.ref(function))
        for _ in range(3):
            gradir.grad(function)
    del function
    gc.collect()
    assert sum(ref() is not None for ref in seen) <= shared_derivatives.MOST_DERIVATIVES
