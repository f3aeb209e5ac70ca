"""Errors of gradir.scipy.special in ulp at ends, zeros, tiny and huge numbers, against mpmath.

tests/support/special_rows.py has the functions and points; numbers are f64. Compilation takes most
of the time. So second derivatives are held here of some functions, and of slow ones the interpreter
is; tests/support/special_measure.py measures all in native code. docs/numpy.md states the errors.
"""

from __future__ import annotations

import pytest
from special_check import errors_of_special
from special_faults import FAULTS, LIMITS
from special_measure import fault_of, stated, worst_of
from special_rows import REASONS, ROWS

from gradir.scipy import special

BY_NAME = {row.name: row for row in ROWS}
TWICE = {"expit", "log_ndtr", "digamma", "xlogy", "boxcox", "pseudo_huber"}
NATIVE = TWICE | {
    *("erf", "erfc", "entr", "logit", "exp10", "cbrt", "gamma", "gammaln", "polygamma 1", "ndtr"),
    *("rel_entr", "kl_div", "inv_boxcox", "xlog1py", "expi", "i0", "spence"),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_errors(name: str) -> None:
    is_native = name in NATIVE
    found = list(errors_of_special(BY_NAME[name], 2 if name in TWICE else 1, is_native))
    beyond = [(error, fault_of(error)) for error in found if error.ulp > LIMITS[error.order]]
    unknown = [error for error, fault in beyond if fault is None]
    assert not unknown, "\n".join(map(str, unknown[:20]))
    seen = [fault for _, fault in beyond]
    held = ("value", "first", "second")[: 1 + max(error.order for error in found)]
    gone = [f for f in FAULTS if f.line == name and f.result in held and f not in seen]
    assert not gone, f"mended, so that its row can go: {gone}"
    for ulp, most in zip(worst_of(found), stated()[name], strict=False):
        assert ulp <= most or not is_native, "run tests/support/special_measure.py"


def test_each_function_has_a_row_or_a_reason() -> None:
    functions = {row.name.partition(" ")[0] for row in ROWS} - {"si", "ci", "shi", "chi"}
    assert functions.isdisjoint(REASONS)
    assert functions | REASONS.keys() == set(special.__all__)


def test_stated_errors_are_of_rows() -> None:
    assert stated().keys() == BY_NAME.keys()
    assert {fault.line for fault in FAULTS} <= BY_NAME.keys()
