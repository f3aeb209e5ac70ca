"""docs/ops.md is what the op classes say."""

from pathlib import Path

from gradir.tools.gen_op_reference import reference

PATH = Path(__file__).parent.parent / "docs" / "ops.md"


def test_the_op_reference_is_current() -> None:
    assert PATH.read_text() == reference(), "run `make docs`"
