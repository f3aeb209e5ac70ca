"""Derivatives of distributions at ends of the support, centres, beside both, and in tails.

`distribution_points.json` has functions, points, and the values and derivatives of mpmath 1.3 in
100 digits: one-sided ones from inside at an end, infinite ones where those diverge, by convention 0
at kinks. None is not compared: second derivatives where the value or the first one is infinite,
and infinite ones by shapes, where a density at an end jumps.
"""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradir
import gradir.numpy as gnp
from gradir.scipy import special, stats

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

ROWS = json.loads((Path(__file__).parent / "distribution_points.json").read_text())
NAMES = list(dict.fromkeys(row["name"] for row in ROWS))


def slopes(function: Any, args: Any) -> list[Any]:
    """The first derivatives by all arguments, those by the first of it, and its second ones."""
    total: Any = lambda *xs: gnp.sum(function(*xs))  # noqa: E731
    (place, *rest), way = args, (np.ones_like(args[0]),)
    every = gradir.grad(total, argnums=tuple(range(len(args))))
    forward = gradir.jvp(lambda x: function(x, *rest), (place,), way)[1]
    curves = gradir.jvp(gradir.grad(lambda x: total(x, *rest)), (place,), way)[1]
    return [*every(*args), forward, curves]


def interpreted(function: Any, *args: Any) -> list[Any]:
    module = gradir.trace(function, *args)
    return [np.array(made) for made in gradir.interpret(module, module.functions[-1], *args)]


def compare(found: Any, wanted: Any, what: str, rtol: float, atol: float) -> None:
    given = [w is not None for w in wanted]
    numbers = np.array([w for w in wanted if w is not None])
    np.testing.assert_allclose(found[given], numbers, rtol, atol, err_msg=what)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives(name: str) -> None:
    """Reverse and forward mode, of first and second order, by the place, shapes, loc and scale."""
    rows = [row for row in ROWS if row["name"] == name]
    args = [np.array(column) for column in rows[0]["args"]]
    zero, one = np.zeros_like(args[0]), np.ones_like(args[0])
    kinds = [getattr(getattr(stats, name), row["kind"]) for row in rows]
    made = iter(
        interpreted(lambda *xs: [each for f in kinds for each in (f(*xs), *slopes(f, xs))],
                    *args, zero, one)
    )  # fmt: skip
    for row in rows:
        what = f"{name}.{row['kind']}"
        value, *firsts, by_loc, _, forward, curve = (next(made) for _ in range(len(args) + 5))
        compare(value, row["value"], what, 1e-11, 1e-80)
        scale = np.where(np.isfinite(value), np.abs(value), 0.0).max() * 1e-13
        for k, (found, wanted) in enumerate(zip(firsts, row["slopes"], strict=True)):
            compare(found, wanted, f"{what} by {k}", 1e-10, scale)
        compare(-by_loc, row["slopes"][0], f"{what} by loc", 1e-10, scale)
        compare(forward, row["slopes"][0], f"{what} forward", 1e-10, scale)
        compare(curve, row["curve"], f"{what} twice", 1e-6, 10 * scale)


@pytest.mark.parametrize("name", ["t", "laplace", "gamma", "beta"])
def test_native_code(name: str) -> None:
    [row] = [row for row in ROWS if row["name"] == name and row["kind"] == "cdf"]
    args = [np.array(column) for column in row["args"]]
    total: Any = lambda *xs: gnp.sum(getattr(stats, name).cdf(*xs))  # noqa: E731
    compare(gradir.grad(total)(*args), row["slopes"][0], name, 1e-10, 1e-13)
    single = gradir.grad(total)(*(a.astype(np.float32) for a in args))
    wide = [w if w is not None and abs(w) < 1e6 else None for w in row["slopes"][0]]
    is_beside = np.isin(args[0], [1 - 2.0**-30])  # 1 in float32
    compare(single, [None if s else w for s, w in zip(is_beside, wide, strict=True)], name,
            3e-4, 1e-5)  # fmt: skip


# Functions of a probability at 0, one half and 1, where they are 0 or infinite: slopes.
ENDS: list[tuple[Any, list[Any]]] = [
    (stats.uniform.ppf, [1, 1, 1]),
    (stats.expon.ppf, [1, 2, inf]),
    (stats.cauchy.ppf, [inf, np.pi, inf]),
    (stats.logistic.ppf, [inf, 4, inf]),
    (stats.gumbel_r.ppf, [inf, 2 / np.log(2), inf]),
    (lambda q: stats.pareto.ppf(q, 2.0), [0.5, 2**0.5, inf]),
    (lambda q: stats.weibull_min.ppf(q, 1.0), [1, 2, inf]),
    (lambda q: stats.weibull_min.ppf(q, 2.0), [inf, 1 / np.log(2) ** 0.5, inf]),
    (lambda q: special.gammaincinv(1.0, q), [1, 2, inf]),
    (lambda q: special.gammaincinv(0.5, q), [0, None, inf]),
    (lambda q: special.gammainccinv(1.0, q), [-inf, -2, -1]),
    (lambda q: special.betaincinv(1.0, 2.0, q), [0.5, 0.5**0.5, inf]),
    (lambda q: special.betaincinv(0.5, 1.0, q), [0, 1, 2]),
]


def test_quantiles() -> None:
    q = np.array([0, 0.5, 1])
    made = interpreted(lambda q: [gradir.grad(lambda q, f=f: gnp.sum(f(q)))(q) for f, _ in ENDS], q)
    for k, (found, (_, wanted)) in enumerate(zip(made, ENDS, strict=True)):
        compare(found, wanted, str(k), 1e-12, 0)


def by_probability(name: str, k: float, n: float, p: float) -> list[float]:
    """The first two derivatives of a pmf by p, by hand: of C p**a (1 - p)**b."""
    from math import comb

    c, a, b = {
        "binom": lambda: (comb(int(n), int(k)), k, n - k),
        "nbinom": lambda: (comb(int(n + k - 1), int(k)), n, k),
        "geom": lambda: (1, 1, k - 1),
    }[name]()

    def term(i: float, j: float) -> float:
        return (0.0 if i < 0 else p**i) * (0.0 if j < 0 else (1 - p) ** j)

    first = a * term(a - 1, b) - b * term(a, b - 1)
    second = a * (a - 1) * term(a - 2, b) - 2 * a * b * term(a - 1, b - 1)
    return [c * first, c * (second + b * (b - 1) * term(a, b - 2))]


COUNTS = {"binom": (range(6), (5.0,)), "nbinom": (range(4), (3.0,)), "geom": (range(1, 5), ())}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    """pmf and cdf, sums of it, by a probability of 0, 1 and beside them."""
    counts, shapes = COUNTS[name]
    places = np.array([0, 1, 1e-9, 1 - 2.0**-30, 0.3])
    k, p = (a.ravel() for a in np.meshgrid(np.array(counts, float), places, indexing="ij"))
    kinds = [getattr(getattr(stats, name), kind) for kind in ("pmf", "cdf")]
    functions = [lambda p, f=f: f(k, *shapes, p) for f in kinds]
    made = interpreted(lambda p: [each for f in functions for each in slopes(f, [p])], p)
    pairs = [by_probability(name, i, (*shapes, 0)[0], j) for i, j in zip(k, p, strict=True)]
    wanted = np.array(pairs).reshape(len(counts), len(places), 2)
    for own, table in ((made[:3], wanted), (made[3:], np.cumsum(wanted, axis=0))):
        for found, order in zip(own, (0, 0, 1), strict=True):
            np.testing.assert_allclose(found, table[..., order].ravel(), 1e-7, 1e-11)


def test_a_poisson_mean_of_0() -> None:
    k = np.array([0.0, 1.0, 2.0])
    mu = np.zeros(3)
    functions = [lambda mu, f=f: f(k, mu) for f in (stats.poisson.pmf, stats.poisson.cdf)]
    made = interpreted(lambda mu: [each for f in functions for each in slopes(f, [mu])], mu)
    wanted = [[-1, 1, 0], [-1, 1, 0], [1, -2, 1], [-1, 0, 0], [-1, 0, 0], [1, -1, 0]]
    np.testing.assert_allclose(made, wanted, atol=1e-15)


KINDS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf")


@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity(name: str) -> None:
    """The slope of nan is nan, the slope of a function that is constant at infinity 0."""
    shapes = next(row["args"][1:] for row in ROWS if row["name"] == name)
    args = [np.array([nan, -inf, inf]), *(np.full(3, column[0] + 1) for column in shapes)]
    kinds = [kind for kind in KINDS if hasattr(getattr(stats, name), kind)]

    def slope(kind: str, args: Any) -> Any:
        return gradir.grad(lambda *xs: gnp.sum(getattr(getattr(stats, name), kind)(*xs)))(*args)

    made = interpreted(lambda *args: [slope(kind, args) for kind in kinds], *args)
    for kind, found in zip(kinds, made, strict=True):
        assert np.isnan(found[0]), kind
        assert (found[1:] == 0).all() or kind not in ("pdf", "cdf", "sf"), kind


def test_shapes_that_there_are_not() -> None:
    total: Any = lambda x, a: gnp.sum(stats.gamma.cdf(x, a))  # noqa: E731
    slopes = gradir.grad(total, argnums=(0, 1))
    made = interpreted(slopes, np.array([2.0, 2.0, -1.0]), np.array([-1.0, nan, -1.0]))
    assert np.isnan(made).all()


def test_equal_shapes_are_no_tie() -> None:
    """betaln orders its arguments; the second derivative does not see it."""
    curve = gradir.grad(gradir.grad(special.betaln))
    np.testing.assert_allclose(
        curve(12.0, 12.0), special.polygamma(1, 12.0) - special.polygamma(1, 24.0), 1e-13
    )
