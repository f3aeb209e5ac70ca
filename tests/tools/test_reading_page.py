"""docs/reading.md is what its code prints, with a stop for each stage of the pipeline."""

from __future__ import annotations

from gradir.compiler.pipeline import STAGES
from gradir.tools.gen_reading_page import PAGE, page, stops


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_each_stage_is_a_stop() -> None:
    titles = [stop.title for stop in stops()]
    assert [title for title in titles if title in {stage.name for stage in STAGES}] == [
        stage.name for stage in STAGES
    ]
    assert all(stop.made_by and stop.says and stop.code for stop in stops())
