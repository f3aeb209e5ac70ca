"""gradir.custom_vjp: derivatives written by hand in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.errors import ArgumentTypeError, TraceError
from gradir.testing import check_grads

X = np.random.default_rng(4).normal(size=3)


@gradir.custom_vjp
def clipped(x: Any, limit: Any) -> Any:
    """x, with a cotangent of at most the limit."""
    return x * 1.0


def _forward(x: Any, limit: Any) -> Any:
    return clipped(x, limit), {"limit": limit, "factor": 3}


def _backward(residuals: Any, ct: Any) -> Any:
    return gnp.clip(ct, -residuals["limit"], residuals["limit"]) * residuals["factor"], None


clipped.defvjp(_forward, _backward)


def test_the_derivative_is_the_one_that_is_written() -> None:
    def f(x: Any) -> Any:
        return (clipped(x, 0.5) ** 2.0).sum() + clipped(2 * x, 0.75).sum()

    expected = 3 * np.clip(2 * X, -0.5, 0.5) + 2 * 3 * 0.75
    np.testing.assert_allclose(gradir.grad(f)(X), expected)
    np.testing.assert_allclose(clipped(X, 2.0), X)
    module = gradir.trace(f, X)
    # one function for both calls
    assert module.functions == ("clipped", "clipped_forward", "clipped_backward", "f")
    assert "grad.custom_vjp @clipped, @clipped_forward, @clipped_backward" in str(module)
    assert str(gradir.parse(str(module))) == str(module)


def test_second_derivatives_are_those_of_the_rules() -> None:
    @gradir.custom_vjp
    def cube(x: Any) -> Any:
        return x * x * x

    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (3 * x * x * ct,))
    f: Any = lambda x: gnp.sum(gnp.sin(cube(x)))  # noqa: E731
    check_grads((gradir.trace(f, X), "main"), [X], order=1)
    check_grads((gradir.trace(lambda x: gnp.sum(gradir.grad(f)(x) * x), X), "main"), [X], order=1)


def test_arguments_and_results_are_nested() -> None:
    @gradir.custom_vjp
    def g(p: Any, n: Any) -> Any:
        return {"y": p["a"] * p["b"], "n": n + 1}

    def forward(p: Any, n: Any) -> Any:
        return g(p, n), (p, None)

    def backward(residuals: Any, cts: Any) -> Any:
        p, nothing = residuals
        assert nothing is None and cts["n"] is None
        return {"a": 10 * cts["y"] * p["b"], "b": 100.0 * cts["y"] * p["a"]}, None

    g.defvjp(forward, backward)

    @gradir.jit
    def f(a: Any, b: Any) -> Any:
        out = gradir.fori_loop(0, 1, lambda i, x: g({"a": x, "b": b}, i)["y"], a)
        return gnp.sum(gradir.checkpoint(lambda y: gnp.sin(y))(out))

    a_ct, b_ct = gradir.grad(f, argnums=(0, 1))(X, X + 1)
    ct = np.cos(X * (X + 1))
    np.testing.assert_allclose(a_ct, 10 * ct * (X + 1))
    np.testing.assert_allclose(b_ct, 100 * ct * X)


def test_none_is_a_cotangent_of_zero_in_nested_arguments_too() -> None:
    @gradir.custom_vjp
    def g(p: Any) -> Any:
        return p["a"] * p["b"]

    g.defvjp(lambda p: (g(p), p["a"]), lambda a, ct: ({"a": None, "b": ct * a},))
    found = gradir.grad(lambda p: gnp.sum(g(p)))({"a": X, "b": X + 1})
    assert (found["a"] == 0).all() and (found["b"] == X).all()


def sine_with_vjp(forward: Any, backward: Any) -> Any:
    @gradir.custom_vjp
    def f(x: Any) -> Any:
        return gnp.sin(x)

    f.defvjp(forward, backward)
    return f


ERRORS: list[tuple[Any, Any, str]] = [
    (lambda x: x, lambda r, ct: (ct,), r"forward function must return \(results, residuals\)"),
    (lambda x: (x, x), lambda r, ct: ct, "must return a tuple of 1 cotangents, one for each"),
    (lambda x: (x, x), lambda r, ct: (ct, ct), "must return a tuple of 1 cotangents"),
    (lambda x: (x, x), lambda r, ct: ((ct, ct),), "a cotangent must be nested like its argument"),
    (lambda x: (x, x), lambda r, ct: (ct[0],), r"must be float64\[3\], got float64\[\]"),
    (lambda x: (x[0], x), lambda r, ct: (ct,), "must return first what is returned by @f"),
    (lambda: X, lambda r, ct: (ct,), "custom_vjp: <lambda> is called with 1 argument: too many"),
    (lambda x: (x, x), lambda ct: (ct,), "custom_vjp: <lambda> is called with 2 arguments"),
]


@pytest.mark.parametrize(("forward", "backward", "message"), ERRORS, ids=range(len(ERRORS)))
def test_errors(forward: Any, backward: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError, match=message) as caught:
        gradir.trace(lambda x: sine_with_vjp(forward, backward)(x), X)
    assert caught.value.diagnostic is not None and caught.value.diagnostic.file == __file__


def test_more_errors() -> None:
    with pytest.raises(TraceError, match="custom_vjp: @f has no derivative; call defvjp"):

        @gradir.custom_vjp
        def f(x: Any) -> Any:
            return x

        gradir.trace(lambda x: f(x), X)
    with pytest.raises(ArgumentTypeError, match="expected a Python function"):
        gradir.custom_vjp(3)  # pyrefly: ignore[bad-argument-type]

    def captures(x: Any) -> Any:
        g = gradir.custom_vjp(lambda y: y * x)
        g.defvjp(lambda y: (y, None), lambda r, ct: (ct,))
        return g(x)

    with pytest.raises(TraceError, match="must not use traced arrays from around it, got 1; pass"):
        gradir.trace(captures, X)
