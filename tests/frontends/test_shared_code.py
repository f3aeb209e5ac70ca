"""Equal programs, traced from functions made anew, share their native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.cache.memory import Store
from gradir.frontends.transforms import program

X = np.array([1.0, 2.0, 3.0])


def code_of(function: Callable[..., Any], **options: Any) -> Any:
    return gradir.jit(function, **options).compiled(X).executable


def scaled(number: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        return gnp.sum(number * x * x)

    return f


def test_equal_programs() -> None:
    first = code_of(gradir.grad(scaled(3.0)))
    assert code_of(gradir.grad(scaled(3.0))) is first
    assert code_of(gradir.grad(scaled(4.0))) is not first


def test_what_a_function_reads_may_change() -> None:
    """Numbers and arrays that it closes over are the ones at the call."""
    factors = np.array([1.0, 1.0, 1.0])
    f = scaled(factors)
    np.testing.assert_array_equal(gradir.grad(f)(X), 2 * X)
    factors[1] = 5.0
    np.testing.assert_array_equal(gradir.grad(f)(X), 2 * X * factors)


def test_other_places_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors at run time name the line, and code is for a number of threads and a CPU."""

    def f(x: Any) -> Any:
        return gnp.sum(x)

    def g(x: Any) -> Any:
        return gnp.sum(x)

    g.__name__ = f.__name__
    found = code_of(f)
    assert code_of(g) is not found
    assert code_of(f, threads=1) is not found
    monkeypatch.setenv("GRADIR_VECTOR_BYTES", "16")
    assert code_of(f) is not found


def test_large_constants_and_host_calls() -> None:
    """They have code of their own."""

    def copy(inputs: Any, outputs: Any, req: Any) -> None:
        outputs[0][...] = inputs[0]

    def same(x: Any) -> Any:
        return x

    op = gradir.custom_op(copy, same, name="test_shared_code_copy")
    assert code_of(op) is not code_of(op)
    large = np.arange(9000.0)

    def f(x: Any) -> Any:
        return gnp.sum(gnp.asarray(large)) * x

    assert code_of(f) is not code_of(f)


def test_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_codes", Store[Any, Any](2))
    first = code_of(scaled(0.25))
    for number in (0.5, 0.75, 1.25):
        code_of(scaled(number))
    assert code_of(scaled(0.25)) is not first
