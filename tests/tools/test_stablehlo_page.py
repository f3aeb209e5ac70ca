"""docs/stablehlo.md is what the rules say."""

from __future__ import annotations

from gradir.dialects.array import OPS as ARRAY_OPS
from gradir.dialects.grad.dialect import OPS as GRAD_OPS
from gradir.dialects.nn import OPS as NN_OPS
from gradir.tools.gen_stablehlo_page import MARKER, PAGE, page


def test_the_page_is_written_from_the_rules() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "docs/stablehlo.md is stale: run `make docs`"


def test_the_page_names_each_op_once() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(MARKER)[2]
    for op in (*ARRAY_OPS, *NN_OPS, *GRAD_OPS):
        assert table.count(f"`{op.name}`") == 1, op.name
