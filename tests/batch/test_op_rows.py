"""Every op on rows: each row is what the op gives of the row alone."""

from __future__ import annotations

import pytest
from op_cases import CASES

from gradir.checking.checks import check_rows


@pytest.mark.parametrize("op", sorted({case.op for case in CASES if case.operands}))
def test_rows(op: str) -> None:
    for case in (c for c in CASES if c.op == op):
        check_rows(case)
