"""gradir.compat.jax.scipy.optimize.minimize: SciPy's and JAX's minima, by a traced loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.optimize
import numpy as np
import pytest
import scipy.optimize

from gradir.compat import jax as ours
from gradir.compat import jnp as gnp
from gradir.compat.jax.scipy.optimize import minimize
from gradir.errors import ArgumentError

PROBLEMS: dict[str, tuple[Callable[[Any], Callable[[Any], Any]], Any]] = {
    "rosenbrock": (
        lambda np: lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        np.zeros(8),
    ),
    "himmelblau": (
        lambda np: lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2,
        np.ones(2),
    ),
    "matyas": (lambda np: lambda x: 0.26 * np.sum(x**2) - 0.48 * x[0] * x[1], np.ones(2)),
    "logistic": (
        lambda np: lambda x: np.sum(np.log1p(np.exp(-x))) + 0.1 * np.sum(x**2),
        np.arange(5.0),
    ),
    "steep": (lambda np: lambda x: np.sum(np.exp(8 * x) - 3 * x), np.array([2.0, -2.0])),
    "domain": (lambda np: lambda x: np.sum(x - np.log(x)), np.array([0.1, 30.0])),
    "one": (lambda np: lambda x: np.sum((x - 3.0) ** 4), np.array([0.0])),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_minima(name: str) -> None:
    make, start = PROBLEMS[name]
    found = minimize(make(gnp), start, method="BFGS")
    with np.errstate(all="ignore"):
        expected = scipy.optimize.minimize(make(np), start, method="BFGS")
    assert found.success and found.status == 0 and found.nit > 0
    if name == "domain":  # where SciPy's search runs out of it
        np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
    else:
        assert found.fun <= expected.fun + 1e-7
        np.testing.assert_allclose(found.x, expected.x, atol=2e-2 if name == "one" else 1e-4)
    assert np.abs(found.jac).max() < 1e-5 and found.hess_inv.shape == (start.size,) * 2
    with jax.enable_x64(True):
        theirs = jax.scipy.optimize.minimize(make(jnp), jnp.asarray(start), method="BFGS")
    if theirs.success:  # JAX's line search fails on some of these
        np.testing.assert_allclose(found.x, theirs.x, atol=2e-2 if name == "one" else 1e-4)
    assert found._fields == theirs._fields


def test_in_all_transformations() -> None:
    def best(c: Any) -> Any:
        def loss(x: Any, c: Any) -> Any:
            return gnp.sum((x - c) ** 4 + (x - 2 * c) ** 2) + x[0] * x[1]

        return minimize(loss, gnp.zeros(3), (c,), method="BFGS", tol=1e-10).x

    c = np.array([1.0, 0.5, 2.0])
    expected = best(c)
    np.testing.assert_allclose(ours.jit(best)(c), expected, rtol=1e-9)
    rows = ours.vmap(best)(np.stack([c, 2 * c]))
    np.testing.assert_allclose(rows, np.stack([expected, best(2 * c)]), rtol=1e-9)
    # of an implicit function: the derivative of the slope by x, and by c
    by_x = np.diag(12 * (expected - c) ** 2 + 2) + np.eye(3)[:, [1, 0, 2]] * [1, 1, 0]
    slopes = np.linalg.solve(by_x, np.diag(12 * (expected - c) ** 2 + 4))
    for jacobian in (ours.jacrev(best), ours.jacfwd(best), ours.jit(ours.jacrev(best))):
        np.testing.assert_allclose(jacobian(c), slopes, rtol=1e-4, atol=1e-6)


def test_options_and_refusals() -> None:
    make, start = PROBLEMS["rosenbrock"]
    few = minimize(make(gnp), start, method="bfgs", options={"maxiter": 3})
    assert not few.success and few.status == 1 and few.nit == 3
    rough = minimize(make(gnp), start.astype(np.float32), method="BFGS", options={"gtol": 1e-2})
    assert rough.x.dtype == np.float32 and rough.success
    wrong: Any = minimize
    for options, message in (
        (
            {"method": "Nelder-Mead"},
            "only 'BFGS'; gradir.interop.scipy.minimize has all of SciPy's",
        ),
        ({"method": "BFGS", "options": {"gtoll": 1}}, "unknown argument gtoll; did you mean gtol?"),
        ({"method": "BFGS", "args": 3}, "args must be a tuple, got 3"),
    ):
        with pytest.raises(ArgumentError) as caught:
            wrong(make(gnp), start, **options)
        assert message in str(caught.value)
    with pytest.raises(ArgumentError, match=r"x0 must be a vector, got the shape \(2, 2\)"):
        minimize(make(gnp), np.ones((2, 2)), method="BFGS")
