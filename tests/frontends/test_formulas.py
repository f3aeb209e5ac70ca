"""Functions of gradir.scipy.special that have derivatives of their own: values, derivatives, ends.

`formula_values.json` has calls and their values, by mpmath 1.3 in 40 digits.
"""

from __future__ import annotations

import json
from functools import partial
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_harness import fails

import gradir
from gradir.scipy import special as sp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

VALUES = json.loads((Path(__file__).parent / "formula_values.json").read_text())
ORDERED = ("jn", "jv", "yn", "iv", "ive", "kn", "expn")


def call(case: dict[str, Any], args: Any) -> Any:
    given = dict(case["kw"])
    first = [given.pop("n")] if case["name"] in ORDERED else []
    return getattr(sp, case["name"])(*first, *args, **given)


def test_values():
    """In native code, to 2e-13 of the values, or of the waves' height. Rows have one length, so
    that the program has each function once."""
    given = [[np.pad(a, (0, 8 - len(a)), mode="edge") for a in case["args"]] for case in VALUES]
    found = gradir.jit(lambda xs: [call(c, x) for c, x in zip(VALUES, xs, strict=True)])(given)
    for case, made in zip(VALUES, found, strict=True):
        waves = case["name"][0] in "jy" or case["name"] == "sici"
        what = f"{case['name']} {case['kw']}"
        wanted = np.atleast_2d(case["value"])
        some = np.atleast_2d(made)[:, : wanted.shape[-1]]
        np.testing.assert_allclose(some, wanted, 2e-13, 1e-15 if waves else 0, err_msg=what)


def test_at_once_on_numpy_arrays():
    """Compiled where nothing is traced; types and shapes are x's."""
    x = np.array([[0.5, 3.0]])
    for case in VALUES[0], VALUES[-1]:
        np.testing.assert_allclose(call(case, map(np.array, case["args"])), case["value"], 2e-13)
    made: Any = sp.j0(x.astype(np.float32))
    assert made.dtype == np.float32 and made.shape == (1, 2)
    np.testing.assert_allclose(made, [[0.9384698, -0.2600520]], 1e-6)
    assert sp.dawsn(2).dtype == np.float64
    np.testing.assert_allclose(sp.jn([[0], [1]], x[0]), [sp.j0(x[0]), sp.j1(x[0])], 1e-14)
    assert sp.sici(np.zeros((0, 2)))[1].shape == (0, 2)


STENCIL, STEP = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12)), 1e-3
V = np.array([0.7, 1.0, -0.4])


def _both(function: Any) -> Any:
    return lambda x: function(x)[0] + 0.5 * function(x)[1]


# Places on both sides of branches.
SMOOTH: list[tuple[Any, list[list[float]]]] = [
    (partial(sp.jn, 2), [[0.0, 3.0, 30.0]]),
    (partial(sp.yn, 2), [[1.0, 3.0, 30.0]]),
    (partial(sp.kn, 2), [[0.7, 1.5, 4.0]]),
    (partial(sp.iv, 0.5), [[1.0, 3.0, 32.0]]),
    (partial(sp.ive, 1), [[0.5, -3.0, 40.0]]),
    (partial(sp.iv, 2), [[0.0, -1.0, 2.0]]),
    (partial(sp.iv, 60), [[20.0, 30.0, 40.0]]),
    (sp.k1e, [[0.7, 1.5, 4.0]]),
    (partial(sp.expn, 3), [[0.5, 1.2, 4.0]]),
    (sp.expi, [[-1.5, 0.5, 4.0]]),
    (sp.erfcx, [[-1.0, 0.5, 4.0]]),
    (sp.erfi, [[-1.0, 0.0, 1.5]]),
    (sp.dawsn, [[-1.0, 0.0, 8.0]]),
    (sp.ellipk, [[-3.0, 0.0, 0.8]]),
    (sp.ellipe, [[-3.0, 0.0, 0.8]]),
    (sp.spence, [[0.3, 1.0, 2.7]]),
    (sp.rgamma, [[-2.0, 0.3, 2.7]]),
    (_both(sp.sici), [[0.5, 3.0, 5.0]]),
    (_both(sp.shichi), [[0.5, 1.5, 3.0]]),
    (_both(sp.fresnel), [[0.0, 1.0, 2.0]]),
    (sp.lambertw, [[-0.25, 0.0, 3.0]]),
    (lambda x: sp.lambertw(x, k=-1), [[-0.3, -0.2, -0.1]]),
    (sp.gammaincinv, [[0.6, 2.0, 9.0], [0.3, 0.6, 0.9]]),
    (sp.gammainccinv, [[0.6, 2.0, 9.0], [0.3, 0.6, 0.9]]),
    (sp.betaincinv, [[0.6, 2.0, 4.0], [2.0, 3.0, 0.8], [0.3, 0.6, 0.9]]),
]


@pytest.mark.parametrize("k", range(len(SMOOTH)))
def test_derivatives(k: int):
    """Of first and second order, by all arguments, against central differences.

    Interpreted: compiling them would take longer than all calls.
    """
    function, given = SMOOTH[k]
    points = [np.array(x) for x in given]
    loss: Any = lambda xs: np.sum(function(*xs) * V)  # noqa: E731

    def both(xs: Any) -> Any:
        slopes = lambda xs: gradir.jvp(loss, (xs,), ([V] * len(xs),))[1]  # noqa: E731
        return *gradir.grad(loss)(xs), *gradir.grad(slopes)(xs)

    module, values = (gradir.trace(each, points) for each in (both, loss))
    made = gradir.interpret(module, module.functions[-1], *points)
    sums = [float(np.sum(np.array(each) * V)) for each in made]
    first, second = np.sum(sums[: len(points)]), np.sum(sums[len(points) :])
    name = values.functions[-1]
    at = {
        s: float(gradir.interpret(values, name, *(x + s * STEP * V for x in points))[0])
        for s in (-2, -1, 0, 1, 2)
    }
    slope = np.sum([c * at[s] for s, c in STENCIL]) / STEP
    np.testing.assert_allclose(first, slope, 1e-6, 1e-8)
    np.testing.assert_allclose(second, (at[1] - 2 * at[0] + at[-1]) / STEP**2, 1e-3, 1e-4)


INF, NAN = np.inf, np.nan
# At 0, infinity, below the domain, and at nan.
ENDS: list[tuple[Any, list[float]]] = [
    (sp.j0, [1, 0, 0, NAN]),
    (sp.rgamma, [0, 0, 0, NAN]),
    (partial(sp.jn, 3), [0, 0, 0, NAN]),
    (sp.y0, [-INF, 0, NAN, NAN]),
    (sp.k1, [INF, 0, NAN, NAN]),
    (partial(sp.iv, 0.5), [0, NAN, NAN, NAN]),
    (sp.expi, [-INF, INF, 0, NAN]),
    (sp.exp1, [INF, 0, NAN, NAN]),
    (lambda x: sp.sici(x)[0], [0, np.pi / 2, -np.pi / 2, NAN]),
    (lambda x: sp.sici(x)[1], [-INF, 0, 0, NAN]),
    (sp.erfcx, [1, 0, INF, NAN]),
    (lambda x: sp.fresnel(x)[1], [0, 0.5, -0.5, NAN]),
    (sp.lambertw, [0, INF, NAN, NAN]),
    (sp.dawsn, [0, 0, 0, NAN]),
    (sp.spence, [np.pi**2 / 6, -INF, NAN, NAN]),
    (partial(sp.gammaincinv, 2.0), [0, NAN, NAN, NAN]),
]


def test_ends():
    x = np.array([0, INF, -INF, NAN])
    module = gradir.trace(lambda x: [f(x) for f, _ in ENDS], x)
    made = gradir.interpret(module, module.functions[-1], x)
    for (function, wanted), found in zip(ENDS, made, strict=True):
        np.testing.assert_allclose(found, wanted, err_msg=str(function))


def test_rgamma_far_below():
    """1 / gamma(z) is 0 at every negative integer, with the slope (-1)^n n!; between them infinite
    where gamma is 0, and a number beside an integer, by mpmath."""
    x = np.array([-170.0, -170.5, -172, -300, -301, -300.5, -301.5, -175 + 1e-10, -1e300, -34.5])
    made = gradir.trace(lambda x: (sp.rgamma(x), gradir.grad(lambda x: np.sum(sp.rgamma(x)))(x)), x)
    value, slope = gradir.interpret(made, made.functions[-1], x)
    wanted = [0, -3.0186496508350538e307, 0, 0, 0, -INF, INF, -1.1243097638940902e308, 0,
              -5.539846795834174e38]  # fmt: skip
    np.testing.assert_allclose(value, wanted, 3e-13)
    np.testing.assert_allclose(
        slope[[0, 2, 3, 4, 8]], [7.257415615307999e306, INF, INF, -INF, INF], 3e-13
    )


def test_betaincinv_of_small_shapes():
    """The bits of results near 0, by SciPy, and slopes, which are known for b = 1 and for a = b."""
    a = np.array([0.01, 0.001, 0.001, 20, 0.05, 0.01, 0.01, 0.01, 1e-3, 5, 1e-3])
    b = np.array([0.5, 0.001, 100, 1e5, 2, 1, 1, 0.01, 1e-3, 0.01, 1e-3])
    y = np.array([0.5, 0.3, 0.5, 1e-300, 0.51, 0.9, 1e-3, 0.5, 0.5, 0.5, 0.9])
    made = gradir.trace(
        lambda *given: (
            sp.betaincinv(*given),
            gradir.grad(lambda *g: np.sum(sp.betaincinv(*g)), argnums=(0, 1, 2))(*given),
        ),
        a, b, y,
    )  # fmt: skip
    x, by_a, by_b, by_y = gradir.interpret(made, made.functions[-1], a, b, y)
    by_scipy = [3.10469797061252e-30, 1.4142853421410697e-222, 5.270510538078109e-304,
                8.303572378166825e-20, 5.340940766490121e-07]  # fmt: skip
    np.testing.assert_allclose(x[:5], by_scipy, 1e-11)
    np.testing.assert_allclose(x[5:], [*y[5:7] ** 100, 0.5, 0.5, 1, 1], 1e-12)
    assert np.isfinite([by_a, by_b, by_y]).all()
    np.testing.assert_allclose(by_y[5:7], 100 * y[5:7] ** 99, 1e-12)
    np.testing.assert_allclose(by_a[5:7], -x[5:7] * np.log(y[5:7]) * 1e4, 1e-12)
    ends = [np.exp(2 * lgamma(p) - lgamma(2 * p)) / 4 ** (1 - p) for p in a[7:9]]
    np.testing.assert_allclose(by_y[7:9], ends, 1e-11)
    assert (by_y[9:] < 1e-28).all()


def test_rows_of_a_map_and_a_third_derivative():
    """Against mpmath's derivatives."""
    slopes = gradir.vmap(gradir.grad(partial(sp.jn, 2)))(np.array([0.5, 3.0, 40.0]))
    np.testing.assert_allclose(
        slopes, [0.11985236384014332, 0.014998118135342408, 0.1260915667717029], 1e-13
    )
    third = gradir.grad(gradir.grad(gradir.grad(sp.y0)))
    np.testing.assert_allclose(third(2.0), 0.20167162055440379, 1e-13)


def test_refusals():
    x = np.ones(3)
    assert fails(lambda x: sp.jn(0.5, x), x) == "jn: n must be integers, got 0.5"
    assert fails(lambda x: sp.iv(x, x), x).startswith("iv: n must be known while tracing")
    assert fails(lambda x: sp.expn(-1, x), x) == "expn: n must not be negative, got -1"
    assert fails(lambda x: sp.lambertw(x, k=1), x).startswith("lambertw: k must be 0 or -1")
    with pytest.raises(AttributeError, match="of the Bessel functions those of integer orders"):
        sp.kv  # noqa: B018  # pyrefly: ignore


def test_every_name_has_values():
    from gradir.frontends.scipy.special import COMPILED

    assert set(COMPILED) <= {case["name"] for case in VALUES}


def _number(function: Any, order: int) -> Any:
    for _ in range(order):
        function = gradir.grad(function)
    return function


@pytest.mark.parametrize("name", ["j0", "y0", "k0", "i0"])
def test_high_derivatives_of_bessel_functions(name: str) -> None:
    """The fourth is a sum over orders 0, 2 and 4, and its program is little longer than others."""
    function = getattr(sp, name)
    of = {"j": sp.jn, "y": sp.yn, "k": sp.kn, "i": sp.iv}[name[0]]
    sign = 1 if name[0] in "ki" else -1
    values = [of(np.array([0, 2, 4]), x) for x in (2.5, 30.0)]
    wanted = [(3 * v[0] + sign * 4 * v[1] + v[2]) / 8 for v in values]
    found = gradir.jit(_number(lambda x: function(x), 4))
    np.testing.assert_allclose([found(x) for x in (2.5, 30.0)], wanted, 1e-12)
    sizes = [str(gradir.trace(_number(lambda x: function(x), k), 2.5)).count("=") for k in (2, 4)]
    assert sizes[1] < 6 * sizes[0]
