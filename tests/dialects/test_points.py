"""Values and two derivatives of each op at ends, poles, ties and tails, in ulp.

They are held against mpmath with 50 digits (tests/support/points_ops.py, points_pairs.py,
points_losses.py; on short lines points_lines.py), native code and the interpreter, in f32 and f64.
The errors stated in docs/ops.md are not exceeded, and errors above LIMITS are known faults.
Ops without a row have a reason in points_reasons.py.
"""

from __future__ import annotations

import pytest
from points_check import LIMITS, Row, errors, fault_at, worst
from points_faults import FAULTS
from points_measure import ROWS, stated
from points_reasons import REASONS

from gradir.dialects import array, nn
from gradir.dialects.building.kinds import BinaryOp, UnaryOp
from gradir.dialects.grad import dialect as grad

STATED = stated()
LINES = {row.line: row for row in ROWS}


@pytest.mark.parametrize("line", LINES)
def test_errors(line: str) -> None:
    row: Row = LINES[line]
    found = list(errors(row))
    beyond = [(error, fault_at(error)) for error in found if error.is_beyond]
    unknown = [error for error, fault in beyond if fault is None]
    assert not unknown, "\n".join(map(str, unknown[:20]))
    seen = [fault for _, fault in beyond]
    gone = [fault for fault in FAULTS if fault.line == line and fault not in seen]
    assert not gone, f"mended, so that its row can go: {gone}"
    for kind, ulps in worst(found).items():
        for order, (ulp, most) in enumerate(zip(ulps, STATED[row.op][kind], strict=True)):
            assert ulp <= most, f"{kind}, derivative {order}: run tests/support/points_measure.py"


def test_a_fault_is_of_a_row() -> None:
    assert {fault.line for fault in FAULTS} <= LINES.keys()


def test_each_op_on_floats_has_a_row() -> None:
    """Ops of booleans and integers have no last place."""
    without = {"array.logical_not", "array.floor_divide"}
    rows = {row.op for row in ROWS}
    for op in (*array.OPS, *nn.OPS):
        if issubclass(op, UnaryOp | BinaryOp) and op.DOMAIN in ("float", "number"):
            assert op.SAME_TYPE is False or op.name in rows | without, op.name


def test_each_op_with_a_derivative_has_a_row_or_a_reason() -> None:
    rows = {row.op for row in ROWS}
    active = {op.name for op in (*array.OPS, *nn.OPS, *grad.OPS) if not op.INACTIVE}
    assert active - rows == REASONS.keys()


def test_stated_errors_are_within_the_limits() -> None:
    assert STATED.keys() == {row.op for row in ROWS}
    for ulps in (ulps for kinds in STATED.values() for ulps in kinds.values()):
        assert all(u <= most for u, most in zip(ulps, LIMITS, strict=True))
