"""Errors of gradir.scipy in ulp at ends, zeros, in tails, at tiny and huge numbers, against mpmath.

tests/support/special_rows.py and stats_rows.py have the functions and points; numbers are f64.
Compilation takes most of the time. So second derivatives are held here of some functions, and of
slow ones the interpreter is; tests/support/scipy_measure.py measures all in native code.
docs/numpy.md states the errors.
"""

from __future__ import annotations

import pytest
import special_rows
import stats_rows
from scipy_check import TABLES, errors_of
from scipy_faults import FAULTS, LIMITS
from scipy_measure import fault_of, stated, worst_of

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


@pytest.mark.parametrize("name", BY_NAME)
def test_errors(name: str) -> None:
    is_native = name in NATIVE
    found = list(errors_of(BY_NAME[name], 2 if name in TWICE else 1, is_native))
    beyond = [(error, fault_of(error)) for error in found if error.ulp > LIMITS[error.order]]
    unknown = [error for error, fault in beyond if fault is None]
    assert not unknown, "\n".join(map(str, unknown[:20]))
    seen = [fault for _, fault in beyond]
    held = ("value", "first", "second")[: 1 + max(error.order for error in found)]
    gone = [f for f in FAULTS if f.line == name and f.result in held and f not in seen]
    assert not gone, f"mended, so that its row can go: {gone}"
    for ulp, most in zip(worst_of(found), stated()[name], strict=False):
        assert ulp <= most or not is_native, "run tests/support/scipy_measure.py"


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
    for name, ulps in stated().items():
        assert all(ulp <= most for ulp, most in zip(ulps, LIMITS, strict=False)), name
    assert {fault.line for fault in FAULTS} <= BY_NAME.keys()
