"""gradir.scipy against values of SciPy 1.17 and mpmath 1.4 (40 digits), and its derivatives.

`scipy_values.json` has the calls and their values: SciPy's; mpmath's for betaln, zeta, log_ndtr and
the incomplete functions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_harness import fails

import gradir
from gradir.scipy import special as sp
from gradir.scipy import stats

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

VALUES = json.loads((Path(__file__).parent / "scipy_values.json").read_text())


def call(case: dict[str, Any], *args: Any) -> Any:
    if "kind" in case:
        return getattr(getattr(stats, case["name"]), case["kind"])(*args, *case["args"])
    given = dict(case["kw"])
    name = case["name"]
    first = [given.pop("n")] if name == "polygamma" else []
    return getattr(sp, name)(*first, *args, **given)


def arguments(case: dict[str, Any]) -> list[Any]:
    return [np.array(a, float) for a in ([case["x"]] if "kind" in case else case["args"])]


def close(found: Any, case: dict[str, Any]) -> None:
    what = f"{case['name']} {case.get('kind', '')}"
    wanted = np.array(case["value"], float)
    np.testing.assert_allclose(found, wanted, rtol=2e-13, atol=1e-300, err_msg=what)


@pytest.mark.parametrize("room", VALUES)
def test_values(room: str):
    """On NumPy arrays at once, and in native code: of the densities their logarithms."""
    cases = VALUES[room]
    given = [arguments(case) for case in cases]
    for case, args in zip(cases, given, strict=True):
        close(call(case, *args), case)
    chosen = [k for k, c in enumerate(cases) if c.get("kind", "logpdf") == "logpdf"]
    native = gradir.jit(lambda xs: [call(cases[k], *xs[k]) for k in chosen])(given)
    for k, found in zip(chosen, native, strict=True):
        close(found, cases[k])


STENCIL, STEP = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12)), 1e-3
V = np.array([0.7, 1.0, -0.4])
# One argument or several, all of them differentiated, at places on both sides of branches.
SMOOTH: list[tuple[Any, list[Any]]] = [
    *((getattr(sp, n), [[-2.4, 0.3, 3.7]]) for n in ("gammaln", "gamma", "digamma")),
    (lambda x: sp.polygamma(2, x), [[0.4, 1.7, 9.0]]),
    (sp.betaln, [[0.5, 2.0, 40.0], [0.7, 30.0, 12.0]]),
    (sp.binom, [[5.5, 9.0, 30.0], [2.2, 3.0, 11.0]]),
    (sp.poch, [[2.0, 3.5, 0.4], [1.5, 4.0, 0.2]]),
    (sp.zeta, [[1.5, 3.0, 9.0], [0.7, 2.5, 1.0]]),
    (sp.gammainc, [[0.5, 3.0, 40.0], [0.4, 7.0, 39.0]]),
    (sp.gammaincc, [[0.05, 3.0, 40.0], [2.6, 2.0, 47.0]]),
    (sp.betainc, [[0.5, 3.0, 30.0], [0.8, 7.0, 20.0], [0.9, 0.2, 0.6]]),
    (lambda x: np.log(sp.ndtr(x)), [[-3.0, 0.2, 2.0]]),
    (sp.log_ndtr, [[-25.0, -3.0, 2.0]]),
    *((getattr(sp, n), [[0.02, 0.4, 0.98]]) for n in ("ndtri", "erfinv", "erfcinv", "logit")),
    *((getattr(sp, n), [[-3.0, 0.2, 25.0]]) for n in ("expit", "log_expit", "i0e", "i1e")),
    *((getattr(sp, n), [[-3.0, 0.0, 2.5]]) for n in ("i0", "i1")),
    (sp.xlogy, [[0.0, 2.0, -0.5], [0.3, 1.0, 2.0]]),
    (sp.xlog1py, [[0.0, 2.0, -0.5], [0.3, 1.0, 2.0]]),
    (sp.entr, [[0.2, 1.0, 3.0]]),
    (sp.rel_entr, [[0.2, 1.0, 3.0], [1.0, 0.4, 2.0]]),
    (sp.kl_div, [[0.2, 1.0, 3.0], [1.0, 0.4, 2.0]]),
    (sp.pseudo_huber, [[0.5, 1.0, 2.0], [0.0, 1.0, -3.0]]),
    (sp.huber, [[0.5, 1.0, 2.0], [0.0, 1.7, -3.0]]),
    (sp.boxcox, [[0.2, 1.0, 3.0], [0.4, -0.5, 2.0]]),
    (lambda x, b: sp.logsumexp(x, b=b), [[0.2, 1.0, 3.0], [0.4, -0.05, 2.0]]),
    (lambda x: sp.softmax(x)[0], [[0.2, 1.0, 3.0]]),
    (lambda x: sp.log_softmax(x)[1], [[0.2, 1.0, 3.0]]),
    (stats.norm.logpdf, [[0.3, -1.0, 2.0], [0.1, 0.2, 0.3], [0.5, 1.0, 2.0]]),
    (stats.t.logpdf, [[0.3, -1.0, 2.0], [3.0, 9.0, 40.0]]),
    (stats.beta.logpdf, [[0.3, 0.6, 0.9], [0.6, 2.0, 12.0], [3.0, 1.0, 15.0]]),
    (stats.gamma.logpdf, [[0.3, 0.6, 4.0], [0.6, 2.0, 12.0]]),
    (stats.poisson.logpmf, [None, [0.4, 1.0, 7.0]]),
    (stats.binom.logpmf, [None, [7.0, 7.0, 9.0], [0.4, 0.1, 0.7]]),
    (stats.vonmises.logpdf, [[0.3, -1.0, 2.0], [0.4, 3.0, 30.0]]),
    (lambda x, s: stats.multivariate_normal.logpdf(x, cov=np.outer(s, s) + np.eye(3)),
     [[0.3, 0.6, 4.0], [0.6, 2.0, 1.0]]),
    (lambda a: stats.dirichlet.logpdf(np.array([0.2, 0.5, 0.3]), a), [[0.3, 0.6, 4.0]]),
]  # fmt: skip
COUNTS = np.array([0.0, 2.0, 5.0])


def loss(k: int, xs: Any) -> Any:
    function, given = SMOOTH[k]
    args = iter(xs)
    return np.sum(function(*(COUNTS if g is None else next(args) for g in given)) * V)


def test_derivatives():
    """Of first and second order, by all arguments, against central differences."""
    points = [[np.array(g) for g in given if g is not None] for _, given in SMOOTH]
    way = [[V] * len(xs) for xs in points]
    total: Any = lambda xss: sum(loss(k, xs) for k, xs in enumerate(xss))  # noqa: E731

    def both(xss: Any) -> Any:
        slopes = lambda xss: gradir.jvp(total, (xss,), (way,))[1]  # noqa: E731
        return gradir.grad(total)(xss), gradir.grad(slopes)(xss)

    module = gradir.trace(both, points)
    flat = [x for xs in points for x in xs]
    made = iter(gradir.interpret(module, module.functions[-1], *flat))
    first, second = ([[next(made) for _ in xs] for xs in points] for _ in range(2))
    for k, xs in enumerate(points):
        at = {s: float(loss(k, [x + s * STEP * V for x in xs])) for s in (-2, -1, 0, 1, 2)}
        slope = sum(c * at[s] for s, c in STENCIL) / STEP
        name = f"{k}: {SMOOTH[k][0]}"
        np.testing.assert_allclose(np.sum(np.array(first[k]) * V), slope, 1e-6, 1e-8, err_msg=name)
        curve = (at[1] - 2 * at[0] + at[-1]) / STEP**2
        np.testing.assert_allclose(np.sum(np.array(second[k]) * V), curve, 1e-3, 1e-4, err_msg=name)


def test_every_name_is_there():
    """In a row of this file or of test_formulas.py, or above."""
    by_formula = json.loads((Path(__file__).parent / "formula_values.json").read_text())
    known = {case["name"] for case in [*VALUES["special"], *by_formula]}
    assert set(sp.__all__) - known == {
        "cbrt", "sinc", "exp2", "expm1", "log1p", "psi", "betaincc",
    }  # fmt: skip
    assert set(stats.__all__) - {case["name"] for case in VALUES["stats"]} == {
        "multivariate_normal", "dirichlet",
    }  # fmt: skip
    np.testing.assert_allclose(sp.betaincc(2.0, 3.0, 0.3), 1 - sp.betainc(2.0, 3.0, 0.3))


def test_a_singular_normal_distribution():
    """By hand: in the plane of the first two axes a standard normal distribution."""
    normal = stats.multivariate_normal
    flat = np.diag([1.0, 1.0, 0.0])
    x, mean = np.array([[0.3, -1.0, 2.0], [0.3, -1.0, 2.1]]), np.array([0.1, 0.2, 2.0])
    found = normal.logpdf(x, mean, flat, allow_singular=True)
    inside = -np.log(2 * np.pi) - (0.2**2 + 1.2**2) / 2
    np.testing.assert_allclose(found, [inside, -np.inf])
    assert np.isnan(normal.logpdf(x, mean, flat)).all()
    np.testing.assert_allclose(normal.entropy(mean, flat), 1 + np.log(2 * np.pi))
    np.testing.assert_allclose(normal.entropy(cov=4.0), (1 + np.log(8 * np.pi)) / 2)
    slope = gradir.grad(lambda m: normal.logpdf(x[0], m, flat, allow_singular=True))(mean)
    np.testing.assert_allclose(slope, [0.2, -1.2, 0.0], atol=1e-15)
    # equal eigenvalues are no ties to what depends on all of them alike
    slope = gradir.grad(lambda c: normal.entropy(cov=c))(2 * np.eye(3))
    np.testing.assert_allclose(slope, np.eye(3) / 4)


def test_refusals():
    x = np.ones(3)
    assert fails(lambda x: sp.comb(x, 2, exact=True), x).startswith("comb: exact integers of any")
    assert fails(lambda x: sp.gamma(x, out=x), x).startswith("assignment: x is an argument of t")
    message = "norm.logpdf: unknown argument sigma; known: x, loc, scale"
    assert fails(lambda x: stats.norm.logpdf(x, sigma=2), x) == message
    with pytest.raises(AttributeError, match="has no hyp2f1: it is an integral"):
        _ = sp.hyp2f1  # pyrefly: ignore


def test_binomial_coefficients_of_real_numbers() -> None:
    n = np.array([-0.5, -0.5, 1.0, 2.5, -2.5, 5.0, 0.0, 3.0])
    k = np.array([2.0, 0.0, 3.0, 3.0, 5.5, 2.0, 0.0, -1.0])
    wanted = [0.375, 1.0, 0.0, 0.3125, 0.0, 10.0, 1.0, 0.0]
    np.testing.assert_allclose(sp.binom(n, k), wanted, 1e-13, 1e-13)

    def central(x: float, y: float, step: float) -> tuple[Any, Any]:
        by_n = sp.binom(x + step, y) - sp.binom(x - step, y)
        by_k = sp.binom(x, y + step) - sp.binom(x, y - step)
        return by_n / (2 * step), by_k / (2 * step)

    for x, y in zip(n[:-1], k[:-1], strict=True):
        slopes: Any = gradir.grad(sp.binom, argnums=(0, 1))(x, y)
        np.testing.assert_allclose(slopes, central(x, y, 1e-5), 1e-6, 1e-6)
