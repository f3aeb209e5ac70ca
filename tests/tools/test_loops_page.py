"""docs/loops.md is what the stored outcomes say, and these are of the programs that are there."""

from __future__ import annotations

from conformance.loops.all_programs import GROUPS, PROGRAMS
from conformance.loops.outcomes import KINDS, load

from gradir.tools.gen_loops_page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "docs/loops.md is stale: run `make docs`"


def test_outcomes_are_of_the_programs() -> None:
    stored = load()
    told = {n: {"group": p.group, "says": p.says} for n, p in PROGRAMS.items()}
    said = "run `python tests/peers/record_loops.py gradir`"
    assert (stored["programs"], stored["groups"]) == (told, GROUPS), said
    assert all(outcomes.keys() == PROGRAMS.keys() for outcomes in stored["outcomes"].values())


def test_what_is_said_of_gradir() -> None:
    """tests/conformance/loops/test_loops.py fails where one of these is not true."""
    for name, found in load()["outcomes"]["gradir"].items():
        assert {found[kind] for kind in KINDS} == {"right"}, name
