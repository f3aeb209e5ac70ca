"""docs/proofs.md is what the proofs say."""

from pathlib import Path

from gradir.tools.gen_proofs_page import page

PATH = Path(__file__).parents[2] / "docs" / "proofs.md"


def test_the_page_is_current() -> None:
    assert PATH.read_text() == page(), "run `make docs`"
