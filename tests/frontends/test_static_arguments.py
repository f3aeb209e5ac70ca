"""gradir.jit with static arguments: values that the function gets as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError

X = np.arange(4.0)


def power(x: Any, n: int = 2, *, root: bool = False) -> Any:
    """Python's control flow over static values."""
    y = gnp.ones_like(x)
    for _ in range(n):
        y = y * x
    return gnp.sqrt(y) if root else y


def counted() -> tuple[Any, list[Any]]:
    traced: list[Any] = []

    def function(x: Any, n: Any = 2, *, root: Any = False) -> Any:
        traced.append((n, root))
        return power(x, n, root=root)

    return function, traced


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1, "static_argnames": "root"},
        {"static_argnames": ("n", "root")},
        {"static_argnums": [-1], "static_argnames": ["root"]},
    ],
)
def test_each_choice_is_traced_once(options: Any):
    function, traced = counted()
    jitted = gradir.jit(function, **options)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X, 3), X**3)
        np.testing.assert_array_equal(jitted(X, n=3), X**3)
        np.testing.assert_array_equal(jitted(X), X**2)
        np.testing.assert_array_equal(jitted(X, 2, root=True), X)
    assert traced == [(3, False), (3, False), (2, False), (2, True)]
    assert jitted(X, True).tolist() == X.tolist()  # True is another value than 1
    assert jitted(X, 1).tolist() == X.tolist()
    assert len(traced) == 6
    assert "for 6 static choices" in repr(jitted)
    assert jitted.compiled(X, 3).executable.plan.peak_bytes == 0


def test_with_derivatives_traces_donation_and_methods():
    jitted = gradir.jit(power, static_argnames=("n",))

    def cubes(x: Any) -> Any:
        return gnp.sum(jitted(x, n=3))

    def squares(x: Any) -> Any:
        return jitted(x, 2) + 1

    [slope] = np.atleast_2d(gradir.grad(cubes)(X))
    np.testing.assert_allclose(slope, 3 * X**2)
    inner = gradir.jit(squares)
    np.testing.assert_array_equal(inner(X), X**2 + 1)

    def step(n: int, x: Any, kind: str) -> Any:
        return x * n if kind == "times" else x + n

    given = np.ones(3)
    donating = gradir.jit(step, donate_argnums=1, static_argnums=(0, 2))
    made = donating(2, given, "times")
    assert np.shares_memory(made, given) and made.tolist() == [2, 2, 2]
    assert donating(2, np.ones(3), kind="plus").tolist() == [3, 3, 3]


def test_equal_values_that_differ():
    """Each is traced, though Python's == and hash do not tell them apart."""

    def scaled(x: Any, by: Any) -> Any:
        return x / by if np.ndim(by) == 0 else x * by[0]

    jitted = gradir.jit(scaled, static_argnums=1)
    with np.errstate(divide="ignore"):
        for zero in (0.0, np.float32(0)):
            assert jitted(np.ones(1), zero)[0] == np.inf
            assert jitted(np.ones(1), -zero)[0] == -np.inf
    ones = np.ones(1, np.int64)
    for by in ((1,), (1.0,), (True,)):
        assert jitted(ones, by).dtype == (ones * by[0]).dtype
    assert "for 7 static choices" in repr(jitted)


def test_refusals():
    jitted = gradir.jit(power, static_argnums=1)
    with pytest.raises(ArgumentTypeError, match="static argument 1 must be hashable, got list"):
        jitted(X, [2])
    with pytest.raises(ArgumentTypeError, match="power has 2 positional parameters, got 5"):
        gradir.jit(power, static_argnums=5)
    with pytest.raises(ArgumentTypeError, match="has the parameters x, n, root, got 'm'"):
        gradir.jit(power, static_argnames="m")
    with pytest.raises(ArgumentTypeError, match="static_argnames: expected a name or several"):
        gradir.jit(power, static_argnames=1)  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match="static_argnums: expected an int or several"):
        gradir.jit(power, static_argnums="n")  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(ArgumentTypeError, match="argument 0 is static and cannot be donated"):
        gradir.jit(power, donate_argnums=0, static_argnums=0)
