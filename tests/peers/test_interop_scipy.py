"""gradir.interop.scipy: minima of nested arrays by SciPy's methods, with gradir's derivatives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.frontends.transforms import jit as jit_module
from gradir.interop.scipy import minimize

optimize: Any = import_module("scipy.optimize")

START = {"x": np.array([[1.3, 0.7], [0.8, 1.9]]), "s": np.float64(0.5)}


def rosen(p: Any) -> Any:
    """The minimum is at ones, and s at 2."""
    x = p["x"].reshape(4)
    return gnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) + (p["s"] - 2) ** 2


def by_hand(v: Any) -> Any:
    """The same of SciPy's vector: s is its first number."""
    return optimize.rosen(v[1:]) + (v[0] - 2) ** 2


METHODS = """
    CG BFGS Newton-CG L-BFGS-B TNC SLSQP trust-constr trust-ncg trust-krylov trust-exact Powell
    COBYQA
""".split()


@pytest.mark.parametrize("method", [None, *METHODS])
def test_methods(method: str | None) -> None:
    result = minimize(rosen, START, method=method)
    assert set(result.x) == {"x", "s"} and result.x["x"].shape == (2, 2)
    np.testing.assert_allclose(result.x["x"], np.ones((2, 2)), atol=2e-3)
    np.testing.assert_allclose(result.x["s"], 2, atol=2e-3)
    assert result.fun < 1e-6


def test_what_scipy_gets_is_right() -> None:
    """Value, gradient and products with the Hessian, against SciPy's own of the same function."""
    given: dict[str, Any] = {}

    def method(fun: Any, x0: Any, **rest: Any) -> Any:
        given.update(rest, fun=fun, x0=x0)
        return optimize.OptimizeResult(x=x0)

    minimize(rosen, START, method=method)
    v, x = np.array([0.3, 1, 2, -1, 0.4]), given["x0"]
    assert x.tolist() == [0.5, 1.3, 0.7, 0.8, 1.9]
    np.testing.assert_allclose(given["fun"](x), by_hand(x), rtol=1e-14)
    np.testing.assert_allclose(
        given["jac"](x), [2 * (x[0] - 2), *optimize.rosen_der(x[1:])], rtol=1e-13
    )
    expected = [2 * v[0], *optimize.rosen_hess_prod(x[1:], v[1:])]
    np.testing.assert_allclose(given["hessp"](x, v), expected, rtol=1e-13)


@pytest.mark.parametrize(("method", "count"), [("L-BFGS-B", 1), ("trust-ncg", 2), ("Powell", 1)])
def test_each_function_is_compiled_once(
    method: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Value and gradient are one; products with the Hessian are another."""
    traced: list[None] = []

    def counted(p: Any) -> Any:
        traced.append(None)
        return rosen(p)

    compiled: list[Any] = []
    real = jit_module.Jitted.compiled

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        compiled.append(self)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(jit_module.Jitted, "compiled", noted)
    assert minimize(counted, START, method=method).nfev > 5
    assert len(compiled) == len(traced) == count


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-constr"])
def test_bounds_are_of_the_vector(method: str) -> None:
    bounds = [(0.0, 0.5)] * 5
    found = minimize(rosen, START, method=method, bounds=bounds)
    expected = optimize.minimize(by_hand, np.full(5, 0.4), method="L-BFGS-B", bounds=bounds)
    np.testing.assert_allclose(found.fun, expected.fun, rtol=1e-3)
    np.testing.assert_allclose(found.x["s"], 0.5, atol=1e-3)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_are_of_the_vector(method: str) -> None:
    sums = optimize.LinearConstraint(np.ones(2), 1, 1)
    found = minimize(
        lambda x: gnp.sum((x - gnp.asarray([0.0, 2.0])) ** 2),
        np.zeros(2),
        method=method,
        constraints=sums,
    )
    np.testing.assert_allclose(found.x, [-0.5, 1.5], atol=1e-5)


@pytest.mark.parametrize("method", ["BFGS", "trust-constr", "TNC"])
def test_callbacks_get_the_nesting(method: str) -> None:
    seen: list[Any] = []
    minimize(rosen, START, method=method, callback=lambda p, *rest: seen.append(p))
    assert len(seen) > 2 and {p["x"].shape for p in seen} == {(2, 2)}
    values: list[tuple[Any, float]] = []

    def stops(intermediate_result: Any) -> None:
        values.append((intermediate_result.x, intermediate_result.fun))
        if len(values) == 2:
            raise StopIteration

    if method != "TNC":  # SciPy gives it no results
        minimize(rosen, START, method=method, callback=stops)
        assert len(values) == 2
        x, value = values[-1]
        np.testing.assert_allclose(value, by_hand(np.array([x["s"], *x["x"].reshape(4)])))


def test_other_dtypes_args_and_numbers() -> None:
    single = minimize(lambda x: gnp.sum((x - 3) ** 2), np.zeros((2, 2), np.float32))
    assert single.x.dtype == np.float32 and single.x.shape == (2, 2)
    np.testing.assert_allclose(single.x, np.full((2, 2), 3), rtol=1e-6)
    found = minimize(
        lambda x, a, scale: scale["k"] * (x[0] - a[1]) ** 2 + x[1] ** 2,
        [0.0, 1.0],
        args=(np.array([1.0, 5.0]), {"k": 3.0}),
        method="trust-krylov",
    )
    np.testing.assert_allclose(found.x, [5, 0], atol=1e-6)
    np.testing.assert_allclose(minimize(lambda x, a: (x - a) ** 2, 0.0, 4.0).x, 4, rtol=1e-6)


def test_threads() -> None:
    def fit(target: float) -> Any:
        return minimize(lambda x, a: gnp.sum((x - a) ** 4 + (x - a) ** 2), np.zeros(3), target).x

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fit, np.arange(8.0)))
    np.testing.assert_allclose(found, np.arange(8.0)[:, None] + np.zeros(3), atol=1e-5)


def square(x: Any) -> Any:
    return gnp.sum(x * x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: minimize(lambda x: x, np.zeros(2)),
            r"must return a floating number.*float64\[2\]",
        ),
        (lambda: minimize(lambda x: gnp.argmax(x), np.zeros(2)), "a floating number, got int64"),
        (lambda: minimize(lambda x: (x, x), np.zeros(())), "got 2 nested arrays"),
        (lambda: minimize(lambda x: "word", np.zeros(2)), "expected an array or a number, got str"),
        (lambda: minimize(square, np.zeros(2, np.int64)), r"x0 must be floating, got int64\[2\]"),
        (lambda: minimize(square, {"a": ["word"]}), "x0_a0: expected an array, got str"),
        (lambda: minimize(square, np.zeros(2) * 1j), "got complex128"),
        (lambda: minimize(square, np.zeros(0)), "x0 must have a number"),
        (lambda: minimize(square, np.zeros(2), jac=True), "jac is computed by gradir"),
        (lambda: minimize(square, np.zeros(2), (1.0,)), "takes 1 positional|too many positional"),
        (lambda: minimize(square, np.zeros(5000), method="trust-exact"), "for at most 4096"),
        (lambda: minimize(3, np.zeros(2)), "expected a Python function"),  # pyrefly: ignore[bad-argument-type]
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(gradir.GradirError, match=message):
        call()
