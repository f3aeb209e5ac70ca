"""Errors of gradir.scipy in ulp at ends, zeros, in tails, at tiny and huge numbers, against mpmath.

tests/support/special_rows.py and stats_rows.py have the functions and points; numbers are f64,
and of some functions f32.
Compilation takes most of the time. So second derivatives are held here of some functions, and of
slow ones the interpreter is; tests/support/scipy_measure.py measures all in native code.
docs/numpy.md states the errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import special_rows
import stats_rows
from points_faults import ORDERS
from scipy_check import TABLES, ScipyError, errors_of
from scipy_faults import FAULTS, LIMITS
from scipy_measure import fault_of, stated, worst_of

import gradir
import gradir.numpy as gnp
from gradir.scipy import special, stats

BY_NAME = {row.name: row for rows in TABLES.values() for row in rows}
TWICE = {
    *("expit", "log_ndtr", "digamma", "xlogy", "boxcox", "pseudo_huber", "erfinv", "i0e", "i1e"),
    *("logistic.pdf", "logistic.logpdf", "cauchy.pdf", "cauchy.logpdf", "gumbel_r.logpdf"),
    *("gumbel_r.cdf", "gumbel_l.logcdf", "lognorm.pdf", "vonmises.logpdf", "geom.pmf", "geom.cdf"),
    *("bernoulli.logcdf", "weibull_min.logcdf", "t.logpdf", "gamma.logpdf"),
}
NATIVE = TWICE | {
    *("erf", "erfc", "entr", "logit", "exp10", "cbrt", "gamma", "gammaln", "polygamma 1", "ndtr"),
    *("rel_entr", "kl_div", "inv_boxcox", "xlog1py", "expi", "i0", "spence"),
}
SINGLE = (NATIVE - TWICE) | {"cauchy.ppf", "gamma.cdf", "pareto.sf", "norm.logcdf"}


@pytest.mark.parametrize("name", BY_NAME)
def test_errors(name: str) -> None:
    is_native = name in NATIVE
    found = list(errors_of(BY_NAME[name], 2 if name in TWICE else 1, is_native))
    check_limits(name, found)
    for ulp, most in zip(worst_of(found), stated()[name]["f64"], strict=False):
        assert ulp <= most or not is_native, "run tests/support/scipy_measure.py"


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_errors_in_float32(name: str) -> None:
    found = list(errors_of(BY_NAME[name], 1, dtype=np.float32))
    check_limits(f"{name} f32", found)
    for ulp, most in zip(worst_of(found), stated()[name]["f32"], strict=False):
        assert ulp <= most, "run tests/support/scipy_measure.py"


def check_limits(name: str, found: list[ScipyError]) -> None:
    """Errors are within the limits, beside known faults, each of which is seen."""
    beyond = [(error, fault_of(error)) for error in found if error.ulp > LIMITS[error.order]]
    unknown = [error for error, fault in beyond if fault is None]
    assert not unknown, "\n".join(map(str, unknown[:20]))
    seen = [fault for _, fault in beyond]
    held = ORDERS[: 1 + max(error.order for error in found)]
    gone = [f for f in FAULTS if f.line == name and f.result in held and f not in seen]
    assert not gone, f"mended, so that its row can go: {gone}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "places", "signs"),
    [
        (special.i0, (800.0, -800.0, np.inf), ("+++", "+-+", "+++")),
        (special.i1, (800.0, -800.0), ("+++", "-+-")),
        (special.erfcx, (-30.0, -1e30), ("+-+", "+-+")),
        (special.expi, (800.0,), ("+++",)),
        (lambda x: special.shichi(x)[0], (800.0, -800.0), ("+++", "-+-")),
        (lambda x: special.shichi(x)[1], (800.0,), ("+++",)),
        (lambda x: special.inv_boxcox(x, 1e-4), (800.0,), ("+++",)),
    ],
)
def test_derivatives_above_all_numbers(
    function: Any, places: tuple[float, ...], signs: tuple[str, ...], dtype: Any
) -> None:
    """Where a function overflows its derivatives do too: they are not nan."""
    x = np.array(places, dtype)
    slope = gradir.grad(lambda x: gnp.sum(function(x)))
    found = [function(x), *gradir.jvp(slope, (x,), (np.ones_like(x),))]
    wanted = [[float(f"{sign}inf") for sign in column] for column in zip(*signs, strict=True)]
    np.testing.assert_array_equal(np.array(found), wanted)


def test_each_function_has_a_row_or_a_reason() -> None:
    functions = {row.name.partition(" ")[0] for row in special_rows.ROWS}
    functions -= {"si", "ci", "shi", "chi"}
    assert functions.isdisjoint(special_rows.REASONS)
    assert functions | special_rows.REASONS.keys() == set(special.__all__)


def test_each_function_of_a_distribution_has_a_row() -> None:
    there = {
        f"{name}.{kind}"
        for name in set(stats.__all__) - stats_rows.REASONS.keys()
        for kind in vars(getattr(stats, name))
        if kind != "name"
    }
    assert {row.name for row in stats_rows.ROWS} == there


def test_stated_errors_are_of_rows() -> None:
    assert stated().keys() == BY_NAME.keys()
    for name, kinds in stated().items():
        for ulps in kinds.values():
            assert all(ulp <= most for ulp, most in zip(ulps, LIMITS, strict=False)), name
    assert {fault.line.removesuffix(" f32") for fault in FAULTS} <= BY_NAME.keys()
